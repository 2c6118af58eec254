"""Calls with CuPy's arrays that come again take a straight line to their launches."""

import dataclasses
import sys
import threading

import numpy as np
import pytest

import opweave as ow
from opweave._functions.fused import Fused
from opweave._functions.warm import OFTEN
from opweave._interchange.on_gpu import MOST_KINDS
from opweave.opcodes import errors as e
from opweave.runtime.cuda.starting import starting
from tests.rounds.cupy_by_shim import on_gpu, stand_in
from tests.runtime.test_cuda_faults import ILLEGAL, NO_MEMORY, failing, in_child
from tests.support.recording_cupy import Array

pytestmark = pytest.mark.nvrtc
WEIGHTS = Array(np.full((6, 40), 3, np.float32))


def ones(*shape, dtype=np.float32, device=0):
    return Array(np.ones(shape or (6, 40), dtype), device)


@dataclasses.dataclass
class Layer:
    w: object
    b: object


def chosen(x, how, n):
    return (x + 1 if how == "plus" else x - 1) * n


def doubled(u):
    u *= 2


CALLS = {
    "one array": (lambda x: np.exp(x) + 1, (ones(),)),
    "two arrays": (lambda x, y: x * y + 1, (ones(), ones())),
    "the same array twice": (lambda x, y: x * y + 1, (WEIGHTS, WEIGHTS)),
    "a number": (lambda x, s: x * s, (ones(), 2.5)),
    "an integer": (lambda x, s: x * s, (ones(), 3)),
    "a text, and an integer that selects": (chosen, (ones(), "plus", 2)),
    "two results": (lambda x: (x + 1, {"y": x - 1}), (ones(),)),
    "a dict": (lambda p, x: x * p["w"] + p["b"], ({"w": ones(), "b": 2.0}, ones())),
    "an object": (lambda p, x: x * p.w + p.b, (Layer(ones(), ones(40)), ones())),
    "nothing": (lambda x, mask: x + 1 if mask is None else x * mask, (ones(), None)),
    "an array outside": (lambda x: x * WEIGHTS, (ones(),)),
    "a view": (lambda x: x[1:] * 2 + x[:-1], (ones(),)),
    "a sum": (lambda x: (x * x).sum(), (ones(300, 500),)),
    "a softmax": (lambda x: ow.softmax(x), (ones(),)),
    "some kernels": (lambda x: (x @ x) @ x @ x * 3, (ones(64, 64),)),
    "an argument that is written": (doubled, (ones(),)),
}  # fmt: skip


def warmed(function, *args, **toggles):
    """A fused function, called so often that such calls are known."""
    fused = ow.fuse(function, static_argnames=("how",) if function is chosen else ())
    fused = fused.with_toggles(**toggles) if toggles else fused
    for _ in range(2 * OFTEN):
        fused(*args)
    return fused


@pytest.fixture
def straight(monkeypatch):
    """From when it is called on, a call that has to be found fails."""

    def begin():
        monkeypatch.setattr(Fused, "_slowly", lambda *args: pytest.fail("it takes the long way"))

    return begin


def alike(launch):
    """A launch without the addresses of what a call makes."""
    name, grid, block, args = launch
    kinds = (type(a) if isinstance(a, (Array, np.uint64)) else (type(a), a) for a in args)
    return name, grid, block, [*kinds]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_comes_again_launches_what_the_first_one_did(launches, straight, name):
    function, args = CALLS[name]
    fused = warmed(function, *args)
    times = 2 * OFTEN
    assert len(launches) % times == 0
    each = len(launches) // times
    first = [*map(alike, launches[:each])]
    straight()
    fused(*args)

    assert [*map(alike, launches[-each:])] == first
    given = [a for a in (*args, WEIGHTS) if isinstance(a, Array)]
    passed = [[a for a in launch[3] if any(a is g for g in given)] for launch in launches]
    assert passed[-each:] == passed[:each]  # the arrays themselves


@pytest.mark.parametrize("name", CALLS)
def test_the_arguments_of_a_launch_are_those_that_its_slots_say(launches, name):
    function, args = CALLS[name]
    plan = next(iter(warmed(function, *args)._calls.wholes())).prepared.plan
    count = plan.faults + 2 + 2 * len(plan.workspaces)
    arrays, numbers = [ones(4096) for _ in range(count)], [2] * len(plan.scalars)
    executor = next(iter(sys.modules["opweave.runtime.cuda.executor"]._executors.values()))
    for step in plan.steps:
        launches.clear()
        step.start(arrays, numbers, executor.address)
        starting(step, executor.address)(arrays, numbers)
        (*_, general), (*_, quick) = launches
        assert [type(a) for a in general] == [type(a) for a in quick]
        assert all(a is b if isinstance(a, Array) else a == b
                   for a, b in zip(general, quick, strict=True))  # fmt: skip


