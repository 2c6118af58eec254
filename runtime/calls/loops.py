"""A prepared call whose results are the first arguments of the next, many times.

The first step reads the arguments, the last one writes new arrays, and in between two sets of
arrays take turns.  So arguments and results may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opweave.runtime.calls.prepared import Prepared

Arrays = Sequence[Any]


@dataclass(frozen=True)
class Turns:
    """What the steps of one loop are given.

    Attributes:
        state: the first arguments.
        others: the arguments and constants that stay.
        numbers: of the call.
        faults: the word for faults, or None.
        result: what the last step writes, as a plan makes it.
        make: makes another set of such arrays.
        order: which of such arrays is each argument of the next step.
    """

    state: Arrays
    others: Arrays
    numbers: Sequence[Any]
    faults: Any
    result: Arrays
    make: Callable[[], Arrays]
    order: Sequence[int]

    def every(self, state: Arrays, into: Arrays) -> Arrays:
        """The arrays of a step that writes so, see plan.py."""
        return *state, *self.others, *into, self.faults

    def next_state(self, written: Arrays) -> list[Any]:
        """The first arguments of the step behind the one that wrote this."""
        return [written[number] for number in self.order]

    def apart(
        self, start: Callable[[Arrays], None], times: int,
        state: Arrays | None = None, spare: Arrays | None = None,
    ) -> None:  # fmt: skip
        """Start step by step, from ``state``, over the result and ``spare``."""
        state = self.state if state is None else state
        spare = self.make() if spare is None and times > 1 else spare
        for left in range(times, 0, -1):
            into = self.result if left % 2 else spare
            assert into is not None
            start(self.every(state, into))
            state = self.next_state(into)


class Loop:
    """A prepared call whose results are all that it writes, as a step; see ``Prepared.loop``."""

    def __init__(self, prepared: Prepared):
        self.prepared = prepared
        made = [value for value, _ in prepared.plan.makes]
        self.order = [made.index(value) for value in prepared.outputs]

    def __call__(self, arrays: Arrays, env: Mapping[str, Any], times: int) -> list[Any]:
        """The state after so many steps, in new arrays.

        Raises:
            BoundsError: a kernel noted an index that has no element.
        """
        prepared, count = self.prepared, len(self.order)
        others, result = (*arrays[count:], *prepared.constants), self.made()
        faults, numbers = prepared.new_faults(), prepared.plan.numbers(env)
        turns = Turns(arrays[:count], others, numbers, faults, result, self.made, self.order)
        prepared.start.many(turns, times)
        prepared.check(faults, env)
        return turns.next_state(result)

    def made(self) -> Arrays:
        """New arrays for what a step writes."""
        return [make() for _, make in self.prepared.plan.makes]
