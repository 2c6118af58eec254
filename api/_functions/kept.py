"""What calls with arguments of one structure have in common, kept from one call to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

from opweave._functions.apart import LEAVES, Apart, Read, is_searched
from opweave._functions.layout import Layout
from opweave.compiler.captures.assumptions import Assumptions
from opweave.compiler.captures.checks import Check, Checked, joined, of_place
from opweave.compiler.captures.structure import Identity

if TYPE_CHECKING:
    from opweave._functions.warm import WarmCalls


class Kept(Checked):
    """What a function reads from outside, and the layout of a call with it.

    Attributes:
        layout: of a call with it.
        reads: what was found at each place.
        is_steady: nothing of that can change but by another object at a place.
        values: if so, its leaves, which follow those of the arguments.
        calls: how often a call with it was found.
        warm: the calls with it that C runs; None before they came often.
    """

    calls = 0
    warm: WarmCalls | None = None

    def __init__(
        self, layout: Layout, assumptions: Sequence[Assumptions], reads: Sequence[Read] = ()
    ):
        self.layout = layout
        self.reads = [read if read.is_steady else read.without_arrays() for read in reads]
        self.is_steady = all(read.is_steady for read in reads)
        self.values = [leaf for read in self.reads for _, leaf in read.leaves]
        # assumptions, and that steady places have the very same objects still
        self._checks = [check for found in assumptions for check in found.all]
        self._checks += [of_place(r.place, r.value) for r in self.reads if r.is_steady]
        self.join()

    @property
    def all(self) -> Sequence[Check]:
        return self._checks

    def for_c(self) -> Callable[[], bool]:
        """What holds of a call that C runs: it looks into containers, not at where they lie."""
        held = [read for read in self.reads if read.place.watched and not read.is_steady]
        more = [of_place(read.place, read.value) for read in held]
        return joined([*self._checks, *more]) if more else self.joined()

    def added(self, apart: Apart) -> bool:
        """Add what is read from outside to a call's arguments; False where it is another."""
        if not self.hold():
            return False
        for read in self.reads:
            if read.is_steady:
                apart.add(read)
            elif not read.is_like(apart.add_captured(read.place)):
                return False
        return True


def structure_of(apart: Apart) -> Any:
    """What must be equal of arguments for the same places to be read.

    Their structures, and the functions and classes among them.
    """
    flat = [value for _, value in apart.leaves]
    trees = tuple(apart.trees)
    if LEAVES.issuperset(map(type, flat)):
        return trees, ()
    searched = (part for value in flat if is_searched(value) for part in _parts(value))
    return trees, tuple(map(Identity, searched))


def _parts(value: Any) -> tuple[Any, ...]:
    """Objects that make a function or class the same as another one."""
    if type(value) is Identity:
        return (value.value,)
    return (value.__func__, value.__self__) if type(value) is MethodType else (value,)
