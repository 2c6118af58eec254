"""What reads at computed places, as one kernel each: places, dtypes, extents, bits."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import dtypes
from opweave.opcodes import errors as e

LIBRARY_IN_PARTS = True
RNG = np.random.default_rng(20261122)
X = RNG.standard_normal((9, 40)).astype(np.float32)
V = X[0].copy()
I = np.array([3, 1, -2, 0])
J = np.array([0, 39, 4, -40])


def corners(x):
    return x[I, J], x[I, 2], x[1, J], x[I[:, None], J], x[..., J][I]


def apart(x):
    cube = np.stack([x, x + 1, x * 2])
    return cube[[0, 2], :, [1, 5]], cube[:, I, 3], cube[None, :, I][0, ..., ::2]


def rolled(x):
    return np.roll(x, 1, 0), np.roll(x, -43, 1), np.roll(x, (2, -3), (0, 1)), np.roll(x, 7)


def joined(x):
    return np.concatenate([x, x * 2, x[1:3]]), np.concatenate((x, x[:, :3], -x), axis=1)


def stacked(x):
    rows = np.vstack([x[0], x]), np.hstack([x, x[:, 1:]]), np.column_stack([x[:, 0], x])
    return np.stack([x, -x]), np.stack([x, -x, x + 1], axis=-1), np.hstack([x[0], x[1]]), *rows


def padded(x):
    modes = [np.pad(x, 11, mode=mode) for mode in ("edge", "reflect", "symmetric", "wrap")]
    return np.pad(x, 1), np.pad(x, ((1, 2), (0, 3)), constant_values=4.5), *modes


def repeated(x):
    tiles = np.tile(x, (2, 3)), np.tile(x, 2), np.tile(x, (2, 1, 1))
    return np.repeat(x, 2, axis=1), np.repeat(x, 3), x.repeat(4, axis=0), *tiles


def taken(x):
    places = np.array([9, -9, 100])
    return (
        np.take(x, [1, 2], axis=1), np.take(x, I), x.take(places, mode="clip", axis=0),
        np.take(x, places, mode="wrap", axis=1), x.take((x > 0).astype(int)),
    )  # fmt: skip


def along(x):
    best = np.argmax(x, axis=1, keepdims=True)
    return np.take_along_axis(x, best, axis=1), np.take_along_axis(x, best - 1, 1)


def arguments_of(x):
    found = x.argmax(axis=1), np.argmin(x, 0), np.argmax(x), np.argmin(x, axis=1, keepdims=True)
    lost = np.where(x > 1, np.nan, x)
    return *found, lost.argmax(axis=1), lost.argmin(axis=0), (x > 0).argmax(axis=1)


def triangles(x):
    return np.tril(x), np.triu(x, 1), np.tril(x, -2), np.triu(x, -3)


def counted(x):
    n, m = x.shape
    ramp = np.arange(n)[:, None] * x + np.arange(m)
    ends = np.arange(2, n, 2), np.arange(m, 0, -3), np.arange(n, dtype=np.float32)
    return ramp, *ends, np.eye(n), np.eye(n, m, k=1, dtype=np.int32), np.identity(m) @ x.T


def softmax_of_picked(x):
    return ow.softmax(x[I]) + x[I, :1]


def embedded(x):
    return ow.relu(x[(np.abs(x[:, 0]) * 3).astype(np.int64) % 9] * 2).sum(axis=1)


def shifted_rows(x):
    y = x * 1
    y[1:] = x[:-1]
    return y


def boundaries(x):
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
    y[0] = 3
    y[:, -1] += 1
    y[::2, 1] *= 2
    y[y > 2] = 0
    y[::-2] = x[::2]
    y[2, 3] = 7.5
    y[..., 5] = x[:, :1].sum()
    y[3:3] = 9
    return y


def through_names(x):
    y = x * 1
    part, other = y[1:], y
    y[:-1] = part  # overlapping
    part += 1
    other[0, 0] = 5
    inner = part[2:, ::3]
    inner *= 2
    return y, part, inner, other


def casts(x):
    y = (x * 10).astype(np.int32)
    y[:, :2] = 2.7
    y[...] = y + 1
    y[2:4] = np.array([[1], [2]])
    y[5] = x[5]
    return y


def whole_anew(x):
    y = np.empty(x.shape, x.dtype)
    y[:] = x[::-1]
    z = np.empty_like(x)
    z[...] = 3
    return y, z, y[2:]


def rows_of_joined(x):
    """A row that reads one array in two windows, and holds both."""
    twice, turned = np.concatenate([x, x], axis=1), np.roll(x, 3, axis=1)
    return twice - twice.max(axis=1, keepdims=True), ow.softmax(turned)


CASES = {f.__name__: f for f in (
    corners, apart, rolled, joined, stacked, padded, repeated, taken, along, arguments_of,
    triangles, counted, softmax_of_picked, embedded, shifted_rows, boundaries, through_names,
    casts, whole_anew, rows_of_joined,
)}  # fmt: skip
LAYOUTS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "negative": lambda x: x[::-1, ::-1],
    "sliced": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
}


def same(found, expected):
    found, expected = (r if isinstance(r, tuple) else (r,) for r in (found, expected))
    for a, b in zip(found, expected, strict=True):
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=3e-6)


@pytest.mark.host
@pytest.mark.parametrize(("name", "layout"), [
    (name, layout) for n, name in enumerate(CASES) for m, layout in enumerate(LAYOUTS)
    if layout == "C" or n % 3 == m - 1
])  # fmt: skip
def test_places_are_those_of_numpy(name, layout):
    x = LAYOUTS[layout](X)
    given = x.copy()

    same(ow.fuse(CASES[name], fullgraph=True)(x), CASES[name](given))
    np.testing.assert_array_equal(x, given)


@pytest.mark.host
@pytest.mark.parametrize("name", CASES)
def test_a_gpus_kernels_read_the_same_places(name):
    program = ow.fuse(CASES[name], fullgraph=True).lower(X, target="sm_80")
    same(program.verify(X, schedule=1), CASES[name](X.copy()))


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", ["rolled", "padded", "softmax_of_picked", "boundaries", "taken"])
def test_a_gpus_compiler_takes_them_and_keeps_windows_in_registers(name):
    for target in ("sm_75", "sm_80", "sm_90a"):
        for kernel in ow.fuse(CASES[name], fullgraph=True).lower(X, target=target).kernels:
            assert kernel.spill_bytes == 0


@pytest.mark.host
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_nothing_is_missing_where_nothing_is_taken(mode):
    empty = ow.fuse(lambda x, i: np.take(x, i, axis=1, mode=mode), fullgraph=True)

    assert empty(np.ones((2, 0, 0)), np.array([5, -7])).shape == (2, 2, 0)
    assert empty(np.ones((2, 3, 0)), np.array([5, -7])).shape == (2, 2, 0)
    assert empty(np.ones((0, 3, 2)), np.array([5, -7])).shape == (0, 2, 2)
    assert empty(np.ones((2, 0, 3)), np.array([], int)).shape == (2, 0, 3)
    with pytest.raises(IndexError):
        empty(np.ones((2, 0, 3)), np.array([5]))
    with pytest.raises((IndexError, TypeError)):
        ow.fuse(lambda x, i: np.take(x, i, axis=1, mode=mode))(np.ones((2, 3, 0)), np.ones(1))


@pytest.mark.host
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0,), (2, 0, 3), (0, 2, 3), (2, 3, 0)])
@pytest.mark.parametrize("given", ["a list", "an array"])
def test_take_checks_the_indices_that_numpy_does(shape, given):
    x = np.ones(shape)
    for axis in range(len(shape)):
        for places in ([0], [5], [1, -1]):

            def plain(x, i, axis=axis):
                return np.take(x, list(i) if isinstance(i, tuple) else i, axis=axis)

            static = "i" if given == "a list" else ()
            fused = ow.fuse(plain, fullgraph=True, static_argnames=static)
            i = tuple(places) if given == "a list" else np.array(places)
            try:
                expected = plain(x, i).shape
            except IndexError:
                with pytest.raises(IndexError):
                    fused(x, i)
            else:
                assert fused(x, i).shape == expected


@pytest.mark.host
@pytest.mark.parametrize("name", [
    "corners", "rolled", "joined", "along", "counted", "softmax_of_picked", "shifted_rows", "casts",
])  # fmt: skip
def test_fused_is_bit_for_bit_unfused_and_within_its_bounds(name):
    fused = ow.fuse(CASES[name], fullgraph=True)
    found, apart = fused(X), fused.unfused()(X)
    pairs = zip(found, apart, strict=True) if isinstance(found, tuple) else [(found, apart)]

    assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)
    assert fused.check(X).ok


@pytest.mark.host
@pytest.mark.parametrize("dtype", [d.numpy_name for d in dtypes.ALL])
def test_every_dtype_moves(dtype):
    def function(x):
        y = x.copy()
        y[1:] = x[:-1]
        return x[I], np.roll(x, 1, 1), np.concatenate([x, x]), np.pad(x, 1), np.tril(x), y

    x = (np.abs(X) * 3).astype(dtypes.of(dtype).numpy)
    for a, b in zip(ow.fuse(function, fullgraph=True)(x), function(x), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64"])
def test_every_integer_is_an_index(dtype):
    places = np.array([0, 8, 3], dtype)

    np.testing.assert_array_equal(ow.fuse(lambda x, i: x[i], fullgraph=True)(X, places), X[places])


def chosen(x, i):
    return x[i] * 2


@pytest.mark.host
@pytest.mark.parametrize(("function", "places", "found"), [
    (chosen, [0, 9], "index 9 is out of bounds for an axis of 9 elements"),
    (chosen, [0, -10, 3], "index -10 is out of bounds"),
    (lambda x, i: ow.softmax(x[i]), [2**40], "index 1099511627776 is out"),
    (lambda x, i: x[:, i].sum(), [40] * 3, "index 40 is out of bounds for an axis of 40"),
    (lambda x, i: x.reshape(-1)[i].max(), [-361], "index -361 is out of bounds"),
    (lambda x, i: np.take_along_axis(x, i[:, None], 1), [40] * 9, "index 40"),
])  # fmt: skip
def test_a_place_that_there_is_not_is_refused(function, places, found):
    fused = ow.fuse(function, fullgraph=True)
    good = np.zeros(len(places), np.int64)
    expected = function(X, good)

    same(fused(X, good), expected)
    with pytest.raises(e.BoundsError, match=found) as caught:
        fused(X, np.array(places))
    assert "test_gathers.py:" in str(caught.value)
    assert isinstance(caught.value, IndexError)
    same(fused(X, good), expected)  # nothing is left of it
    with pytest.raises(IndexError):
        function(X, np.array(places))


@pytest.mark.host
def test_a_place_beyond_the_end_of_a_chunk_is_no_place():
    """Lanes that no element has compute places, too."""
    fused = ow.fuse(lambda x, i: x[i - 5], fullgraph=True)
    places = np.full(3, 5)

    np.testing.assert_array_equal(fused(V[:1], places), V[:1][places - 5])


@pytest.mark.host
def test_a_gpu_wraps_as_cupy_does_and_the_judge_says_so():
    program = ow.fuse(chosen, fullgraph=True).lower(X, I, target="sm_80")

    with pytest.raises(e.BoundsError, match="index 9"):
        program.verify(X, np.array([0, 9, 1, 2]))
    assert not ow.sanitize(ow.fuse(chosen, fullgraph=True), X, I).findings


@pytest.mark.host
@pytest.mark.parametrize("shape", [(0, 40), (9, 0), (0, 0), (1, 40), (9, 1), (1, 1)])
def test_empty_and_single_extents(shape):
    def function(x):
        y = x + 1
        y[1:] = 0
        some = np.zeros(0, np.int64)
        return (
            np.roll(x, 3, 0), np.roll(x, 3, 1), np.concatenate([x, x], 1), np.pad(x, 2), y, x[some],
            np.tile(x, (2, 2)), np.repeat(x, 2, 0), np.tril(x), np.stack([x, x], 1), x[:, some],
        )  # fmt: skip

    x = np.ones(shape, np.float32)
    same(ow.fuse(function, fullgraph=True)(x), function(x))


@pytest.mark.host
def test_shapes_share_a_compilation():
    def function(x):
        y = np.roll(x, 1, 0)
        y[1:-1] = x[2:]
        return np.concatenate([y, x])[np.arange(x.shape[0])]

    fused = ow.fuse(function, fullgraph=True)
    for _ in range(40):
        x = X[: RNG.integers(4, 10), : RNG.integers(33, 41)].copy()
        same(fused(x), function(x))
    assert fused._specialised.traces == 1


@pytest.mark.host
@pytest.mark.parametrize(("function", "kernels"), [
    (lambda x: np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x, 1),
    (lambda x: ow.softmax(x[I]), 1),
    (lambda x: x.argmax(axis=1), 1),
    (lambda x: np.pad(x, 1) * 2, 1),
    (lambda x: np.concatenate([x, x]).sum(axis=1), 1),
    (lambda x: -np.take_along_axis(ow.log_softmax(x), x[:, :1].astype(np.int64) % 9, axis=1), 1),
    (shifted_rows, 1),
])  # fmt: skip
def test_neighbours_share_the_kernel(function, kernels):
    program = ow.fuse(function, fullgraph=True).lower(X, target="host")

    assert len(program.kernels) == kernels


# Behind and before what is read outside of a table, which is 0 there and nowhere else.
AROUND = {
    "padded": lambda x: np.pad(x - 1, 2) + 3,
    "convolved": lambda x: np.convolve(x[0] - 1, [1, 2, 5]) + 3,
    "rows": lambda x: np.pad(np.where(x > 0, 1, -1), ((1, 0), (0, 2))) + 3,
    "a short axis": lambda x: np.pad(x[:, :3] - 1, 1) + 3,
}


@pytest.mark.host
@pytest.mark.parametrize("name", AROUND)
def test_zeros_around_an_array_are_not_computed_with_it(name):
    function = AROUND[name]

    same(ow.fuse(function, fullgraph=True)(X), function(X))


# What is chosen around an array, and whether a gather has it already.
CHOSEN = {
    "zeros": (lambda x: np.pad(x, 2) * 2, False),
    "a filter": (lambda x: np.convolve(x[0], [1, 2, 5]), False),
    "ones": (lambda x: np.pad(x, 2, constant_values=1), True),
    "negative zeros": (lambda x: np.pad(x, 1, constant_values=-0.0), True),
    "of what is computed": (lambda x: np.pad(x - 1, 2) * 2, True),
}


@pytest.mark.host
@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_a_gather_has_the_zeros_around_its_table(name, target):
    function, chooses = CHOSEN[name]
    fused = ow.fuse(function, fullgraph=True)
    program = fused.lower(X, target=target)
    apart = fused.unfused().lower(X, target=target)

    assert any("where:" in k.source for k in program.kernels) == chooses
    assert program(X).tobytes() == apart(X).tobytes() == function(X).tobytes()


@pytest.mark.host
def test_a_run_of_places_is_a_window():
    source = ow.fuse(shifted_rows, fullgraph=True).lower(X, target="host").kernels[0].source

    assert "load_window" in source
    assert "read_at" not in source


@pytest.mark.host
@pytest.mark.parametrize("name", ["corners", "boundaries", "through_names", "casts", "counted"])
def test_in_parts_they_are_the_same(name):
    def function(x):
        return CASES[name](np.sort(x, axis=0) * 1)

    same(ow.fuse(function)(X), function(X))


def test_a_row_of_a_stack_reads_one_of_the_arrays():
    arrays = [RNG.standard_normal((7, 50)).astype(np.float32) for _ in range(9)]
    fused = ow.fuse(lambda *arrays: np.stack(arrays))
    (kernel,) = fused.lower(*arrays).kernels

    assert kernel.source.count("load_chunk(") == 1
    np.testing.assert_array_equal(fused(*arrays), np.stack(arrays))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.complex64, np.bool_, np.int16])
def test_a_stack_of_arrays_that_lie_differently_is_numpys(axis, dtype):
    arrays = [(RNG.standard_normal((6, 10)) * 3).astype(dtype) for _ in range(4)]
    functions = (
        lambda *x: np.stack(x, axis=axis),
        lambda *x: np.stack([x[0] | x[0] if dtype is np.bool_ else -x[0], *x], axis=axis),
        lambda *x: np.stack([a[::2, 1:] for a in x], axis=axis),
        lambda *x: np.stack([x[0].T, *(a.reshape(10, 6) for a in x)], axis=axis),
    )
    for function in functions:
        np.testing.assert_array_equal(ow.fuse(function)(*arrays), function(*arrays))
