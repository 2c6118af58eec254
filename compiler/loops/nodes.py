"""Expressions of a loop, by their nodes of the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.kinds import BY_TYPE
from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.chosen import chosen_of, give, variables_for
from opweave.compiler.lines.complexes import is_complex, part_of_complex
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
    Array,
    Elements,
    Held,
    ItemRow,
    Items,
    Mixed,
    Number,
    NumberType,
    Several,
    Size,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.expressions import (
    Expressions,
    KeptOperand,
    in_pairs,
    is_ellipsis,
    parts_of,
)
from opweave.compiler.loops.listing import is_in, of_lists, part_of
from opweave.opcodes.dtypes import BOOL, C128, F64

UNARY = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}


def _constant(self: Expressions, node: ast.Constant) -> Held:
    return literal(node.value) if type(node.value) in BY_TYPE else Unchanging(node.value)


def _name(self: Expressions, node: ast.Name) -> Held:
    if node.id in self.env:
        if isinstance(held := self.env[node.id], Mixed):
            raise AgainError(held.what, self.prefix_of(node.id) + node.id)
        return held
    if node.id in self.locals:
        return self.perhaps(node.id)
    found = self.resolve(node.id)
    if isinstance(found, Held):
        return found  # of the function around
    return literal(found) if type(found) in BY_TYPE else Unchanging(found)


def _binary(self: Expressions, node: ast.BinOp) -> Held:
    left, right = self.in_order([node.left, node.right])
    if any(isinstance(held, Several) and held.is_list for held in (left, right)):
        return of_lists(self, type(node.op), left, right)
    return self.binary(type(node.op), left, right)


def _unary(self: Expressions, node: ast.UnaryOp) -> Held:
    if isinstance(node.op, ast.Not):
        truth = self.truth(node.operand)
        if truth.known is not None:
            return literal(not truth.known)
        return Number(bool, f"!{truth.text}", low=0, high=1)
    operand = self.computed(node.operand)
    if isinstance(operand, Number) and operand.type is C128 and isinstance(node.op, ast.USub):
        return replace(operand, text=f"(-{operand.text})")
    if isinstance(operand, Number) and operand.maybe:
        if not isinstance(node.op, ast.USub) or operand.type is not F64 or operand.whole:
            raise NoLoopError("an operator of a float of Python or of NumPy")
        return replace(operand, text=self.text.named("double", f"-{operand.text}"))
    if isinstance(operand, Number) and operand.is_python:
        return self.numbers.unary(type(node.op), operand)
    return self.apply(UNARY[type(node.op)], operand)


def _compare(self: Expressions, node: ast.Compare) -> Held:
    if len(node.ops) == 1:
        left, right = self.in_order([node.left, node.comparators[0]])
        if isinstance(right, Items | ItemRow) and isinstance(node.ops[0], ast.In | ast.NotIn):
            found = is_in(self, left, right)
            is_asked = isinstance(node.ops[0], ast.In)
            return found if is_asked else replace(found, text=f"!{found.text}")
        return self.compare(type(node.ops[0]), left, right)
    return _truths(self, in_pairs(node))


def _kept(self: Expressions, node: KeptOperand) -> Held:
    if node.held is None:
        node.held = self.pinned(self.value(node.part))
    return node.held


def _bool(self: Expressions, node: ast.BoolOp) -> Held:
    """``a and b`` as a value."""
    types = {getattr(taken_back(self, part), "type", None) for part in node.values}
    if types <= {bool, BOOL} and len(types) == 1:
        return _truths(self, node)
    first = KeptOperand(node.values[0])
    self.value(first)
    rest = node.values[1] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[1:])
    ways = (first, rest) if isinstance(node.op, ast.Or) else (rest, first)
    return _choice(self, ast.IfExp(first, *ways))


def _truths(self: Expressions, node: ast.BoolOp) -> Held:
    """The same of truths that are all Python's, or all NumPy's."""
    kinds, maybe = set[NumberType](), list[str]()

    def truth(part: ast.expr) -> Number:
        found = self.value(part)
        if not isinstance(found, Number) or found.type not in (bool, BOOL):
            raise NoLoopError("and, or of what is no truth")
        kinds.add(found.type)
        maybe.append(found.maybe)
        if len(kinds) > 1:
            raise NoLoopError("and, or of truths of several types")
        return self.truth_of(found)

    found = self.decided(node, truth)
    if found.known is not None:
        return found
    return replace(found, type=kinds.pop(), maybe=" || ".join(filter(None, maybe)))


def _choice(self: Expressions, node: ast.IfExp) -> Held:
    """What a choice gives: of each number its variables are assigned to by both ways."""
    test = self.truth(node.test)
    if test.known is not None:
        return self.value(node.body if test.known else node.orelse)
    parts = node.body, node.orelse
    first, second = (taken_back(self, part) for part in parts)
    both, before, ends = variables_for(self.text, first, second), self.env, []
    for head, part in zip((f"if ({test.text})", "else"), parts, strict=True):
        self.env = dict(before)
        with self.text.block(head):
            give(self.text, both, self.value(part))
        ends.append(self.env)
    self.env = self.met(ends)
    return chosen_of(self.text, both, first)


def taken_back(self: Expressions, part: ast.expr) -> Held:
    """What an expression is; its lines are not written."""
    mark, before = self.text.mark(), dict(self.env)
    with self.text.block(""):
        held = self.value(part)
    self.text.back(mark)
    self.env = before
    return held


def _subscript(self: Expressions, node: ast.Subscript) -> Held:
    array = self.kept_beside(self.value(node.value), node.slice)
    if isinstance(array, Several):
        place, count = self.number(node.slice), len(array.items)
        if type(place.known) is not int:
            return tabled(self, array.items, place)
        if not -count <= place.known < count:
            raise NoLoopError("an item that a tuple has not")
        return array.items[place.known]
    if isinstance(array, Items | ItemRow) and isinstance(node.slice, ast.Slice):
        return part_of(self, array, node.slice)
    if isinstance(array, Items | ItemRow):
        return self.loaded(self.item_lists.place(array, self.number(node.slice)))
    if isinstance(array, Elements) and array.rank:
        array = self.apart(array)
    if not isinstance(array, Strided):
        raise NoLoopError("an index of what is no array")
    part = self.part(array, self.items(node.slice, array.rank))
    if not part.sizes and any(map(is_ellipsis, parts_of(node.slice))):
        raise NoLoopError("an index with ... that gives an array of no axes")
    return self.loaded(part)


def tabled(self: Expressions, items: Sequence[Held], place: Number) -> Held:
    """An item of a tuple of known numbers, or of tuples of such, at a place that changes."""
    if not place.is_integer or place.type is bool or not items:
        raise NoLoopError("an item of a tuple")
    count, at = len(items), place.text
    if not (place.low >= 0 and place.high < count):
        at = self.text.named("int64", f"{at} < 0 ? {at} + {count} : {at}", "i")
        self.numbers.fault(f"(uint64){at} >= {count}", "LOOP_TUPLE")
    return _item_at(self, items, at)


def _item_at(self: Expressions, items: Sequence[Held], at: str) -> Held:
    first = items[0]
    if isinstance(first, Several):
        rows = [item.items for item in items if isinstance(item, Several)]
        if len(rows) < len(items) or len({len(row) for row in rows}) > 1:
            raise NoLoopError("an item of a tuple of several kinds")
        return Several(tuple(_item_at(self, column, at) for column in zip(*rows, strict=True)))
    numbers = [item for item in items if isinstance(item, Number) and item.known is not None]
    kinds = {number.type for number in numbers}
    if len(numbers) < len(items) or len(kinds) > 1 or not numbers:
        raise NoLoopError("an item of a tuple of several kinds")
    c_type, table = numbers[0].c_type, self.text.fresh("table")
    texts = ", ".join(number.text for number in numbers)
    self.text.add(f"const {c_type} {table}[] = {{{texts}}};")
    name = self.text.named(c_type, f"{table}[{at}]")
    size = Size.of(name) if numbers[0].type is int else None
    low, high = min(n.low for n in numbers), max(n.high for n in numbers)
    return Number(numbers[0].type, name, size, low, high)


def _attribute(self: Expressions, node: ast.Attribute) -> Held:
    owner = self.value(node.value)
    if isinstance(owner, Strided | Elements):
        found = ATTRIBUTES.get(node.attr)
        if found is None:
            raise NoLoopError(f".{node.attr} inside a loop")
        return found(self, owner)
    if isinstance(owner, Unchanging):
        value = self.resolve_attribute(owner.value, node.attr)
        return literal(value) if type(value) in BY_TYPE else Unchanging(value)
    if isinstance(owner, Number) and is_complex(owner.type) and node.attr in ("real", "imag"):
        return part_of_complex(owner, node.attr)
    raise NoLoopError(f".{node.attr} inside a loop")


def _tuple(self: Expressions, node: ast.Tuple | ast.List) -> Held:
    return Several(tuple(self.in_order(node.elts)), isinstance(node, ast.List))


def _call(self: Expressions, node: ast.Call) -> Held:
    return self.called(node)


def extent(size: Size) -> Number:
    """The number of elements along an axis, as Python's integer."""
    if not size.terms:
        return literal(size.constant)
    return Number(int, f"({size.text})", size, 0, 1 << 48)