def test_arguments_by_name_and_arrays_for_results_are_known_too(launches, straight):
    fused, x, y, out = warmed(lambda x, y: x + y, ones(), ones()), ones(), ones(), ones()
    straight()

    assert fused(y=y, x=x).shape == (6, 40)
    assert launches[-1][3][:2] == (x, y)
    assert fused(x, y, out=out) is out
    assert launches[-1][3][2] is out
    with pytest.raises(e.ArgumentError, match=r"out=: expected float32\[6, 40\]"):
        fused(x, y, out=ones(5))


def test_arrays_that_lie_otherwise_have_their_own_launches(launches):
    fused, memory = warmed(lambda x: x + 1, ones()), ones(4096 * 2)
    others = [
        ones(4096), ones(6, 40, dtype=np.float64), memory[::2], memory[1:4097], ones(6, 40),
    ]  # fmt: skip
    others[3].data.ptr += 4  # not aligned to 16 bytes
    for _ in range(2):
        grids = []
        for x in others:
            for _ in range(2 * OFTEN):
                assert fused(x).shape == x.shape
            name, grid, _, args = launches[-1]
            assert args[0] is x
            grids.append((name, grid, fused(x).dtype))
        assert grids[1][0] == "kernel_map_f64"
        assert grids[0] != grids[4]
    x = ones(6, 40)
    x.shape, x.strides = (240,), (4,)  # CuPy's arrays can be told another shape
    assert fused(x).shape == (240,)


def test_numbers_of_other_types_and_other_texts_are_calls_of_their_own(launches, straight):
    x, fused = ones(), warmed(lambda x, s: x * s, ones(), 2.5)
    fused(x, 4)
    assert [*map(type, launches[-1][3])][1] is np.float32
    assert launches[-1][3][1] == 4
    assert fused(x, np.float64(2)).dtype == np.float64
    fused(x, 1.5)
    assert launches[-1][3][1] == 1.5

    fused, seen = warmed(chosen, x, "plus", 2), set()
    for how in ("plus", "min" + "us", *map(str, range(2 * MOST_KINDS))):
        for n in (2, 3):
            for _ in range(2 * OFTEN):
                fused(x, how, n)
            seen.add((how == "plus", launches[-1][3][1]))
    assert seen == {(True, 2), (True, 3), (False, 2), (False, 3)}
    for _ in range(OFTEN):  # the others have taken its place
        fused(x, "plus", 2)
    straight()
    fused(x, "".join(["pl", "us"]), 2)


SCALE = 2.0


def test_what_a_function_reads_from_outside_is_looked_at(launches, monkeypatch):
    fused, x = warmed(lambda x: x * SCALE + WEIGHTS, ones()), ones()
    before = len(fused.traces)
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    fused(x)
    monkeypatch.setitem(globals(), "WEIGHTS", ones(40))
    fused(x)

    assert [launch[3][1] for launch in launches[-2:]] != [launches[0][3][1]] * 2
    assert len(fused.traces) > before


def test_arrays_of_numpy_and_of_cupy_take_turns(launches, straight):
    fused, x = warmed(lambda x: x * 2 + 1, ones()), np.ones((6, 40), np.float32)
    for _ in range(3 * OFTEN):
        assert isinstance(fused(x), np.ndarray)
    straight()
    count = len(launches)

    np.testing.assert_array_equal(fused(x), 3)
    assert isinstance(fused(ones()), Array)
    assert len(launches) == count + 1


@pytest.fixture
def devices(launches, monkeypatch):
    """The devices that were the current ones when kernels were launched."""
    cupy, found = sys.modules["cupy"], []
    real = cupy.cuda.function.Module.get_function

    def get_function(self, name):
        function = real(self, name)
        return lambda *args: (found.append(cupy.devices[-1]), function(*args))

    monkeypatch.setattr(cupy.cuda.function.Module, "get_function", get_function)
    return found


@pytest.mark.parametrize("name", ["one array", "a sum", "some kernels", "two results"])
def test_kernels_and_results_are_on_the_device_of_the_arrays(devices, straight, name):
    function, args = CALLS[name]
    cupy, there = sys.modules["cupy"], ones(*args[0].shape, device=1)
    fused = warmed(function, *args)
    for _ in range(2 * OFTEN):
        fused(there)
    straight()
    for current in (0, 1):
        for x in (*args, there):
            devices.clear()
            with cupy.cuda.Device(current):
                found = fused(x)
            assert {*devices} == {x.device.id}, current
            results = [found] if isinstance(found, Array) else [found[0], found[1]["y"]]
            assert {a.device.id for a in results} == {x.device.id}, current
    assert cupy.devices == [0]


