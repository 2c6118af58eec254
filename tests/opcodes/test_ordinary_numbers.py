"""Functions of ordinary numbers are computed without what others take: the bits are the same."""

import warnings

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.ordinary import NAMES

pytestmark = pytest.mark.host
UFUNCS = {
    **{name: getattr(np, name) for name in NAMES if hasattr(np, name)},
    **{f"a{of}": getattr(np, f"arc{of}") for of in ("sinh", "cosh", "tanh")},
    "pow": lambda x: np.power(x, 1.7),
    "pow down": lambda x: np.power(x, -2.5),
    "pow of both": lambda x: np.power(x, x),
}
# Where a function's short form ends, and what it leaves to the whole one.
EDGES = {
    "exp": (86.5, 708, -86.5, -708, -87.3, -103, -744),
    "exp2": (125, -125, 1020, -1020, -126, 127.5, -149, -1074),
    "sinh": (22, -22, 87, 710),
    "cosh": (87, 88.5, 708, 710),
    "sin": (2.0**17, 2.0**30, 1e38),
    "cos": (2.0**17, 2.0**30, 1e38),
    "tan": (2.0**17, 2.0**30, 1e38),
    "acosh": (1, 0.5, -1e-30, -1, 2.0**60, 1e30),
    "asinh": (2.0**60, -(2.0**60), 1e30),
    "atanh": (1, -1, 0.5, 2),
    "tanh": (2.0**-42, -(2.0**-340), 2.0**-30),
    "asin": (2.0**-42, -(2.0**-340), 2.0**-30, 0.5, 1),
    "acos": (2.0**-42, -(2.0**-340), 2.0**-30, 0.5, -1),
    "atan": (2.0**-42, -(2.0**-340), 2.0**-30, 1, 1e30),
    "expm1": (86.5, -86.5, 89, -40, 708, -708, 710, 2.0**-54),
    "log1p": (-1, -0.99, 2.0**-30, 2.0**-60, 1e30),
    "pow": (1, *np.exp(np.array([86.5, -86.5, 103, -103, 708, -744]) / 1.7)),
    "pow down": (1, *np.exp(np.array([86.5, -86.5, 103, -103, 708, -744]) / 2.5)),
    "pow of both": (1, 26.5, 27, 142, 144),
}
RARE = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e-45, 1e-40, -1e-40, 3e38)


def near(edges, dtype):
    """The edges, and the numbers on both sides of each."""
    x = np.array(edges, dtype)
    return np.concatenate([x, np.nextafter(x, dtype(np.inf)), np.nextafter(x, dtype(-np.inf))])


def test_every_short_form_is_tested():
    of_integers = {"floor_div", "floor_mod"}  # test_integer_edges.py, host/test_divisors.py
    assert {name.split()[0] for name in UFUNCS} == set(NAMES) - of_integers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UFUNCS)
