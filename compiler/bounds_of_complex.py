"""Error bounds of complex values: pairs of real bounds, by the roundings of templates/complex.cuh.

A complex operator is the real ones that its helper is made of; each of them adds its error and
carries those of its operands as in a real kernel (``bounds.py``).  So real and imaginary part have
a bound of their own: a product whose real part cancels has a large error there and a small one in
the other.  What picks or compares is decided by both parts, as NumPy orders complex numbers.

The only bound by magnitude is that of ``prod``: a complex multiplication has a relative error of
at most sqrt(5) u (Brent, Percival and Zimmermann, "Error bounds on complex floating-point
multiplication", Math. Comp. 76, 2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from opweave.compiler.carried import Bounded
from opweave.compiler.expr import Expr
from opweave.compiler.ir import Node, Operand, Scalar, Value, count, reduced_axes
from opweave.compiler.rounding import gamma, largest, spacing
from opweave.opcodes import OPERATORS
from opweave.opcodes.complexes import joined
from opweave.opcodes.dtypes import BOOL, DType

Array = np.ndarray[Any, Any]
# Roundings of a complex multiplication, by magnitude.
MULTIPLICATION = math.sqrt(5)


class Parts(NamedTuple):
    """The bounds of a complex value's real and imaginary part."""

    re: Bounded
    im: Bounded

    @property
    def value(self) -> Array:
        return np.asarray(joined(self.re.value, self.im.value))

    @property
    def lost(self) -> Array:
        """Where nothing decides a part."""
        return ~(np.isfinite(self.re.error) & np.isfinite(self.im.error))

    def whole(self) -> Bounded:
        """Value and error as complex arrays; the error's parts are those of the parts."""
        shape = np.shape(self.value)
        errors = (np.broadcast_to(p.error, shape) for p in self)
        return Bounded(self.value, np.asarray(joined(*errors)))


class Walk(Protocol):
    """What is needed of the walk over the graph."""

    held: dict[int, Any]
    extents: Any

    def real_node(self, node: Node) -> list[Bounded]:
        """Results of a node whose values are real and held."""


@dataclass(frozen=True)
class Real:
    """A real value on the way; its operators are a kernel's, with their errors."""

    walk: Walk
    dtype: DType
    bounded: Bounded

    def do(self, name: str, *others: Any) -> Real:
        """The result of a real operator."""
        operands = [self, *(self._like(other) for other in others)]
        row = OPERATORS[name]
        _loop, results = row.type_rule(tuple(o.dtype for o in operands), ())
        values = tuple(map(_hold, operands))
        made = Value(_fresh(self.walk), results[0], ())
        (bounded,) = self.walk.real_node(Node(row, values, (made,)))
        return Real(self.walk, results[0], bounded)

    def _like(self, other: Any) -> Real:
        if isinstance(other, Real):
            return other
        return Real(self.walk, self.dtype, Bounded(self.bounded.value.dtype.type(other), _ZERO))

    def __add__(self, other: Any) -> Real:
        return self.do("add", other)

    def __sub__(self, other: Any) -> Real:
        return self.do("subtract", other)

    def __mul__(self, other: Any) -> Real:
        return self.do("multiply", other)

    def __truediv__(self, other: Any) -> Real:
        return self.do("divide", other)

    def __neg__(self) -> Real:
        return self.do("negative")

    def __abs__(self) -> Real:
        return self.do("absolute")

    def where(self, other: Real, condition: Bounded) -> Real:
        """This value where the condition holds, else the other."""
        chosen = Real(self.walk, BOOL, condition)
        return chosen.do("where", self, other)


_ZERO = np.zeros(())


class Pair(NamedTuple):
    """The parts of an operand, on the way."""

    re: Real
    im: Real

    @property
    def parts(self) -> Parts:
        return Parts(self.re.bounded, self.im.bounded)

    def where(self, other: Pair, condition: Bounded) -> Pair:
        re, im = (a.where(b, condition) for a, b in zip(self, other, strict=True))
        return Pair(re, im)

    def with_exact(self, where: Array, value: Array, operands: Sequence[Pair]) -> Pair:
        """Another value in some places, which nothing decides unless the operands are exact."""
        erring = [np.not_equal(r.bounded.error, 0) for p in operands for r in p]
        error = np.where(reduce(np.logical_or, erring), np.inf, 0.0)
        return Pair(*(
            replace(part, bounded=Bounded(np.where(where, v, part.bounded.value),
                                          np.where(where, error, part.bounded.error)))
            for part, v in zip(self, (value.real, value.imag), strict=True)
        ))  # fmt: skip


def _fresh(walk: Walk) -> int:
    return min(walk.held, default=0) - 1 if min(walk.held, default=0) < 0 else -1


def _hold(item: Real) -> Value:
    number = _fresh(item.walk)
    item.walk.held[number] = item.bounded
    return Value(number, item.dtype, np.shape(item.bounded.value))


# Expansions of operators whose helper is arithmetic.


