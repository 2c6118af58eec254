"""Signed zeros, NaN, infinities, subnormals and the ends of the range: as NumPy has them."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import dtypes
from tests.support.data import FLOATS, applied, chunks, extremes, maps

pytestmark = pytest.mark.host
# The sign of the zero that these pick is not specified (docs/differences.md).
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin", "relu", "clip"}


def classes(array):
    """NaN, infinities and zeros with their signs; what is finite and not zero is 0."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return 16 * classes(array.real) + classes(array.imag)
    if array.dtype.kind not in "fV" and array.dtype.name != "bfloat16":
        return array
    wide = array.astype(np.float64)
    sign = np.where(np.signbit(wide), -1, 1)
    kinds = [np.isnan(wide), np.isinf(wide), wide == 0]
    return np.select(kinds, [np.full(wide.shape, 9), 2 * sign, sign], 0)


def operands(name, arity):
    """Every combination of extremes; the smallest set of them for three operands."""
    found = extremes(name)
    few = found[[0, 1, 2, 10, 18, 20, 21, 22]]
    grid = np.meshgrid(*[found if arity < 3 else few] * arity)
    return [g.reshape(-1).copy() for g in grid]


def meaning(row, given):
    """NumPy's result; bfloat16 computes in float32, as here (``ml_dtypes`` has sign(-0) = -0)."""
    if given[0].dtype.name != "bfloat16" or row.name in ("nextafter", "spacing"):  # of its digits
        with np.errstate(all="ignore"):
            return row.numpy(*given)
    results = meaning(row, [g.astype(np.float32) for g in given])
    results = results if isinstance(results, tuple) else (results,)
    _, kinds = row.type_rule(tuple(dtypes.of(g.dtype) for g in given), ())
    return tuple(r.astype(kind.numpy) for r, kind in zip(results, kinds, strict=True))


@pytest.mark.parametrize("arity", [1, 2, 3])
@pytest.mark.parametrize("name", FLOATS)
def test_special_values_are_numpys(name, arity):
    rows = maps(arity, *[name] * arity)
    given = operands(name, arity)
    kernels = [ow.fuse(applied(chunk)) for chunk in chunks(rows)]
    made = [result for fused in kernels for result in fused(*given)]

    for row in rows:
        expected = meaning(row, given)
        for want in expected if isinstance(expected, tuple) else (expected,):
            want, found = classes(want), classes(made.pop(0))
            if row.name in EITHER_ZERO:
                want, found = (np.where(np.abs(c) == 1, 1, c) for c in (want, found))
            wrong = [
                (*(g[i] for g in given), want[i], found[i]) for i in np.flatnonzero(want != found)
            ]
            assert not wrong, f"{row.name}: (operands, expected class, found): {wrong[:6]}"
    assert all(fused.check(*given).ok for fused in kernels)
    print(f"{name}: {len(rows)} operators of {arity} operands x {given[0].size} special values")


def test_every_float16_number_keeps_the_bound_in_every_operator():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    reports = [ow.fuse(applied(chunk)).check(x) for chunk in chunks(maps(1, "float16"))]

    assert all(report.ok for report in reports)
    assert {row.elements for report in reports for row in report.rows} == {1 << 16}


@pytest.mark.parametrize("name", FLOATS)
def test_casts_keep_special_values(name):
    x = extremes(name)
    targets = [d.numpy for d in dtypes.FLOATS]
    with np.errstate(all="ignore"):
        expected = [x.astype(t) for t in targets]
    made = ow.fuse(lambda x: tuple(x.astype(t) for t in targets))(x)

    for want, found in zip(expected, made, strict=True):
        np.testing.assert_array_equal(classes(want), classes(found))


# Functions and those that undo them, in both orders; what a compiler may know as one function.
CIRCLE = ((np.sin, np.cos, np.tan), (np.arcsin, np.arccos, np.arctan))
HYPERBOLA = ((np.sinh, np.cosh, np.tanh), (np.arcsinh, np.arccosh, np.arctanh))
POWERS = ((np.exp, np.exp2, np.expm1), (np.log, np.log2, np.log10, np.log1p))
ROOTS = ((np.sqrt, np.cbrt), (np.exp, np.square, np.log))


@pytest.mark.parametrize("family", [CIRCLE, HYPERBOLA, POWERS, ROOTS])
@pytest.mark.parametrize("turn", [1, -1])
def test_no_compiler_makes_one_function_of_two(family, turn):
    outer, inner = family[::turn]
    x = np.concatenate([np.linspace(-3, 3, 61), [0.1, 5, 20, 300]])
    once = [ow.fuse(lambda x, g=g: g(x))(x) for g in inner]
    for f in outer:
        fused = ow.fuse(lambda x, f=f: tuple(f(g(x)) for g in inner))  # each result has one use
        for found, y in zip(fused(x), once, strict=True):
            expected = ow.fuse(lambda x, f=f: f(x))(y)
            np.testing.assert_array_equal(found.view("u1"), expected.view("u1"))
