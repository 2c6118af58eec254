"""The cuda executor's use of CuPy, against a stand-in that records launches (no GPU needed)."""

import sys

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.kernels.test_opted_shared_memory import CASES
from tests.support.recording_cupy import Array, DriverError

pytestmark = pytest.mark.nvrtc


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
    assert launches[0][1:3] == ((64, 1, 1), (256, 1, 1))


def test_blocks_that_share_a_scan_have_a_sign_each(launches):
    from opweave.runtime.cuda import executor as runtime

    fused = ow.fuse(lambda x: np.cumsum(x, axis=1))
    x = Array(np.ones((3, 40_000), np.float32))
    fused(x)
    fused(x)
    first, second = (args for *_, args in launches)
    (executor,) = runtime._executors.values()
    (counters,) = executor.workspaces.counters.values()

    assert first[3] == second[3]
    assert launches[0][1:3] == ((10, 3, 1), (256, 1, 1))  # ten tiles, of at most 16 in this class
    assert (counters.shape, counters.dtype) == ((3 * (16 + 1 + 2),), np.uint32)


def test_64_bit_indices_are_passed_as_such(launches):
    fused = ow.fuse(lambda x: x + 1).with_toggles(USE_64BIT_INDEX=1)
    fused(Array(np.ones(100, np.uint8)))

    assert type(launches[0][3][-1]) is np.int64


def test_outputs_go_straight_into_a_fitting_out(launches):
    x, out = (Array(np.ones(1024, np.float32)) for _ in range(2))
    made = ow.fuse(lambda x: x + 1)(x, out=out)

    assert made is out
    assert launches[0][3][1] is out


def scaled(u):
    u *= 2
    return u


def shifted(u):
    u[1:] = u[:-1] * 2
    return u


def test_an_argument_is_written_in_place(launches):
    u = Array(np.ones(1024, np.float32))
    fused = ow.fuse(scaled, fullgraph=True)

    assert fused(u) is u
    assert fused(u) is u
    assert [args[:2] for *_, args in launches] == [(u, u)] * 2


def test_an_argument_that_others_read_is_computed_apart(launches):
    u = Array(np.ones(1024, np.float32))

    assert ow.fuse(shifted, fullgraph=True)(u) is u
    ((*_, args),) = launches
    assert [a is u for a in args if isinstance(a, Array)] == [True, True, False]


def test_few_rows_are_stored_when_the_kernels_are_done(launches):
    def rows(u):
        u[0] = 3
        u[1] = u[-1]

    u = Array(np.ones((64, 16), np.float32))
    assert ow.fuse(rows, fullgraph=True)(u) is None
    assert launches == []
    np.testing.assert_array_equal(u.get()[0], 3)
    np.testing.assert_array_equal(u.get()[1:], 1)


def test_rows_that_overlap_are_copied_before_they_are_stored(launches, monkeypatch):
    def rows(u):
        u[:2] = u[1:3]

    copies = []
    monkeypatch.setattr(Array, "copy", lambda a: copies.append(a.shape) or Array(a.array.copy()))
    u = Array(np.arange(64, dtype=np.float32).reshape(16, 4))
    ow.fuse(rows, fullgraph=True)(u)
    assert copies == [(2, 4)]
    np.testing.assert_array_equal(u.get()[:3, 0], [4, 8, 8])


def test_arguments_that_share_memory_run_in_parts(launches):
    memory = np.ones(1025, np.float32)

    def added(u, v):
        u += v

    with pytest.raises(e.UnsupportedError, match="u and v share memory"):
        ow.fuse(added, fullgraph=True)(Array(memory[1:]), Array(memory[:-1]))
    assert launches == []


def test_numpy_arrays_that_are_written_to_are_copied_back(launches, monkeypatch):
    from opweave.runtime.cuda import executor as runtime

    def copied_in(value):
        return Array(value + 1) if isinstance(value, np.ndarray) else value

    monkeypatch.setattr(runtime, "copied_in", copied_in)
    u, fixed = np.zeros(8, np.float32), np.zeros(8, np.float32)
    fixed.flags.writeable = False
    with ow.config(device="cuda"):
        fused = ow.fuse(scaled)
        assert fused(u) is u
        with pytest.raises(ValueError, match="read-only"):
            fused(fixed)

    np.testing.assert_array_equal(u, 1)  # the copy, which no kernel has changed here


