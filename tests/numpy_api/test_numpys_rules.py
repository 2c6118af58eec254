"""Rules of NumPy's that a small program once broke: reductions, names, numbers, dtypes."""

import math
import operator

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.data import hold, wide

X = np.arange(6, dtype=np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)
host = pytest.mark.host


@host
def test_static_values_that_compare_equal_are_told_apart():
    fused = ow.fuse(lambda x, n: x * n, static_argnames="n")
    x = np.arange(3)

    assert [fused(x, n).dtype for n in (1, 1.0, 1)] == [np.int64, np.float64, np.int64]
    nested = ow.fuse(lambda x, n: x * n[0], static_argnames="n")
    assert [nested(x, n).dtype for n in ((2,), (2.0,))] == [np.int64, np.float64]
    signed = ow.fuse(lambda x, s: x * math.copysign(1, s))
    np.testing.assert_array_equal([X, -X], [signed(X, 0.0), signed(X, -0.0)])


@host
def test_dtype_names_are_numpys():
    x = np.arange(300).astype("u1")

    assert ow.fuse(lambda x: x.astype("u8"))(x).dtype == np.uint64
    assert ow.fuse(lambda x: x.sum(dtype="u8"))(x) == x.sum(dtype="u8")


REDUCES = [
    (lambda x: np.maximum.reduce(x, where=x > 3), e.UnsupportedError),
    (lambda x: np.add.reduce(x, axis=0, out=x * 1), e.ShapeError),
    (lambda x: np.add.reduce(x, axis=()), e.UnsupportedError),
]


@host
@pytest.mark.parametrize("function", [
    lambda x: np.add.reduce(x, axis=0, initial=100),
    lambda x: np.maximum.reduce(x, initial=100.0, axis=None),
    lambda x: np.add.reduce(x, where=x > 3),
])  # fmt: skip
def test_reduce_takes_what_the_reductions_take(function):
    np.testing.assert_allclose(ow.fuse(function, fullgraph=True)(M), function(M))


@pytest.mark.parametrize(("function", "error"), REDUCES)
def test_what_reduce_does_not_know_is_refused(function, error):
    with pytest.raises(error):
        ow.fuse(function, fullgraph=True)(M)


@host
def test_reduce_goes_over_the_first_axis():
    np.testing.assert_array_equal(np.add.reduce(M), ow.fuse(lambda x: np.add.reduce(x))(M))


def grows(x):
    y = x.sum(axis=0)
    y += x
    return y


def grows_into(x):
    y = x.sum(axis=0)
    np.add(x, 1, out=y)
    return y


@pytest.mark.parametrize("function", [grows, grows_into])
def test_in_place_results_keep_their_shape(function):
    with pytest.raises(e.ShapeError, match="in place"):
        ow.fuse(function)(M)


@host
@pytest.mark.parametrize("function", [
    lambda x: (x + 1, x + 1), lambda x: (x * 2, +(x * 2)), lambda x: (+x, x.astype(x.dtype)),
    lambda x: (np.exp(x), np.exp(x) * 1),
])  # fmt: skip
def test_outputs_are_arrays_of_their_own(function):
    a, b = ow.fuse(function)(X)

    assert not np.shares_memory(a, b)
    assert not np.shares_memory(a, X)


@host
def test_rounding_integers_copies():
    x = np.arange(3)

    assert not np.shares_memory(ow.fuse(lambda x: np.round(x))(x), x)


def test_negative_powers_of_integers_are_refused():
    with pytest.raises(e.DTypeError, match="negative integer power"):
        ow.fuse(lambda x: x**-1, fullgraph=True)(np.arange(3))


@host
def test_isinstance_sees_the_type_of_a_scalar():
    fused = ow.fuse(lambda x, s: x * 2 if isinstance(s, float) else x)

    np.testing.assert_array_equal(X * 2, fused(X, 5.0))
    np.testing.assert_array_equal(X, fused(X, 5))


@host
def test_python_operators_on_scalars():
    fused = ow.fuse(lambda x, n: x + (n & 6) + (n << 1) + divmod(n, 4)[1] + {5: 10}[n])

    np.testing.assert_array_equal(X + (5 & 6) + (5 << 1) + 1 + 10, fused(X, 5))


