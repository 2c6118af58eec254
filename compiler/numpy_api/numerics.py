"""Small numerical functions of NumPy's, made of others: stencils, polynomials, grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated
from opweave.compiler.arrays.reshaping import counted_axes, number_of
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_array
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.creation import spread_over_each_other
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.allowed import is_number
from opweave.opcodes.errors import ShapeError, UnsupportedError

# Up to so many terms of a convolution or a polynomial become code.
MOST_TERMS = 64


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


@numpy_function(np.polyval, arrays=("p", "x"))
def polyval(p: Any, x: Any) -> Any:
    """By Horner's rule.

    Raises:
        UnsupportedError: more coefficients than become code.
    """
    p = p if is_traced_array(p) else np.asarray(p)  # whose numbers have a dtype
    found: Any = np.zeros_like(x)
    for n in range(_terms("polyval", p)):
        found = found * x + p[n]
    return found


def _terms(name: str, array: Any) -> int:
    """How many terms there are, which becomes part of the guard."""
    count = len(array)
    if count > MOST_TERMS:
        raise UnsupportedError(f"{name}: {count} terms, expected at most {MOST_TERMS}")
    return count


@numpy_function(np.convolve, arrays=("a", "v"), numbers=True)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Each term of the shorter one weighs the other, shifted: one kernel.

    Raises:
        UnsupportedError: more terms than become code.
        ShapeError: an operand of other dimensions, or without elements.
    """
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if a.ndim != 1 or v.ndim != 1:
        raise ShapeError(f"convolve: expected vectors, found {a.ndim} and {v.ndim} dimensions")
    a, v = _by_size(a, v)
    count = _terms("convolve", v)
    if not count:
        raise ShapeError("convolve: an operand is empty")
    before, kept = _margins(mode, count)
    wide = np.pad(a, before) if before[0] or before[1] else a
    length = a.shape[0] + kept
    parts = [wide[count - 1 - n : count - 1 - n + length] * v[n] for n in range(count)]
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


def _by_size(a: Any, v: Any) -> tuple[Any, Any]:
    tracer = next(x.tracer for x in (a, v) if is_traced(x))
    sizes = [number_of(tracer, x.shape[0]) for x in (a, v)]
    return (v, a) if tracer.builder.require(Expr("lt", tuple(sizes))) else (a, v)


def _margins(mode: str, count: int) -> tuple[tuple[int, int], int]:
    """What is added in front and behind, and how much longer the result is."""
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
    if mode == "same":  # whose middle depends on which operand is longer
        raise UnsupportedError("correlate: mode='same'; write it as a convolution")
    return convolve(a, conjugated(v)[::-1], mode)


@numpy_function(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided at the ends; points evenly spaced.

    Raises:
        UnsupportedError: distances that are arrays, ends of second order, or integers.
        ShapeError: an axis with fewer than two points.
    """
    if edge_order != 1 or f.dtype.kind != "f" or not all(map(_is_step, varargs)):
        raise UnsupportedError("gradient: expected floats, evenly spaced, and edge_order=1")
    axes = counted_axes("gradient", axis, f.ndim)
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(steps) != len(axes):
        raise ShapeError(f"gradient: {len(varargs)} distances for {len(axes)} axes")
    found = tuple(_differences(f, d, h) for d, h in zip(axes, steps, strict=True))
    return found[0] if len(found) == 1 else found


def _is_step(distance: Any) -> bool:
    return is_number(distance) or getattr(distance, "ndim", 1) == 0


def _differences(f: Any, axis: int, step: Any) -> Any:
    require = f.tracer.builder.require
    if not require(Expr("lt", (literal(1), number_of(f.tracer, f.shape[axis])))):
        raise ShapeError(f"gradient: axis {axis} has fewer than 2 points")

    def part(begin: int | None, end: int | None) -> tuple[slice, ...]:
        return (*[slice(None)] * axis, slice(begin, end))

    out = np.empty_like(f)
    out[part(1, -1)] = (f[part(2, None)] - f[part(None, -2)]) / (2.0 * step)
    out[part(None, 1)] = (f[part(1, 2)] - f[part(None, 1)]) / step
    out[part(-1, None)] = (f[part(-1, None)] - f[part(-2, -1)]) / step
    return out


@numpy_function(np.meshgrid, arrays=("xi",))
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """
    Raises:
        UnsupportedError: another order of axes than xy and ij.
    """
    if indexing not in ("xy", "ij"):
        raise UnsupportedError(f"meshgrid: indexing={indexing!r}: expected xy or ij")
    count = len(xi)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    apart = [
        x.reshape(-1)[tuple(slice(None) if d == place else None for d in range(count))]
        for x, place in zip(xi, places, strict=True)
    ]
    if not copy:
        return tuple(apart) if sparse else np.broadcast_arrays(*apart)
    return tuple(map(np.copy, apart)) if sparse else spread_over_each_other(apart)


@numpy_function(np.rot90)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Quarters of a turn from the first axis towards the second.

    Raises:
        ShapeError: not two axes of the array.
    """
    pair = counted_axes("rot90", tuple(axes), m.ndim)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ShapeError(f"rot90: expected two axes, found {tuple(axes)}")
    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return np.flip(m, pair)
    if turns == 1:
        return np.swapaxes(np.flip(m, pair[1]), *pair)
    return np.flip(np.swapaxes(m, *pair), pair[1])
