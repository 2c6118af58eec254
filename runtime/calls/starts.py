"""The steps of a plan, started one by one by Python: where launches are watched, and on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from opweave.runtime.calls.loops import Turns
from opweave.runtime.calls.planned import PlannedCall


class StepwiseStart:
    """Starts the steps of a call plan one after the other."""

    by_address = False

    def __init__(self, prepared: PlannedCall):
        self.plan, self.executor = prepared.plan, prepared.executor
        nbytes = self.plan.memory.nbytes
        self._arena = self.executor.arena(nbytes) if nbytes else None
        self._works = [self.executor.workspace(*each) for each in self.plan.workspaces]
        found = map(self.executor.starting, self.plan.steps)
        self._starts = [start for start in found if start is not None]

    def __call__(self, every: Sequence[Any], numbers: Sequence[Any]) -> None:
        self.launch(self.memory(), numbers, every)

    def many(self, turns: Turns, times: int) -> None:
        """Run that many steps of a loop."""
        turns.apart(partial(self.launch, self.memory()), times)

    def memory(self) -> tuple[Any, ...]:
        """Memory that kernels use besides arguments and results; it must live until they are done.

        That is the arena, or None, and the workspaces.
        """
        made = [None if self._arena is None else self._arena()]
        for work in self._works:
            made += work()
        return tuple(made)

    def launch(self, memory: Sequence[Any], numbers: Sequence[Any], every: Sequence[Any]) -> None:
        """Start all steps with this memory."""
        arrays = (*every, *memory)
        for start in self._starts:
            start(arrays, numbers)