@host
def test_a_misaligned_array_runs_in_parts_whatever_came_before():
    fused, whole = (ow.fuse(lambda x: x * 2 + 1, fullgraph=full) for full in (False, True))
    raw = np.arange(4 * 6 + 1, dtype=np.uint8)
    misaligned = np.ndarray((6,), np.float32, raw, 1)
    for _ in range(2):
        np.testing.assert_array_equal(fused(misaligned), misaligned * 2 + 1, strict=True)
        np.testing.assert_array_equal(fused(raw[:24].view(np.float32)), whole(raw[:24].view("f4")))

    assert "not aligned" in fused.explain(misaligned).text
    assert len(fused.lower(raw[:24].view(np.float32)).kernels) == 1
    with pytest.raises(e.AlignmentError, match="not aligned"):
        whole(misaligned)


@host
@pytest.mark.filterwarnings("error")
def test_fields_of_records_are_read_and_written():
    def step(x, y):
        y += x
        y[1:] *= 2
        return np.sqrt(y) + x.sum()

    made = np.zeros(7, np.dtype([("kind", "u1"), ("x", "f4"), ("y", "f8")]))
    made["x"], made["y"] = np.arange(7), 0.5
    expected, found = made.copy(), made.copy()
    result = step(expected["x"], expected["y"])

    np.testing.assert_array_equal(ow.fuse(step)(found["x"], found["y"]), result, strict=True)
    assert found.tolist() == expected.tolist()


@host
def test_two_outs_may_not_overlap():
    out = np.empty(6, np.float32)

    with pytest.raises(e.ArgumentError, match="overlap"):
        ow.fuse(lambda x: (x + 1, x + 2))(X, out=(out, out))


def test_numpy_scalars_are_operands_too():
    k = ow.kernel([ow.load("x"), ow.opcodes.multiply(np.float32(2)), ow.store()])
    clipped = (
        ow.fuse(lambda x: x + 1)
        .lower(X)
        .kernels[0]
        .insert(ow.opcodes.clip(np.float32(0), 2), before="store")
    )

    np.testing.assert_array_equal(X * 2, k(X))
    np.testing.assert_array_equal(np.clip(X + 1, 0, 2), clipped(X))


@host
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_integers_compare_by_value_with_any_python_integer(dtype):
    x = np.array([0, 1, 200], dtype)
    for n in (300, -1, -2, 1, 2**40):
        made = ow.fuse(lambda x, n: (x > n, x == n, n >= x))(x, n)
        for want, got in zip((x > n, x == n, n >= x), made, strict=True):
            np.testing.assert_array_equal(want, got)


CONSTANTS = [
    lambda x: x % 7, lambda x: x // 7, lambda x: 7 // (x | 1), lambda x: x << 1, lambda x: x >> 2,
    lambda x: x**3, lambda x: np.clip(x, 10, 200), lambda x: np.floor_divide(x, np.uint8(2)),
    lambda x: np.maximum(x, 7), lambda x: np.where(x > 7, x, 7), lambda x: divmod(x, 5)[0],
]  # fmt: skip


@host
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("function", CONSTANTS)
def test_integer_arrays_meet_integer_constants(function, dtype):
    x = np.array([0, 1, 5, 100, 127], dtype)
    made = ow.fuse(function)(x)

    assert made.dtype == function(x).dtype
    np.testing.assert_array_equal(function(x), made)


@host
def test_all_axes_by_name_and_fused_functions_inside_another():
    inner = ow.fuse(lambda x: np.exp(x) + 1)
    outer = ow.fuse(lambda x: inner(x).sum(axis=(0, 1)) * 2)

    hold(outer, (M,), (np.exp(wide(M)) + 1).sum() * 2, outer(M))
    assert len(outer.lower(M, target="sm_80").kernels) == 1


@host
@pytest.mark.parametrize("ddof", [1, np.int64(1), np.True_, 1.0])
def test_the_type_of_ddof_widens_no_result(ddof):
    fused = ow.fuse(lambda x: x.var(axis=1, ddof=ddof))

    assert fused(M).dtype == np.float32
    np.testing.assert_allclose(M.var(axis=1, ddof=1), fused(M), rtol=1e-6)


