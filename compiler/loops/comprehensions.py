"""Generator expressions and comprehensions that a function takes at once: loops of their own.

n = sum(v > 0 for v in x)     ->      for v in x: n += v > 0
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from typing import Any

from opweave.compiler.captures.source import NoLoopError, stored_in
from opweave.compiler.lines.applied import bounds_of
from opweave.compiler.lines.chosen import chosen_of, give, variables_for
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
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
from opweave.compiler.loops.expressions import KeptOperand
from opweave.compiler.loops.listing import LIST_METHODS, SUMS, add_to, extreme_of, summed, total
from opweave.compiler.loops.statements import STATEMENTS, Statements
from opweave.opcodes.dtypes import F64, I64

Take = Callable[[Held], None]

# What names begin with that comprehensions get.
OF_EACH = "of each "


class Taking(ast.stmt):
    """What is done with an expression in a round."""

    _fields = ("value",)

    def __init__(self, value: ast.expr | None, take: Callable[..., None]):
        super().__init__()
        self.value, self.take = value, take


def _taking(self: Statements, node: Taking) -> None:
    node.take(*([] if node.value is None else [self.value(node.value)]))


STATEMENTS[Taking] = _taking


def with_own_names(tree: ast.FunctionDef) -> None:
    """Give the names of comprehensions others, so that a name is one thing in a function."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.GeneratorExp | ast.ListComp)]
    for number, node in enumerate(reversed(found)):  # those within others first
        _rename(node, f"{OF_EACH}{number}")


def _rename(node: ast.GeneratorExp | ast.ListComp, begin: str) -> set[str]:
    """Rename what a comprehension assigns to; the names that it has then."""
    first = node.generators[0].iter  # which is of the function around
    node.generators[0].iter = ast.Constant(0)
    stored = set[str]().union(*(stored_in(generator.target) for generator in node.generators))
    names = {name: f"{begin} {name}" for name in stored}
    _NamesOfEach(names).visit(node)
    node.generators[0].iter = first
    return {*names.values()}


class _NamesOfEach(ast.NodeTransformer):
    """Gives the names of a comprehension others, which no function has."""

    def __init__(self, names: dict[str, str]):
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        node.id = self._names.get(node.id, node.id)
        return node


def each(self: Statements, held: Generated, take: Take, done: Callable[[], None]) -> None:
    """Do something with every item; ``done`` is written behind loops within others."""
    node = copy.deepcopy(held.node)
    names = _rename(node, self.text.fresh("each"))
    body: list[ast.stmt] = [Taking(node.elt, take)]
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = [ast.If(test, body, [])]
        body = [ast.For(generator.target, generator.iter, body, []), Taking(None, done)]
    for part in (p for statement in body for p in ast.walk(statement)):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, held.node)
    self.statements(body[:1])
    self.env = {name: kept for name, kept in self.env.items() if name not in names}


def as_generated(held: Held) -> Generated:
    """A generator expression, or the elements of a vector, one after the other.

    Raises:
        NoLoopError: it is neither.
    """
    if isinstance(held, Generated):
        return held
    if not isinstance(held, Strided) or held.rank != 1:
        raise NoLoopError("max, min, any, all of other than vectors or generator expressions")
    over = KeptOperand(ast.Constant(0), held)
    generator = ast.comprehension(ast.Name("v", ast.Store()), over, [], 0)
    made = ast.GeneratorExp(ast.Name("v", ast.Load()), [generator])
    return Generated(ast.copy_location(made, ast.Constant(0, lineno=0, col_offset=0)))


def _nothing() -> None:
    pass


def sum_of(self: Statements, held: Held, start: Held = literal(0)) -> Number:
    """Python's ``sum``: of no items an integer."""
    if not isinstance(held, Generated) or getattr(start, "known", None) != 0:
        return total(self, held, start)
    if getattr(start, "type", None) is not int:
        raise NoLoopError("sum from another number than 0")
    acc, count = self.text.fresh("sum"), self.text.variable("int64", self.text.fresh("n"))
    self.text.add(f"{acc} = 0, {count} = 0;")
    kinds = set[NumberType]()

    def take(item: Held) -> None:
        self.text.add(f"++{count};")
        add_to(self, acc, _of_one_type(item, kinds, SUMS))

    each(self, held, take, _nothing)
    (kind,) = kinds or {int}
    return summed(self, kind, acc, count)


def _of_one_type(held: Held, kinds: set[NumberType], known: Mapping[Any, NumberType]) -> Number:
    """An item, where all are of one type."""
    if not isinstance(held, Number) or held.maybe or held.type not in known:
        raise NoLoopError("a sum, or an extreme, of other than numbers of one type")
    kinds.add(known[held.type])
    if len(kinds) > 1:
        raise NoLoopError("a sum, or an extreme, of numbers of several types")
    return held


EXTREMES: dict[NumberType, NumberType] = {t: t for t in (int, float, bool, I64, F64)}