def test_an_ordinary_number_has_the_same_bits_beside_any_other(name, dtype):
    rng = np.random.default_rng(0)
    spread = 10.0 ** rng.uniform(-8, 3, 500) * rng.choice([-1, 1], 500)
    x = np.concatenate([near(EDGES.get(name, ()), dtype), spread.astype(dtype)])
    fused = ow.fuse(UFUNCS[name])
    alone = np.concatenate([fused(x[n : n + 1]) for n in range(x.size)])
    for rare in np.array(RARE, dtype):
        mixed = np.repeat(x, 2)
        mixed[1::2] = rare
        made = fused(mixed)

        assert made[::2].tobytes() == alone.tobytes(), rare
        assert made[1::2].tobytes() == np.repeat(fused(mixed[1:2]), x.size).tobytes(), rare


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UFUNCS)
def test_a_long_array_has_the_bits_of_its_pieces(name, dtype):
    rng = np.random.default_rng(1)
    x = rng.uniform(0.1, 0.9, 1000).astype(dtype)
    x[rng.integers(0, x.size, 5)] = np.nan
    fused = ow.fuse(UFUNCS[name])

    pieces = [fused(part) for part in np.array_split(x, 37)]
    assert fused(x).tobytes() == np.concatenate(pieces).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "second", [0.0, -0.0, 2.5, -2.5, 3, -3, np.inf, -np.inf, np.nan, 1e-320, 1e-40]
)
def test_zeros_have_their_powers(dtype, second):
    """Among ordinary numbers, too, with ordinary powers beside that one."""
    bases = np.array([0.0, -0.0, 2.0, 0.0, 0.5, 0.0, 3.0, 0.0] * 40, dtype)
    powers = np.full(bases.size, 1.5, dtype)
    powers[::5] = dtype(second)
    with np.errstate(all="ignore"):
        for x, y in (
            (bases, powers),
            (abs(bases), powers),
            (abs(bases), np.full_like(bases, second)),
        ):
            found, expected = ow.fuse(lambda x, y: x**y)(x, y), x**y
            np.testing.assert_array_equal(found[x == 0], expected[x == 0])
            assert (np.signbit(found) == np.signbit(expected))[(x == 0) & (y == y)].all()
            np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("times", [1, 1000, 8191, 2.0**20, 2.0**29, 2.0**40])
def test_angles_near_a_quarter_turn_keep_their_digits(dtype, times):
    near_turn = (np.arange(1, 400) * np.longdouble(np.pi) / 2 * times).astype(dtype)
    wide = near_turn.astype(np.longdouble)
    bounds = {np.sin: "sin", np.cos: "cos", np.tan: "tan"}
    for function, name in bounds.items():
        made, exact = ow.fuse(function)(near_turn), function(wide)
        error = np.abs(made - exact) / ow.bounds.spacing(exact, np.dtype(dtype))
        kind = ow.opcodes.dtypes.of(np.dtype(dtype))

        assert error.max() <= ow.opcodes.OPERATORS[name].ulp.host.of(kind)


@pytest.mark.parametrize("function", [np.exp, np.sin, np.sqrt, np.negative, np.abs])
def test_halves_are_rounded_once_and_as_numpy_rounds_them(function):
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64)).astype(np.float16)
    made = ow.fuse(function)(x)
    steps = np.abs(made.view(np.int16).astype(int) - expected.view(np.int16))

    np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
    assert steps[~np.isnan(expected)].max() <= (0 if function in (np.negative, np.abs) else 1)


def test_a_sum_of_halves_is_rounded_before_it_is_used_again():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    y, z = np.roll(x, 12345), np.roll(x, 54321)
    made = ow.fuse(lambda x, y, z: (x + y) * z - y)(x, y, z)
    with np.errstate(all="ignore"):
        expected = (x + y) * z - y

    np.testing.assert_array_equal(made, expected)


# Ties, the ends of the subnormal and of all halves, and what they leave of a NaN.
FLOATS = (
    "0x1p-24 0x1p-25 0x1.000002p-25 0x1.8p-24 0x1.ffcp-15 0x1.ffep-15 0x1.ffffp-15 0x1p-14 0x1.002p0 "
    "0x1.006p0 0x1.002002p0 0x1.ffcp15 0x1.ffdffep15 0x1.ffep15 0x1p16 0x1p127 0x1p-126 0x1p-149"
)


@pytest.mark.parametrize("target", ["host", "sm_75", "sm_90a"])
def test_no_lowering_warns_of_a_number_that_float16_has_not(target):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        ow.fuse(lambda x: np.divide(x, 1e30)).lower(np.ones(4, np.float16), target=target)
    assert warned == []


def test_a_float_becomes_a_half_as_it_does_in_numpy():
    x = np.array([float.fromhex(f) for f in FLOATS.split()] + [np.inf, 0], np.float32)
    x = np.concatenate([x, -x, np.random.default_rng(0).standard_normal(10_000, np.float32)])
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16).astype(np.float32) * np.float32(3)

    made = ow.fuse(lambda x: x.astype(np.float16).astype(np.float32) * 3)(x)
    assert made.tobytes() == expected.tobytes()