def test_arrays_of_two_devices_and_mixed_arrays_are_refused(launches):
    x = Array(np.ones(5, np.float32))
    add = ow.fuse(lambda x, y: x + y)

    with pytest.raises(e.ArgumentError, match=r"devices \[0, 1\]"):
        add(x, Array(np.ones(5, np.float32), device=1))
    with pytest.raises(e.ArgumentError, match="mixed"):
        add(x, np.ones(5, np.float32))
    assert launches == []


def test_indices_of_numpys_are_copied_to_the_device_of_the_array(launches, monkeypatch):
    asked = []

    class Noting(sys.modules["cupy"].cuda.Device):
        def __enter__(self):
            asked.append(self.id)
            return super().__enter__()

    monkeypatch.setattr(sys.modules["cupy"].cuda, "Device", Noting)
    x, fused = Array(np.ones(5, np.float32), device=1), ow.fuse(lambda x, i: x[i] + x[[0, 1]])
    for _ in range(2):
        asked.clear()
        fused(x, np.array([1, 2]))
        assert asked
        assert {*asked} == {1}


def test_numpy_arrays_are_copied_in_and_out_when_asked(launches):
    with ow.config(device="cuda"):
        made = ow.fuse(lambda x: {"y": x + 1, "s": x.sum()})(np.ones(8, np.float32))

    assert isinstance(made["y"], np.ndarray)
    assert isinstance(made["s"], np.float32)


@pytest.mark.filterwarnings("ignore:step runs by NumPy")
def test_objects_of_numpy_arrays_never_get_arrays_of_a_gpu(launches):
    def step(state, x):
        state["m"] = state["m"] + x
        state["n"] += 1
        return x * 2

    state, x = {"m": np.ones(8, np.float32), "n": 0}, np.ones(8, np.float32)
    with ow.config(device="cuda"):
        fused = ow.fuse(step)
        for n in (1, 2):
            np.testing.assert_array_equal(fused(state, x), x * 2)
            assert isinstance(state["m"], np.ndarray)
            np.testing.assert_array_equal(state["m"], x * (n + 1))
            assert state["n"] == n


def test_a_failing_launch_is_a_typed_error(launches, monkeypatch):
    def fail(self, name):
        def launch(grid, block, args):
            raise DriverError("CUDA_ERROR_ILLEGAL_ADDRESS")

        return launch

    monkeypatch.setattr(sys.modules["cupy"].cuda.function.Module, "get_function", fail)
    with pytest.raises(e.LaunchError, match="launch of .* failed: CUDA_ERROR_ILLEGAL_ADDRESS"):
        ow.fuse(lambda x: x + 3)(Array(np.ones(8, np.float32)))


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


@pytest.mark.parametrize(
    ("capability", "arch"),
    [("86", "sm_80"), ("90", "sm_90a"), ("103", "sm_100"), ("121", "sm_120")],
)
def test_a_device_runs_what_is_compiled_for_its_major_version(
    launches, monkeypatch, capability, arch
):
    from opweave.runtime.cuda import executor as runtime

    monkeypatch.setattr(sys.modules["cupy"].cuda.Device, "compute_capability", capability)

    assert runtime.live_device(0).arch == arch


def test_a_device_that_nobody_compiles_for_is_named(launches, monkeypatch):
    from opweave.runtime.cuda import executor as runtime

    monkeypatch.setattr(sys.modules["cupy"].cuda.Device, "compute_capability", "70")
    with pytest.raises(e.NoDeviceError, match="compute capability 70 is not supported: expected"):
        runtime.live_device(0)


def test_a_launch_opts_in_to_more_shared_memory_than_a_kernel_may_declare(launches, opted):
    for name in ("product", "transpose"):
        function, args, toggles, *_ = CASES[name]
        ow.fuse(function).with_toggles(**toggles)(*map(Array, args))

    assert launches == [((1, 1, 1), (256, 1, 1), 67584), ((1, 1, 1), (256, 1, 1), 66048)]
    assert opted == [(5, 8, 67584), (5, 8, 66048)]


def test_a_launch_opts_in_where_what_is_declared_comes_on_top(launches, opted):
    ow.fuse(lambda x: np.cumsum(x))(Array(np.zeros(1 << 17, np.float32)))

    assert launches == [((32, 1, 1), (256, 1, 1), 49152)]
    assert opted == [(5, 8, 49152)]
