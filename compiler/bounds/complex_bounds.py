"""Error bounds of complex values: pairs of real bounds, by the roundings of templates/complex.cuh.

A complex operator is walked as the real operators that its helper is made of.  Each of these adds
its error and carries over those of its operands, as in a real kernel (``bounds.py``).  So the real
and the imaginary part have bounds of their own: if the real part of a product cancels, its error
is large, and that of the imaginary part stays small.  Operators that pick or compare are decided
by both parts, as NumPy orders complex numbers.

The only bound by magnitude is that of ``prod``: a complex multiplication has a relative error of
at most sqrt(5) u (Brent, Percival and Zimmermann, "Error bounds on complex floating-point
multiplication", Math. Comp. 76, 2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.bounds.complex_parts import (
    ARITHMETIC,
    BoundedParts,
    Bounds,
    Pair,
    Real,
    computed,
)
from opweave.compiler.bounds.error_propagation import Bounded
from opweave.compiler.bounds.rounding import gamma, largest, spacing
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import Node, reduced_axes
from opweave.compiler.ir.values import Operand, Scalar, count
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import BOOL

Array = np.ndarray[Any, Any]
# Roundings of a complex multiplication, by magnitude.
MULTIPLICATION = math.sqrt(5)
_ZERO = np.zeros(())


def _reach(x: Bounded, y: Bounded) -> tuple[Array, Array]:
    """Where two parts may be equal though they are not, or differ though they are; where equal."""
    reach = x.error + y.error
    gap = np.abs(x.value - y.value)
    is_open = (reach > 0) & ((gap <= reach) | ~np.isfinite(reach))
    return np.asarray(is_open), np.equal(x.value, y.value)


def _ordered(x: Pair, y: Pair) -> Array:
    """Where the order of two complex numbers is open."""
    open_re, same_re = _reach(x.re.bounded, y.re.bounded)
    open_im, _ = _reach(x.im.bounded, y.im.bounded)
    return np.asarray(open_re | (same_re & open_im) | x.parts.lost | y.parts.lost)


def _equal(x: Pair, y: Pair) -> Array:
    """Where equality is open: a part that differs for certain decides."""
    (open_re, same_re), (open_im, same_im) = (
        _reach(a.bounded, b.bounded) for a, b in zip(x, y, strict=True)
    )
    return np.asarray((open_re & (same_im | open_im)) | (open_im & (same_re | open_re)))


def _open_zero(x: Pair) -> Array:
    """Where it is open whether a number is zero."""
    nothing = Pair(x.re.like(0.0), x.im.like(0.0))
    return _equal(x, nothing)


def _unclear(x: Pair) -> Array:
    return np.asarray(x.parts.lost)


# Operators whose result is bool, and where it is open.
TESTS: dict[str, Callable[..., Array]] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _ordered),
    **dict.fromkeys(("equal", "not_equal"), _equal),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), _unclear),
    "logical_not": _open_zero,
    **dict.fromkeys(
        ("logical_and", "logical_or", "logical_xor"), lambda x, y: _open_zero(x) | _open_zero(y)
    ),
}


def _is_nan(x: Array) -> Array:
    return np.asarray(np.isnan(x))


def _picked(less: bool, skips_nan: bool) -> Callable[[Pair, Pair], Pair]:
    """``maximum`` and its kin: the first operand, unless the other one is beyond it."""
    before = np.less_equal if less else np.greater_equal

    def expand(x: Pair, y: Pair) -> Pair:
        a, b = x.parts.value, y.parts.value
        takes = before(a, b) | _is_nan(b if skips_nan else a)
        is_open = _ordered(x, y)
        found = x.where(y, Bounded(takes, _ZERO))
        made = []
        for part, p, q in zip(found, x, y, strict=True):
            value = part.bounded.value
            spread = [np.abs(o.bounded.value - value) + o.bounded.error for o in (p, q)]
            far = np.maximum(*np.broadcast_arrays(*spread))
            far = np.where(np.isnan(far), np.inf, far)
            made.append(replace(part, bounded=Bounded(
                value, np.where(is_open, far, part.bounded.error)
            )))  # fmt: skip
        return Pair(*made)

    return expand


_maximum, _minimum = _picked(less=False, skips_nan=False), _picked(less=True, skips_nan=False)
PICKS: dict[str, Callable[..., Pair]] = {
    "maximum": _maximum,
    "minimum": _minimum,
    "fmax": _picked(less=False, skips_nan=True),
    "fmin": _picked(less=True, skips_nan=True),
    "clip": lambda x, low, high: _minimum(_maximum(x, low), high),
    "relu": lambda x: _maximum(x, Pair(x.re.like(0.0), x.im.like(0.0))),
}


# Operators that act on the parts by real operators, except for reductions, casts and products.
EXPANSIONS: dict[str, Callable[..., Any]] = {**ARITHMETIC, **PICKS}


def expanded(bounds: Bounds, node: Node) -> list[Any]:
    """Values and errors of a node of which an operand or a result is complex."""
    name = node.operator.name
    if node.operator.law in REDUCTIONS:
        return [REDUCTIONS[node.operator.law](bounds, node)]
    if name == "matmul":
        return [_product(bounds, node)]
    if name == "cast":
        return [_cast(bounds, node)]
    if name == "join":
        parts = [part_of(bounds, o, "re").bounded for o in node.operands]
        shape = np.broadcast_shapes(*(np.shape(p.value) for p in parts))
        return [BoundedParts(*(Bounded(*(np.broadcast_to(a, shape) for a in (p.value, p.error)))
                        for p in parts))]  # fmt: skip
    if name in EXPANSIONS:
        made = EXPANSIONS[name](*(pair_of(bounds, o) for o in node.operands))
        return [made.parts if isinstance(made, Pair) else made.bounded]
    if name in TESTS:
        pairs = [pair_of(bounds, o) for o in node.operands]
        value = np.asarray(node.operator.numpy(*(p.parts.value for p in pairs)))
        return [Bounded(value, np.where(TESTS[name](*pairs), np.inf, np.zeros(value.shape)))]
    return [BoundedParts(*(_of_parts(bounds, node, part) for part in ("re", "im")))]


def part_of(bounds: Bounds, operand: Operand, part: str) -> Real:
    """A part of an operand; the real part of a real operand is the operand itself."""
    dtype = operand.dtype.part
    if isinstance(operand, Scalar):
        expr = operand.expr
        if operand.dtype.is_complex:
            expr = Expr({"re": "real", "im": "imag"}[part], (expr,))
        attrs = (("dtype", dtype.numpy_name), ("shape", ()))
        full = Node(OPERATORS["full"], (), (), attrs)
        return Real(bounds, dtype, computed(bounds, full, [Scalar(expr, dtype)], dtype))
    held = bounds.held[operand.id]
    bounded = getattr(held, part) if isinstance(held, BoundedParts) else held
    return Real(bounds, dtype, bounded, operand.shape)


def pair_of(bounds: Bounds, operand: Operand) -> Pair:
    return Pair(part_of(bounds, operand, "re"), part_of(bounds, operand, "im"))


def _of_parts(bounds: Bounds, node: Node, part: str) -> Bounded:
    """An operator that does the same to either part."""
    operands = [part_of(bounds, o, part) if o.dtype.is_complex else o for o in node.operands]
    result = node.result
    attrs = tuple(
        (k, result.dtype.part.numpy_name if k == "dtype" and v else v) for k, v in node.attrs
    )
    return computed(bounds, replace(node, attrs=attrs), operands, result.dtype.part, result.shape)


def _cast(bounds: Bounds, node: Node) -> Any:
    """Between complex types, and from and to others."""
    (operand,), target = node.operands, node.result.dtype
    if target is BOOL:
        pair = pair_of(bounds, operand)
        value = np.not_equal(pair.parts.value, 0)
        return Bounded(value, np.where(_open_zero(pair), np.inf, np.zeros(np.shape(value))))
    re = _of_parts(bounds, node, "re")
    if not target.is_complex:
        return re
    if operand.dtype.is_complex:
        return BoundedParts(re, _of_parts(bounds, node, "im"))
    return BoundedParts(re, Bounded(np.zeros_like(re.value), np.zeros(np.shape(re.value))))


def _product(bounds: Bounds, node: Node) -> BoundedParts:
    """Each part is a real product of twice the depth, such as [re, -im] by [re, im]."""
    x, y = (pair_of(bounds, o) for o in node.operands)

    def beside(a: Bounded, b: Bounded, axis: int) -> Bounded:
        values, errors = (
            np.concatenate([np.broadcast_to(p, a.value.shape) for p in pair], axis)
            for pair in ((a.value, b.value), (a.error, b.error))
        )
        return Bounded(values, errors)

    minus = Bounded(-x.im.bounded.value, x.im.bounded.error)
    lefts = (beside(x.re.bounded, minus, -1), beside(x.re.bounded, x.im.bounded, -1))
    rights = (beside(y.re.bounded, y.im.bounded, -2), beside(y.im.bounded, y.re.bounded, -2))
    made = []
    for left, right in zip(lefts, rights, strict=True):
        operands = [Real(bounds, x.re.dtype, b) for b in (left, right)]
        made.append(computed(bounds, node, operands, x.re.dtype))
    # which parts of an infinity meet is the order's; libraries scale by 1 + 0i, of which NaN comes
    unclear = np.logical_or.reduce([~np.isfinite(m.value) | np.isinf(m.error) for m in made])
    return BoundedParts(*(Bounded(m.value, np.where(unclear, np.inf, m.error)) for m in made))


def _prod(bounds: Bounds, node: Node) -> BoundedParts:
    """By magnitude; undecided if not finite, since an infinite part may make both parts NaN."""
    found = pair_of(bounds, node.operands[0]).parts
    dtype, over = node.result.dtype.part, _over(node)
    value = np.asarray(np.prod(found.value, **over))
    size = np.abs(found.value) + np.hypot(found.re.error, found.im.error)
    extent = count((node.values[0].shape[a] for a in over["axis"]), bounds.extents)
    growth = gamma(math.ceil(MULTIPLICATION * extent), dtype)
    above = np.prod(np.maximum(size, 1.0), **over)
    lost = 4 * extent * 0.5 * spacing(np.zeros((), found.re.value.dtype), dtype) * above
    error = np.prod(size, **over) * (1 + growth) - np.abs(value) + lost
    is_open = ~(2 * above * (1 + growth) < largest(dtype)) | ~np.isfinite(value)
    error = np.where(is_open | np.isnan(error), np.inf, np.maximum(error, lost))
    return BoundedParts(Bounded(value.real, error), Bounded(value.imag, error))


def _over(node: Node) -> dict[str, Any]:
    return {"axis": reduced_axes(node), "keepdims": bool(node.attr("keepdims"))}


def _extreme(bounds: Bounds, node: Node) -> BoundedParts:
    """The imaginary part may be that of any element whose real part may be the extreme one."""
    found, over = pair_of(bounds, node.operands[0]).parts, _over(node)
    kept = over | {"keepdims": True}
    sign = 1 if node.operator.law == "max" else -1
    whole = np.asarray(node.operator.numpy(found.value, **kept))
    re, im = sign * found.re.value, found.im.value
    nearest = np.max(re - found.re.error, **kept)
    rivals = (re + found.re.error >= nearest) | found.lost
    is_exact = np.max(np.where(rivals, found.re.error, 0.0), **kept) == 0
    spread = np.where(is_exact, 0.0, np.abs(im - whole.imag)) + found.im.error
    error_im = np.max(np.where(rivals, spread, 0.0), initial=0.0, **kept)
    error_re = np.max(found.re.error + np.zeros(np.shape(re)), initial=0.0, **kept)
    nan = np.isnan(found.value)
    is_open = (np.sum(nan, **kept) > 1) | np.any(found.lost, **kept)
    single = np.any(nan, **kept) & ~is_open
    shape = np.shape(node.operator.numpy(found.value, **over))
    made = []
    for value, error, part in (
        (whole.real, error_re, found.re), (whole.imag, error_im, found.im)
    ):  # fmt: skip
        # a NaN wins whatever the others are, with the errors of its own parts
        of_nan = np.max(np.where(nan, np.nan_to_num(part.error, posinf=np.inf), 0.0), **kept)
        error = np.where(single, of_nan, np.where(is_open | np.isnan(error), np.inf, error))
        made.append(Bounded(value.reshape(shape), error.reshape(shape)))
    return BoundedParts(*made)


REDUCTIONS: dict[str, Callable[[Bounds, Node], BoundedParts]] = {
    "prod": _prod, "max": _extreme, "min": _extreme,
}  # fmt: skip