def _shape(self: Expressions, array: Strided | Elements) -> Held:
    return Several(tuple(map(extent, array.sizes)))


def _size(self: Expressions, array: Strided | Elements) -> Held:
    found: Number = literal(1)
    for size in array.sizes:
        found = self.numbers.binary(ast.Mult, found, extent(size))
    return found


def turned(self: Expressions, array: Array, order: Sequence[int]) -> Strided:
    """A view with the axes in another order."""
    found = self.apart(array) if isinstance(array, Elements) else array
    return replace(
        found,
        sizes=tuple(found.sizes[n] for n in order),
        strides=tuple(found.strides[n] for n in order),
        where=None,
        is_whole=False,
        is_turned=True,
    )


def _dtype(self: Expressions, array: Strided | Elements) -> Held:
    return Unchanging(np.dtype(array.dtype.numpy_name))


ATTRIBUTES: Mapping[str, Callable[[Expressions, Strided | Elements], Held]] = {
    "shape": _shape,
    "size": _size,
    "T": lambda self, array: turned(self, array, range(array.rank)[::-1]),
    "dtype": _dtype,
    "ndim": lambda _, array: literal(array.rank),
}
EXPRESSIONS: Mapping[type[ast.expr], Callable[[Expressions, Any], Held]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    KeptOperand: _kept,
    ast.BoolOp: _bool,
    ast.IfExp: _choice,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Call: _call,
}