def _multiply(x: Pair, y: Pair) -> Pair:
    return Pair(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


def _larger_first(y: Pair, turned: Bounded) -> tuple[Real, Real]:
    return y.im.where(y.re, turned), y.re.where(y.im, turned)


def _turned(y: Pair) -> Bounded:
    """The imaginary part is the larger one; NaN counts as large."""
    order = abs(y.re).do("greater_equal", abs(y.im))
    return order.do("logical_not").bounded


def _ratio(small: Real, large: Real) -> Real:
    """A quotient; 0 by anything, and anything by an infinity, is 0 without an error."""
    found = small / large
    (s, by_s), (l, by_l) = ((r.bounded.value, r.bounded.error) for r in (small, large))
    value = found.bounded.value
    exact = (by_s == 0) & (by_l == 0) & (value == 0) & ((s == 0) | np.isinf(l))
    return replace(found, bounded=Bounded(value, np.where(exact, 0.0, found.bounded.error)))


def _divide(x: Pair, y: Pair) -> Pair:
    turned = _turned(y)
    large, small = _larger_first(y, turned)
    ratio = _ratio(small, large)
    scale = (large._like(1.0)) / (large + small * ratio)
    p, q = x.im.where(x.re, turned), x.re.where(x.im, turned)
    im = (p * ratio - q).where(q - p * ratio, turned)
    found = Pair((p + q * ratio) * scale, im * scale)
    divisor, dividend = y.parts.value, x.parts.value
    by_zero = np.equal(divisor, 0)
    shape = np.broadcast_shapes(np.shape(divisor), np.shape(dividend))
    special = joined(dividend.real / np.abs(divisor.real), dividend.imag / np.abs(divisor.real))
    return found.with_exact(np.broadcast_to(by_zero, shape), np.asarray(special), (x, y))


def _reciprocal(x: Pair) -> Pair:
    order = abs(x.im).do("less_equal", abs(x.re))
    turned = order.do("logical_not").bounded
    large, small = _larger_first(x, turned)
    ratio = _ratio(small, large)
    size = large + small * ratio
    one = large._like(1.0)
    re, im = ratio.where(one, turned), (-one).where(-ratio, turned)
    return Pair(re / size, im / size)


def _absolute(x: Pair) -> Real:
    return x.re.do("hypot", x.im)


def _sign(x: Pair) -> Pair:
    size = _absolute(x)
    special = ~np.isfinite(size.bounded.value) | np.equal(size.bounded.value, 0)
    found = Pair(x.re / size, x.im / size)
    return found.with_exact(special, np.sign(x.parts.value), (x,))


def _conjugate(x: Pair) -> Pair:
    return Pair(x.re, -x.im)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "multiply": _multiply,
    "divide": _divide,
    "square": lambda x: _multiply(x, x),
    "reciprocal": _reciprocal,
    "absolute": _absolute,
    "sign": _sign,
    "conjugate": _conjugate,
    "real": lambda x: x.re,
    "imag": lambda x: x.im,
}

# Expansions of operators that compare, over pairs.


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


def _zero(x: Pair) -> Array:
    """Where it is open whether a number is zero."""
    nothing = Pair(x.re._like(0.0), x.im._like(0.0))
    return _equal(x, nothing)


def _unclear(x: Pair) -> Array:
    return np.asarray(x.parts.lost)


# Operators whose result is bool, and where it is open.
TESTS: dict[str, Callable[..., Array]] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _ordered),
    **dict.fromkeys(("equal", "not_equal"), _equal),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), _unclear),
    "logical_not": _zero,
    **dict.fromkeys(
        ("logical_and", "logical_or", "logical_xor"), lambda x, y: _zero(x) | _zero(y)
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
    "relu": lambda x: _maximum(x, Pair(x.re._like(0.0), x.im._like(0.0))),
}


# The walk.


def expanded(walk: Walk, node: Node) -> list[Any]:
    """Values and errors of a node of which an operand or a result is complex."""
    name = node.operator.name
    if name in REDUCTIONS:
        return [REDUCTIONS[name](walk, node)]
    if name == "matmul":
        return [_product(walk, node)]
    if name == "cast":
        return [_cast(walk, node)]
    if name == "join":
        parts = [_part_of(walk, o, "re").bounded for o in node.operands]
        shape = np.broadcast_shapes(*(np.shape(p.value) for p in parts))
        return [Parts(*(Bounded(*(np.broadcast_to(a, shape) for a in (p.value, p.error)))
                        for p in parts))]  # fmt: skip
    rules = {**ARITHMETIC, **PICKS}
    if name in rules:
        made = rules[name](*(_pair(walk, o) for o in node.operands))
        return [made.parts if isinstance(made, Pair) else made.bounded]
    if name in TESTS:
        pairs = [_pair(walk, o) for o in node.operands]
        value = np.asarray(node.operator.numpy(*(p.parts.value for p in pairs)))
        return [Bounded(value, np.where(TESTS[name](*pairs), np.inf, np.zeros(value.shape)))]
    return [Parts(*(_of_parts(walk, node, part) for part in ("re", "im")))]