def test_a_number_that_meets_a_text_becomes_static():
    fused = ow.fuse(lambda x, s: x * 2 if s == "a\n#include" else x * 3)
    source = fused.lower(X, 2.0, target="sm_80").source

    assert "3.0f" in source
    assert "include" not in source.replace('#include "opweave.cuh"', "")


@host
def test_sums_and_products_of_bool_are_or_and_and():
    x = np.array([[True, False], [False, False], [True, True]])
    reduced = ow.fuse(lambda x: (x.sum(axis=1, dtype=bool), x.prod(axis=1, dtype=bool)))

    np.testing.assert_array_equal([x.any(axis=1), x.all(axis=1)], reduced(x))


@host
@pytest.mark.parametrize("low", [True, False])
def test_a_truth_of_a_row_is_clipped_as_a_boolean(low):
    x, bound = np.array([[1, 0], [0, 0]], np.float32), np.array([low])
    clipped = ow.fuse(lambda x, b: (np.clip(x.any(-1), b, ~b & b), np.clip(b, x.any(-1), x.all())))

    for found, expected in zip(clipped(x, bound), clipped.__wrapped__(x, bound), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)


@host
@pytest.mark.parametrize("function", [
    lambda x: x.copy(), lambda x: (x + 1).copy(), lambda x: np.copy(x + 1),
    lambda x: x.sum().copy(),
])  # fmt: skip
def test_a_copy_of_no_dimensions_is_a_scalar_or_an_array_as_numpys(function):
    x = np.array(2.5, np.float32)

    assert type(function(x)) is type(ow.fuse(function)(x))


@host
@pytest.mark.parametrize(("dtype", "decimals"), [
    (bool, 0), (np.uint8, 0), (np.uint8, 2), (np.int64, 1), (np.float16, 0), (np.float16, 2),
    (np.float32, 1),
])  # fmt: skip
def test_rounding_gives_numpys_dtype(dtype, decimals):
    x = np.array([0, 1, 1, 0, 3]).astype(dtype)
    expected, made = np.round(x, decimals), ow.fuse(lambda x: np.round(x, decimals))(x)

    assert expected.dtype == made.dtype
    np.testing.assert_array_equal(expected, made)


def test_bool_is_rounded_to_whole_numbers_only_as_by_numpy():
    with pytest.raises(e.DTypeError, match="round"):
        ow.fuse(lambda x: np.round(x, 1)).lower(np.array([True]))


@host
def test_to_uint8_of_no_dimensions_is_an_array_as_by_numpy():
    x = np.array(0.4, np.float32)
    made = ow.fuse(lambda x: ow.opcodes.to_uint8(x))(x)

    assert type(made) is type(ow.opcodes.to_uint8(x))


@host
@pytest.mark.parametrize("exponent", [2.0, 1.0, 0.5, 2, np.float64(2)])
@pytest.mark.parametrize("function", [lambda x, e: x**e, lambda x, e: np.max(x) ** e])
def test_an_integer_to_a_float_power_is_a_float(function, exponent):
    x = np.arange(1, 6)
    found = ow.fuse(lambda x: function(x, exponent))(x)

    assert np.asarray(found).dtype == np.asarray(function(x, exponent)).dtype
    np.testing.assert_allclose(function(x, exponent), found)


@host
@pytest.mark.parametrize("exponent", [2.0, 1.0, 0.5, 3.0, np.float32(0.5), np.float32(2)])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32"])
@pytest.mark.parametrize("power", [operator.pow, np.power])
def test_a_power_of_integers_is_the_same_by_a_given_number_and_in_parts(power, dtype, exponent):
    def in_parts(x):
        raised = power(x, exponent)
        return raised if x.max().item() else -raised

    x = np.arange(1, 120).astype(dtype)
    given = ow.fuse(power, fullgraph=True)(x, exponent)
    assert given.tobytes() == ow.fuse(lambda x: power(x, exponent))(x).tobytes()
    assert given.tobytes() == ow.fuse(in_parts)(x).tobytes()
    assert given.tobytes() == power(x, exponent).tobytes()


