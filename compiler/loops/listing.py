"""Lists of Python inside of a loop: which it reads, loops through them, and their methods."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opweave.compiler.captures.source import NoLoopError, stored_in
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.read_lists import kinds_of_items
from opweave.compiler.lines.values import (
    LONGEST,
    Counted,
    Generated,
    Held,
    ItemRow,
    Items,
    Number,
    NumberType,
    Several,
    Size,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.expressions import Expressions, KeptOperand
from opweave.opcodes.dtypes import BOOL, F64, I64

# Calls that take lists and give numbers of them.
TAKE = ("len", "enumerate", "zip", "min", "max", "reversed", "sum", "bool")


def read_lists(loop: ast.AST) -> frozenset[str]:
    """The names in a loop that may be lists to which it does more than append.

    >>> sorted(read_lists(ast.parse("for a in x: y.append(a + z[0])")))
    ['x', 'z']
    """
    parts = [*ast.walk(loop)]
    found = {_name(n.value) for n in parts if isinstance(n, ast.Subscript)}
    found |= {_name(n.iter) for n in parts if isinstance(n, ast.For | ast.comprehension)}
    found |= {_name(n.test) for n in parts if isinstance(n, ast.While | ast.If | ast.IfExp)}
    for n in parts:
        if isinstance(n, ast.Call):
            found |= set(map(_name, n.args))
            if isinstance(n.func, ast.Attribute) and n.func.attr != "append":
                found.add(_name(n.func.value))
        elif isinstance(n, ast.BoolOp):
            found |= set(map(_name, n.values))
        elif isinstance(n, ast.UnaryOp):
            found.add(_name(n.operand))
        elif isinstance(n, ast.Compare):
            found |= set(map(_name, n.comparators))
    return frozenset(found - {""})


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def kinds_of_lists(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Of what types the items of lists are, by the names of these."""
    return {n: kinds_of_items(values[n]) for n in names if type(values.get(n)) is list}


# Methods that add an item, and which of their arguments it is.
ADDING = {"append": 0, "insert": 1}


def first_added(loop: ast.AST, name: str) -> ast.expr | None:
    """The expression of the first item that a loop adds to a list, where it is written out."""
    for node in ast.walk(loop):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and _name(called.value) == name:
            place = ADDING.get(called.attr)
            assert isinstance(node, ast.Call)
            if place is not None and len(node.args) == place + 1:
                return node.args[place]
    return None


def check_sources(loop: ast.For, lists: Sequence[str]) -> None:
    """Hold that no name of what a loop goes through gets another list.

    Raises:
        NoLoopError: one does.
    """
    names = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)}
    if lists and names & stored_in(loop):
        raise NoLoopError("a loop over a list whose name gets another one")


def _append(self: Expressions, held: Items, value: Held) -> Held:
    self.item_lists.append(held, value)
    return Unchanging(None)


def _pop(self: Expressions, held: Items, index: Held | None = None) -> Held:
    if index is not None and not isinstance(index, Number):
        raise NoLoopError("pop of what is no integer")
    return self.item_lists.pop(held, index)


def _insert(self: Expressions, held: Items, index: Held, value: Held) -> Held:
    if not isinstance(index, Number):
        raise NoLoopError("insert at what is no integer")
    self.item_lists.insert(held, index, value)
    return Unchanging(None)


def _clear(self: Expressions, held: Items) -> Held:
    self.item_lists.clear(held)
    return Unchanging(None)


def part_of(self: Expressions, held: Items | ItemRow, node: ast.Slice) -> ItemRow:
    """A slice of a list that does not change: its items where they lie.

    Raises:
        NoLoopError: it changes, or it is a list of lists.
    """
    part, lists = self.slice(node), self.item_lists
    owner, count = lists.check_read(held), self.text.named("int64", lists.count_of(held), "n")
    if part.step != 1 or (isinstance(held, Items) and owner.rows is not None):
        raise NoLoopError("a slice of a list of lists, or with a step")
    ends = []
    for bound, other in ((part.start, "0"), (part.stop, count)):
        if bound is not None and (not bound.is_integer or bound.maybe):
            raise NoLoopError("a slice of a list by what is no integer")
        text = other if bound is None else f"slice_bound({bound.text}, {count}, 0, {count})"
        ends.append(self.text.named("int64", text))
    owner.has_parts = True
    lists.check_parts(owner)
    size = self.text.named("int64", f"at_least_0({ends[1]} - {ends[0]})", "n")
    first = f"{held.start} + {ends[0]}" if isinstance(held, ItemRow) else ends[0]
    return ItemRow(owner.c_name, self.text.named("int64", first), size, is_part=True)


def taken_at_once(node: ast.expr) -> ast.expr:
    """An expression for who runs through it where it stands, if it is a comprehension.

    Elsewhere it is none that loops compile: it has a meaning only in the names around it.
    """
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        return KeptOperand(node, Generated(node))
    return node


def of_lists(self: Expressions, op: type[ast.operator], a: Held, b: Held) -> Held:
    """``[x] * n``, and lists that are written out, one behind the other."""
    several, other = (a, b) if isinstance(a, Several) else (b, a)
    assert isinstance(several, Several)
    if op is ast.Add and isinstance(other, Several) and other.is_list == several.is_list:
        return Several((*several.items, *other.items), is_list=True)
    is_count = isinstance(other, Number) and other.is_integer and not other.maybe
    if op is not ast.Mult or not is_count or len(several.items) != 1:
        return self.binary(op, a, b)
    assert isinstance(other, Number)
    item, zero = self.pinned(several.items[0]), ast.Constant(0, lineno=0, col_offset=0)
    over = KeptOperand(zero, Counted(literal(0), other, 1))
    target = ast.Name("_", ast.Store())
    made = ast.ListComp(KeptOperand(zero, item), [ast.comprehension(target, over, [], 0)])
    return Generated(ast.copy_location(made, zero))


