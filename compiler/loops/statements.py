"""Statements of a loop: assignments, branches, loops within it, calls of the user's functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opweave.compiler.loops.elementwise import bounds_of, dense_strides
from opweave.compiler.loops.expressions import Expressions, as_computed
from opweave.compiler.loops.values import (
    Constant,
    Counted,
    EitherError,
    Elements,
    Held,
    Mixed,
    NoLoopError,
    Number,
    Several,
    Size,
    UnknownError,
    View,
    same_kind,
)
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import F64

Env = dict[str, Held]
# Calls of the user's functions within each other.
DEEPEST = 8
WIDEST_COMMENT = 90


@dataclass
class Around:
    """The loop around a statement: what names hold where it is left, and where a round ends."""

    left: list[Env] = field(default_factory=list)
    ended: list[Env] = field(default_factory=list)


class Statements(Expressions):
    """Lowers statements.

    Attributes:
        live: False behind a break, a continue or a return.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.around: list[Around] = []
        self.live = True
        self.given: set[str] = set()  # names of C that have a value when the loop begins
        self.variables: dict[tuple[str, str], str] = {}
        self.depth = 0
        self.either: frozenset[str] = frozenset()  # names of floats of Python or of NumPy
        self.held_by: dict[str, str] = {}  # the rooms of arrays that names hold
        self.said: dict[str, str] = {}  # their variables, with those that say which they are
        self.is_first = False  # the round is the first of the outermost loop
        self.is_entered = (
            False  # the loop that is next is the outermost, and left where it has no round
        )

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if not self.live:
                return  # nobody gets here
            self.text.line = node.lineno
            found = STATEMENTS.get(type(node))
            if found is None:
                raise NoLoopError(f"{type(node).__name__} inside a loop")
            self.text.add(f"// {said(node)}")
            found(self, node)

    def is_fixed(self, size: Size) -> bool:
        """True for a sum of what the call gives."""
        return all(name in self.given for name, _ in size.terms)

    # ---- names -----------------------------------------------------------------------------------

    def bind(self, name: str, held: Held) -> None:
        """Let a name hold something, in a variable of C where it is computed."""
        if isinstance(held, Number):
            self.env[name] = self._number_in(name, held)
        elif isinstance(held, View):
            self.env[name] = self._view_in(name, held)
        elif isinstance(held, Elements):
            self.env[name] = self._array_in(name, held)
        elif isinstance(held, Constant):
            self.env[name] = held
        else:
            raise NoLoopError("a name for a tuple")

    def variable(self, name: str, kind: str, c_type: str) -> str:
        """The variable of C that a name is, while it holds a value of a kind."""
        key = (self.prefix + name, kind)
        if key not in self.variables:
            text = self.text.unused(f"{self.prefix}{name}")
            self.variables[key] = self.text.variable(c_type, text)
        return self.variables[key]

    def _number_in(self, name: str, number: Number) -> Number:
        if number.maybe and number.type is not F64:
            raise NoLoopError(f"{name}, a truth of Python or of NumPy")
        if number.maybe and self.prefix + name not in self.either:
            raise EitherError(self.prefix + name)
        if self.prefix + name in self.either and number.type in (float, F64):
            return self._either_in(name, number)
        variable = self.variable(name, number.type_name, number.c_type)
        self.text.add(f"{variable} = {number.text};")
        size = number.size
        if size is None or any(term in self.text.declared for term, _ in size.terms):
            size = Size.of(variable)
        return replace(number, text=variable, size=size, outside=None)

    def _either_in(self, name: str, number: Number) -> Number:
        """A float of Python or of NumPy, and which of them it is."""
        variable = self.variable(name, "either", "double")
        maybe = self.variable(f"{name}_is_numpys", "either", "bool")
        said = number.maybe or ("false" if number.type is float else "true")
        self.said[variable] = maybe
        self.text.add(f"{maybe} = {said}, {variable} = {number.text};")
        if not number.maybe:
            return replace(number, text=variable, outside=None)
        return Number(F64, variable, maybe=maybe)

    def _view_in(self, name: str, view: View) -> View:
        """A name for a part of an array: its place, extents and strides are variables."""
        kind = f"{view.base}_{view.rank}"
        pointer = self.variable(name, kind, f"{view.dtype.storage}*")
        sizes, strides, writes = [], [], [f"{pointer} = {view.pointer};"]
        for axis, (size, stride) in enumerate(zip(view.sizes, view.strides, strict=True)):
            if not self.is_fixed(size):
                kept = self.text.variable("int64", f"{pointer}_n{axis}")
                writes.append(f"{kept} = {size.text};")
                size = Size.of(kept)
            sizes.append(size)
            if stride not in ("0", "1"):
                kept = self.text.variable("int64", f"{pointer}_s{axis}")
                writes.append(f"{kept} = {stride};")
                stride = kept
            strides.append(stride)
        for text in writes:
            self.text.add(text)
        return replace(
            view, pointer=pointer, sizes=tuple(sizes), strides=tuple(strides), where=None
        )

    def _array_in(self, name: str, value: Elements) -> View:
        """A name for a new array: in memory of the name, two in turn where one reads the other."""
        kind = f"{value.dtype}x{value.rank}"
        first, second = (self.variable(name, f"{kind}{n}", "LoopRoom") for n in ("", "_next"))
        holder = self.variable(name, kind + "_at", f"{value.dtype.storage}*")
        if any(getattr(h, "base", None) == holder for n, h in self.env.items() if n != name):
            raise NoLoopError(f"another name for what {name} was, before it is a new array")
        made = self.view_in(second, value.dtype, value.sizes)
        if value.rank == 0:
            raise NoLoopError("an array without dimensions")
        self.store(made, value)
        self.text.add(f"exchange({first}, {second});")
        sizes = []
        for axis, size in enumerate(value.sizes):
            if not self.is_fixed(size):
                kept = self.text.variable("int64", f"{holder}_n{axis}")
                self.text.add(f"{kept} = {size.text};")
                size = Size.of(kept)
            sizes.append(size)
        self.text.add(f"{holder} = {made.pointer};")
        self.held_by[holder] = first
        return View(holder, value.dtype, holder, tuple(sizes), dense_strides(sizes))

    def assign(self, target: ast.expr, held: Held) -> None:
        """Assign to a name, to a part of an array, or to several of them."""
        if isinstance(target, ast.Name):
            self.bind(target.id, held)
        elif isinstance(target, ast.Subscript):
            self.put(self.target(target), held)
        elif isinstance(target, ast.Tuple | ast.List):
            items = self._unpacked(held, len(target.elts))
            for part, item in zip(target.elts, items, strict=True):
                self.assign(part, item)
        else:
            raise NoLoopError(f"an assignment to {type(target).__name__}")

    def _unpacked(self, held: Held, count: int) -> list[Held]:
        if not isinstance(held, Several) or len(held.items) != count:
            raise NoLoopError("an assignment of several values at once that are no tuple")
        if any(isinstance(item, View | Elements) for item in held.items) and count > 1:
            raise NoLoopError("an assignment of several arrays at once")
        return [
            replace(item, text=self.text.named(item.c_type, item.text))
            if isinstance(item, Number) and item.known is None
            else item
            for item in held.items
        ]

    def target(self, node: ast.Subscript) -> View:
        """The part of an array that is assigned to."""
        array = self.value(node.value)
        if not isinstance(array, View):
            raise NoLoopError("an assignment to an item of what is no array")
        return self.indexing.index(array, self.items(node.slice))

    def put(self, target: View, held: Held) -> None:
        """Assign to the elements of a part of an array."""
        value = as_computed(held)
        self.check_kind(value, target.dtype)
        self.written(target)
        self.store(target, value)

    def written(self, target: View) -> None:
        """Note that an array is written to."""

    def check_kind(self, value: Number | View | Elements, target: dtypes.DType) -> None:
        """Hold an assignment to numbers of the target's kind, whatever they are rounded to."""
        held = value.type if isinstance(value, Number) else value.dtype
        source = np.dtype(held) if isinstance(held, type) else held.numpy
        if isinstance(held, type) and held is int and target.kind in "iufc":
            return
        if isinstance(held, type) and held is float and target.kind in "fc":
            return
        if not np.can_cast(source, target.numpy, "same_kind"):
            raise NoLoopError(f"an assignment of {source} to elements of {target.numpy_name}")

    # ---- branches and loops ----------------------------------------------------------------------

    def branches(self, test: Number, parts: Sequence[Sequence[ast.stmt]]) -> None:
        """``if`` and ``else``."""
        before, after = dict(self.env), list[Env]()
        for head, nodes in zip((f"if ({test.text})", "else"), parts, strict=True):
            self.env, self.live = dict(before), True
            if not nodes:
                after.append(self.env)
                continue
            with self.text.block(head):
                self.statements(nodes)
            if self.live:
                after.append(self.env)
        self.live = bool(after)
        self.env = self.joined(after) if after else before

    def loop(self, head: str, begin: Callable[[], None], node: ast.For | ast.While) -> None:
        """Lower the rounds of a loop; where names change their types in it, the first one apart."""
        if node.orelse:
            raise NoLoopError("else of a loop")
        before, mark = dict(self.env), self.text.mark()
        entered, self.is_entered = self.is_entered, False
        changed = assigned([*node.body, *([node.target] if isinstance(node, ast.For) else [])])
        unknown: set[str] = set()  # of which a round may know nothing when it begins
        for peeled in (False, False, True, True):
            self._back(mark, before)
            try:
                return self._rounds(
                    head, begin, node, changed, unknown, entered=entered, peeled=peeled
                )
            except ChangedError as error:
                unknown = unknown | error.names
            except NoLoopError as error:
                if not unknown and not isinstance(error, UnknownError):
                    raise
                if peeled:
                    raise
                unknown = set()
                if isinstance(error, UnknownError):
                    continue
        raise NoLoopError(f"{min(unknown)}, whose type changes in a loop")

    def _back(self, mark: tuple[int, int], env: Env) -> None:
        """Lower anew from a mark on."""
        self.text.back(mark)
        self.env, self.live = dict(env), True

    def _rounds(
        self,
        head: str,
        begin: Callable[[], None],
        node: ast.For | ast.While,
        changed: set[str],
        unknown: set[str],
        *,
        entered: bool,
        peeled: bool,
    ) -> None:
        before = dict(self.env)
        first = self.text.fresh("first") if peeled else ""
        if first:
            self.text.add(f"bool {first} = true;")
        around = Around()
        self.around.append(around)
        try:
            with self.text.block(head):
                if first:
                    with self.text.block(f"if ({first})"):
                        self.text.add(f"{first} = false;")
                        self.is_first = entered
                        ends = self._round(begin, node, around, dict(self.env))
                        self.text.add("continue;")
                    self.env = self.joined(ends)
                at_head = {n: h for n, h in self.env.items() if n not in unknown}
                at_head = self.forgotten(at_head, changed)
                ends = self._round(begin, node, around, at_head)
        finally:
            self.around.pop()
        unstable = {
            name
            for end in ends
            for name, held in at_head.items()
            if name in changed and not (name in end and is_stable(held, end[name]))
        }
        if unstable:
            raise ChangedError(unstable)
        self.live = True
        ways = list(around.left)
        if isinstance(node, ast.For):
            ways += [*([] if entered else [before]), *([at_head] if peeled else []), *ends]
        self.env = self.joined([self.forgotten(env, changed) for env in ways])

    def _round(
        self, begin: Callable[[], None], node: ast.For | ast.While, around: Around, env: Env
    ) -> list[Env]:
        """One round, from what names hold at its begin: what they hold at its ends."""
        self.env, self.live = dict(env), True
        around.ended.clear()
        begin()
        self.statements(node.body)
        ends = [*around.ended, *([self.env] if self.live else [])]
        self.live = True
        return ends

    def joined(self, envs: Sequence[Env]) -> Env:
        """What names hold where several ways meet: of several types, or unbound in one, none."""
        found: Env = {}
        for name in envs[0] if envs else ():
            held = [env[name] for env in envs if name in env]
            if len(held) == len(envs) and (one := self._met(held)) is not None:
                found[name] = one
        return found

    def _met(self, held: Sequence[Held]) -> Held | None:
        """What a name holds that holds one of several things; None where that is no one type."""
        first = held[0]
        if all(other == first for other in held):
            return first
        if all(same_kind(first, other) for other in held):
            return plain(first)
        if not all(is_float(other) for other in held):
            return None
        assert isinstance(first, Number | Mixed)
        maybe = "" if isinstance(first, Mixed) else self.said.get(first.text, "")
        return Number(F64, first.text, maybe=maybe) if maybe else Mixed()

    def forgotten(self, env: Env, names: set[str]) -> Env:
        """The same, without what is known of the values of some names."""
        return {n: self._unknown(h) if n in names else h for n, h in env.items()}

    def _unknown(self, held: Held) -> Held:
        if isinstance(held, Number) and is_float(held) and held.text in self.said:
            return Number(F64, held.text, maybe=self.said[held.text])
        return plain(held)