def _part_of(walk: Walk, operand: Operand, part: str) -> Real:
    """A part of an operand; of a real one itself."""
    dtype = operand.dtype.part
    if isinstance(operand, Scalar):
        expr = operand.expr
        if operand.dtype.is_complex:
            expr = Expr({"re": "real", "im": "imag"}[part], (expr,))
        operand = Scalar(expr, dtype)
        made = Value(_fresh(walk), dtype, ())
        attrs = (("dtype", dtype.numpy_name), ("shape", ()))
        (bounded,) = walk.real_node(Node(OPERATORS["full"], (operand,), (made,), attrs))
        return Real(walk, dtype, bounded)
    held = walk.held[operand.id]
    return Real(walk, dtype, getattr(held, part) if isinstance(held, Parts) else held)


def _pair(walk: Walk, operand: Operand) -> Pair:
    return Pair(_part_of(walk, operand, "re"), _part_of(walk, operand, "im"))


def _of_parts(walk: Walk, node: Node, part: str) -> Bounded:
    """An operator that does the same to either part."""
    operands = tuple(_held(walk, o, part) if o.dtype.is_complex else o for o in node.operands)
    results = tuple(replace(r, id=_fresh(walk), dtype=r.dtype.part) for r in node.results)
    attrs = tuple(
        (k, results[0].dtype.numpy_name if k == "dtype" and v else v) for k, v in node.attrs
    )
    (found,) = walk.real_node(replace(node, operands=operands, results=results, attrs=attrs))
    return found


def _held(walk: Walk, operand: Operand, part: str) -> Value:
    found = _hold(_part_of(walk, operand, part))
    return replace(found, shape=operand.shape) if isinstance(operand, Value) else found


def _cast(walk: Walk, node: Node) -> Any:
    """Between complex types, and from and to others."""
    (operand,), target = node.operands, node.result.dtype
    if target is BOOL:
        pair = _pair(walk, operand)
        value = np.not_equal(pair.parts.value, 0)
        return Bounded(value, np.where(_zero(pair), np.inf, np.zeros(np.shape(value))))
    re = _of_parts(walk, node, "re")
    if not target.is_complex:
        return re
    if operand.dtype.is_complex:
        return Parts(re, _of_parts(walk, node, "im"))
    return Parts(re, Bounded(np.zeros_like(re.value), np.zeros(np.shape(re.value))))


def _product(walk: Walk, node: Node) -> Parts:
    """Each part is a real product of twice the depth: of [re, -im] and [re, im], say."""
    x, y = (_pair(walk, o) for o in node.operands)

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
        operands = tuple(_hold(Real(walk, x.re.dtype, b)) for b in (left, right))
        result = replace(node.result, id=_fresh(walk), dtype=x.re.dtype)
        (found,) = walk.real_node(replace(node, operands=operands, results=(result,)))
        unclear = ~np.isfinite(found.value)  # which parts of an infinity meet is the order's
        made.append(Bounded(found.value, np.where(unclear, np.inf, found.error)))
    return Parts(*made)


def _prod(walk: Walk, node: Node) -> Parts:
    """By magnitude; what is not finite is open, since one infinite part makes either one NaN."""
    found = _pair(walk, node.operands[0]).parts
    dtype, over = node.result.dtype.part, _over(node)
    value = np.asarray(np.prod(found.value, **over))
    size = np.abs(found.value) + np.hypot(found.re.error, found.im.error)
    extent = count((node.values[0].shape[a] for a in over["axis"]), walk.extents)
    growth = gamma(math.ceil(MULTIPLICATION * extent), dtype)
    above = np.prod(np.maximum(size, 1.0), **over)
    lost = 4 * extent * 0.5 * spacing(np.zeros((), found.re.value.dtype), dtype) * above
    error = np.prod(size, **over) * (1 + growth) - np.abs(value) + lost
    is_open = ~(2 * above * (1 + growth) < largest(dtype)) | ~np.isfinite(value)
    error = np.where(is_open | np.isnan(error), np.inf, np.maximum(error, lost))
    return Parts(Bounded(value.real, error), Bounded(value.imag, error))


def _over(node: Node) -> dict[str, Any]:
    return {"axis": reduced_axes(node), "keepdims": bool(node.attr("keepdims"))}


def _extreme(walk: Walk, node: Node) -> Parts:
    """The imaginary part may be that of any element whose real part may be the extreme one."""
    found, over = _pair(walk, node.operands[0]).parts, _over(node)
    kept = over | {"keepdims": True}
    sign = 1 if node.operator.name == "max" else -1
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
    is_open = is_open | (np.any(nan, **kept) & (error_re + error_im > 0))
    single = np.any(nan, **kept) & ~is_open
    shape = np.shape(node.operator.numpy(found.value, **over))
    made = []
    for value, error in ((whole.real, error_re), (whole.imag, error_im)):
        error = np.where(single, 0.0, np.where(is_open | np.isnan(error), np.inf, error))
        made.append(Bounded(value.reshape(shape), error.reshape(shape)))
    return Parts(*made)


REDUCTIONS: dict[str, Callable[[Walk, Node], Parts]] = {
    "prod": _prod, "max": _extreme, "min": _extreme,
}  # fmt: skip