# Kernels of every form; what goes on from element to element must not be computed twice.
FORMS = {
    "map": np.log,
    "several results": lambda x: (np.exp(x), np.log(x) * 2),
    "scan": lambda x: np.cumsum(np.log(x), axis=1),
    "scan of columns": lambda x: np.cumsum(np.log(x), axis=0),
    "product of columns": lambda x: np.cumprod(np.exp(x), axis=0),
    "sum": lambda x: np.exp(x).sum(),
    "sum of rows": lambda x: np.exp(x).sum(axis=1),
    "sum of columns": lambda x: np.exp(x).sum(axis=0),
    "row": lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
    "transposed": lambda x: np.exp(x).T.copy() + 1,
    "pixels": lambda x: np.exp(x.reshape(-1, 3)) @ np.full((3, 3), 0.5, x.dtype),
    "a stencil": lambda x: np.log(x[1:]) - np.log(x[:-1]),
}


def several(result):
    return result if type(result) is tuple else (result,)


@pytest.mark.parametrize("columns", [60, 64, 102])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMS)
def test_a_rare_number_leaves_every_form_as_it_is(name, dtype, columns):
    function, x = FORMS[name], np.linspace(0.5, 2, 6 * columns).astype(dtype).reshape(6, columns)
    fused = ow.fuse(function)
    for rare in (1.0, 0.0, np.inf):
        x[2, 7] = rare
        with np.errstate(all="ignore"):
            made, expected, apart = fused(x), function(x), fused.unfused()(x)
        for a, b, c in zip(*map(several, (made, expected, apart)), strict=True):
            assert a.tobytes() == c.tobytes()
            near_enough = 2e-5 if dtype is np.float32 else 1e-12
            np.testing.assert_allclose(a, b, near_enough, near_enough)


def test_in_place_too():
    def step(x, total):
        total += np.exp(x)
        x[...] = np.log(x) + x

    fused = ow.fuse(step)
    for rare in (1.0, 0.0, np.inf):
        x, total = np.linspace(0.5, 2, 100), np.ones(100)
        x[7] = rare
        a, b = (x.copy(), total.copy()), (x.copy(), total.copy())
        with np.errstate(all="ignore"):
            fused(*a)
            step(*b)
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_step_that_is_repeated():
    def step(x):
        return np.log(x) * 0.5 + 1.0

    x = np.linspace(0.5, 2, 100)
    x[7] = np.inf
    expected = x
    for _ in range(5):
        expected = step(expected)
    np.testing.assert_allclose(ow.repeat(step, 5)(x), expected, rtol=1e-12)


NEGATED = {
    "by a literal": lambda x, s: -(x / 3),
    "by a number of the call": lambda x, s: -(x / s),
    "by what is the same in a row": lambda x, s: -(x / x.max(1, keepdims=True)),
    "times -1": lambda x, s: (x / 3) * -1.0,
    "over -1": lambda x, s: (x / s) / -1.0,
    "chosen": lambda x, s: np.where(x > 1, x, -(x / 7.5)),
    "with a factor": lambda x, s: -(x / s) * x,
    "of a function": lambda x, s: -np.sin(x) - np.log1p(x),
    "of a product": lambda x, s: -(x @ x[0, ::-1] - x @ x[0, ::-1]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NEGATED)
def test_the_negative_of_a_zero_has_the_other_sign(name, dtype):
    """g++ makes -(a * b + c) one instruction whose zero has the wrong one."""
    x = np.tile(np.array([0.0, -0.0, 1.0, 0.5], dtype), (40, 10))
    expected = NEGATED[name](x, dtype(3))
    for function in (ow.fuse(NEGATED[name]), ow.fuse(NEGATED[name]).unfused()):
        np.testing.assert_array_equal(np.signbit(function(x, dtype(3))), np.signbit(expected))