def test_a_device_that_is_the_only_one_is_the_current_one(launches, monkeypatch):
    runtime = sys.modules["cupy"].cuda.runtime
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: 1)
    monkeypatch.setattr(runtime, "getDevice", lambda: pytest.fail("nobody has to ask"))
    warmed(lambda x: (x * x).sum(), ones(300, 500))

    assert len(launches) == 2 * OFTEN


def test_counters_belong_to_a_stream_and_captures_have_memory_of_their_own(launches, straight):
    cupy = sys.modules["cupy"]
    fused, x = warmed(lambda x: (x * x).sum(), ones(300, 500)), ones(300, 500)
    straight()
    counters = [launches[-1][3][3]]
    other = cupy.cuda.Stream()
    other.ptr = 9
    for stream in (other, other):
        with stream:
            fused(x)
        counters.append(launches[-1][3][3])
    cupy.streams[0].capturing = True
    fused(x)
    counters.append(launches[-1][3][3])
    cupy.streams[0].capturing = False
    fused(x)
    counters.append(launches[-1][3][3])

    assert [counters.index(c) for c in counters] == [0, 1, 1, 3, 0]
    assert len(cupy.waited_for) == 1  # the stream on which zeros are set


def test_memory_is_that_of_the_pool_that_is_set_now(launches, straight, monkeypatch):
    cupy, made = sys.modules["cupy"], []
    fused, x = warmed(lambda x: (x * x).sum(), ones(300, 500)), ones(300, 500)
    straight()
    real = cupy.cuda.alloc
    monkeypatch.setattr(cupy.cuda, "alloc", lambda nbytes: made.append(nbytes) or real(nbytes))
    for _ in range(3):
        fused(x)

    assert len(made) == 3
    assert len({id(launch[3][1]) for launch in launches}) == len(launches)  # results


def test_after_a_final_fault_a_known_call_launches_nothing(launches, straight, monkeypatch):
    fused, product = warmed(lambda x: x + 1, ones()), warmed(lambda x: (x * x).sum(), ones())
    failing(monkeypatch, "launch", [ILLEGAL])
    with pytest.raises(e.LaunchError, match="restart"):
        ow.fuse(lambda x: x - 1)(ones())
    straight()
    done = len(launches)
    for function in (fused, product):
        with pytest.raises(e.LaunchError, match="device 0 cannot be used .*restart"):
            function(ones())
    with pytest.raises(e.LaunchError, match="device 0 cannot be used .*restart"):
        fused(ones(), out=ones())

    assert len(launches) == done


def test_a_forked_child_is_told_of_a_known_call_too(launches):
    fused, x = warmed(lambda x: x + 1, ones()), ones()

    assert in_child(lambda: fused(x)).startswith("NoDeviceError: a process that was forked")
    assert fused(x).shape == x.shape


@pytest.mark.parametrize("error", NO_MEMORY, ids=["pool", "driver"])
def test_a_known_call_empties_the_pool_and_tries_once_more(launches, monkeypatch, error):
    left = failing(monkeypatch, "empty", [*[None] * 2 * OFTEN, error, None])
    fused = warmed(lambda x: x + 1, ones())
    fused(ones())

    assert left == []
    assert sys.modules["cupy"].emptied == [1]
    assert len(launches) == 2 * OFTEN + 1


def test_threads_that_call_at_once_launch_their_own(launches):
    fused, failed = ow.fuse(lambda x, s: x * s), []

    def call(n):
        x = ones(n, 8)
        for _ in range(50):
            if fused(x, float(n)).shape != (n, 8):
                failed.append(n)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert len(launches) == 8 * 50
    assert all(args[0].shape[0] == args[1] for *_, args in launches)


def three(x, y, s):
    h = np.tanh(x - x.mean(axis=1, keepdims=True)) * s
    return h @ y, h.T[1:] + 1, (h * h).sum()


@pytest.mark.parametrize("replay", [False, True])
def test_known_calls_have_the_bits_of_the_first_one(monkeypatch, replay):
    executor = stand_in(monkeypatch)
    rng = np.random.default_rng(0)
    x, y = (on_gpu(rng.standard_normal(shape, np.float32)) for shape in ((6, 40), (40, 5)))
    fused, out = ow.fuse(three, replay=replay), None
    first = [np.copy(a) for a in fused(x, y, 1.5)]
    for _ in range(3 * OFTEN):
        out = fused(x, y, 1.5)
    each = len(executor.launches) // (3 * OFTEN + 1)
    monkeypatch.setattr(Fused, "_slowly", lambda *args: pytest.fail("it takes the long way"))
    executor.launches.clear()
    found, other = fused(x, y, 1.5), fused(x, y, 2.5)

    assert len(executor.launches) == 2 * each
    assert all(a is not b for a, b in zip(out, found, strict=True))
    for a, b, c, wanted in zip(first, found, other, three(x, y, 1.5), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(b, c)
        np.testing.assert_allclose(b, wanted, rtol=1e-4, atol=1e-4)
