"""Scans: cumsum and its kin, and ``accumulate`` of ufuncs: types, values, bounds, refusals."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.accumulation import ScanPlan
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes import errors as e
from opweave.opcodes.core import Kind
from tests.support.data import DTYPES, FLOATS, dtype_of, like_numpy, values

host = pytest.mark.host
SCANS = [r.name for r in OPERATORS.values() if r.kind is Kind.SCAN]
EXACT = ["cummax", "cummin", "cumany", "cumall"]


def array(*shape, dtype=np.float32, seed=5):
    rng = np.random.default_rng([seed, *shape])
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-9 if np.dtype(dtype).kind == "i" else 0, 9, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


# NumPy's functions


FUNCTIONS = {
    "cumsum": lambda x: np.cumsum(x),
    "cumsum of columns": lambda x: np.cumsum(x, axis=0),
    "cumsum of rows": lambda x: np.cumsum(x, axis=-1),
    "cumsum, method": lambda x: x.cumsum(1),
    "cumsum, dtype": lambda x: np.cumsum(x, axis=1, dtype=np.float64),
    "cumprod": lambda x: np.cumprod(x * 0.5 + 1, axis=0),
    "cumprod, method": lambda x: (x + 1).cumprod(axis=1, dtype=np.float64),
    "nancumsum": lambda x: np.nancumsum(np.where(x > 1, np.nan, x), axis=1),
    "nancumprod": lambda x: np.nancumprod(np.where(x > 1, np.nan, x), 0),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=0),
    "add.accumulate": lambda x: np.add.accumulate(x),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, 1),
    "minimum.accumulate": lambda x: np.minimum.accumulate(x),
    "logical_or.accumulate": lambda x: np.logical_or.accumulate(x > 2, axis=1),
    "logical_and.accumulate": lambda x: np.logical_and.accumulate(x < 2),
    "of a transposed array": lambda x: np.cumsum(x.T, axis=0),
    "of a slice": lambda x: np.cumsum(x[::-2, 3:], axis=1),
    "of a scan along another axis": lambda x: x.cumsum(0).cumsum(1),
    "of a broadcast": lambda x: np.cumsum(np.broadcast_to(x[0], x.shape), axis=0),
    "with out=": lambda x: np.cumsum(x, axis=1, out=np.zeros_like(x)),
    "with out= of a ufunc": lambda x: np.add.accumulate(x, out=np.zeros_like(x)),
    "undone by diff": lambda x: np.diff(np.cumsum(x, axis=1), axis=1),
    "of places": lambda x: x * np.cumsum(np.arange(x.shape[1])),
    "of rolled columns": lambda x: np.roll(x, 3, axis=1).cumsum(axis=0),
    "of rows at places": lambda x: x[[3, 0, -1, 3]].cumsum(axis=0) * 2,
    "of elements at places": lambda x: np.cumsum(x[:, [3, 0, -1, 3]], axis=1),
    "of columns in an order": lambda x: np.take_along_axis(x, x.astype(int) % 9, 0).cumsum(0),
    "beside places": lambda x: x.cumsum(0) * np.arange(9)[:, None] + np.arange(43) * x.cumsum(0),
    "from a row of weights": lambda x: np.cumsum(x * x[0], axis=0) + x[:, :1],
}


@host
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_numpys(name, target):
    like_numpy(FUNCTIONS[name], array(9, 43), target=target)


@host
@pytest.mark.parametrize("name", ["nancumsum", "nancumprod", "cumsum", "cumprod"])
def test_a_function_of_integers_widens_them_as_numpy_does(name):
    for dtype in ("int8", "uint8", "int32", "bool"):
        like_numpy(lambda x: getattr(np, name)(x), array(31) > 0 if dtype == "bool"
                   else array(31, dtype=dtype), target="host")  # fmt: skip


REALS = [name for name in DTYPES if not dtypes.of(name).is_complex]


@host
@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_every_scan_of_every_type_keeps_its_bound(dtype, axis, target):
    x = values(dtype, 7 * 150, seed=3).reshape(7, 150)[:, 40:]
    if dtypes.of(dtype).is_float:
        x = np.where(np.isfinite(x), x, np.asarray(1, x.dtype)).astype(x.dtype)
    rows = [OPERATORS[name] for name in SCANS]
    fused = ow.fuse(lambda x: tuple(row(x, axis=axis) for row in rows))
    made = fused.lower(x, target=target)(x)

    assert fused.check(x, target=target).ok
    assert len(fused.lower(x, target=target).kernels) == 1
    for row, found in zip(rows, made, strict=True):
        with np.errstate(all="ignore"):
            expected = row.numpy(x, axis=axis)
        assert found.dtype == expected.dtype
        if row.name in EXACT or not dtypes.of(found.dtype).is_float:
            np.testing.assert_array_equal(expected, found)


@host
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("function", [
    lambda z: np.cumsum(z * 2, axis=1) + 1, lambda z: z.cumsum(), lambda z: np.add.accumulate(z),
    lambda z: np.cumsum(z, axis=0, out=np.zeros_like(z)),
    lambda z: z.cumsum(1, dtype=np.complex128), lambda z: z.real.cumsum(0, dtype=np.complex64),
])  # fmt: skip
def test_running_sums_of_complex_numbers_are_those_of_their_parts(function, dtype):
    z = (array(4, 10) + 1j * array(10, 4).T).astype(dtype)
    fused = ow.fuse(function, fullgraph=True)

    np.testing.assert_array_equal(fused(z), function(z), strict=True)
    assert fused.check(z).ok


@host
def test_running_products_of_complex_numbers_run_in_parts():
    z = (array(4, 10) + 1j * array(4, 10)).astype(np.complex64)
    fused = ow.fuse(lambda z: np.cumprod(z * 2, axis=1) + 1)

    np.testing.assert_array_equal(fused(z), fused.__wrapped__(z))
    with pytest.raises(e.DTypeError, match="cumprod: no running values of complex64"):
        ow.fuse(fused.__wrapped__, fullgraph=True)(z)


@host
@pytest.mark.parametrize("asked", ["float16", "float32", "int8", "uint16", "bool", "float64"])
def test_dtype_is_what_numpy_adds_in(asked):
    x = np.abs(array(5, 60)) + 1
    fused = ow.fuse(lambda x: np.cumsum(x, axis=1, dtype=asked))

    assert fused(x).dtype == asked
    assert fused.check(x).ok


@host
def test_integers_wrap_as_numpys():
    x = np.full((3, 700), 2**62 - 7, np.int64)
    small = np.full(700, 100, np.int8)

    for target in ("host", "sm_80"):
        made = ow.fuse(lambda x: x.cumsum(1)).lower(x, target=target)(x)
        np.testing.assert_array_equal(x.cumsum(1), made)
        narrow = ow.fuse(lambda x: x.cumsum(dtype=np.int8)).lower(small, target=target)(small)
        np.testing.assert_array_equal(small.cumsum(dtype=np.int8), narrow)


# Bounds


@host
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_bound_grows_along_the_row(dtype):
    x = np.ones((1, 5000), dtype_of(dtype)) / dtype_of(dtype).type(64)
    (bound,) = ow.bounds.derive(ow.fuse(lambda x: np.cumsum(x, 1)), x)
    error = bound.error[0]

    assert error[0] <= error[100] < error[4999]
    assert np.all(np.diff(error) >= -1e-12 * error[1:]) or dtypes.of(dtype).round
    assert np.isfinite(error).all()


def test_the_depth_of_a_plan_counts_the_roundings_of_an_element():
    assert [ScanPlan(1, 64).depth(n) for n in (1, 2, 100)] == [1, 2, 100]
    warp, block = ScanPlan(32, 4), ScanPlan(256, 4)
    assert [warp.depth(n) for n in (1, 128, 129)] == [3 + 5 + 1 + 1, 3 + 5 + 1 + 1, 3 + 5 + 2 + 1]
    assert [block.depth(n) for n in (1024, 1025)] == [3 + 5 + 8 + 1, 3 + 5 + 16 + 1]
    parts, row = ScanPlan(256, 4, 32), 32 * 3 * 1024  # three tiles a part
    own, total = 3 + 5 + 3 * 8 + 1, 3 + 2 + 5 + 7
    near = total + 5 + 7 + 1  # a part's total, among those of the parts before it in a group
    assert [parts.depth(n, row) for n in (1, 3072, 3073)] == [own, own, own + near]
    assert parts.depth(row, row) == own + near
    many, row = ScanPlan(256, 4, 1024, held=True), 1024 * 1024  # of a tile each, in four groups
    own, near = 3 + 5 + 8 + 1, 1 + 2 + 5 + 7 + 5 + 7 + 1
    assert many.depth(256 * 1024, row) == own + near
    assert many.depth(256 * 1024 + 1, row) == own + near + 1 + 5 + 7 + 1


@host
def test_a_wrong_sum_is_outside_of_its_bound():
    x = np.abs(array(2, 600))
    program = ow.fuse(lambda x: np.cumsum(x, 1)).lower(x, target="sm_80")
    source = program.source.replace("return x + y;", "return y;")

    assert source != program.source
    with pytest.raises(e.CheckError):
        program.compile(source=source).check(x)


# Refusals


X = array(3, 4)
REFUSED = [
    (lambda x: np.cumsum(x, axis=2), e.ShapeError, "axis 2 does not exist"),
    (lambda x: np.cumsum(x, axis=(0, 1)), e.IntegerError, "axis must be an integer"),
    (lambda x: np.add.accumulate(x, axis=None), e.IntegerError, "axis must be an integer"),
    (lambda x: np.cumulative_sum(x), e.ShapeError, "expected an axis"),
    (lambda x: np.cumulative_sum(x, axis=0, include_initial=True), e.UnsupportedError, "first"),
    (lambda x: np.maximum.accumulate(x, dtype=int), e.UnsupportedError, "dtype="),
    (lambda x: np.subtract.accumulate(x), e.UnsupportedError, "np.subtract.accumulate"),
    (
        lambda x: np.cumsum(x, 0, out=np.zeros(x.shape)),
        e.UnsupportedError,
        "out= of float64 for a result of float32",
    ),
    (lambda x: np.cumsum(x, 0, out=x.T), e.ShapeError, "cannot store"),
    (lambda x: OPERATORS["cumsum"](x, axis=None), e.ShapeError, "along one axis"),
    (lambda x: OPERATORS["cumsum"](x, axis=(0,)), e.ShapeError, "along one axis"),
    (lambda x: np.cumprod(x, 0, dtype="complex64"), e.DTypeError, "complex64"),
]


@pytest.mark.parametrize(("function", "error", "text"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_says_so(function, error, text):
    with pytest.raises(error, match=text) as found:
        ow.fuse(function).lower(X, target="sm_80")

    assert "test_scan_functions.py" in str(found.value)


@host
@pytest.mark.parametrize("function", [
    lambda x: np.subtract.accumulate(x) * 2, lambda x: np.cumulative_sum(x, axis=0, include_initial=True) + 1,
    lambda x: np.cumsum(x * 2, 0, out=np.zeros(x.shape)) + x,
])  # fmt: skip
def test_what_is_refused_runs_in_parts(function):
    np.testing.assert_allclose(function(X), ow.fuse(function)(X), rtol=1e-6)


@host
def test_an_op_code_list_may_scan():
    k = ow.kernel([ow.load("x"), ow.opcodes.cumsum(axis=1), ow.opcodes.multiply(2.0), ow.store()])

    np.testing.assert_allclose(np.cumsum(X, 1) * 2, k(X), rtol=1e-6)
    k = k.insert(ow.opcodes.negative, before="store")
    np.testing.assert_allclose(-np.cumsum(X, 1) * 2, k(X), rtol=1e-6)


@host
def test_a_kernel_with_a_scan_takes_another_op_code():
    kernel = ow.fuse(lambda x: np.cumsum(x * 2, 1)).lower(X).kernels[0]
    made = kernel.insert(ow.opcodes.clip(0, 1), before="cumsum")

    np.testing.assert_allclose(np.cumsum(np.clip(X * 2, 0, 1), 1), made(X), rtol=1e-6)
    with pytest.raises(e.EditError, match="only elementwise"):
        kernel.replace("cumsum", ow.opcodes.exp)