def extreme_of(self: Expressions, sign: str, held: Items | ItemRow) -> Number:
    """Python's ``max`` or ``min`` of the items of a list: the first one of equals."""
    self.item_lists.check_read(held)
    count = self.item_lists.count_of(held)
    self.numbers.fault(f"{count} == 0", "LOOP_NO_ITEM", f"{int(sign == '>')}")
    self.text.add(f"LOOP_TICK({count});")
    first = _one(self, held, "0")
    best = self.text.variable(first.c_type, self.text.fresh("best"))
    self.text.add(f"{best} = {first.text};")
    with _each(self, held, "1") as place:
        x = _one(self, held, place)
        self.text.add(f"if ({x.text} {sign} {best}) {best} = {x.text};")
    size = Size.of(self.text.named("int64", best)) if first.type is int else None
    return Number(first.type, size.text if size else best, size, first.low, first.high)


def is_in(self: Expressions, value: Held, held: Items | ItemRow) -> Number:
    """``x in items``, of integers."""
    self.item_lists.check_read(held)
    kinds = (int, bool, I64)
    if not isinstance(value, Number) or value.type not in kinds or value.maybe:
        raise NoLoopError("in, of a list of other than integers")
    wanted = self.text.named("int64", f"(int64){value.text}")
    found = self.text.variable("bool", self.text.fresh("found"))
    self.text.add(f"{found} = false;")
    with _each(self, held, "0", f" && !{found}") as place:
        x = _one(self, held, place)
        if x.type not in kinds:
            raise NoLoopError("in, of a list of other than integers")
        self.text.add(f"LOOP_TICK(1); {found} = (int64){x.text} == {wanted};")
    return Number(bool, found, low=0, high=1)


@contextmanager
def _each(self: Expressions, held: Items | ItemRow, start: str, also: str = "") -> Iterator[str]:
    """A loop of C through a list: the place of each item."""
    k = self.text.fresh("k")
    head = f"for (int64 {k} = {start}; {k} < {self.item_lists.count_of(held)}{also}; ++{k})"
    with self.text.block(head):
        yield k


def _one(self: Expressions, held: Items | ItemRow, place: str) -> Number:
    item = self.item_lists.at(held, place)
    if not isinstance(item, Number) or item.maybe:
        raise NoLoopError("a function of a list of other than numbers of one type")
    return item


def total(self: Expressions, held: Held, start: Held = literal(0)) -> Number:
    """Python's ``sum``: one item after the other, as they stand; of none it is an integer."""
    if getattr(start, "known", None) != 0 or getattr(start, "type", None) is not int:
        raise NoLoopError("sum from another number than 0")
    if isinstance(held, Items | ItemRow):
        self.item_lists.check_read(held)
        count = self.text.named("int64", self.item_lists.count_of(held), "n")

        def take(k: str) -> Held:
            return self.item_lists.at(held, k)
    elif isinstance(held, Strided) and held.rank == 1:
        count = self.text.named("int64", held.sizes[0].text, "n")

        def take(k: str) -> Held:
            place = Number(int, k, Size.of(k), 0, LONGEST)
            return self.loaded(self.indexing.index(held, [place]))
    else:
        raise NoLoopError("sum of other than lists of numbers, or vectors")
    return _summed(self, count, take)


# What Python's ``sum`` makes of a number beside 0; of floats it corrects itself from 3.12 on.
SUMS: dict[Any, NumberType] = {int: int, bool: int, I64: I64, BOOL: I64, F64: F64}
if sys.version_info < (3, 12):
    SUMS[float] = float


def _summed(self: Expressions, count: str, take: Callable[[str], Held]) -> Number:
    k, acc = self.text.fresh("k"), self.text.fresh("sum")
    self.text.add(f"{acc} = 0;")
    self.text.add(f"LOOP_TICK({count});")
    with self.text.block(f"for (int64 {k} = 0; {k} < {count}; ++{k})"):
        item = take(k)
        if not isinstance(item, Number) or item.maybe or item.type not in SUMS:
            raise NoLoopError("sum of numbers of other types")
        add_to(self, acc, item)
    return summed(self, SUMS[item.type], acc, count)


def add_to(self: Expressions, acc: str, item: Number) -> None:
    """Add an item to a sum."""
    kind, x = SUMS[item.type], item.text
    if kind is int:
        fault = f"LOOP_FAULT(LOOP_OVERFLOW, {self.text.line}, 0, 0, 0);"
        self.text.add(f"if (__builtin_add_overflow({acc}, (int64){x}, &{acc})) {fault}")
    elif kind is I64:
        self.text.add(f"{acc} = (int64)((uint64){acc} + (uint64){x});")
    else:
        self.text.add(f"{acc} += {x};")


def summed(self: Expressions, kind: NumberType, acc: str, count: str) -> Number:
    """A sum of so many items, of which it is known now of what type they are."""
    c_type = "double" if kind in (float, F64) else "int64"
    name = self.text.named(c_type, self.text.variable(c_type, acc))
    if kind is int:
        return Number(int, name, Size.of(name))
    dtype = F64 if c_type == "double" else I64
    said = self.text.named("bool", f"{count} > 0")
    none = self.text.named("bool", f"{count} == 0") if dtype is F64 else ""
    return Number(dtype, name, maybe=said if kind is dtype else "false", whole=none)


LIST_METHODS: dict[str, Callable[..., Held]] = {
    "append": _append,
    "insert": _insert,
    "pop": _pop,
    "clear": _clear,
}
