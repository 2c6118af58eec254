"""Each part of a complex result has a bound of its own, and holds it."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.operators import complexes
from tests.support.data import (
    COMPLEX,
    dtype_of,
    joined,
    values,
)


def normal(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return joined(rng.standard_normal(shape), rng.standard_normal(shape), name)


def test_a_bound_has_an_error_for_each_part():
    z = np.array([1 + 1e-9j, 2], np.complex128)
    (bound,) = ow.bounds.derive(ow.fuse(lambda z: z * z), z)
    re, im = bound.parts

    assert bound.error.dtype.kind == "c"
    assert re.error[0] < 2**-51
    assert im.error[0] < 2**-80
    assert bound.ulp.shape == (2,)


@pytest.mark.host
def test_a_wrong_part_is_found():
    z = normal("complex64", 50)
    (bound,) = ow.bounds.derive(ow.fuse(lambda z: np.exp(z) / z), z)
    good = np.exp(z.astype(np.complex128)) / z
    bad = good.copy()
    bad.imag[7] *= 1 + 1e-4

    assert ow.bounds.judge(bound, good.astype(np.complex64)).ok
    judged = ow.bounds.judge(bound, bad)
    assert (judged.wrong, judged.worst) == (1, (7,))


@pytest.mark.parametrize("extreme", [np.maximum, np.minimum])
def test_the_other_part_of_a_nan_that_wins_has_its_own_rounding(extreme):
    x = np.array([[complex(np.nan, 0.1), 1, 2]], np.complex64)
    y = np.array([[1 + 0.3j, 0, 0]], np.complex64)

    def fn(x, y):
        return extreme.reduce(x + y, axis=-1)

    (bound,) = ow.bounds.derive(ow.fuse(fn), x, y)
    assert 0 < bound.parts[1].error[0] < 1e-7
    assert ow.bounds.judge(bound, fn(x, y)).ok


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", sorted(complexes.FUNCTIONS - {"float_power"}))
def test_functions_keep_their_bounds_and_numpys_wide_values_do_too(row, name):
    function = getattr(np, row)
    z = values(name, 4000)[500:] / 2
    args = (z, values(name, 4000, seed=1)[500:] / 4) if row == "power" else (z,)
    fused = ow.fuse(lambda *args: function(*args))
    with np.errstate(all="ignore"):
        wider = function(*(a.astype(np.clongdouble) for a in args))

    assert fused.check(*args).ok
    (bound,) = ow.bounds.derive(fused, *args)
    # the wide function has an error of its own, far below a ULP of the dtype
    judged = ow.bounds.judge(bound, wider)
    assert judged.ok, judged
    assert bound.undecided < z.size // 100


def _sizes(rng, low, high, count=2000):
    """Numbers of either sign between these powers of two, as many of each size."""
    return 2.0 ** rng.uniform(low, high, count) * rng.choice([-1, 1], count)


def _places(name, seed=0):
    """Numbers of all sizes, about 1, i and the circle through them, and on the branch cuts."""
    rng, limits = np.random.default_rng(seed), np.finfo(dtype_of(name))
    low, high = (float(np.log2(n)) for n in (limits.smallest_subnormal, limits.max))
    sign, zero = rng.choice([-1.0, 1.0], 2000), rng.choice([-0.0, 0.0], 2000)
    every, middle, huge = (low, high), (-5, 5), (high - 5, high)
    sides = [
        *(
            (_sizes(rng, *a), _sizes(rng, *b))
            for a, b in ((every, every), (huge, huge), (huge, every))
        ),
        (sign + _sizes(rng, -60, -1), _sizes(rng, low, -1)),
        (sign, _sizes(rng, *every)),
        (np.sqrt(rng.random(2000)) * sign, np.sqrt(rng.random(2000))),
        *((_sizes(rng, *some), zero) for some in (every, middle)),
    ]
    angle = rng.uniform(0, 2 * np.pi, 2000)
    sides.append((np.cos(angle) + _sizes(rng, -40, -20), np.sin(angle)))
    re, im = (np.concatenate([side[part] for side in sides]) for part in (0, 1))
    return np.concatenate([joined(re, im, name), joined(im, re, name)])


INVERSES = ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", INVERSES)
def test_either_part_of_an_inverse_is_right_to_a_few_ulp_everywhere(row, name):
    function, z = getattr(np, row), _places(name)
    limits = np.finfo(dtype_of(name))
    made = ow.fuse(lambda z: function(z))(z)
    with np.errstate(all="ignore"):
        exact = function(z.astype(np.clongdouble))

    for got, want in ((made.real, exact.real), (made.imag, exact.imag)):
        place = np.frexp(np.maximum(np.abs(want), limits.smallest_normal))[1]
        unit = np.ldexp(np.longdouble(1), place - 1 - limits.nmant)
        assert np.max(np.abs(got - want) / unit) < 5
        np.testing.assert_array_equal(np.signbit(want), np.signbit(got))


@pytest.mark.host
@pytest.mark.parametrize("executor", ["host", "cuda"])
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("row", INVERSES)
def test_bounds_of_inverses_are_a_few_ulp_everywhere(row, name, executor):
    function, z = getattr(np, row), _places(name)
    (bound,) = ow.bounds.derive(ow.fuse(lambda z: function(z)), z, executor=executor)
    with np.errstate(all="ignore"):
        exact = function(z.astype(np.clongdouble))

    assert ow.bounds.judge(bound, exact).ok
    assert bound.undecided <= z.size // 500  # beside 1, with an imaginary part next to nothing
    assert np.mean(bound.ulp < 30) > 0.99


@pytest.mark.host
@pytest.mark.parametrize("name", COMPLEX)
def test_products_of_many_keep_a_bound_by_magnitude(name):
    z = np.exp(1j * np.random.default_rng(0).random((5, 400))).astype(dtype_of(name))
    fused = ow.fuse(lambda z: z.prod(axis=1))
    (bound,) = ow.bounds.derive(fused, z)

    assert fused.check(z).ok
    assert bound.undecided == 0
    exact = z.astype(np.clongdouble).prod(axis=1)
    assert ow.bounds.judge(bound, exact).ok


@pytest.mark.host
def test_the_extreme_of_what_has_an_error_is_decided_where_it_is_far_ahead():
    z = joined([1, 5, 2], [3, -1, 7], "complex64")
    (far,) = ow.bounds.derive(ow.fuse(lambda z: (z * 3.3).max()), z)
    tied = joined([1, 1, 1], [3, -1, 7], "complex64")
    (near,) = ow.bounds.derive(ow.fuse(lambda z: (z * 3.3).max()), tied)

    assert np.all(far.ulp < 4)
    assert near.error.imag > 20  # any of them may be the largest
