"""``a if c else b`` in a loop: of numbers, of one type or of several, and of tuples of such."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.eithers import GROUPS, group_of, said_of, whole_of
from opweave.compiler.lines.values import Held, Number, Several, Size
from opweave.compiler.loops.expressions import Expressions


@dataclass
class Chosen:
    """A number that is one or the other, and its variables: those of ``Number``."""

    number: Number

    def assign(self, self_: Expressions, found: Number) -> None:
        """One way gives its value."""
        own = self.number
        lines = {own.text: f"({own.c_type}){found.text}"}
        if own.maybe:
            lines[own.maybe] = said_of(found)
        if own.whole:
            lines[own.whole] = whole_of(found)
        self_.text.add(", ".join(f"{v} = {t}" for v, t in lines.items()) + ";")


def choice(self: Expressions, node: ast.IfExp) -> Held:
    """What a choice gives: of each number its variables are assigned to by both ways."""
    test = self.truth(node.test)
    if test.known is not None:
        return self.value(node.body if test.known else node.orelse)
    parts = node.body, node.orelse
    first, second = (_taken_back(self, part) for part in parts)
    are_several = isinstance(first, Several) or isinstance(second, Several)
    pairs = _pairs(first, second) if are_several else [(first, second)]
    both = [_of_two(self, a, b) for a, b in pairs]
    for head, part in zip((f"if ({test.text})", "else"), parts, strict=True):
        with self.text.block(head):
            held = self.value(part)
            values = held.items if isinstance(held, Several) else (held,)
            for each, value in zip(both, values, strict=True):
                assert isinstance(value, Number)
                each.assign(self, value)
    if isinstance(first, Several):
        return Several(tuple(each.number for each in both), first.is_list)
    return both[0].number


def _pairs(a: Held, b: Held) -> list[tuple[Held, Held]]:
    if not isinstance(a, Several) or not isinstance(b, Several):
        raise NoLoopError("a choice between a tuple and something else")
    if (len(a.items), a.is_list) != (len(b.items), b.is_list):
        raise NoLoopError("a choice between tuples of several lengths")
    return [*zip(a.items, b.items, strict=True)]


def _taken_back(self: Expressions, part: ast.expr) -> Held:
    """What an expression is; its lines are not written."""
    lines = len(self.text.lines)
    with self.text.block(""):
        held = self.value(part)
    del self.text.lines[lines:]
    return held


def _of_two(self: Expressions, a: Held, b: Held) -> Chosen:
    """Variables for one or the other."""
    if not isinstance(a, Number) or not isinstance(b, Number):
        raise NoLoopError("an array where a number is needed")

    def made(c_type: str, wish: str) -> str:
        return self.text.variable(c_type, self.text.fresh(wish))

    low, high = min(a.low, b.low), max(a.high, b.high)
    if a.type == b.type and not a.maybe and not b.maybe:
        return Chosen(Number(a.type, made(a.c_type, "chosen"), None, low, high))
    if (what := group_of([a, b])) is None:
        raise NoLoopError("a choice between numbers of several types")
    text = made(GROUPS[what].dtype.register, "chosen")
    whole = made("bool", "chosen_is_whole") if what == "real" else ""
    size = Size.of(text) if what == "whole" else None
    maybe = made("bool", "chosen_is_numpys")
    return Chosen(Number(GROUPS[what].dtype, text, size, low, high, maybe=maybe, whole=whole))
