"""A prepared call whose results are the first arguments of the next, many times.

The first step reads the arguments, the last one writes new arrays, and in between two sets of
arrays take turns.  So arguments and results may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opweave.runtime.calls.prepared import Prepared

Arrays = Sequence[Any]


class Turns:
    """What the steps of one loop are given.

    Attributes:
        state: the first arguments.
        others: the arguments and constants that stay.
        numbers: of the call.
        faults: the word for faults, or None.
        make: makes a set of arrays that a step writes.
        result: the one that the last step writes.
        order: which of such arrays is each argument of the next step.
    """

    def __init__(self, prepared: Prepared, arrays: Arrays, env: Mapping[str, Any]):
        plan = prepared.plan
        self.order = [array - plan.inputs for array in plan.outputs]
        self.state = arrays[: len(self.order)]
        self.others = (*arrays[len(self.order) :], *prepared.constants)
        self.numbers, self.faults = plan.numbers(env), prepared.new_faults()
        self.make: Callable[[], Arrays] = plan.made
        self.result = self.make()

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