def extreme_of_each(self: Statements, sign: str, held: Held, default: Held | None = None) -> Held:
    """Python's ``max`` or ``min``: the first one of equals; of none what is given for that."""
    if isinstance(held, Items | ItemRow):
        if default is not None:
            raise NoLoopError("an extreme of a list with default=")
        return extreme_of(self, sign, held)
    best, has = self.text.fresh("best"), self.text.variable("bool", self.text.fresh("has"))
    self.text.add(f"{has} = false;")
    kinds = set[NumberType]()

    def take(item: Held) -> None:
        x = _of_one_type(item, kinds, EXTREMES).text
        self.text.add(f"if (!{has} || {x} {sign} {best}) {best} = {x}, {has} = true;")

    each(self, as_generated(held), take, _nothing)
    if default is None:
        self.numbers.fault(f"!{has}", "LOOP_NO_ITEM", f"{int(sign == '>')}")
    found = _best(self, kinds, best)
    return found if default is None else _one_of(self, has, found, default)


def _best(self: Statements, kinds: set[NumberType], best: str) -> Number:
    """What was found, of which it is known now of what type it is."""
    if not kinds:
        raise NoLoopError("an extreme of no items")
    (kind,) = kinds
    c_type = Number(kind, "").c_type
    name = self.text.named(c_type, self.text.variable(c_type, best))
    low, high = (0, 1) if kind is bool else bounds_of(kind)[1:]
    return Number(kind, name, Size.of(name) if kind in (int, I64) else None, low, high)


def _one_of(self: Statements, has: str, found: Number, default: Held) -> Held:
    """What was found, where something was."""
    both = variables_for(self.text, found, default)
    for head, way in ((f"if ({has})", found), ("else", default)):
        with self.text.block(head):
            give(self.text, both, way)
    return chosen_of(self.text, both, found)


def _decides(is_all: bool) -> Callable[..., Held]:
    def decide(self: Statements, held: Held) -> Held:
        """Python's ``any`` and ``all``: items behind the one that decides are not asked."""
        if isinstance(held, Generated) and isinstance(held.node, ast.ListComp):
            raise NoLoopError("any, all of a list, all of which Python makes")
        found = self.text.variable("bool", self.text.fresh("found"))
        self.text.add(f"{found} = false;")

        def leave() -> None:
            self.around[-1].left.append(dict(self.env))
            self.text.add("break;")

        def take(item: Held) -> None:
            if not isinstance(item, Number):
                raise NoLoopError("any, all of other than numbers")
            truth = self.truth_of(item)
            with self.text.block(f"if ({'!' * is_all}({truth.text}))"):
                self.text.add(f"{found} = true;")
                leave()

        def done() -> None:
            with self.text.block(f"if ({found})"):
                leave()

        each(self, as_generated(held), take, done)
        name = self.text.named("bool", f"{'!' * is_all}{found}")
        return Number(bool, name, low=0, high=1)

    return decide


decide_any, decide_all = _decides(False), _decides(True)


def listed(self: Statements, name: str, held: Generated) -> Items:
    """A list that a name gets; the one that it had may be read while it is made."""
    made = self.item_lists.new(f"{name} next", self.prefix, ())
    each(self, held, lambda item: self.item_lists.append(made, item), _nothing)
    found = self.item_lists.new(name, self.prefix, ())
    _add_all(self, found, made)
    return found


def _add_all(self: Statements, owner: Items, held: Items | ItemRow) -> None:
    """Append the items that another list has now."""
    self.item_lists.check_read(held)
    count = self.text.named("int64", self.item_lists.count_of(held), "n")
    k = self.text.fresh("k")
    self.text.add(f"LOOP_TICK({count});")
    with self.text.block(f"for (int64 {k} = 0; {k} < {count}; ++{k})"):
        self.item_lists.append(owner, self.item_lists.at(held, k))


def _extend(self: Statements, owner: Items, held: Held) -> Held:
    """``items.extend``: by what is written out, by a list, a vector or a generator expression."""
    if isinstance(held, Several):
        for item in held.items:
            self.item_lists.append(owner, item)
    elif isinstance(held, Items | ItemRow):
        _add_all(self, owner, held)
    else:
        if isinstance(held, Generated) and _may_read(self, held, owner):
            raise NoLoopError("extend by what the same list is read for")
        each(self, as_generated(held), lambda item: self.item_lists.append(owner, item), _nothing)
    return Unchanging(None)


def _may_read(self: Statements, held: Generated, owner: Items) -> bool:
    """Whether items may come from a list: by its name, or by an object that has it."""
    parts = [*ast.walk(held.node)]
    found = [self.env.get(part.id) for part in parts if isinstance(part, ast.Name)]
    is_named = any(isinstance(each, Items) and each.name == owner.name for each in found)
    # a row may lie in it
    is_row = any(isinstance(each, ItemRow) and each.owner == owner.name for each in found)
    return is_named or is_row or any(isinstance(part, ast.Attribute) for part in parts)


LIST_METHODS["extend"] = _extend
