"""Expressions of a loop: from a node of the syntax tree to a number, a view or elements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import FunctionType, ModuleType
from typing import Any, ClassVar

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import bounds_of
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.complexes import AllNumbers
from opweave.compiler.lines.facts import SizeFacts
from opweave.compiler.lines.indexing import ALL, Indexing, Item, Slice
from opweave.compiler.lines.items import ItemLists
from opweave.compiler.lines.lists import Lists
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.picking import Picked, Picking
from opweave.compiler.lines.served import Served
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import (
    Array,
    Computed,
    Elements,
    Held,
    ItemPlace,
    ItemRow,
    Items,
    Number,
    Size,
    Strided,
    Unchanging,
)
from opweave.opcodes.dtypes import I64


class Expressions(Picking):
    """Lowers expressions, into lines of C before the one that is being written.

    Attributes:
        env: what names hold; a name that may be unbound, or of several types, is not there.
        forms: how each node of the syntax tree is lowered.
    """

    forms: ClassVar[Mapping[type[ast.expr], Callable[[Any, Any], Held]]] = {}

    def __init__(
        self,
        resolve: Callable[[str], Any],
        outside: Callable[[ast.expr], Number],
        extents: Mapping[str, int],
    ):
        """``resolve`` finds what a global name holds, and notes that it was asked for; ``extents``
        are those of the call, by names that arrays get as they come."""
        text = Text()
        super().__init__(text, AllNumbers(text, outside))
        self.env: dict[str, Held] = {}
        self.locals: frozenset[str] = frozenset()  # names that are no global ones
        self.prefix = ""  # of variables: those of a function that is called have one
        self.shared: frozenset[str] = frozenset()  # names of attributes, in all functions
        self.stored: frozenset[str] = frozenset()  # those of them that are assigned to
        self.facts = SizeFacts()
        self.lists, self.item_lists = Lists(text), ItemLists(self.numbers)
        self.served = Served(extents, self.facts)
        self.indexing = Indexing(text, self.numbers, self.facts, self.served)
        self.resolve = resolve

    def prefix_of(self, name: str) -> str:
        """What its variables begin with: attributes are names of the loop in all functions."""
        return "" if name.split(" ")[0] in self.shared else self.prefix

    def perhaps(self, name: str) -> Held:
        """What a name holds that may be unbound."""
        raise NotImplementedError

    def are_apart(self, a: Strided, b: Strided) -> bool:
        return self.indexing.are_apart(a, b)

    def value(self, node: ast.expr) -> Held:
        """What an expression is.

        Raises:
            NoLoopError: it is none of those that loops compile.
        """
        if hasattr(node, "lineno"):
            self.text.at(node.lineno)
        found = self.forms.get(type(node))
        if found is None:
            raise NoLoopError(f"{type(node).__name__} inside a loop")
        return found(self, node)

    def computed(self, node: ast.expr) -> Computed:
        """A number or an array."""
        return as_computed(self.value(node))

    def number(self, node: ast.expr) -> Number:
        found = self.value(node)
        if not isinstance(found, Number):
            raise NoLoopError("an array where a number is needed")
        return found

    def truth(self, node: ast.expr) -> Number:
        """Whether a condition holds, as a bool."""
        if isinstance(node, ast.BoolOp):
            return self.decided(node, self.truth)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return self.truth(in_pairs(node))
        found = self.value(node)
        if isinstance(found, Unchanging):
            if not isinstance(found.value, str | FunctionType | ModuleType | type | None):
                raise NoLoopError("the truth of what may change")
            return literal(bool(found.value))
        if isinstance(found, Items | ItemRow):
            return self.item_lists.has_any(found)
        if not isinstance(found, Number):
            raise NoLoopError("the truth of an array")
        return self.truth_of(found)

    def decided(self, node: ast.BoolOp, truth: Callable[[ast.expr], Number]) -> Number:
        """Whether ``and`` or ``or`` holds: the right is computed where the left does not decide.

        Args:
            truth: whether an operand holds.
        """
        decides = isinstance(node.op, ast.Or)
        first, *rest = node.values
        found = truth(first)
        if not rest or found.known is decides:
            return found
        if found.known is not None:
            return self.decided(ast.BoolOp(node.op, rest), truth)
        name = self.text.variable("bool", self.text.fresh("truth"))
        self.text.add(f"{name} = {found.text};")
        ends = [dict(self.env)]
        with ExitStack() as blocks:
            for part in rest:
                blocks.enter_context(self.text.block(f"if ({'!' * decides}{name})"))
                self.text.add(f"{name} = {truth(part).text};")
                ends.append(dict(self.env))
        self.env = self.met(ends)
        return Number(bool, name, low=0, high=1)

    def met(self, ends: Sequence[dict[str, Held]]) -> dict[str, Held]:
        """What names hold behind several ways of an expression: methods assign attributes."""
        raise NotImplementedError

    def loaded(self, view: Strided | Picked | ItemPlace | ItemRow) -> Held:
        """What an index gives: an element is a number."""
        if isinstance(view, Picked):
            return self.picked(view)
        if isinstance(view, ItemPlace):
            return self.item_lists.item(view)
        if isinstance(view, ItemRow) or view.rank:
            return view
        text = self.text.named(view.dtype.register, f"load({view.pointer})")
        return Number(view.dtype, text, *bounds_of(view.dtype))

    def in_order(self, nodes: Sequence[ast.expr]) -> list[Held]:
        """What expressions are, each computed before the next one may change what it reads."""
        found: list[Held] = []
        for place, node in enumerate(nodes):
            held = self.value(node)
            if not isinstance(held, Unchanging) and any(map(self.has_effects, nodes[place + 1 :])):
                held = self.kept_beside(held, *nodes[place + 1 :])
            found.append(held)
        return found

    def kept_beside(self, held: Any, *nodes: ast.expr) -> Any:
        """What something is, if expressions that are computed next may change it.

        Raises:
            NoLoopError: it is an array, which a method may make anew.
        """
        if not any(map(self.has_effects, nodes)):
            return held
        if isinstance(held, Number | Elements):
            return self.pinned(held)
        if isinstance(held, Strided | Picked) and self._may_be_remade(held):
            raise NoLoopError("an array beside a call of a method")
        return held

    def _may_be_remade(self, held: Strided | Picked) -> bool:
        """Whether methods may make an array anew, or let its name have another one."""
        bases = {held.base} if isinstance(held, Strided) else {held.rest.base, held.offsets.base}
        known = [self.env.get(name) for name in self.stored]
        return None in known or any(h.base in bases for h in known if isinstance(h, Strided))

    def items(self, node: ast.expr, rank: int) -> list[Item | Array]:
        """An index of Python, of an array of so many axes."""
        parts = parts_of(node)
        found: list[Item | Array] = []
        left_out = [n for n, part in enumerate(parts) if is_ellipsis(part)]
        for part in parts:
            if isinstance(part, ast.Slice):
                found.append(self.slice(part))
            elif isinstance(part, ast.List):
                found.append(self._listed(part))
            elif not is_ellipsis(part):
                found.append(as_item(self.value(part)))
        if left_out:
            found[left_out[0] : left_out[0]] = axes_between(found, rank, len(left_out))
        return found

    def _listed(self, node: ast.List) -> Array:
        """A list of places, as the array that NumPy makes of it."""
        numbers = [self.number(part) for part in node.elts]
        if not numbers or any(n.type not in (int, I64) for n in numbers):
            raise NoLoopError("a list of other than integers in an index")
        made = self.view_in(self.room(), I64, [Size.of(len(numbers))])
        for n, number in enumerate(numbers):
            self.put_at(made, [str(n)], f"(int64){number.text}")
        return made

    def slice(self, node: ast.Slice) -> Slice:
        start, stop, step = (
            None if part is None else self.number(part)
            for part in (node.lower, node.upper, node.step)
        )
        by = 1 if step is None else step.known
        if step is not None and by is None and step.is_integer and step.low > 0:
            return Slice(start, stop, self.text.named("int64", self.indexing.size_of(step).text))
        if type(by) is not int or by == 0:
            raise NoLoopError("a slice whose step may be 0 or negative")
        return Slice(start, stop, by)

    def has_effects(self, node: ast.AST) -> bool:
        """Whether an expression may change an array: by a call that is not known to be pure."""
        return any(not self.is_pure(n) for n in ast.walk(node) if isinstance(n, ast.Call))

    def is_pure(self, node: ast.Call) -> bool:
        """Whether a call changes nothing."""
        raise NotImplementedError

    def pinned(self, held: Held) -> Held:
        """What something is now, whatever is assigned later on."""
        raise NotImplementedError

    def called(self, node: ast.Call) -> Held:
        """What a call returns."""
        raise NotImplementedError

    def resolve_attribute(self, owner: Any, name: str) -> Any:
        """An attribute of a module or of a function of NumPy; notes that it was asked for."""
        raise NotImplementedError


class KeptOperand(ast.expr):
    """An expression that stands in two comparisons, and is computed once."""

    _fields = ("part",)

    def __init__(self, part: ast.expr, held: Held | None = None):
        super().__init__()
        self.part, self.held = part, held

    def __deepcopy__(self, _: object) -> KeptOperand:
        return self


def in_pairs(node: ast.Compare) -> ast.BoolOp:
    """``a < b < c`` as ``a < b and b < c``."""
    parts = [node.left, *map(KeptOperand, node.comparators[:-1]), node.comparators[-1]]
    pairs = zip(parts, node.ops, parts[1:], strict=False)
    return ast.BoolOp(ast.And(), [ast.Compare(a, [op], [b]) for a, op, b in pairs])


def parts_of(index: ast.expr) -> list[ast.expr]:
    """The parts of an index of Python."""
    return index.elts if isinstance(index, ast.Tuple) else [index]


def is_ellipsis(node: ast.expr) -> bool:
    """Whether a part of an index is ``...``."""
    return isinstance(node, ast.Constant) and node.value is ...


def axes_between(items: Sequence[Item | Array], rank: int, count: int) -> list[Slice]:
    """What ``...`` stands for beside other items.

    Raises:
        NoLoopError: arrays beside it, whose axes may move to the front; more than one of it.
    """
    if count > 1 or any(isinstance(item, Strided | Elements) for item in items):
        raise NoLoopError("an index of arrays with ... between them")
    return [ALL] * (rank - sum(item is not None for item in items))


def as_item(held: Held) -> Item | Array:
    """What stands in an index and is no slice.

    Raises:
        NoLoopError: it is neither an integer nor a new axis.
    """
    if isinstance(held, Unchanging) and held.value is None:
        return None
    if isinstance(held, Number | Strided | Elements):
        return held
    raise NoLoopError("an index that is neither an integer nor a slice")
