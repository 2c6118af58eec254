"""Statements of a loop, by table."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.applied import bases_of
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
    LONGEST,
    Counted,
    Elements,
    Held,
    ItemPlace,
    ItemRow,
    Items,
    Mixed,
    Number,
    Several,
    Size,
    Strided,
    Zipped,
)
from opweave.compiler.loops.counting import for_range
from opweave.compiler.loops.listing import check_sources, taken_at_once
from opweave.compiler.loops.nodes import EXPRESSIONS
from opweave.compiler.loops.rounds import InnerLoop, Rounds

# Calls of the user's functions within each other.
DEEPEST = 8
WIDEST_COMMENT = 90


class Statements(Rounds):
    """Lowers statements."""

    forms = EXPRESSIONS

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if not self.live:
                return  # nobody gets here
            self.text.at(node.lineno)
            found = STATEMENTS.get(type(node))
            if found is None:
                raise NoLoopError(f"{type(node).__name__} inside a loop")
            self.text.add(f"// {said(node)}")
            found(self, node)


def said(node: ast.stmt) -> str:
    """A statement as the user wrote it, or its head, for a comment."""
    text = ast.unparse(node).split("\n")[0].replace("\\", "/")
    return text if len(text) <= WIDEST_COMMENT else f"{text[: WIDEST_COMMENT - 4]} ..."


def _assign(self: Statements, node: ast.Assign) -> None:
    if isinstance(node.value, ast.IfExp) and all(
        isinstance(target, ast.Subscript) for target in node.targets
    ):
        _if(self, _apart(node, node.value))
        return
    is_for_name = [*map(type, node.targets)] == [ast.Name]
    value = taken_at_once(node.value) if is_for_name else node.value
    held = self.kept_beside(self.value(value), *node.targets)
    if len(node.targets) > 1:
        several = held.items if isinstance(held, Several) else (held,)
        is_new = any(isinstance(each, Elements) for each in several)
        is_new |= not self.temporary.isdisjoint(bases_of(held))
        if isinstance(held, Several) and held.is_list:
            raise NoLoopError("several names for one new list")
        if is_new and any(isinstance(t, ast.Name | ast.Tuple | ast.List) for t in node.targets):
            raise NoLoopError("several names for one new array")
        held = self.pinned(held)
    self.assign_all(node.targets, held)


def _apart(node: ast.Assign, choice: ast.IfExp) -> ast.If:
    """``x[i] = a if c else b`` as two statements: an element has one type, whatever is stored."""
    ways: list[list[ast.stmt]] = [
        [ast.copy_location(ast.Assign(node.targets, value), node)]
        for value in (choice.body, choice.orelse)
    ]
    return ast.copy_location(ast.If(choice.test, *ways), node)


def _augmented(self: Statements, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        held = self.env.get(node.target.id)
        if isinstance(node.op, ast.MatMult):
            raise NoLoopError("@= of a name")
        if isinstance(held, Strided):
            self.kept_beside(held, node.value)
            self.put(held, self.binary(type(node.op), held, self.value(node.value)))
            return
        if isinstance(held, Mixed):
            raise AgainError(held.what, self.prefix_of(node.target.id) + node.target.id)
        if not isinstance(held, Number):
            raise NoLoopError(f"{node.target.id}, which may not be there")
        held = self.kept_beside(held, node.value)
        self.bind(node.target.id, self.binary(type(node.op), held, self.value(node.value)))
        return
    if not isinstance(node.target, ast.Subscript):
        raise NoLoopError("an assignment to an attribute")
    target = self.target(node.target, is_read=True)
    self.kept_beside(target, node.value)
    held = self.loaded(target)
    is_other = isinstance(held, Elements) or isinstance(target, ItemPlace)
    if is_other and self.has_effects(node.value):
        raise NoLoopError("an index array, or a list, beside a call that may change it")
    self.put(target, self.binary(type(node.op), held, self.value(node.value)))


def _if(self: Statements, node: ast.If) -> None:
    test = self.truth(node.test)
    if test.known is not None:
        self.statements(node.body if test.known else node.orelse)
        return
    self.branches(test, (node.body, node.orelse))


def _for(self: Statements, node: ast.For) -> None:
    is_outermost, self.is_entered = self.is_entered, False
    over = self.value(node.iter)
    self.is_entered = is_outermost
    if isinstance(over, Counted):
        for_range(self, node, over)
    elif isinstance(over, Strided | Items | ItemRow | Zipped):
        _for_rows(self, node, over)
    elif isinstance(over, Several) and over.items:
        for_range(self, node, Counted(literal(0), literal(len(over.items)), 1), over.items)
    else:
        raise NoLoopError("a loop over what is neither a range nor an array")


def _for_rows(self: Statements, node: ast.For, over: Strided | Items | ItemRow | Zipped) -> None:
    """A loop over the rows of an array, the items of a list, or over those of several at once."""
    check_sources(node, _lists(self, over))
    counter = self.text.fresh("row_")
    found = _kept(self, over)
    sizes = list(dict.fromkeys(lengths(found)))
    shortest = sizes[:1]
    for other in sizes[1:]:  # the shortest of all
        text = f"{shortest[0].text} < {other.text} ? {shortest[0].text} : {other.text}"
        shortest = [Size.of(self.text.named("int64", text, "n"))]
    self.facts.learn(counter, Size.of(0), sizes[0].plus(-1) if len(sizes) == 1 else None)
    ends = [*(size.text for size in shortest), *_lists(self, found)]
    if self.is_entered:
        head = " && ".join(f"0 < {end}" for end in ends)
        self.text.add(f"if (!({head})) return LOOP_NO_ROUND;")

    def begin() -> None:
        self.text.add("LOOP_TICK(1);")
        number = Number(int, counter, Size.of(counter), 0, LONGEST)
        self.unpack(node.target, _turn(self, found, number))

    test = " && ".join(f"{counter} < {end}" for end in ends)
    self.loop(InnerLoop(node, f"for (int64 {counter} = 0; {test}; ++{counter})", begin))


def _lists(self: Statements, over: Held) -> list[str]:
    """How long lists are that a loop goes through: Python asks that in every round."""
    if isinstance(over, Zipped):
        return [text for item in over.items for text in _lists(self, item)]
    return [self.item_lists.count_of(over)] if isinstance(over, Items | ItemRow) else []


def _kept(self: Statements, over: Held) -> Any:
    """What a loop goes through, as it is when the loop begins."""
    if isinstance(over, Zipped):
        return Zipped(tuple(_kept(self, item) for item in over.items))
    if isinstance(over, Counted):
        if over.step != 1 or over.by:
            raise NoLoopError("a range with a step beside other things")
        start, stop = self.pinned(over.start), self.pinned(over.stop)
        assert isinstance(start, Number)
        assert isinstance(stop, Number)
        count = self.indexing.size_of(stop).plus(self.indexing.size_of(start), -1)
        size = Size.of(self.text.named("int64", f"at_least_0({count.text})", "n"))
        return Counted(start, replace(stop, text=size.text, size=size), 1)
    if isinstance(over, Items | ItemRow):
        self.item_lists.check_read(over)
        return over if isinstance(over, Items) else self.pinned(over)
    if isinstance(over, Strided) and (over.base in self.text.declared or not over.rank):
        raise NoLoopError("a loop over the rows of what a name holds that may change")
    return self.pinned(over)


def lengths(over: Held) -> list[Size]:
    """How often a loop may go through something; of a range that is in ``stop``, see above."""
    if isinstance(over, Zipped):
        return [size for item in over.items for size in lengths(item)]
    if isinstance(over, Counted) and over.stop.size is not None:
        return [over.stop.size]
    return [over.sizes[0]] if isinstance(over, Strided) else []


def _turn(self: Statements, over: Held, counter: Number) -> Held:
    """What a loop gets in one turn."""
    if isinstance(over, Zipped):
        return Several(tuple(_turn(self, item, counter) for item in over.items))
    if isinstance(over, Counted):
        return self.binary(ast.Add, over.start, counter)
    if isinstance(over, Number):
        return self.binary(ast.Add, over, counter)
    if isinstance(over, Items | ItemRow):
        return self.item_lists.at(over, counter.text)
    assert isinstance(over, Strided)
    return self.loaded(self.indexing.index(over, [counter]))


def _while(self: Statements, node: ast.While) -> None:
    def begin() -> None:
        self.text.add("LOOP_TICK(1);")
        first, self.is_first = self.is_first, False
        test = self.truth(node.test)
        if first and test.known is not True:
            self.text.add(f"if (!{test.text}) return LOOP_NO_ROUND;")
        elif test.known is not True:
            self.around[-1].left.append(dict(self.env))
            self.text.add(f"if (!{test.text}) break;")

    self.loop(InnerLoop(node, "for (;;)", begin))


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


STATEMENTS: dict[type[ast.stmt], Callable[[Statements, Any], None]] = {
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
