"""Float instructions of PTX against exact rational arithmetic, rounded here in another way."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.support.ptx import computed

F32 = np.array([
    0.0, -0.0, 1.0, -1.0, 1.5, 3.0, 1 / 3, -7.25, 2.0**-149, -(2.0**-140), 2.0**-126, 1 + 2.0**-23,
    1 - 2.0**-24, 2.0**24 + 1, 3.4028235e38, -3.4028235e38, 1e-20, 16777215.0, np.inf, -np.inf,
    np.nan,
], np.float32)  # fmt: skip
F64 = np.array([
    0.0, -0.0, 1.0, -1.5, 1 / 3, 2.0**-1074, -(2.0**-1060), 1 + 2.0**-52, 1 - 2.0**-53, 1e300,
    -1.7976931348623157e308, 1e-200, 2.0**53 + 2, np.inf, np.nan,
])  # fmt: skip
TYPES = {"f32": F32, "f64": F64, "f16": np.array(
    [0.0, -0.0, 1.0, -1.5, 1 / 3, 6e-8, 6.1e-5, 65504.0, 2049.0, 1.0009766, np.inf, np.nan],
    np.float16), "bf16": np.array([0.0, -0.0, 1.0, -1.5, 1 / 3, 1e-39, 3e38, 257.0, 1.0078125,
    np.inf, np.nan], ml_dtypes.bfloat16)}  # fmt: skip
MODES = {"rn": None, "rz": None, "rm": None, "rp": None}


def neighbours(exact, dtype):
    """The numbers of a format on both sides of an exact one, as (below, above)."""
    with np.errstate(all="ignore"):
        try:
            near = dtype.type(float(exact))
        except OverflowError:
            near = dtype.type(math.inf if exact > 0 else -math.inf)
        low, high = dtype.type(-np.inf), dtype.type(np.inf)
        while np.isinf(near) or Fraction(float(near)) > exact:
            if near == -np.inf:
                break
            near = np.nextafter(near, low)
        above = near
        if near == -np.inf or Fraction(float(near)) < exact:
            above = np.nextafter(near, high)
        while above != np.inf and Fraction(float(above)) <= exact and near != above:
            near, above = above, np.nextafter(above, high)
        if near != -np.inf and Fraction(float(near)) == exact:
            above = near
        return near, above


def round_to(exact, dtype, mode, plain):
    """An exact number in a format; ``plain`` is what NumPy says where there is none."""
    if exact is None:
        return plain
    if exact == 0:
        return plain
    below, above = neighbours(exact, dtype)
    if below == above:
        return below
    if mode in ("rm", "rp"):
        return below if mode == "rm" else above
    if mode == "rz":
        return below if exact > 0 else above
    top = Fraction(float(ml_dtypes.finfo(dtype).max))
    unit = top - Fraction(float(np.nextafter(dtype.type(float(top)), dtype.type(0))))
    low = -top - unit if below == -np.inf else Fraction(float(below))
    high = top + unit if above == np.inf else Fraction(float(above))
    if exact - low != high - exact:
        return below if exact - low < high - exact else above
    bits = f"u{dtype.itemsize}"
    return below if np.array([below]).view(bits)[0] % 2 == 0 else above


def exactly(function, *values):
    if not all(map(math.isfinite, map(float, values))):
        return None
    try:
        return function(*(Fraction(float(v)) for v in values))
    except ZeroDivisionError:
        return None


def agrees(found, expected):
    """The same bits, or both a NaN."""
    bits = f"u{found.itemsize}"
    same = found.view(bits) == expected.view(bits)
    return same | ((found != found) & (expected != expected))


def grid_of(kind, count, most):
    columns = np.array(list(itertools.product(TYPES[kind], repeat=count)), TYPES[kind].dtype)
    rng = np.random.default_rng(5)
    if len(columns) > most:
        columns = columns[rng.permutation(len(columns))[:most]]
    return [np.ascontiguousarray(c) for c in columns.T]


def raw(array):
    return array.view(f"u{array.itemsize}")


ROWS = [
    ("add", 2, lambda a, b: a + b, lambda a, b: a + b),
    ("sub", 2, lambda a, b: a - b, lambda a, b: a - b),
    ("mul", 2, lambda a, b: a * b, lambda a, b: a * b),
    ("div", 2, lambda a, b: a / b, lambda a, b: a / b),
    ("fma", 3, lambda a, b, c: a * b + c, lambda a, b, c: a * b + c),
]
CASES = [
    (name, kind, mode)
    for name in ("add", "sub", "mul", "div", "fma")
    for kind in ("f32", "f64")
    for mode in ("rn", "rz", "rm", "rp")
] + [(name, kind, "rn") for name in ("add", "mul", "fma") for kind in ("f16", "bf16")]


@pytest.mark.parametrize(("name", "kind", "mode"), CASES)
def test_arithmetic_is_rounded_once(name, kind, mode):
    _, count, exact, plain = next(row for row in ROWS if row[0] == name)
    columns = grid_of(kind, count, 600)
    dtype = columns[0].dtype
    found = computed(f"{name}.{mode}.{kind}", [raw(c) for c in columns], f"u{dtype.itemsize}")
    with np.errstate(all="ignore"):
        near = plain(*(c.astype(np.float64) for c in columns)).astype(dtype)
    expected = np.array([
        round_to(exactly(exact, *values), dtype, mode, p)
        for *values, p in zip(*columns, near, strict=True)
    ], dtype)  # fmt: skip
    if mode == "rm" and name in ("add", "sub", "fma"):
        expected = np.where(opposite(name, columns), dtype.type(-0.0), expected)

    assert agrees(found.view(dtype), expected).all()


def opposite(name, columns):
    """Sums of two terms that are opposite, of which not both are +0."""
    a, b = columns[:2]
    terms = {"add": (a, b), "sub": (a, -b)}.get(name)
    if terms is None:
        with np.errstate(all="ignore"):
            terms = a.astype(np.float64) * b.astype(np.float64), columns[2]
            zero = np.array([
                exactly(lambda x, y, z: x * y + z, *v) == 0 for v in zip(*columns, strict=True)
            ])  # fmt: skip
    else:
        zero = (terms[0] == -terms[1]) & np.isfinite(terms[0])
    plus = (terms[0] == 0) & ~np.signbit(terms[0]) & (terms[1] == 0) & ~np.signbit(terms[1])
    return zero & ~plus


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_square_root_is_rounded_once(kind, mode):
    x = np.abs(TYPES[kind][np.isfinite(TYPES[kind])])
    found = computed(f"sqrt.{mode}.{kind}", [raw(x)], f"u{x.itemsize}").view(x.dtype)

    for value, root in zip(x.tolist(), found, strict=True):
        square, below = Fraction(value), np.nextafter(root, root.dtype.type(0))
        above = np.nextafter(root, root.dtype.type(np.inf))
        low, at, high = (Fraction(float(v)) for v in (below, root, above))
        if mode in ("rz", "rm"):
            assert at**2 <= square < high**2 or square == 0
        elif mode == "rp":
            assert low**2 < square <= at**2 or square == 0
        else:
            assert ((low + at) / 2) ** 2 <= square <= ((at + high) / 2) ** 2


@pytest.mark.parametrize(("opcode", "canonical"), [
    ("add.rn.f32", 0x7FFFFFFF), ("mul.rn.f32", 0x7FFFFFFF), ("min.f32", 0x7FFFFFFF),
    ("max.NaN.f32", 0x7FFFFFFF), ("add.rn.f16", 0x7FFF), ("mul.rn.bf16", 0x7FFF),
])  # fmt: skip
def test_a_nan_is_the_canonical_one(opcode, canonical):
    dtype = "u4" if "f32" in opcode else "u2"
    nan = np.array([0xFFC12345 if dtype == "u4" else 0xFFF1], dtype)

    assert computed(opcode, [nan, nan], dtype)[0] == canonical


@pytest.mark.parametrize(("opcode", "a", "b", "expected"), [
    ("min.f32", np.nan, 2.0, 2.0), ("max.f32", 3.0, np.nan, 3.0), ("min.f32", 0.0, -0.0, -0.0),
    ("min.f32", -0.0, 0.0, -0.0), ("max.f32", -0.0, 0.0, 0.0), ("max.f32", 0.0, -0.0, 0.0),
    ("add.ftz.f32", 1e-39, 1e-39, 0.0), ("mul.ftz.f32", -1e-39, 1.0, -0.0),
    ("mul.sat.f32", 3.0, 4.0, 1.0), ("add.sat.f32", -3.0, 1.0, 0.0),
    ("mul.sat.f32", np.nan, 4.0, 0.0), ("copysign.f32", -0.0, 2.0, -2.0),
    ("max.xorsign.abs.f32", -3.0, 2.0, -3.0),
])  # fmt: skip
def test_nan_zero_flush_and_saturation(opcode, a, b, expected):
    x, y = (np.array([v], np.float32) for v in (a, b))
    found = computed(opcode, [raw(x), raw(y)], "u4").view(np.float32)

    assert raw(found)[0] == raw(np.array([expected], np.float32))[0]


APPROXIMATE = [
    ("ex2.approx.f32", np.exp2, 2.0**-22), ("lg2.approx.f32", np.log2, 2.0**-22),
    ("rcp.approx.f32", np.reciprocal, 2.0**-23), ("sqrt.approx.f32", np.sqrt, 2.0**-23),
    ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 2.0**-22), ("sin.approx.f32", np.sin, 2.0**-20),
    ("cos.approx.f32", np.cos, 2.0**-20), ("tanh.approx.f32", np.tanh, 2.0**-11),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "function", "bound"), APPROXIMATE, ids=lambda v: str(v)[:16])
def test_an_approximation_lies_within_the_error_that_the_isa_states(opcode, function, bound):
    x = np.random.default_rng(1).uniform(0.1, 3, 200).astype(np.float32)
    found = computed(opcode, [raw(x)], "u4").view(np.float32)
    exact = function(x.astype(np.float64))

    assert (np.abs(found - exact) <= bound * np.maximum(np.abs(exact), 1)).all()


def test_an_approximation_of_the_upper_half_takes_subnormal_numbers_for_zeros():
    x = np.array([1e-310, -1e-310, 2.0**1023, 4.0, np.inf])
    rcp, rsqrt = (
        computed(f"{name}.approx.ftz.f64", [raw(x)], "u8").view(np.float64)
        for name in ("rcp", "rsqrt")
    )

    assert rcp.tolist() == [np.inf, -np.inf, 0.0, 0.25, 0.0]
    assert rsqrt[[0, 1, 3, 4]].tolist() == [np.inf, -np.inf, 0.5, 0.0]


def test_packed_halves_are_apart():
    a = np.array([1.5, -2.0, 65504.0, 0.25], np.float16)
    b = np.array([0.5, 3.0, 65504.0, -0.25], np.float16)
    found = computed("add.rn.f16x2", [a.view("u4"), b.view("u4")], "u4").view(np.float16)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(a + b, found)
