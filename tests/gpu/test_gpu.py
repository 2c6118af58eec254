"""On a GPU: every variant, layout and executor rule, against the bound and against the host."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from opweave.opcodes.dtypes import of
from tests.compiler import test_reads
from tests.docs.test_gallery import gallery
from tests.kernels import test_gathers
from tests.numpy_api import test_axes, test_indexing, test_reshape
from tests.opcodes import test_numerics
from tests.parts import test_parts
from tests.support.called import called, leaves
from tests.support.variants import EVERY

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("variant", EVERY, ids=lambda v: v.name)
def test_the_variant_is_right_on_the_gpu(variant, cp):
    arguments = [cp.asarray(a) for a in variant.arguments()]

    assert ow.fuse(variant.function).check(*arguments).ok


@pytest.mark.parametrize("variant", EVERY, ids=lambda v: v.name)
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
    fused = ow.fuse(lambda x, w: ow.relu(x @ w)).with_toggles(USE_VENDOR=0)

    assert fused(x, w).get().tobytes() == fused.with_toggles(**toggles)(x, w).get().tobytes()


@pytest.mark.parametrize("shapes", [
    ((300, 260), (260, 516)), ((4, 300, 260), (260, 516)), ((3, 64, 256), (3, 256, 64)),
    ((1, 3000), (3000, 500)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_products_by_the_library_are_within_the_bound(dtype, shapes, cp):
    rng = np.random.default_rng(0)
    x, w = (cp.asarray(rng.standard_normal(s).astype(of(dtype).numpy)) for s in shapes)
    fused = ow.fuse(lambda x, w: (x * 2) @ w + 1).with_toggles(USE_VENDOR=1)

    assert any(k.data.template == "vendor" for k in fused.lower(x, w).kernels)
    assert fused.check(x, w).ok
    assert fused(x, w).get().tobytes() == fused.unfused()(x, w).get().tobytes()


def test_a_product_by_the_library_is_refused_in_a_capture(cp):
    x = cp.ones((600, 600), cp.float32)
    fused, stream = ow.fuse(lambda x: x @ x + 1), cp.cuda.Stream(non_blocking=True)
    with stream:
        fused(x)
        stream.begin_capture()
        try:
            with pytest.raises(e.LaunchError, match="USE_VENDOR=0"):
                fused(x)
        finally:
            stream.end_capture()


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
    expected, written = called(function, test_parts.X)
    x = cp.asarray(test_parts.X)
    found = ow.fuse(function)(x)
    on_host = [v.get() if hasattr(v, "get") else v for v in leaves(found)]

    for a, b in zip(on_host, leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(x.get(), written[0], rtol=2e-5)


def test_what_is_made_inside_lies_on_the_gpu(cp):
    x, outside = cp.arange(12, dtype=cp.float32).reshape(3, 4), cp.ones(4, cp.float32)
    fused = ow.fuse(lambda x: x * outside + cp.arange(4) + cp.zeros(x.shape) + cp.ones_like(x))

    cp.testing.assert_allclose(fused(x), x + cp.arange(4) + 1)
    with pytest.raises(e.ArgumentError, match="NumPy and CuPy arrays are mixed"):
        ow.fuse(lambda x: x * np.ones(4, np.float32))(x)


# What has an array of NumPy's for a value, which CuPy refuses, as we do.
OF_NUMPYS = "casts", "numbers"


@pytest.mark.parametrize("name", [n for n in test_gathers.CASES if n not in OF_NUMPYS])
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
    for name, row in cases.items():
        if name in OF_NUMPYS:
            continue
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
    # a launch by a slow processor may take 50 us, in which a device moves 200 MB
    large, small = cp.ones((16384, 16384), cp.float32), cp.ones((8, 8), cp.float32)
    fused = ow.fuse(lambda x: x * 2 + 1)

    assert ow.regime(fused, large).name == "memory"
    assert ow.regime(fused, small).name == "overhead"
    assert ow.regime(fused, large).rates.source == "measured"
