"""On a GPU: every variant, layout and executor rule, against the bound and against the host."""

import subprocess
import sys

import numpy as np
import pytest
import test_axes
import test_gathers
import test_indexing
import test_numerics
import test_parts
import test_reads
import test_reshape
from test_gallery import gallery
from variants import VARIANTS

import opweave as ow
from opweave.opcodes import errors as e

pytestmark = pytest.mark.gpu


@pytest.fixture
def cp():
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_the_variant_is_right_on_the_gpu(variant, cp):
    arguments = [cp.asarray(a) for a in variant.arguments()]

    assert ow.fuse(variant.function).check(*arguments).ok


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_fused_equals_unfused_bit_for_bit(variant, cp):
    arguments = [cp.asarray(a) for a in variant.arguments()]
    fused = ow.fuse(variant.function)
    a, b = fused(*arguments), fused.unfused()(*arguments)
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]

    for one, other in pairs:
        assert one.get().tobytes() == other.get().tobytes()


def test_a_hundred_runs_give_the_same_bits(cp):
    x = cp.asarray(np.random.default_rng(0).standard_normal((300, 5000)).astype(np.float32))
    fused = ow.fuse(lambda x: (x.sum(), (x * x).mean(axis=1), ow.softmax(x)))
    first = [r.get().tobytes() for r in fused(x)]

    for _ in range(100):
        assert first == [r.get().tobytes() for r in fused(x)]