class ChangedError(NoLoopError):
    """Names hold something of another type after a round."""

    def __init__(self, names: set[str]):
        super().__init__(", ".join(sorted(names)))
        self.names = names


def is_float(held: Held) -> bool:
    """A float of Python or a float64 of NumPy."""
    return isinstance(held, Mixed) or (isinstance(held, Number) and held.type in (float, F64))


def is_stable(before: Held, after: Held) -> bool:
    """Whether what a name holds after a round may be what it holds before one."""
    if isinstance(before, Number) and before.maybe:
        return is_float(after) and not isinstance(after, Mixed)
    return same_kind(before, after)


def plain(held: Held) -> Held:
    """A number of which nothing is known but its type."""
    if not isinstance(held, Number) or held.maybe:
        return held
    size = Size.of(held.text) if held.is_integer else None
    _, low, high = bounds_of(held.type)
    if held.type is bool:
        low, high = 0, 1
    return Number(held.type, held.text, size, low, high)


def said(node: ast.stmt) -> str:
    """A statement as the user wrote it, or its head, for a comment."""
    text = ast.unparse(node).split("\n")[0].replace("\\", "/")
    return text if len(text) <= WIDEST_COMMENT else f"{text[: WIDEST_COMMENT - 4]} ..."


def assigned(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that statements assign to."""
    return {
        n.id
        for node in nodes
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _assign(self: Statements, node: ast.Assign) -> None:
    held = self.value(node.value)
    if len(node.targets) > 1 and isinstance(held, Elements):
        held = self.apart(held)
    for target in node.targets:
        self.assign(target, held)


def _augmented(self: Statements, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        held = self.env.get(node.target.id)
        if isinstance(held, View):
            value = self.binary(type(node.op), held, self.value(node.value))
            self.put(held, value)
            return
        if isinstance(held, Mixed):
            raise EitherError(self.prefix + node.target.id)
        if not isinstance(held, Number):
            raise NoLoopError(f"{node.target.id}, which may not be there")
        self.bind(node.target.id, self.binary(type(node.op), held, self.value(node.value)))
        return
    if not isinstance(node.target, ast.Subscript):
        raise NoLoopError("an assignment to an attribute")
    target = self.target(node.target)
    held = self.loaded(target)
    self.put(target, self.binary(type(node.op), held, self.value(node.value)))


def _if(self: Statements, node: ast.If) -> None:
    test = self.truth(node.test)
    if test.known is not None:
        self.statements(node.body if test.known else node.orelse)
        return
    self.branches(test, (node.body, node.orelse))


def _for(self: Statements, node: ast.For) -> None:
    over = self.value(node.iter)
    if isinstance(over, Counted):
        _for_range(self, node, over)
    elif isinstance(over, View) and over.rank:
        _for_rows(self, node, over)
    else:
        raise NoLoopError("a loop over what is neither a range nor an array")


def _for_range(self: Statements, node: ast.For, over: Counted) -> None:
    step = over.step
    start, stop = self.indexing.size_of(over.start), self.indexing.size_of(over.stop)
    ends = [_fixed(self, size) for size in (start, stop)]
    counter = self.text.fresh(_counter(node))
    if step > 0:
        self.facts.learn(counter, ends[0], ends[1].plus(-1))
    else:
        self.facts.learn(counter, ends[1].plus(1), ends[0])
    bounds = (
        (over.start.low, over.stop.high - 1) if step > 0 else (over.stop.low + 1, over.start.high)
    )

    def begin() -> None:
        self.text.add("LOOP_TICK(1);")
        self.assign(node.target, Number(int, counter, Size.of(counter), *bounds))

    sign = "<" if step > 0 else ">"
    if self.is_entered:
        self.text.add(f"if (!({ends[0].text} {sign} {ends[1].text})) return LOOP_NO_ROUND;")
    move = f"{counter} += {step}" if step > 0 else f"{counter} -= {-step}"
    head = f"for (int64 {counter} = {ends[0].text}; {counter} {sign} {ends[1].text}; {move})"
    self.loop(head, begin, node)


def _counter(node: ast.For) -> str:
    return f"{node.target.id}_" if isinstance(node.target, ast.Name) else "it_"


def _fixed(self: Statements, size: Size) -> Size:
    """A sum of names that do not change in the loop."""
    if any(name in self.text.declared for name, _ in size.terms):
        return Size.of(self.text.named("int64", size.text))
    return size


def _for_rows(self: Statements, node: ast.For, over: View) -> None:
    if over.base in self.text.declared:
        raise NoLoopError("a loop over the rows of an array that the loop makes")
    counter = self.text.fresh("row_")
    size = _fixed(self, over.sizes[0])
    self.facts.learn(counter, Size.of(0), size.plus(-1))
    whole = replace(over, sizes=(size, *over.sizes[1:]))
    if self.is_entered:
        self.text.add(f"if ({size.text} == 0) return LOOP_NO_ROUND;")

    def begin() -> None:
        self.text.add("LOOP_TICK(1);")
        number = Number(int, counter, Size.of(counter), 0)
        self.assign(node.target, self.loaded(self.indexing.index(whole, [number])))

    head = f"for (int64 {counter} = 0; {counter} < {size.text}; ++{counter})"
    self.loop(head, begin, node)


def _while(self: Statements, node: ast.While) -> None:
    def begin() -> None:
        self.text.add("LOOP_TICK(1);")
        test = self.truth(node.test)
        first, self.is_first = self.is_first, False
        if first and test.known is not True:
            self.text.add(f"if (!{test.text}) return LOOP_NO_ROUND;")
        elif test.known is not True:
            self.around[-1].left.append(dict(self.env))
            self.text.add(f"if (!{test.text}) break;")

    self.loop("for (;;)", begin, node)


def _break(self: Statements, node: ast.stmt) -> None:
    self.around[-1].left.append(dict(self.env))
    self.text.add("break;")
    self.live = False


def _continue(self: Statements, node: ast.stmt) -> None:
    self.around[-1].ended.append(dict(self.env))
    self.text.add("continue;")
    self.live = False


def _expression(self: Statements, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return  # a text
    if not isinstance(node.value, ast.Call):
        raise NoLoopError("an expression whose value nobody takes")
    self.called(node.value)


def _pass(self: Statements, node: ast.Pass) -> None:
    pass


def _declared(self: Statements, node: ast.AnnAssign) -> None:
    if node.value is None:
        raise NoLoopError("a declaration")
    self.assign(node.target, self.value(node.value))


STATEMENTS: Mapping[type[ast.stmt], Callable[[Statements, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _declared,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Expr: _expression,
    ast.Pass: _pass,
}
