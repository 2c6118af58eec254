"""``a if c else b`` in a loop: of numbers, of one type or of several, and of tuples of such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.eithers import GROUPS, group_of, kinds_of, said_of, whole_of
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import Held, Number, Several, Size, Unchanging


@dataclass
class Chosen:
    """A number that is one or the other, and its variables: those of ``Number``."""

    number: Number

    def assign(self, text: Text, found: Number) -> None:
        """One way gives its value."""
        own = self.number
        lines = {own.text: f"({own.c_type}){found.text}"}
        if own.maybe:
            lines[own.maybe] = said_of(found)
        if own.whole:
            lines[own.whole] = whole_of(found)
        text.add(", ".join(f"{v} = {t}" for v, t in lines.items()) + ";")


def variables_for(text: Text, a: Held, b: Held) -> list[Chosen]:
    """Variables for one or the other: a number, a tuple of such, or None.

    Raises:
        NoLoopError: they are none of these, or no number can be both.
    """
    if isinstance(a, Unchanging) and isinstance(b, Unchanging) and a.value is b.value is None:
        return []
    are_several = isinstance(a, Several) or isinstance(b, Several)
    return [_of_two(text, x, y) for x, y in (_pairs(a, b) if are_several else [(a, b)])]


def fits(both: Sequence[Chosen], held: Held) -> bool:
    """Whether variables may hold something."""
    values = _values(held)
    if len(values) != len(both):
        return False
    return all(kinds_of(v) and kinds_of(v) <= kinds_of(c.number) and bool(c.number.maybe) >= bool(
        getattr(v, "maybe", "")) for c, v in zip(both, values, strict=True))  # fmt: skip


def give(text: Text, both: Sequence[Chosen], held: Held) -> None:
    """One way gives its values."""
    for each, value in zip(both, _values(held), strict=True):
        assert isinstance(value, Number)
        each.assign(text, value)


def chosen_of(text: Text, both: Sequence[Chosen], like: Held) -> Held:
    """What the variables hold behind both ways."""
    numbers = [_settled(text, each.number) for each in both]
    if isinstance(like, Several):
        return Several(tuple(numbers), like.is_list)
    return numbers[0] if numbers else like


def _values(held: Held) -> Sequence[Held]:
    if isinstance(held, Several):
        return held.items
    return () if isinstance(held, Unchanging) and held.value is None else (held,)


def _settled(text: Text, number: Number) -> Number:
    if number.type is not int:
        return number
    name = text.named("int64", number.text)
    return replace(number, text=name, size=Size.of(name))


def _pairs(a: Held, b: Held) -> list[tuple[Held, Held]]:
    if not isinstance(a, Several) or not isinstance(b, Several):
        raise NoLoopError("a choice between a tuple and something else")
    if (len(a.items), a.is_list) != (len(b.items), b.is_list):
        raise NoLoopError("a choice between tuples of several lengths")
    return [*zip(a.items, b.items, strict=True)]


def _of_two(text: Text, a: Held, b: Held) -> Chosen:
    """Variables for one or the other."""
    if not isinstance(a, Number) or not isinstance(b, Number):
        raise NoLoopError("an array where a number is needed")

    def made(c_type: str, wish: str) -> str:
        return text.variable(c_type, text.fresh(wish))

    low, high = min(a.low, b.low), max(a.high, b.high)
    if a.type == b.type and not a.maybe and not b.maybe:
        return Chosen(Number(a.type, made(a.c_type, "chosen"), None, low, high))
    if (what := group_of([a, b])) is None:
        raise NoLoopError("a choice between numbers of several types")
    name = made(GROUPS[what].dtype.register, "chosen")
    whole = made("bool", "chosen_is_whole") if what == "real" else ""
    size = Size.of(name) if what == "whole" else None
    maybe = made("bool", "chosen_is_numpys")
    return Chosen(Number(GROUPS[what].dtype, name, size, low, high, maybe=maybe, whole=whole))