@pytest.mark.parametrize("shape", [(40_000,), (5_000_003,), (3, 70_000), (300_000, 7)], ids=str)
def test_long_scans_of_many_blocks_give_the_same_bits_at_every_run(cp, shape):
    x = cp.asarray(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    fused = ow.fuse(lambda x: (x.cumsum(0), np.maximum.accumulate(x, axis=-1)))
    first = [r.get().tobytes() for r in fused(x)]

    assert fused.check(x).ok
    for _ in range(100):
        assert first == [r.get().tobytes() for r in fused(x)]


def test_results_stay_on_the_gpu_and_keep_their_type(cp):
    made = ow.fuse(lambda x: (x + 1, x.sum()))(cp.ones(5, cp.float16))

    assert all(isinstance(r, cp.ndarray) for r in made)
    assert [r.dtype for r in made] == [cp.float16] * 2


def test_the_callers_stream_is_used(cp):
    stream = cp.cuda.Stream(non_blocking=True)
    fused = ow.fuse(lambda x: np.exp(x) * 2)
    with stream:
        x = cp.ones(1 << 20, cp.float32)
        y = fused(x)
    stream.synchronize()

    cp.testing.assert_allclose(y, cp.exp(x) * 2, rtol=1e-6)


def test_cupy_functions_inside_a_fused_function(cp):
    fused = ow.fuse(lambda x: cp.exp(x).sum())

    cp.testing.assert_allclose(fused(cp.ones(100)), cp.exp(cp.ones(100)).sum())


def test_numpy_arrays_run_on_the_gpu_when_asked():
    x = np.linspace(0, 1, 100, dtype=np.float32)
    with ow.config(device="cuda"):
        made = ow.fuse(lambda x: (x * 2, x.max()))(x)

    assert isinstance(made[0], np.ndarray)
    assert isinstance(made[1], np.float32)
    np.testing.assert_array_equal(x * 2, made[0])


def test_mixed_arrays_are_refused(cp):
    with pytest.raises(e.ArgumentError, match="mixed"):
        ow.fuse(lambda x, y: x + y)(cp.ones(3), np.ones(3))


def test_out_may_overlap(cp):
    memory = cp.arange(101, dtype=cp.float32)
    expected = memory[:100] * 2
    ow.fuse(lambda x: x * 2)(memory[:100], out=memory[1:])

    cp.testing.assert_array_equal(expected, memory[1:])


def test_an_empty_array_launches_nothing(cp):
    assert ow.fuse(lambda x: x + 1)(cp.empty((0, 3))).shape == (0, 3)


def test_more_than_2_to_the_31_elements(cp):
    if cp.cuda.runtime.memGetInfo()[0] < 6 << 30:
        pytest.skip("needs 6 GiB of memory on the GPU")
    x = cp.ones((1 << 31) + 5, cp.uint8)
    fused = ow.fuse(lambda x: x + 1)
    assert fused.lower(x).kernels[0].toggles["USE_64BIT_INDEX"] == 1

    assert int((fused(x) == 2).all()) == 1


@pytest.mark.parametrize("toggles", [
    {"USE_SHARED_MEMORY": 0}, {"USE_PADDED_TILE": 0}, {"USE_VECTOR_IO": 0},
    {"BLOCK_M": 16, "BLOCK_N": 16, "THREAD_M": 1, "THREAD_N": 1, "WIDTH": 1},
    {"BLOCK_M": 128, "BLOCK_N": 128, "THREAD_M": 8, "THREAD_N": 8},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_no_rung_of_the_ladder_changes_a_bit(toggles, dtype, cp):
    rng = np.random.default_rng(0)
    x, w = (cp.asarray(rng.standard_normal(s).astype(dtype)) for s in ((300, 260), (260, 516)))
    fused = ow.fuse(lambda x, w: ow.relu(x @ w))

    assert fused(x, w).get().tobytes() == fused.with_toggles(**toggles)(x, w).get().tobytes()


def test_the_gpu_gives_the_bits_of_verify_mode(cp):
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((70, 50), (50, 90)))
    fused = ow.fuse(lambda x, w: np.maximum(x @ w, 0) * 2)
    program = fused.lower(cp.asarray(x), cp.asarray(w))

    assert program(cp.asarray(x), cp.asarray(w)).get().tobytes() == program.verify(x, w).tobytes()


@pytest.mark.parametrize("shape", [(7, 45), (3, 3000), (40_000,), (50, 5000)], ids=str)
def test_scans_have_the_bits_of_verify_mode(cp, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    fused = ow.fuse(lambda x: np.cumsum(x, 0 if shape[0] == 50 else -1))
    program = fused.lower(cp.asarray(x))

    assert program(cp.asarray(x)).get().tobytes() == program.verify(x).tobytes()


def test_views_are_cupy_views(cp):
    x = cp.arange(96 * 160, dtype=cp.float32).reshape(96, 160)
    made = ow.fuse(lambda x: (x * 2).T)(x)

    assert made.flags.f_contiguous
    cp.testing.assert_array_equal((x * 2).T, made)
    cp.testing.assert_array_equal(x.T.copy(), ow.fuse(lambda x: x.T.copy())(x))


@pytest.mark.parametrize("case", test_indexing.CASES, ids=lambda c: c[0])
def test_an_index_is_a_view_on_the_gpu_too(case, cp):
    x, cube = cp.asarray(test_indexing.X), cp.asarray(test_indexing.CUBE)

    assert ow.fuse(case[1]).check(x, cube).ok


@pytest.mark.parametrize("case", test_reshape.CASES, ids=lambda c: c[0])
def test_a_reshape_on_the_gpu(case, cp):
    assert ow.fuse(case[1]).check(cp.asarray(test_reshape.X)).ok


@pytest.mark.parametrize("axes", test_axes.SETS, ids=str)
def test_any_set_of_axes_on_the_gpu(axes, cp):
    x = cp.asarray(test_axes.X)

    assert ow.fuse(lambda x: x - x.max(axis=axes, keepdims=True)).check(x).ok
    assert ow.fuse(lambda x: x.var(axis=axes)).check(x).ok


@pytest.mark.parametrize("name", [
    "sort", "branch", "concatenate", "mask", "cumsum", "argmax", "roll", "loop", "float()",
    "argument in place", "linalg", "fft", "views",
])  # fmt: skip
def test_a_function_in_parts_on_the_gpu(name, cp):
    function = test_parts.CASES[name]
    expected, written = test_parts.called(function, test_parts.X)
    x = cp.asarray(test_parts.X)
    found = ow.fuse(function)(x)
    on_host = [v.get() if hasattr(v, "get") else v for v in test_parts.leaves(found)]

    for a, b in zip(on_host, test_parts.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(x.get(), written[0], rtol=2e-5)


def test_what_is_made_inside_lies_on_the_gpu(cp):
    x, outside = cp.arange(12, dtype=cp.float32).reshape(3, 4), cp.ones(4, cp.float32)
    fused = ow.fuse(lambda x: x * outside + cp.arange(4) + cp.zeros(x.shape) + cp.ones_like(x))

    cp.testing.assert_allclose(fused(x), x + cp.arange(4) + 1)
    with pytest.raises(e.ArgumentError, match="NumPy and CuPy arrays are mixed"):
        ow.fuse(lambda x: x * np.ones(4, np.float32))(x)


@pytest.mark.parametrize("name", test_gathers.CASES)
def test_places_are_those_of_the_host(cp, name):
    x = test_gathers.X
    found = ow.fuse(test_gathers.CASES[name], fullgraph=True)(cp.asarray(x))
    found = tuple(a.get() for a in (found if isinstance(found, tuple) else (found,)))

    test_gathers.same(found, test_gathers.CASES[name](x.copy()))


@pytest.mark.parametrize("places", [[0, 3, -1], np.array([2, 2])])
def test_indices_on_the_host_follow_the_arrays(cp, places):
    x = cp.arange(9, dtype=cp.float32)

    cp.testing.assert_array_equal(ow.fuse(lambda x: x[places] * 2)(x), x[places] * 2)


def on_gpu(cp, function, args, **options):
    """The results of a fused function of CuPy arrays, as NumPy's."""
    given = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    found = ow.fuse(function, **options)(*given)
    return tuple(cp.asnumpy(a) for a in (found if isinstance(found, tuple) else (found,)))


def like_numpy(found, expected, rtol):
    for a, b in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert (a.shape, a.dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    "cases", [test_reads.CASES, test_numerics.CASES], ids=["reads", "numerics"]
)
def test_small_functions_are_those_of_the_host(cp, cases):
    for row in cases.values():
        function, args = row[0], row[1] if isinstance(row[1], tuple) else row[1:]
        like_numpy(on_gpu(cp, function, args, fullgraph=True), function(*args), 1e-9)


@pytest.mark.parametrize("name", gallery.PROGRAMS)
def test_the_gallery_gives_numpys_answers(cp, name):
    program = gallery.PROGRAMS[name]
    args = program.arguments(gallery.SIZE)

    like_numpy(on_gpu(cp, program.function, args), program.function(*args), 2e-4)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "uint32"])
def test_narrow_integers_wrap_as_on_the_host(cp, dtype):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max, 999, dtype=dtype, endpoint=True)

    def function(x, y):
        return x * y, x - y, x // 3, x % 7, x << 3, x >> 1, x.sum(), x.max(), -y

    found, expected = on_gpu(cp, function, (x, x[::-1].copy())), function(x, x[::-1].copy())
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_place_that_there_is_not_wraps_as_in_cupy(cp):
    x, places = cp.arange(9, dtype=cp.float32), cp.asarray([0, 9, -10, 25])
    fused = ow.fuse(lambda x, i: x[i] * 2, fullgraph=True)

    cp.testing.assert_array_equal(fused(x, places), x[places % 9] * 2)
    with pytest.raises(e.BoundsError, match="out of bounds"):
        fused.check(x, places)


def test_products_of_any_layout(cp):
    rng = np.random.default_rng(0)
    x, w = (cp.asarray(rng.standard_normal(s).astype(np.float32)) for s in ((130, 70), (70, 90)))
    fused = ow.fuse(lambda x, w: x @ w + 1)
    for left in (x, cp.asfortranarray(x), cp.repeat(x, 2, axis=1)[:, ::2], x[::-1]):
        for right in (w, cp.asfortranarray(w), w[:, ::-1]):
            assert fused.check(left, right).ok


def test_a_regime_is_measured(cp):
    large, small = cp.ones((4096, 4096), cp.float32), cp.ones((8, 8), cp.float32)
    fused = ow.fuse(lambda x: x * 2 + 1)

    assert ow.regime(fused, large).name == "memory"
    assert ow.regime(fused, small).name == "overhead"
    assert ow.regime(fused, large).rates.source == "measured"


def test_out_of_memory_is_a_typed_error_and_nothing_else_is_lost(cp):
    fused = ow.fuse(lambda x: x + 1)
    total = cp.cuda.runtime.memGetInfo()[1]
    whole = cp.broadcast_to(cp.ones(1, cp.float32), (total // 4,))
    with pytest.raises(e.OutOfMemoryError, match=r"device 0 has no memory for an array f32\["):
        fused(whole)

    assert (fused(whole[:1000]) == 2).all()


def test_memory_that_the_pool_keeps_serves_a_result(cp):
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    free = cp.cuda.runtime.memGetInfo()[0]
    kept = [cp.empty(free // 16, cp.uint8) for _ in range(14)]
    del kept  # blocks that are too small for the result

    made = ow.fuse(lambda x: x + 1)(cp.broadcast_to(cp.ones(1, cp.uint8), (free // 2,)))
    assert (made[::1_000_003] == 2).all()


# A fault ends the use of the device by its process, so each has one of its own.
FAULTS = {
    "a kernel of others": "cp.RawKernel('extern \"C\" __global__ void k(int* p) { *p = 1; }', 'k')"
    "((1,), (1,), (cp.uint64(8),))",
    "a kernel of ours": "f(cp.lib.stride_tricks.as_strided(x, (1 << 20,), (1 << 22,)))",
}
AFTER = """
import cupy as cp, opweave as ow
f, x = ow.fuse(lambda x: x + 1), cp.ones(1 << 20, cp.float32)
f(x)
try:
    {fault}
    cp.cuda.Device().synchronize()
except Exception as error:
    print("found", "llegal" in str(error))
for _ in range(2):
    try:
        f(x)
    except ow.errors.LaunchError as error:
        print("restart the process" in str(error), "kernel_map_f32" in str(error))
import os
os._exit(0)
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_that_is_final_nothing_is_launched(fault):
    code = AFTER.format(fault=FAULTS[fault])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)

    assert ran.stdout == "found True\nTrue True\nTrue True\n", ran.stderr


FORKED = """
import multiprocessing, os, cupy as cp, opweave as ow
f = ow.fuse(lambda x: x + 1)
def work():
    print("spawn", float(f(cp.ones(3, cp.float32)).sum()), flush=True)
if __name__ == "__main__":
    x = cp.ones(3, cp.float32)
    f(x)
    child = os.fork()
    if child == 0:
        try:
            f(x)
        except ow.errors.NoDeviceError as error:
            print("fork", "get_context('spawn')" in str(error), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
"""


def test_a_forked_child_is_told_to_be_spawned(tmp_path):
    (tmp_path / "program.py").write_text(FORKED)
    command = [sys.executable, str(tmp_path / "program.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert ran.stdout == "fork True\nspawn 6.0\n", ran.stderr


def _network(depth, size):
    g = ow.Graph("network")
    rng = np.random.default_rng(depth)
    h = g.host_to_device("x", (size, size))
    arrays = {"x": rng.standard_normal((size, size), np.float32)}
    for n in range(depth):
        w, b = g.host_to_device(f"w{n}", (size, size)), g.host_to_device(f"b{n}", size)
        arrays[f"w{n}"] = rng.standard_normal((size, size), np.float32) / np.float32(size**0.5)
        arrays[f"b{n}"] = rng.standard_normal(size, np.float32)
        h = g.relu(g.linear(h, w, b))
    g.device_to_host(g.softmax(h), name="y")
    return g, arrays


@pytest.mark.parametrize("size", [4, 33, 256])
@pytest.mark.parametrize("options", [{}, {"fused": False}, {"staging": False}, {"cached": False}])
@pytest.mark.parametrize("mode", ["immediate", "graph", "replay"])
def test_a_graph_gives_the_same_in_every_mode(mode, options, size):
    graph, arrays = _network(5, size)
    expected = graph.runner(device="host")(**arrays)
    run = graph.runner(mode, device="cuda", **options)

    np.testing.assert_allclose(run(**arrays), expected, rtol=1e-3, atol=1e-6)
    other = arrays["x"] * 2
    found = [run(x=other).tobytes() for _ in range(20)]
    np.testing.assert_allclose(
        run(), graph.runner(device="host")(**arrays | {"x": other}), rtol=1e-3, atol=1e-6
    )
    assert len(set(found)) == 1


def test_replays_on_two_streams_do_not_disturb_each_other():
    import threading

    graph, arrays = _network(20, 128)
    runs = [graph.runner("replay", device="cuda") for _ in range(4)]
    expected = [run(**arrays | {"x": arrays["x"] * n}).copy() for n, run in enumerate(runs, 1)]
    wrong = []

    def call(number):
        for _ in range(200):
            if runs[number]().tobytes() != expected[number].tobytes():
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_that_come_again_are_replayed_and_those_that_move_are_not(cp):
    def function(x, s):
        return ow.softmax(x @ x * s, axis=None) @ x

    fused, plain = ow.fuse(function, replay=True), ow.fuse(function)
    arrays = [cp.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64) * n for n in (1, 2)]
    out = cp.empty((64, 64), np.float32)
    for turn in range(30):
        x, s = arrays[turn // 8 % 2], 1.0 + turn // 20
        x += 0.001  # other elements in the same place
        given = {"out": out} if turn % 3 else {}
        with cp.cuda.Stream(non_blocking=True) if turn % 5 == 4 else cp.cuda.Stream.null:
            cp.cuda.Device().synchronize()
            found = fused(x, s, **given)
            cp.cuda.get_current_stream().synchronize()
        assert found.get().tobytes() == plain(x, s).get().tobytes()


@pytest.mark.parametrize("n", [0, 1, 2, 70])
def test_a_step_is_repeated(n, cp):
    x = cp.linspace(-1, 1, 5000, dtype=np.float32)

    def step(x, a):
        return x * x * a + np.float32(0.1)

    expected = x
    for _ in range(n):
        expected = step(expected, 0.5)

    cp.testing.assert_allclose(ow.repeat(step, n)(x, 0.5), expected, rtol=1e-5)


@pytest.mark.parametrize("columns", [20, 1000, 20000])
@pytest.mark.parametrize("n", [1, 2, 70])
def test_a_step_of_rows_is_repeated(n, columns, cp):
    x = cp.linspace(-1, 1, 7 * columns, dtype=np.float32).reshape(7, columns)

    def step(x):
        return x / np.sqrt((x * x).sum(axis=1, keepdims=True)) + np.float32(0.1)

    fused, expected = ow.fuse(step), x
    for _ in range(n):
        expected = fused(expected)

    assert cp.array_equal(ow.repeat(step, n)(x), expected)


@pytest.mark.parametrize("size", [4, 30, 64, 100, 128])
@pytest.mark.parametrize("n", [1, 2, 300])
def test_a_step_of_one_product_is_repeated(n, size, cp):
    rng = np.random.default_rng(size)
    x, w = (cp.asarray(rng.standard_normal((size, size)).astype(np.float32)) for _ in range(2))

    def layer(x, w):
        return x * np.float32(0.5) + cp.tanh(x @ w)

    def attention(x, w):
        powers = cp.exp(x @ w - (x @ w).max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    for step in (layer, attention):
        fused, expected = ow.fuse(step), x
        for _ in range(n):
            expected = fused(expected, w)
        assert cp.array_equal(ow.repeat(step, n)(x, w), expected)


@pytest.mark.parametrize("n", [1, 2, 67, 500])
def test_steps_of_several_kernels_are_repeated_as_a_graph(n, cp):
    rng = np.random.default_rng(0)
    x, w = (cp.asarray(rng.standard_normal((64, 64)).astype(np.float32)) for _ in range(2))

    @ow.fuse
    def step(x, w):
        y = cp.tanh(x @ w)
        return y / cp.abs(y).max()

    repeated = ow.repeat(step, n)
    for _ in range(2):
        expected = x
        for _ in range(n):
            expected = step(expected, w)
        cp.cuda.Device().synchronize()
        with cp.cuda.Stream(non_blocking=True) as stream:
            found = repeated(x, w)
            stream.synchronize()
        assert cp.array_equal(found, expected)
        x = found  # elements and place are others the second time
