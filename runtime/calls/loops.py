"""A prepared call whose results are the first arguments of the next, many times.

The first step reads the arguments, the last one writes new arrays, and in between two sets of
arrays take turns.  So arguments and results may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opweave.runtime.calls.prepared import Prepared

Arrays = Sequence[Any]
Rows = Sequence[Sequence[Any]]  # numbers


class Turns:
    """What the steps of one loop are given.

    Attributes:
        state: the first arguments.
        others: the arguments and constants that stay.
        differ: whether each step has numbers of its own.
        faults: the word for faults, or None.
        make: makes a set of arrays that a step writes.
        result: the one that the last of all steps writes.
        enough: which of such arrays ends the loop, where it holds true; None for none.
        ran, written: how many steps there were, and what the last one wrote.
        order: which of such arrays is each argument of the next step.
    """

    def __init__(
        self, prepared: Prepared, arrays: Arrays, rows: Rows,
        carried: Sequence[int] | None = None, asks: bool = False,
    ):  # fmt: skip
        """What differs and what stays.

        Args:
            rows: the numbers of each step, or a row for all.
            carried: places of the outputs that become arguments; None for all of them.
            asks: the last output says whether it is enough.
        """
        plan = prepared.plan
        outputs = plan.outputs if carried is None else [plan.outputs[n] for n in carried]
        self.order = [array - plan.inputs for array in outputs]
        self.state = arrays[: len(self.order)]
        self.others = (*arrays[len(self.order) :], *prepared.constants)
        self._rows, self.differ = rows, len(rows) > 1 and not _alike(rows)
        self.faults = prepared.new_faults()
        self.make: Callable[[], Arrays] = plan.made
        self.result: Arrays = self.make()
        self.written: Arrays = self.result
        self.enough = plan.outputs[-1] - plan.inputs if asks else None
        self.ran = len(rows)

    def numbers(self, step: int) -> Sequence[Any]:
        """The numbers of a step."""
        return self._rows[step if self.differ else 0]

    def made_spare(self) -> Arrays:
        """Arrays to take turns with the result; what nobody reads is the same in both."""
        made = [*self.make()]
        return [a if n in self.order else self.result[n] for n, a in enumerate(made)]

    def every(self, state: Arrays, into: Arrays) -> Arrays:
        """The arrays of a step that writes so, see plan.py."""
        return *state, *self.others, *into, self.faults

    def next_state(self, written: Arrays) -> list[Any]:
        """The first arguments of the step behind the one that wrote this."""
        return [written[number] for number in self.order]

    def apart(
        self, start: Callable[[Sequence[Any], Arrays], None], times: int,
        state: Arrays | None = None, spare: Arrays | None = None,
    ) -> None:  # fmt: skip
        """Start step by step, of numbers and arrays, over the result and ``spare``."""
        state = self.state if state is None else state
        spare = self.made_spare() if spare is None and times > 1 else spare
        for left in range(times, 0, -1):
            into = self.result if left % 2 else spare
            assert into is not None
            start(self.numbers(times - left), self.every(state, into))
            state, self.written = self.next_state(into), into
            if self.enough is not None and bool(into[self.enough]):
                self.ran = times - left + 1
                return


def _alike(rows: Rows) -> bool:
    """Whether all steps have the same numbers, bit for bit."""
    first = [*map(repr, rows[0])]
    return all(row is rows[0] or [*map(repr, row)] == first for row in rows)