@host
@pytest.mark.parametrize(("low", "high"), [(300, 400), (-9, -5), (300, 2)])
def test_a_bound_of_clip_that_no_number_meets_is_refused_as_by_numpy(low, high):
    x = np.arange(5, dtype=np.uint8)
    with pytest.raises(OverflowError):
        np.clip(x, low, high)
    for fused in (lambda x, a, b: np.clip(x, a, b), lambda x, a, b: np.clip(x, low, high)):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            ow.fuse(fused)(x, low, high)


@host
@pytest.mark.filterwarnings("error")
def test_a_product_of_nan_warns_of_nothing_whoever_computes_it():
    x = np.full((40, 50), np.inf, np.float32)
    found = ow.fuse(lambda x, w: x @ w)(x, np.zeros((50, 60), np.float32))

    assert np.isnan(found).all()


def test_a_copy_is_contiguous_in_the_reference_as_by_numpy():
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    made = ow.fuse(lambda x: x.copy()).lower(x, target="sm_80").reference(x)

    assert made.flags.c_contiguous == x.copy().flags.c_contiguous


@host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_power_of_one_half_is_the_root_where_numpy_takes_it(dtype):
    x = np.array([-np.inf, -0.0, 4.0, 2.0, np.inf], dtype)
    half = np.array(0.5, dtype)
    if dtype != "float16":
        made = ow.fuse(lambda x: np.power(x, 0.5))(x)
        assert made.tobytes() == np.power(x, 0.5).tobytes()
    for exponents in (half, np.full(5, half), np.full((5, 1), half)):
        assert ow.fuse(lambda x, y: np.power(x, y)).check(x, exponents).ok
    (found,) = ow.bounds.derive(ow.fuse(lambda x, y: np.power(x, y)), x, half)
    assert np.isinf(found.error).tolist() == [True, True, False, False, False]


@host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("whole", ["int32", "int64"])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_a_cast_to_integers_and_back_is_no_truncation(name, whole):
    x = np.array([-0.4, 0.4, -0.0, 0.0, -1.6, 1.6, 7.0] * 9, name)
    fused = ow.fuse(lambda x: 1 / x.astype(whole).astype(x.dtype))
    for one in (fused, fused.unfused(), ow.fuse(lambda x: 1 / x.astype(whole).astype(x.dtype))):
        assert one(x).tobytes() == (1 / x.astype(whole).astype(name)).tobytes()
    assert fused.lower(x, target="sm_80")(x).tobytes() == fused(x).tobytes()
    assert ow.sanitize(fused, x, target="sm_80", schedules=1).ok


@host
@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
def test_a_quotient_of_integers_that_is_zero_has_no_sign(name):
    x = np.array([-5, 5, -1, 1, -100, 100, 3] * 19, name)
    for function in (np.reciprocal, lambda x: np.fmod(x, x[::-1]), lambda x: -x // x[::-1]):
        clipped = ow.fuse(lambda x: np.clip(function(x).astype(np.float64), 0, 1))  # noqa: B023
        assert clipped(x).tobytes() == clipped.__wrapped__(x).tobytes()


def rounded(x, n):
    return np.round(x, n), x.round(n)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_digits_that_are_kept_are_no_number_to_promote(dtype):
    x, fused = (np.arange(5) / 7).astype(dtype), ow.fuse(rounded)
    for n in (2, np.int64(2), np.int8(1), 1, 0, np.uint8(3)):
        for found, expected in zip(fused(x, n), rounded(x, n), strict=True):
            assert found.dtype == expected.dtype, n
            np.testing.assert_allclose(found, expected, 2e-3)


def test_a_complex_number_to_the_power_of_zero_is_a_number():
    def function(x, n):
        return x.sum() ** n, x[0] ** 0, x**n

    x, fused = np.array([1 + 2j, np.nan, 3]), ow.fuse(function)
    for n in (0, 2, 0):
        for found, expected in zip(fused(x, n), function(x, n), strict=True):
            assert type(found) is type(expected)
            np.testing.assert_allclose(found, expected)
