"""Mathematical functions that are not ufuncs."""

from __future__ import annotations

import builtins
from functools import reduce
from operator import add, index
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated, is_complex
from opweave.compiler.arrays.gathering import gathered_inside, place_type
from opweave.compiler.arrays.lifting import weak_or_lifted
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.arrays.traced_operators import is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.common import apply, has_nan
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.compiler.numpy_api.signatures import NONE
from opweave.compiler.numpy_api.sorting import _found
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError
from opweave.opcodes.operators.complexes import IMAG, JOIN, REAL


@numpy_function(np.clip)
def clip(a: Any, a_min: Any = NONE, a_max: Any = NONE, *, min: Any = NONE, max: Any = NONE) -> Any:
    """
    Raises:
        UnsupportedError: a bound is given under two names; ``a_min`` without ``a_max``, or the
            other way round.
    """
    if a_min is not NONE and a_max is not NONE:
        if min is not NONE or max is not NONE:
            raise UnsupportedError("clip: a bound under two names")
        return _between(a, a_min, a_max)
    if a_min is not NONE or a_max is not NONE:
        raise UnsupportedError("clip: a_min and a_max belong together")
    return _between(a, None if min is NONE else min, None if max is NONE else max)


@numpy_function(np.ndarray.clip, like=lambda self, min=None, max=None, out=None, **kwargs: 0)
def _between(a: Any, min: Any = None, max: Any = None) -> Any:
    ends = [min, max]
    low, high = (
        _within(a, picks, end, other)
        for picks, end, other in zip(("max", "min"), ends, reversed(ends), strict=True)
    )
    if low is None or high is None:
        name, bound = ("minimum", high) if low is None else ("maximum", low)
        return (
            apply(OPERATORS["positive"], a) if bound is None else apply(OPERATORS[name], a, bound)
        )
    return apply(OPERATORS["clip"], a, low, high)


def _within(a: Any, picks: str, bound: Any, other: Any) -> Any:
    """A bound as the array's integer type holds it; None where it limits nothing.

    NumPy leaves a bound out that no integer of the type exceeds.  Here the limit of the type takes
    its place, which gives the same; beside a bound that is a float it is left out, too.  A bound
    that all integers of the type exceed stays, and is refused later.
    """
    if a.dtype.kind not in "iu" or bound.__class__ is not int:  # a traced number has its own class
        return bound
    limits = np.iinfo(a.dtype)
    limit = int(limits.min if picks == "max" else limits.max)
    if other is not None and other.__class__ is not int:
        return None if (bound <= limit if picks == "max" else bound >= limit) else bound
    if is_traced_number(bound):
        traced: Any = bound
        return traced.__opweave_scalar__(picks, limit)
    return (builtins.max if picks == "max" else builtins.min)(bound, limit)


@numpy_function(np.round, np.around, np.ndarray.round)
def round_(a: Any, decimals: int = 0) -> Any:
    decimals = decimals if isinstance(decimals, int) else index(decimals)  # of a type to promote
    if a.dtype.kind in "iu":  # not bool, which NumPy rounds as a float
        if decimals >= 0:
            return apply(OPERATORS["positive"], a)
        raise UnsupportedError("round: negative decimals of integers are not supported")
    if decimals == 0:
        return apply(OPERATORS["rint"], a)
    if a.dtype.kind == "b":
        raise DTypeError("round: bool is rounded to 0 decimals only, as by NumPy")
    scale = 10.0 ** abs(decimals)
    rint = OPERATORS["rint"]
    return apply(rint, a * scale) / scale if decimals > 0 else apply(rint, a / scale) * scale


