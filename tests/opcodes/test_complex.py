"""Complex operators: their rows, special values and powers are those of NumPy and of Annex G."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.operators import complex_functions, complexes
from tests.support.data import (
    COMPLEX,
    applied,
    chunks,
    joined,
    maps,
)


def normal(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return joined(rng.standard_normal(shape), rng.standard_normal(shape), name)


# What the tables promise


def test_functions_have_a_row_in_both_tables():
    assert frozenset(complex_functions.DEFINITIONS) == complexes.FUNCTIONS


def test_what_numpy_defines_on_complex_numbers_is_compiled():
    ufuncs = {n: u for n, u in vars(np).items() if isinstance(u, np.ufunc) and u.signature is None}
    defined = {u.__name__ for u in ufuncs.values() if any(t[0] == "F" for t in u.types)}
    known = {"divide" if n == "true_divide" else n for n in defined}

    for name in known:
        row = OPERATORS[name]
        assert row.type_rule((dtypes.C64,) * row.arity, ())[0][0] is dtypes.C64


def test_operators_of_reals_refuse_complex_operands_with_what_to_do():
    z = np.ones(3, np.complex64)
    with pytest.raises(ow.errors.DTypeError, match=r"rsqrt: no meaning for complex64; take .real"):
        ow.fuse(ow.rsqrt).lower(z)


# Special values


def _classes(part):
    return np.select([np.isnan(part), np.isinf(part), part == 0], [9, 2, 1], 0)


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", sorted(complexes.FUNCTIONS - {"power", "float_power"}))
def test_functions_have_the_special_values_of_annex_g(row, name):
    parts = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
    z = joined(*(p.reshape(-1) for p in np.meshgrid(parts, parts)), name)
    function = getattr(np, row)
    with np.errstate(all="ignore"):
        expected = function(z)
    made = ow.fuse(lambda z: function(z))(z)

    for other, a, b in (("imag", made.real, expected.real), ("real", made.imag, expected.imag)):
        np.testing.assert_array_equal(_classes(a), _classes(b))
        # annex G leaves the sign of a zero or an infinity open beside NaN or an infinity
        settled = np.isfinite(getattr(expected, other)) & np.isfinite(z) & ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a)[settled], np.signbit(b)[settled])


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("reduction", ["max", "min", "argmax", "argmin"])
def test_extremes_are_lexicographic_and_nan_in_either_part_wins(reduction, name):
    z = joined([1, 1, 1, -1, 0], [2, 3, -1, 9, np.inf], name)
    lost = joined([1, np.nan, 3], [2, 0, 1], name)
    other = joined([1, 5, 3], [2, np.nan, 1], name)
    for array in (z, lost, other):
        expected = getattr(array, reduction)()
        made = ow.fuse(lambda z: getattr(z, reduction)())(array)
        np.testing.assert_array_equal(expected, made)


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
def test_division_by_zero_and_of_infinities_is_numpys(name):
    parts = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    z = joined(*(p.reshape(-1) for p in np.meshgrid(parts, parts)), name)
    a, b = (p.reshape(-1) for p in np.meshgrid(z, z))
    with np.errstate(all="ignore"):
        expected = a / b
    made = ow.fuse(lambda a, b: a / b)(a, b)

    np.testing.assert_array_equal(expected, made)
    number = ~np.isnan(expected.imag)
    np.testing.assert_array_equal(np.signbit(expected.imag[number]), np.signbit(made.imag[number]))


def test_every_kind_of_operator_that_takes_them_is_known_to_the_table():
    named = set(complexes.FRAGMENTS) - set(OPERATORS)

    assert not named


EXACT = set(complexes.FRAGMENTS) | {"real", "imag", "conjugate"}


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("arity", [1, 2])
def test_arithmetic_has_numpys_special_values(arity, name):
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
    z = joined(*(p.reshape(-1) for p in np.meshgrid(parts, parts)), name)
    args = [p.reshape(-1).copy() for p in np.meshgrid(*[z] * arity)]
    rows = [r for r in maps(arity, *[name] * arity) if r.name in EXACT]
    for some in chunks(rows):
        made = ow.fuse(applied(some))(*args)
        for row, found in zip(some, made, strict=True):
            with np.errstate(all="ignore"):
                expected = row.numpy(*args)
            for part in ("real", "imag"):
                want, got = getattr(expected, part), getattr(found, part)
                np.testing.assert_array_equal(_classes(want), _classes(got), err_msg=row.name)
                number = want == want
                signs = np.signbit(want * 1.0)[number], np.signbit(got * 1.0)[number]
                np.testing.assert_array_equal(*signs, err_msg=row.name)


@pytest.mark.host
def test_the_root_of_a_negative_number_is_complex_and_that_of_another_is_not():
    function = lambda x, s, p: x * s**p + x.size**0.5  # noqa: E731
    fused = ow.fuse(function)
    x = np.arange(1, 4, dtype=np.float32)
    for s, p in ((4.0, 0.5), (-2.0, 0.5), (-2.0, 3.0), (9.0, 0.5), (-1, 1.5), (5.0, -2)):
        made, expected = fused(x, s, p), function(x, s, p)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-6)


@pytest.mark.host
@pytest.mark.parametrize("function", [
    lambda z: np.full((2, 1), 2.5, np.float32) ** z, lambda z: z ** np.full(3, 2),
    lambda z: np.full(3, 1 + 1j) ** z, lambda z: np.zeros(3) ** (z + 3), lambda z: (z * 0) ** (z + 3),
])  # fmt: skip
def test_powers_of_arrays_that_the_function_makes(function):
    z = normal("complex128", 2, 3)

    np.testing.assert_allclose(ow.fuse(function)(z), function(z), rtol=1e-13)


@pytest.mark.host
def test_a_product_of_which_a_part_overflows_has_no_other_part():
    x, w = np.full((2, 20), 1 + 1e308j), np.ones((20, 3), np.complex128)
    x[1] = 1 + 1j
    fused = ow.fuse(lambda x, w: x @ w)
    (bound,) = ow.bounds.derive(fused, x, w)

    assert np.isinf(bound.error.real).all(axis=1).tolist() == [True, False]
    assert "agrees" in str(ow.bounds.judge(bound, fused(x, w)))
