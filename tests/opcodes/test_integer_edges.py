"""Row 7 of docs/trust.md: integer division by zero, shifts and overflow, the same everywhere.

The expected values are NumPy's, and, for what the tables name, written out.
"""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import dtype_of

INTEGERS = ["int32", "int64", "uint8", "uint64"]


def edges(name):
    """Values around which integer arithmetic changes its mind."""
    limits = np.iinfo(dtype_of(name))
    bits = limits.bits
    small = [0, 1, 2, 3, 7, bits - 1, bits, bits + 1, 2 * bits, 127, 255]
    big = [limits.max, limits.max - 1, limits.max // 2, limits.max // 2 + 1]
    low = [-1, -2, -7, -bits, limits.min, limits.min + 1, limits.min // 2] if limits.min else []
    return np.array([*small, *big, *low], dtype_of(name))


def pairs(name):
    found = edges(name)
    x, y = np.meshgrid(found, found)
    return x.reshape(-1).copy(), y.reshape(-1).copy()


BINARY = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "divmod": lambda x, y: divmod(x, y),
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "&|^": lambda x, y: (x & y) | (x ^ y),
    "maximum": lambda x, y: np.maximum(x, y) - np.minimum(x, y),
    "a chain": lambda x, y: (x * y + x) // (y - x) % (x + 1),
}
UNARY = {
    "-": lambda x: -x,
    "abs": lambda x: abs(x),
    "square": lambda x: x * x * x,
    "~": lambda x: ~x,
    "sign": lambda x: np.sign(x),
    "by a constant": lambda x: (x // 7, x % 7, x // 1, x >> 1, x << 3),
    "sum": lambda x: (x.sum(), x.prod()),
}
ON_HOST = [pytest.param(t, marks=pytest.mark.host) for t in ("host", "sm_80")]
EVERYWHERE = [*ON_HOST, pytest.param("cuda", marks=pytest.mark.gpu)]


def run(function, arguments, target):
    if target != "cuda":
        return ow.fuse(function).lower(*arguments, target=target)(*arguments)
    import cupy

    made = ow.fuse(function)(*map(cupy.asarray, arguments))
    if isinstance(made, dict):
        return {name: value.get() for name, value in made.items()}
    return tuple(m.get() for m in made) if isinstance(made, tuple) else made.get()


def each(table):
    """One function of all of a table, so that it is one kernel or two; results by name."""

    def function(*operands):
        out = {}
        for name, row in table.items():
            found = row(*operands)
            for number, value in enumerate(found if isinstance(found, tuple) else [found]):
                out[f"{name} {number}"] = value
        return out

    return function


def two(x, y):
    return each(BINARY)(x, y)


def one(x):
    return each(UNARY)(x)


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("table", ["two", "one"])
def test_integers_of_the_edges(table, dtype, target):
    function, arguments = (two, pairs(dtype)) if table == "two" else (one, [edges(dtype)])
    with np.errstate(all="ignore"):
        expected = function(*arguments)
    found = run(function, arguments, target)

    for name, value in expected.items():
        np.testing.assert_array_equal(value, found[name], err_msg=name)
        assert value.dtype == found[name].dtype, name


LOW = -(2**31)
# x, y, x // y, x % y, x << y, x >> y in int32
TABLE = [
    (7, 0, 0, 0, 7, 7), (-7, 0, 0, 0, -7, -7), (0, 0, 0, 0, 0, 0), (LOW, -1, LOW, 0, 0, -1),
    (LOW, 0, 0, 0, LOW, LOW), (-7, 2, -4, 1, -28, -2), (7, -2, -4, -1, 0, 0),
    (1, 31, 0, 1, LOW, 0), (1, 32, 0, 1, 0, 0), (-1, 32, -1, 31, 0, -1), (-1, 33, -1, 32, 0, -1),
    (5, -1, -5, 0, 0, 0), (2**31 - 1, 1, 2**31 - 1, 0, -2, 2**30 - 1),
]  # fmt: skip


@pytest.mark.parametrize("target", EVERYWHERE)
def test_the_values_are_these(target):
    columns = [np.array(c, np.int32) for c in zip(*TABLE, strict=True)]
    found = run(lambda x, y: (x // y, x % y, x << y, x >> y), columns[:2], target)

    for expected, made in zip(columns[2:], found, strict=True):
        np.testing.assert_array_equal(expected, made)


def of_all_sizes(dtype, count, rng):
    """Integers of each number of bits as often as of any other."""
    info, size = np.iinfo(dtype), np.dtype(dtype).itemsize * 8
    away = rng.integers(0, size, count).astype(dtype)
    return rng.integers(info.min, info.max, count, dtype, endpoint=True) >> away


@pytest.mark.parametrize("dtype", INTEGERS)
def test_quotients_next_to_whole_ones(dtype):
    rng = np.random.default_rng(1)
    x, y, quotient = (of_all_sizes(dtype, 100_000, rng) for _ in range(3))
    with np.errstate(all="ignore"):
        x = np.concatenate([x, quotient * y + rng.integers(0, 5, x.size).astype(dtype) - 2])
        y = np.concatenate([y, y]).astype(dtype)
        whole, rest, kept = x // y, x % y, np.fmod(x, y)
    found = ow.fuse(lambda x, y: (x // y, x % y, np.fmod(x, y)))(x, y)

    for expected, made in zip((whole, rest, kept), found, strict=True):
        np.testing.assert_array_equal(expected, made)


DIVISORS = (1, 2, 3, 7, 1000, -1, -2, -7, 2**31, 2**52 + 1, 2**62 + 1, -(2**63))


@pytest.mark.parametrize(("dtype", "y"), [
    (dtype, y) for dtype in (np.int32, np.int64, np.uint64) for y in DIVISORS
    if np.iinfo(dtype).min <= y <= np.iinfo(dtype).max
])  # fmt: skip
def test_quotients_by_one_number(dtype, y):
    rng = np.random.default_rng(1)
    x = np.concatenate([of_all_sizes(dtype, 10_000, rng), edges(dtype)])
    by = np.asarray(y, dtype)[()]
    with np.errstate(all="ignore"):
        expected = x // by, x % by

    given = ow.fuse(lambda x, y: (x // y, x % y))(x, by)
    known = ow.fuse(lambda x: (x // by, x % by))(x)

    for found in (given, known):
        for value, made in zip(expected, found, strict=True):
            np.testing.assert_array_equal(value, made)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_sums_wrap_around(target):
    x = np.array([2**31 - 1, 1], np.int32)
    y = np.array([2**63 - 1, 1, 2**63 - 1], np.int64)

    assert run(lambda x: x + x, [x], target).tolist() == [-2, 2]
    assert int(run(lambda x: x.sum(), [x], target)) == 2**31  # widened, as by NumPy
    with np.errstate(all="ignore"):
        assert int(run(lambda y: y.sum(), [y], target)) == int(y.sum())


BEYOND = [
    0.0, -0.5, 127.9, 128.0, -129.0, 255.9, 256.0, -300.0, 2.0**31 - 128, 2.0**31, 2.0**31 + 256,
    -(2.0**31) - 256, 2.0**33 + 512, -(2.0**40), 1e18, 1e30, -1e30, np.inf, -np.inf, np.nan,
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("dtype", [np.uint8, np.int8], ids=["uint8", "int8"])
def test_bytes_of_floats_are_numpys_in_and_beyond_their_range(dtype):
    x = np.array(BEYOND * 7, np.float32)  # whole vectors, and what is left of one

    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    np.testing.assert_array_equal(ow.fuse(lambda x: x.astype(dtype))(x), expected)


@pytest.mark.host
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_words_of_floats_wrap_as_numpys_do(dtype):
    with np.errstate(all="ignore"):
        x = np.array((*BEYOND, -1.5, 9.3e18, 2e19, -9.3e18) * 7).astype(dtype)
        expected = x.astype(np.uint64)
    np.testing.assert_array_equal(ow.fuse(lambda x: x.astype(np.uint64))(x), expected)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint32])
def test_quotients_of_small_numbers_beside_each_other(dtype):
    """Where no large number stands between, doubles have all of them."""
    rng = np.random.default_rng(2)
    most = min(2**50 - 1, np.iinfo(dtype).max)
    y = (rng.integers(1, most, 100_000) >> rng.integers(0, 50, 100_000)) | 1
    whole = rng.integers(0, most, y.size) // y * y
    x = np.concatenate([whole + rest for rest in (-1, 0, 1)] + [np.full(3, most) - range(3)])
    y = np.concatenate([y, y, y, [1, most, 2]])
    x, y = np.clip(x, 0, most), np.clip(y, 1, most)
    signs = rng.choice([-1, 1], (2, x.size)) if np.iinfo(dtype).min else (1, 1)
    x, y = ((a * sign).astype(dtype) for a, sign in zip((x, y), signs, strict=True))
    found = ow.fuse(lambda x, y: (x // y, x % y))(x, y)

    np.testing.assert_array_equal(found[0], x // y)
    np.testing.assert_array_equal(found[1], x % y)
    for by in (1, 3, 1007, int(most)):
        found = ow.fuse(lambda x, y: (x // y, x % y))(x, dtype(by))
        np.testing.assert_array_equal(found[0], x // dtype(by))
        np.testing.assert_array_equal(found[1], x % dtype(by))