@numpy_function(np.nan_to_num, unboxed=True)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if not has_nan(x) or dtypes.of(x.dtype) is dtypes.BF16:  # which is no float to NumPy
        return x.copy() if copy else x
    if is_complex(x):
        found = JOIN(*(nan_to_num(part(x), True, nan, posinf, neginf) for part in (REAL, IMAG)))
    else:
        limits = np.finfo(x.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        found = np.where(np.isnan(x), nan, x)
        found = np.where(x == np.inf, high, np.where(x == -np.inf, low, found)).astype(x.dtype)
    if copy:
        return found
    x[...] = found
    return x


@numpy_function(np.sinc)
def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, and 1 where x is 0.

    As NumPy does, a tiny number takes the place of 0, so that nothing is divided by 0; the
    quotient of it is 1 in the array's type.
    """
    scaled = np.pi * x
    dtype = scaled.value.dtype
    least = 2.0 ** (1 - dtype.digits) if dtype.kind == "f" else 1.0e-20
    scaled = np.where(scaled == 0, least, scaled)
    return np.sin(scaled) / scaled


@numpy_function(np.fix)
def fix(x: Any) -> Any:
    return np.trunc(x)


# Most terms of a convolution or a polynomial: each is a line of code.
MOST_TERMS = 64


def _terms(name: str, array: Any) -> int:
    """How many terms there are; the number becomes part of the guard."""
    count = len(array)
    if count > MOST_TERMS:
        raise UnsupportedError(f"{name}: {count} terms, expected at most {MOST_TERMS}")
    return count


@numpy_function(np.polyval, arrays=("p", "x"))
def polyval(p: Any, x: Any) -> Any:
    """A polynomial by Horner's rule.

    Raises:
        UnsupportedError: more than ``MOST_TERMS`` coefficients.
    """
    found: Any = np.zeros_like(x)
    for n in range(_terms("polyval", p)):
        found = found * x + p[n]
    return found


@numpy_function(np.convolve, arrays=("a", "v"), numbers=True)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The sum of the longer vector, shifted, times each element of the shorter: one kernel.

    Raises:
        UnsupportedError: the shorter vector has more than ``MOST_TERMS`` elements.
        ShapeError: an operand is not a vector, or has no elements.
    """
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if a.ndim != 1 or v.ndim != 1:
        raise ShapeError(f"convolve: expected vectors, found {a.ndim} and {v.ndim} dimensions")
    sizes = tuple(number_of(a.tracer, x.shape[0]) for x in (a, v))
    if a.tracer.builder.require(Expr("lt", sizes)):
        a, v = v, a
    count = _terms("convolve", v)
    if not count:
        raise ShapeError("convolve: an operand is empty")
    before, kept = _margins(mode, count)
    wide = np.pad(a, before) if before[0] or before[1] else a
    length = a.shape[0] + kept
    parts = [wide[count - 1 - n : count - 1 - n + length] * v[n] for n in range(count)]
    return reduce(add, parts)


def _margins(mode: str, count: int) -> tuple[tuple[int, int], int]:
    """Widths of the padding in front and behind; how much longer than the vector the result is."""
    if mode == "full":
        return (count - 1, count - 1), count - 1
    if mode == "same":
        return (count // 2, count - 1 - count // 2), 0
    if mode == "valid":
        return (0, 0), 1 - count
    raise UnsupportedError(f"convolve: mode={mode!r}: expected full, same or valid")


@numpy_function(np.correlate, arrays=("a", "v"))
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    if not all(getattr(x, "ndim", 0) for x in (a, v)):
        raise UnsupportedError("correlate: expected two vectors")
    if mode == "same":  # NumPy cuts it out at another place if the operands change roles
        raise UnsupportedError("correlate: mode='same'; write it as a convolution")
    return convolve(a, conjugated(v)[::-1], mode)


@numpy_function(np.interp, arrays=("x", "xp", "fp"), numbers=True, unboxed=True)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Values on straight lines between points, computed in float64 as by NumPy.

    Of complex values the real and the imaginary parts are computed by themselves.

    Raises:
        UnsupportedError: a period, for which NumPy sorts the points; fewer than two points;
            complex numbers where NumPy takes none.
        ShapeError: there are not as many values as points.
    """
    if period is not None:
        raise UnsupportedError("interp: period= sorts the points; do it outside")
    ends = [end for end in (left, right) if end is not None]
    if any(map(np.iscomplexobj, (x, xp) if is_complex(fp) else (x, xp, *ends))):
        raise UnsupportedError(
            "interp: complex numbers beside real values; pass .real (NumPy refuses arrays of "
            "them, and of a number it drops the imaginary part)"
        )
    x = x.astype(np.float64)
    tracer, builder = xp.tracer, xp.tracer.builder
    if (xp.ndim, fp.ndim) != (1, 1):
        raise ShapeError("interp: data points must be 1-D sequences")
    counts = [number_of(tracer, a.shape[0]) for a in (xp, fp)]
    if counts[0] != counts[1] and not builder.require(Expr("eq", (counts[0], counts[1]))):
        raise ShapeError("interp: fp and xp are not of the same length")
    if not builder.require(Expr("ge", (counts[0], literal(2)))):
        raise UnsupportedError("interp: fewer than two points")
    if not is_complex(fp):
        return _on_lines(x, xp, fp, left, right)
    re, im = (
        _on_lines(x, xp, part(fp), *(_part_of(e, part) for e in (left, right)))
        for part in (OPERATORS["real"], OPERATORS["imag"])
    )
    return OPERATORS["join"](re, np.where(np.isnan(x), 0.0, im))  # the result at NaN is NaN + 0j


def _part_of(end: Any, part: Operator) -> Any:
    """The real or imaginary part of ``left`` or ``right``; None stays None."""
    return end if end is None else getattr(np, part.name)(end)


def _on_lines(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    one = place_type(xp.tracer, *xp.value.shape).numpy.type(1)
    last = xp.shape[0] - 1
    above = _found(xp, x, "right")
    low = np.clip(above - one, 0, last - 1)
    # from memory as they are: a table that is computed first would be looked up with a check
    points = (gathered_inside(a, p) for a in (xp, fp) for p in (low, low + one))
    x0, x1, y0, y1 = (point.astype(np.float64) for point in points)
    (first, final), (begin, end) = (
        (a[0].astype(x.dtype), a[-1].astype(x.dtype)) for a in (xp, fp)
    )
    slope = (y1 - y0) / (x1 - x0)
    found = slope * (x - x0) + y0
    again = slope * (x - x1) + y1
    again = np.where(np.isnan(again) & (y0 == y1), y0, again)
    found = np.where(np.isnan(found), again, found)
    found = np.where(x == x0, y0, found)
    ends = [weak_or_lifted(xp.tracer, end) for end in (left, right) if end is not None]
    below, beyond = (begin if left is None else ends[0]), (end if right is None else ends[-1])
    found = np.where(x == final, end, np.where(x > final, beyond, found))
    return np.where(np.isnan(x), x, np.where(x < first, below, found))
