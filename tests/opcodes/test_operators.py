"""Every operator, every dtype: NumPy's types, special values, and bounds, on the host."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Kind
from tests.support.data import (
    DTYPES,
    FLOATS,
    applied,
    chunks,
    dtype_of,
    joined,
    maps,
    pairs,
    results_of,
    specials,
    values,
)

REDUCTIONS = [r.name for r in OPERATORS.values() if r.kind is Kind.REDUCE]
pytestmark = pytest.mark.host


def skip_raising(rows, name):
    """NumPy raises on negative integer powers; what we give instead is documented elsewhere."""
    return [r for r in rows if not (r.name == "power" and dtypes.of(name).kind == "i")]


def without_zero(name, x):
    """NumPy leaves the reciprocal of integer zero undefined."""
    return x[x != 0] if dtypes.of(name).kind in "iu" else x


def agrees(fused, *operands):
    report = fused.check(*operands)

    assert report.ok
    return report


@pytest.mark.parametrize("name", DTYPES)
def test_unary_operators_agree_with_numpy_on_special_values(name):
    for rows in chunks(maps(1, name)):
        agrees(ow.fuse(applied(rows)), without_zero(name, values(name, 300)))


@pytest.mark.parametrize("name", DTYPES)
def test_binary_operators_agree_with_numpy_on_all_pairs_of_special_values(name):
    for rows in chunks(skip_raising(maps(2, name, name), name)):
        agrees(ow.fuse(applied(rows)), *pairs(name))


@pytest.mark.parametrize("name", DTYPES)
def test_fused_operators_return_numpys_dtypes(name):
    rows = maps(1, name)
    x = values(name, 40)
    expected = []
    for row in rows:
        with np.errstate(all="ignore"):
            made = row.numpy(x)
        expected += [np.asarray(m).dtype for m in (made if results_of(row) > 1 else (made,))]

    found = [o.dtype for chunk in chunks(rows) for o in ow.fuse(applied(chunk))(x)]

    assert expected == found


@pytest.mark.parametrize("source", DTYPES)
def test_casts_agree_with_numpy(source):
    moderate = values(source, 200)[len(specials(source)) :]
    if dtypes.of(source).is_float:
        moderate = np.abs(moderate)
    if dtypes.of(source).is_complex:
        moderate = joined(np.abs(moderate.real), moderate.imag, source)
    targets = [d for d in DTYPES if d != source]
    cast = ow.fuse(lambda x: tuple(x.astype(t) for t in map(dtype_of, targets)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # kernels warn of nothing
        expected = [moderate.astype(dtype_of(target)) for target in targets]

    for target, want, made in zip(targets, expected, cast(moderate), strict=True):
        np.testing.assert_array_equal(want, made, err_msg=target)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_casts_to_16_bits_round_to_nearest_even(name):
    x = np.concatenate([np.random.default_rng(0).standard_normal(5000), np.array([
        65519.0, 65520.0, 1 + 2**-11, 1 + 3 * 2**-11, 2**-25, 3 * 2**-26, 2**-24, np.inf, np.nan,
    ])])  # fmt: skip
    cast = ow.fuse(lambda x: x.astype(dtype_of(name)))

    for source in (np.float32, np.float64):
        wide = x.astype(source)
        with np.errstate(over="ignore"):
            expected = wide.astype(dtype_of(name))
        np.testing.assert_array_equal(expected.astype(np.float32), cast(wide).astype(np.float32))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_agree_with_numpy(name, axis):
    x = values(name, 7 * 130, seed=3).reshape(7, 130)[:, 40:]
    x = np.ascontiguousarray(x)
    if dtypes.of(name).kind in "fc":
        x = np.where(np.isfinite(x), x, np.asarray(1, x.dtype)).astype(x.dtype) / x.dtype.type(8)
    rows = [OPERATORS[r] for r in REDUCTIONS]
    fused = ow.fuse(lambda x: tuple(r(x, axis=axis) for r in rows))
    agrees(fused, x)

    for row, made in zip(rows, fused(x), strict=True):
        assert np.asarray(row.numpy(x, axis=axis)).dtype == made.dtype or name == "bfloat16"


@pytest.mark.parametrize("row", REDUCTIONS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_reductions_carry_special_values_as_numpy_does(row, bad):
    x = np.ones((3, 70), np.float32)
    x[1, 33] = bad
    fused = ow.fuse(lambda x: OPERATORS[row](x, axis=1))

    np.testing.assert_array_equal(OPERATORS[row].numpy(x, axis=1), fused(x))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("composite", ["mean", "var", "std", "sigmoid", "gelu", "silu", "softmax",
                                       "log_softmax"])  # fmt: skip
def test_composites_agree_with_numpy(name, composite):
    x = (np.random.default_rng(1).standard_normal((5, 77)) * 2).astype(dtype_of(name))
    operator = OPERATORS[composite]
    attrs = {"axis": -1} if "axis" in dict(operator.attrs) else {}
    report = agrees(ow.fuse(lambda x: operator(x, **attrs)), x)

    assert report.rows[0].undecided == 0


def test_a_number_times_a_power_of_two():
    x, n = np.array([0.75, -3.0, np.inf], np.float32), np.array([3, -140, 2], np.int32)

    np.testing.assert_array_equal(np.ldexp(x, n), ow.fuse(np.ldexp)(x, n))


def test_integer_power_with_a_negative_exponent_is_the_truncated_reciprocal():
    x = np.array([1, -1, -1, 2, 0, -3])
    y = np.array([-5, -2, -3, -1, -2, -1])

    np.testing.assert_array_equal([1, 1, -1, 0, 0, 0], ow.fuse(lambda x, y: x**y)(x, y))


def test_integer_division_by_zero_is_zero_as_in_numpy():
    x = np.array([5, -5, 0, -(2**31)], np.int32)
    y = np.array([0, 0, 0, -1], np.int32)
    with np.errstate(all="ignore"):
        expected = (x // y, x % y)

    for want, made in zip(expected, ow.fuse(lambda x, y: (x // y, x % y))(x, y), strict=True):
        np.testing.assert_array_equal(want, made)


def test_signed_and_unsigned_64_bit_compare_by_value():
    x = np.array([-1, 0, 1, 2**62], np.int64)
    y = np.array([2**64 - 1, 0, 2, 2**62], np.uint64)
    made = ow.fuse(lambda x, y: (x < y, x >= y, x == y, y > x))(x, y)

    for want, got in zip((x < y, x >= y, x == y, y > x), made, strict=True):
        np.testing.assert_array_equal(want, got)
