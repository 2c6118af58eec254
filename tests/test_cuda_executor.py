"""The cuda executor's use of CuPy, against a stand-in that records launches (no GPU needed)."""

import contextlib
import itertools
import os
import sys
import types

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

pytestmark = pytest.mark.nvrtc


class Array:
    """What opweave asks of a CuPy array."""

    __cuda_array_interface__ = None

    def __init__(self, array, device=0):
        self.array = array
        self.device = types.SimpleNamespace(id=device)
        self.data = types.SimpleNamespace(ptr=array.ctypes.data // 16 * 16)
        for name in ("dtype", "shape", "strides", "itemsize", "flags", "size", "ndim"):
            setattr(self, name, getattr(array, name))

    def get(self, stream=None):
        return self.array

    def set(self, array, stream=None):
        self.array[...] = array


class DriverError(RuntimeError):
    """An error of CuPy's: a text, and CUDA's number."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


@pytest.fixture
def launches(monkeypatch):
    """A stand-in for CuPy; gives the list of (name, grid, block, arguments)."""
    made = []

    class Device(contextlib.nullcontext):
        compute_capability = "90"

        def __init__(self, index=0):
            super().__init__()
            self.id = index

    class Module:
        def load(self, cubin):
            assert cubin[:4] == b"\x7fELF"

        def get_function(self, name):
            return lambda grid, block, args: made.append((name, grid, block, args))

    class Stream(contextlib.nullcontext):
        """Notes what happens to it between the launches."""

        ptr = 7

        def __init__(self, non_blocking=False):
            super().__init__()

        def synchronize(self):
            pass

        def begin_capture(self):
            made.append("begin")

        def end_capture(self):
            made.append("end")
            return types.SimpleNamespace(launch=lambda stream: made.append("replay"))

    stream = types.SimpleNamespace(ptr=3, is_capturing=lambda: False)
    properties = {"name": b"Stand-in", "multiProcessorCount": 132, "l2CacheSize": 1 << 25}
    cuda = types.SimpleNamespace(
        Device=Device,
        function=types.SimpleNamespace(Module=Module),
        driver=types.SimpleNamespace(CUDADriverError=DriverError),
        runtime=types.SimpleNamespace(
            getDeviceCount=lambda: 2,
            getDeviceProperties=lambda index: properties,
            CUDARuntimeError=DriverError,
        ),
        get_current_stream=lambda: stream,
        Stream=Stream,
        alloc_pinned_memory=lambda nbytes: bytearray(nbytes + 512),
    )
    module = types.ModuleType("cupy")
    module.ndarray, module.cuda = Array, cuda
    module.uint8, module.uint32 = np.uint8, np.uint32
    module.empty = lambda shape, dtype: Array(np.empty(shape, dtype))
    module.zeros = lambda shape, dtype: Array(np.zeros(shape, dtype))
    module.asarray = Array
    module.emptied = []
    module.get_default_memory_pool = lambda: types.SimpleNamespace(
        free_all_blocks=lambda: module.emptied.append(1)
    )
    module.may_share_memory = lambda a, b: np.may_share_memory(a.array, b.array)
    monkeypatch.setitem(sys.modules, "cupy", module)
    from opweave.runtime.cuda import executor as runtime

    runtime.live_device.cache_clear()
    monkeypatch.setattr(runtime, "_executors", {})
    monkeypatch.setattr(runtime, "_states", {})
    yield made
    runtime.live_device.cache_clear()


def test_a_launch_passes_pointers_scalars_and_extents(launches):
    x = Array(np.ones((4, 1000), np.float32))
    y = ow.fuse(lambda x, s: x * s)(x, 2.5)
    ((name, grid, block, args),) = launches

    assert (name, grid, block) == ("kernel_map_f32", (4, 1, 1), (256, 1, 1))
    # an array is a pointer: CuPy takes its address without a call of Python's
    assert [type(a) for a in args] == [Array, np.float32, Array, np.int32]
    assert [*args] == [x, 2.5, y, 4000]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arrays_map_to_the_kernels_of_numpys(launches, dtype):
    z = Array(np.ones((4, 1000), dtype))
    made = ow.fuse(lambda z, c: z * c)(z, 2.5 - 1j)
    ((name, grid, _, args),) = launches
    part = np.zeros((), dtype).real.dtype.type

    assert made.dtype == dtype
    assert name == f"kernel_map_c{8 * made.itemsize}"
    assert grid == (4000 // (16 // made.itemsize) // 256 + 1, 1, 1)
    assert [type(a) for a in args] == [Array, part, part, Array, np.int32]
    assert args[1:3] == (2.5, -1.0)


def test_a_row_kernel_and_its_grid(launches):
    ow.fuse(lambda x: ow.softmax(x))(Array(np.ones((7, 1000), np.float32)))
    ((_, grid, block, args),) = launches

    assert (grid, block) == ((2, 1, 1), (128, 1, 1))
    assert list(args[2:]) == [7, 1000]


def test_counters_are_kept_and_partials_are_not(launches):
    fused = ow.fuse(lambda x: (x * x).sum())
    x = Array(np.ones((300, 500), np.float32))
    fused(x)
    fused(x)
    first, second = (args for *_, args in launches)

    assert first[3] == second[3]
    assert launches[0][1:3] == ((32, 1, 1), (256, 1, 1))


def test_blocks_that_share_a_scan_have_a_sign_each(launches):
    from opweave.runtime.cuda import executor as runtime

    fused = ow.fuse(lambda x: np.cumsum(x, axis=1))
    x = Array(np.ones((3, 40_000), np.float32))
    fused(x)
    fused(x)
    first, second = (args for *_, args in launches)
    (executor,) = runtime._executors.values()
    (counters,) = executor._counters.values()

    assert first[3] == second[3]
    assert launches[0][1:3] == ((32, 3, 1), (256, 1, 1))
    assert (counters.shape, counters.dtype) == ((3 * (32 + 2),), np.uint32)


def test_64_bit_indices_are_passed_as_such(launches):
    fused = ow.fuse(lambda x: x + 1).with_toggles(USE_64BIT_INDEX=1)
    fused(Array(np.ones(100, np.uint8)))

    assert type(launches[0][3][-1]) is np.int64


def test_outputs_go_straight_into_a_fitting_out(launches):
    x, out = (Array(np.ones(1024, np.float32)) for _ in range(2))
    made = ow.fuse(lambda x: x + 1)(x, out=out)

    assert made is out
    assert launches[0][3][1] is out


def test_arrays_of_two_devices_and_mixed_arrays_are_refused(launches):
    x = Array(np.ones(5, np.float32))
    add = ow.fuse(lambda x, y: x + y)

    with pytest.raises(e.ArgumentError, match=r"devices \[0, 1\]"):
        add(x, Array(np.ones(5, np.float32), device=1))
    with pytest.raises(e.ArgumentError, match="mixed"):
        add(x, np.ones(5, np.float32))
    assert launches == []


def test_numpy_arrays_are_copied_in_and_out_when_asked(launches):
    with ow.config(device="cuda"):
        made = ow.fuse(lambda x: {"y": x + 1, "s": x.sum()})(np.ones(8, np.float32))

    assert isinstance(made["y"], np.ndarray)
    assert isinstance(made["s"], np.float32)


def test_a_failing_launch_is_a_typed_error(launches, monkeypatch):
    def fail(self, name):
        def launch(grid, block, args):
            raise DriverError("CUDA_ERROR_ILLEGAL_ADDRESS")

        return launch

    monkeypatch.setattr(sys.modules["cupy"].cuda.function.Module, "get_function", fail)
    with pytest.raises(e.LaunchError, match="launch of .* failed: CUDA_ERROR_ILLEGAL_ADDRESS"):
        ow.fuse(lambda x: x + 3)(Array(np.ones(8, np.float32)))


class OutOfMemory(MemoryError):
    """CuPy's error of its pool."""


NO_MEMORY = OutOfMemory("Out of memory allocating 4,096 bytes"), DriverError("no memory", 2)
ILLEGAL = DriverError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access", 700)


def failing(monkeypatch, place, errors):
    """Let CuPy fail at a place, with each of the errors in turn; None for a call that works."""
    cupy, left = sys.modules["cupy"], list(errors)

    def fails_before(real):
        def call(*args):
            error = left.pop(0) if left else None
            if error is not None:
                raise error
            return real(*args)

        return call

    if place == "launch":
        module = cupy.cuda.function.Module
        real = module.get_function

        def get_function(self, name):
            return fails_before(real(self, name))

        monkeypatch.setattr(module, "get_function", get_function)
    else:
        owner, name = {
            "empty": (cupy, "empty"), "zeros": (cupy, "zeros"), "asarray": (cupy, "asarray"),
            "load": (cupy.cuda.function.Module, "load"), "get": (Array, "get"),
        }[place]  # fmt: skip
        monkeypatch.setattr(owner, name, fails_before(getattr(owner, name)))
    return left


# Where memory runs out: what is called, and what the error names.
MEMORY = {
    "empty": (lambda x: x + 1, r"an array f32\[300, 500\] of 600,000 bytes"),
    "zeros": (lambda x: (x * x).sum(), "the partial results of kernel_reduce_f32 of 516 bytes"),
    "launch": (lambda x: x + 1, "kernel_map_f32: launch of .* blocks"),
    "load": (lambda x: x + 1, "kernel_map_f32: loading the kernel"),
    "asarray": (lambda x: x + 1, r"a copy of an array float32\[300, 500\] of 600,000 bytes"),
}


@pytest.mark.parametrize("error", NO_MEMORY, ids=["pool", "driver"])
@pytest.mark.parametrize("place", MEMORY)
def test_out_of_memory_the_pool_is_emptied_and_one_more_try_made(
    place, error, launches, monkeypatch
):
    function, what = MEMORY[place]
    fused, emptied = ow.fuse(function), sys.modules["cupy"].emptied
    x = np.ones((300, 500), np.float32)
    with ow.config(device="cuda"):
        left = failing(monkeypatch, place, [error, None])
        fused(x)

        assert emptied == [1]
        assert left == []
        fused.clear_cache()
        sys.modules["opweave.runtime.cuda.executor"]._executors.clear()
        failing(monkeypatch, place, [error, error])
        with pytest.raises(e.OutOfMemoryError, match=what):
            fused(x)
        assert isinstance(e.OutOfMemoryError(""), MemoryError)
        fused(x)  # nothing else is lost


@pytest.mark.parametrize("place", ["launch", "empty", "load", "get"])
def test_after_a_fault_that_is_final_nothing_is_launched(place, launches, monkeypatch):
    before, fused = ow.fuse(lambda x: x * 2), ow.fuse(lambda x: x + 1)
    x = np.ones(8, np.float32)
    with ow.config(device="cuda"):
        before(x)
        failing(monkeypatch, place, [ILLEGAL])
        with pytest.raises(
            e.LaunchError, match=r"ILLEGAL_ADDRESS.*kernel_map_f32.*restart"
        ) as one:
            fused(x)
        done = len(launches)
        for function in (before, fused, ow.fuse(lambda x: x - 1)):
            with pytest.raises(e.LaunchError, match="device 0 cannot be used .*restart") as other:
                function(x)
        with pytest.raises(e.LaunchError, match="restart"):  # where no memory is asked for
            before(Array(x), out=Array(x.copy()))

    assert len(launches) == done
    assert "newest are kernel_map_f32" in str(one.value)
    assert "ILLEGAL_ADDRESS" in str(other.value)


def test_a_fault_of_one_device_is_not_that_of_another(launches, monkeypatch):
    fused = ow.fuse(lambda x: x + 1)
    ones = np.ones(8, np.float32)
    failing(monkeypatch, "launch", [ILLEGAL])
    with pytest.raises(e.LaunchError, match="restart"):
        fused(Array(ones))

    fused(Array(ones, device=1))
    assert len(launches) == 1


def test_an_error_that_is_not_final_may_be_tried_again(launches, monkeypatch):
    fused = ow.fuse(lambda x: x + 1)
    x = Array(np.ones(8, np.float32))
    failing(monkeypatch, "launch", [DriverError("too many resources", 701)])
    with pytest.raises(e.LaunchError, match="too many resources"):
        fused(x)
    fused(x)

    assert len(launches) == 1


def in_child(work):
    """What a forked child's work raises, as text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        return file.read()


def test_a_forked_child_is_told_to_be_spawned(launches):
    fused, x = ow.fuse(lambda x: x + 1), Array(np.ones(8, np.float32))
    fused(x)
    other = ow.fuse(lambda x: x * 3)

    for function in (fused, other):
        said = in_child(lambda function=function: function(x))
        assert said.startswith("NoDeviceError: a process that was forked")
        assert "multiprocessing.get_context('spawn')" in said
    fused(x)  # the parent goes on


def test_a_child_of_a_process_that_used_cupy_alone_is_told_too(launches, monkeypatch):
    def refuses():
        raise DriverError("cudaErrorInitializationError: initialization error", 3)

    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "getDeviceCount", refuses)
    with pytest.raises(e.NoDeviceError, match="spawn"):
        ow.fuse(lambda x: x + 1)(Array(np.ones(8, np.float32)))


@pytest.mark.parametrize(("name", "bandwidth"), [
    (b"NVIDIA H100 80GB HBM3", 3350), ("NVIDIA H200", 4800), (b"Tesla T4", 320),
    (b"Stand-in", 4800),  # the one that stands for the architecture
])  # fmt: skip
def test_a_card_has_the_rates_of_its_data_sheet(launches, monkeypatch, name, bandwidth):
    from opweave.runtime.cuda import executor as cuda

    properties = {"name": name, "multiProcessorCount": 132, "l2CacheSize": 1 << 25}
    runtime = sys.modules["cupy"].cuda.runtime
    monkeypatch.setattr(runtime, "getDeviceProperties", lambda index: properties)

    assert cuda.live_device(0).gigabytes_per_second == bandwidth


def test_a_time_is_the_median_of_batches_between_events(launches, monkeypatch):
    from opweave.runtime.cuda import executor as cuda

    seconds = iter([9.0, 0.2, 0.4, 0.3])  # the first warms up

    class Event:
        def record(self):
            pass

        def synchronize(self):
            pass

    driver = sys.modules["cupy"].cuda
    monkeypatch.setattr(driver, "Event", Event, raising=False)
    monkeypatch.setattr(
        driver, "get_elapsed_time", lambda start, stop: 1e3 * next(seconds), raising=False
    )
    calls = []

    assert cuda.median_seconds(lambda: calls.append(0), 3, 10) == pytest.approx(0.03)
    assert len(calls) == 40


def addressed(argument):
    """The address that a kernel gets for an array, or for a place within one."""
    return argument.data.ptr if isinstance(argument, Array) else int(argument)


def chain():
    """Two kernels with a temporary between them: a graph and its inputs."""
    g = ow.Graph("chain")
    x = g.host_to_device("x", (64, 64))
    g.device_to_host(g.matmul(g.matmul(x, x), x), name="y")
    return g, {"x": np.ones((64, 64), np.float32)}


def test_temporaries_of_a_call_lie_in_one_arena(launches):
    fused = ow.fuse(lambda x: (x @ x) @ x @ x)
    fused(Array(np.ones((64, 64), np.float32)))
    *_, first, second, third = (args for *_, args in launches)
    pointers = [
        [addressed(a) for a in args if isinstance(a, (Array, np.uint64))]
        for args in (first, second, third)
    ]

    assert len(launches) == 3
    assert pointers[0][-1] in pointers[1]  # what one writes the next one reads
    assert pointers[1][-1] in pointers[2]
    assert abs(pointers[0][-1] - pointers[1][-1]) == 64 * 64 * 4


@pytest.mark.parametrize("staging", [True, False])
def test_a_replay_is_captured_once_over_memory_of_its_own(launches, staging):
    graph, arrays = chain()
    run = graph.runner("replay", device="cuda", staging=staging)
    run(**arrays)
    launched = [entry if isinstance(entry, str) else entry[0] for entry in launches]
    begin = launched.index("begin")
    captured = launched[begin + 1 : launched.index("end")]

    assert captured == launched[:begin]  # the same kernels, once before
    assert list(launches[0][3]) == list(launches[begin + 1][3])
    assert launched[-1] == "replay"
    replay = run._ready
    arrays["x"] *= 3
    run(x=arrays["x"] + 1)
    run()
    assert launches[-2:] == ["replay", "replay"]
    np.testing.assert_array_equal(replay._slots[0].array, np.full((64, 64), 4, np.float32))
    run(x=arrays["x"])
    arrays["x"] += 4
    run(x=arrays["x"])  # the same array with other elements is copied again
    np.testing.assert_array_equal(replay._slots[0].array, np.full((64, 64), 7, np.float32))
    assert bool(replay._staged) == staging


@pytest.mark.parametrize("mode", ["immediate", "graph"])
def test_arrays_travel_to_the_gpu_and_back(launches, mode):
    graph, arrays = chain()
    found = graph.runner(mode, device="cuda")(**arrays)

    assert type(found) is np.ndarray
    assert found.shape == (64, 64)
    assert len(launches) == 2


def names_of(launches):
    found = [entry if isinstance(entry, str) else "kernel" for entry in launches]
    launches.clear()
    return found


CAPTURED = ["begin", "kernel", "kernel", "end", "replay"]


def test_a_call_that_comes_again_becomes_a_graph(launches):
    fused = ow.fuse(lambda x, s: (x @ x) @ x * s, replay=True)
    x, y, out = (Array(np.ones((64, 64), np.float32)) for _ in range(3))
    seen = []
    for array, number in [(x, 2.0)] * 4 + [(y, 2.0), (x, 3.0), (x, 2.0)] + [(y, 2.0)] * 3:
        fused(array, number, out=out)
        seen.append(names_of(launches))
    apart = ["kernel", "kernel"]

    assert seen[:4] == [apart, apart, CAPTURED, ["replay"]]
    assert seen[4:7] == [apart, apart, ["replay"]]  # moved, another number, and back
    assert seen[7:] == [apart, CAPTURED, ["replay"]]


def test_results_that_move_are_launched_as_ever(launches):
    fused = ow.fuse(lambda x: (x @ x) @ x, replay=True)
    x = Array(np.ones((64, 64), np.float32))
    results = [fused(x) for _ in range(5)]  # all are held, so no two lie in one place

    assert len({r.array.ctypes.data for r in results}) == 5
    assert names_of(launches) == ["kernel"] * 10


def test_what_the_caller_captures_gets_the_kernels_themselves(launches, monkeypatch):
    fused = ow.fuse(lambda x: (x @ x) @ x, replay=True)
    x, out = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    stream = sys.modules["cupy"].cuda.get_current_stream()
    monkeypatch.setattr(stream, "is_capturing", lambda: True)
    for _ in range(5):
        fused(x, out=out)

    assert names_of(launches) == ["kernel"] * 10


def test_streams_have_graphs_of_their_own(launches, monkeypatch):
    fused = ow.fuse(lambda x: (x @ x) @ x, replay=True)
    x, out = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    stream = sys.modules["cupy"].cuda.get_current_stream()
    for _ in range(3):
        fused(x, out=out)
    names_of(launches)
    monkeypatch.setattr(stream, "ptr", 4)
    for _ in range(3):
        fused(x, out=out)

    assert names_of(launches) == ["kernel"] * 4 + CAPTURED


def test_a_call_without_several_kernels_is_no_graph(launches):
    x, out = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    fused = ow.fuse(lambda x: x @ x, replay=True)
    for _ in range(5):
        fused(x, out=out)

    assert names_of(launches) == ["kernel"] * 5


def executed(launches, since=0):
    """The arrays of each kernel that runs, in order: (what it reads..., what it writes)."""
    graph, inside, found = [], False, []
    for number, entry in enumerate(launches):
        if number == since:
            found = []
        if entry == "begin":
            graph, inside = [], True
        elif entry == "end":
            inside = False
        elif entry == "replay":
            found += graph
        else:
            arrays = [addressed(a) for a in entry[3] if isinstance(a, (Array, np.uint64))]
            (graph if inside else found).append(arrays)
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 65, 66, 67, 130, 131, 1000])
def test_steps_on_a_gpu_read_what_those_before_have_written(launches, n):
    x, w = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    step = ow.repeat(lambda x, w: w @ x, n)  # each row of it reads all of the state
    for _ in range(2):  # the graph of the first call serves the second
        since = len(launches)
        result = step(x, w)
        ran = executed(launches, since)

        assert isinstance(result, Array)
        assert len(ran) == n
        assert [a[0] for a in ran] == [w.data.ptr] * n
        assert [a[1] for a in ran] == [x.data.ptr, *(a[2] for a in ran[:-1])]
        assert ran[-1][2] == result.data.ptr
        assert x.data.ptr not in {a[2] for a in ran}
        assert all(a[1] != a[2] for a in ran)
    assert launches[since:].count("replay") == max(0, n - 2) // 64
    assert launches.count("begin") == (n >= 66)


def test_a_step_of_elements_is_a_loop_of_the_kernel(launches):
    x = Array(np.ones(1000, np.float32))
    result = ow.repeat(lambda x, s: x * s + 1, 10_000)(x, 0.5)
    ran = executed(launches)

    assert [int(args[-1]) for *_, args in launches] == [4096, 4096, 1808]
    assert [a[0] for a in ran] == [x.data.ptr, ran[0][1], ran[1][1]]
    assert ran[-1][1] == result.data.ptr


def test_two_states_of_several_kernels_a_step_take_turns(launches):
    def step(u, v):
        return u @ v @ v, v @ u

    u, v = (Array(np.ones((64, 64), np.float32)) for _ in range(2))
    ow.repeat(step, 50)(u, v)
    ran = executed(launches)

    assert len(ran) == 150
    assert {"begin", "replay"} < set(names_of(launches))
    for before, after in itertools.pairwise(ran[i : i + 3] for i in range(0, 150, 3)):
        assert {a for *_, a in before} >= {after[0][0], after[0][1]}


@pytest.mark.parametrize(("step", "shapes"), [
    (lambda x: x / x.sum(), [(1 << 22) + 1]),
    (lambda x, w: x + ((w @ w) @ w).sum(axis=0), [2049, (2049, 2049)]),  # w @ w is what is large
])  # fmt: skip
def test_what_takes_much_memory_is_kept_in_no_graph(launches, step, shapes):
    ow.repeat(step, 100)(*(Array(np.ones(shape, np.float32)) for shape in shapes))

    assert set(names_of(launches)) == {"kernel"}


def test_graphs_of_a_loop_belong_to_arguments_numbers_and_streams(launches, monkeypatch):
    x, w, other = (Array(np.ones((64, 64), np.float32)) for _ in range(3))
    step = ow.repeat(lambda x, w, s: (w @ x) * s, 100)
    stream = sys.modules["cupy"].cuda.get_current_stream()

    def captures(*args):
        step(*args)
        return "begin" in names_of(launches)

    assert captures(x, w, 2.0)
    assert not captures(other, w, 2.0)  # the state is read by the first step alone
    assert captures(x, other, 2.0)
    assert captures(x, w, 3.0)
    assert not captures(x, w, 2.0)
    monkeypatch.setattr(stream, "ptr", 4)
    assert captures(x, w, 2.0)
    monkeypatch.setattr(stream, "is_capturing", lambda: True)
    assert not captures(x, other, 5.0)  # the caller's graph gets the kernels
    step(x, other, 5.0)
    assert names_of(launches) == ["kernel"] * 100
