"""Reshaping of traced arrays: other extents over the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from opweave.compiler.arrays.integers import integer
from opweave.compiler.arrays.interface import TracedArrayLike, TracerLike
from opweave.compiler.ir.expr import Expr, evaluate, literal
from opweave.compiler.ir.values import Extent, Shape
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import AxisError, ShapeError
from opweave.opcodes.shapes import check_dimensions

if TYPE_CHECKING:
    from opweave.compiler.ir.builder import GraphBuilder

ONE, OPEN = literal(1), literal(-1)


def reshaped(array: TracedArrayLike, shape: Sequence[Any]) -> TracedArrayLike:
    """The elements in the order of rows in another shape; -1 stands for what is left.

    Raises:
        ShapeError: the shapes do not have the same number of elements.
    """
    tracer, builder = array.tracer, array.tracer.builder
    exprs = [_extent_or_open(tracer, item) for item in shape]
    total = product_of([builder.extent_expr(e) for e in array.value.shape])
    if exprs.count(OPEN) > 1:
        raise ShapeError(f"reshape: -1 stands twice in {_shown(shape)}")
    if OPEN in exprs:
        place = exprs.index(OPEN)
        known = product_of([e for e in exprs if e != OPEN])
        if not builder.require(Expr("ne", (known, literal(0)))):
            raise ShapeError(f"reshape: -1 in {_shown(shape)} could be anything: another is 0")
        exprs[place] = _share(total, known)
    if not builder.require(Expr("eq", (product_of(exprs), total))):
        have = tuple(map(builder.example, array.value.shape))
        raise ShapeError(f"reshape: {have} has not as many elements as {_shown(shape)}")
    extents = tuple(symbol_of(tracer, expr) for expr in exprs)
    if extents == tuple(map(builder.find, array.value.shape)):
        view: TracedArrayLike = array if tracer.is_number(array.value) else array[...]
        return view
    made = builder.reshaped(array.value, extents, tracer.where())
    view = array.of(made)
    if tracer.is_number(array.value):
        return tracer.apart(view)
    tracer.relate(array, view)
    return view


def agree(builder: GraphBuilder, shape: Shape, other: Shape) -> bool:
    """Whether two shapes are the same; the answer becomes part of the guard."""
    return len(shape) == len(other) and all(
        builder.find(a) == builder.find(b)
        or builder.require(Expr("eq", (builder.extent_expr(a), builder.extent_expr(b))))
        for a, b in zip(shape, other, strict=True)
    )


def _share(total: Expr, known: Expr) -> Expr:
    """The extent that -1 stands for."""
    if known == ONE:
        return total
    return ONE if known == total else Expr("share", (total, known))


def _extent_or_open(tracer: TracerLike, item: Any) -> Expr:
    """An extent, or -1: NumPy takes any negative number for the extent that is left."""
    expr = number_of(tracer, item)
    if evaluate(expr, tracer.builder.extents) >= 0:
        return expr
    if expr.op != "literal":
        tracer.builder.require(Expr("lt", (expr, literal(0))))
    return OPEN


def extent_of_item(tracer: TracerLike, item: Any) -> Expr:
    """An extent of a shape: an expression of extents, or a number that is part of the guard.

    Raises:
        IntegerError: not an integer.
        ShapeError: negative.
    """
    expr = number_of(tracer, item)
    found = evaluate(expr, tracer.builder.extents)
    if found < 0:
        raise ShapeError(f"an extent cannot be negative, found {shown(found)}")
    return expr


def number_of(tracer: TracerLike, item: Any) -> Expr:
    """A whole number: an expression of extents, or a number that is part of the guard.

    Raises:
        IntegerError: not an integer.
    """
    expr = getattr(item, "expr", None)
    if isinstance(expr, Expr) and all(leaf.op != "argument" for leaf in expr.leaves()):
        item = item.example
    else:
        expr = None
    found = integer(tracer.concrete(item), "an extent")
    return literal(found) if expr is None else tracer.builder.resolve_expr(expr)


def counted_axis(name: str, axis: Any, rank: int) -> int:
    """An axis counted from 0.

    Raises:
        IntegerError: no integer.
        AxisError: no axis of the array.
        UnsupportedError: axis 0 or -1 of an array without dimensions, which some of NumPy's
            functions accept.
    """
    found = integer(axis, f"{name}: an axis")
    check_dimensions(name, found, rank)
    if not -rank <= found < rank:
        raise AxisError(
            f"{name}: axis {shown(found)} does not exist in an array of {rank} dimensions"
        )
    return found % rank


def counted_axes(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """Some axes of an array, counted from 0: of a tuple, of one axis, or of None, which is all.

    Raises:
        IntegerError, AxisError, UnsupportedError: see ``counted_axis``.
    """
    given = range(rank) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    return tuple(counted_axis(name, axis, rank) for axis in given)


def symbol_of(tracer: TracerLike, expr: Expr) -> Extent:
    """From an expression to an extent: a number, a known symbol, or a new one."""
    if expr.op == "literal":
        number: int = expr.args[0]
        return number
    return tracer.builder.symbol(expr)


def product_of(exprs: Sequence[Expr]) -> Expr:
    """How many elements there are along some extents."""
    return reduce(_times, exprs, ONE)


def _times(a: Expr, b: Expr) -> Expr:
    if ONE in (a, b):
        return b if a == ONE else a
    return Expr("mul", (a, b))


def _shown(shape: Sequence[Any]) -> str:
    return str(tuple(getattr(item, "example", item) for item in shape))
