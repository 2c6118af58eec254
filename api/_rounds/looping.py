"""How so many steps of one prepared call run: written out, in a kernel's own loop, in C's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from opweave._rounds.carried import ReadyLike
from opweave.compiler.codegen.repeats import written_out
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import TURNS
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Variant, lowered_for
from opweave.compiler.scheduling.profit import LONGEST
from opweave.runtime.calls.prepared import Prepared

# Steps that are written out in one kernel, at most, and operations of them (``Cost.slots``): what
# they save in memory traffic is nearly all by then, and the kernel compiles in half a second.
MOST_WRITTEN = 64
WRITTEN = ("map", "pixel")  # forms of kernels of elements
LONGEST_WRITTEN = LONGEST // 4
# Steps of a kernel's own loop, at most, and those of a block times its elements: by then a launch
# costs next to nothing, and the host can still be interrupted between two blocks.
MOST_TURNED = 1 << 12
LONGEST_TURNED = 1 << 22


class Repetition:
    """How so many steps of one prepared call run.

    Attributes:
        ready: the call of one step.
        count: how many arguments the results take the place of.
        segments: calls to run one after the other, each with turns of its kernel and launches;
            none where a step cannot be looped.
    """

    def __init__(
        self, ready: ReadyLike, count: int, like: Sequence[Any], options: Options, n: int
    ):
        """``like``: arrays that lie as those of the calls."""
        self.ready, self.count, self.options = ready, count, options
        self.segments: list[tuple[Prepared, int, int]] = []
        if n and ready.prepared.is_closed:
            most, prepared = self._together(min(n, MOST_WRITTEN), like)
            self._add(prepared, most, n // most)
            if n % most:
                rest = self._written(n % most, like)
                assert rest is not None  # fewer of what was written out before
                self._add(rest, n % most, 1)

    def _add(self, prepared: Prepared, steps: int, times: int) -> None:
        """Run ``prepared``, which does so many steps, so often."""
        turns = max(1, min(MOST_TURNED // steps, LONGEST_TURNED // _longest(prepared)))
        turns = turns if any(step.kernel.carried for step in prepared.plan.steps) else 1
        launches = ((turns, times // turns), (times % turns, 1))
        self.segments += [(prepared, each, many) for each, many in launches if each and many]

    def __call__(self, arrays: Sequence[Any], numbers: Mapping[str, Any]) -> list[Any]:
        """The state after all steps, given the arguments; it must lie as results do."""
        for prepared, turns, launches in self.segments:
            given = {**numbers, TURNS: turns}
            if launches > 1:
                found = prepared.loop(arrays, {**prepared.extents, **given}, launches)
            else:
                found = prepared(arrays, given)
            arrays = [*found, *arrays[self.count :]]
        return list(arrays[: self.count])

    def _together(self, most: int, like: Sequence[Any]) -> tuple[int, Prepared]:
        """How many steps one kernel takes, while it is one and compiles in time; and it."""
        one, lowered = self.ready.prepared, self.ready.found.lowered
        if lowered.kernels and lowered.kernels[0].carried and not lowered.device.is_host:
            return 1, one  # registers hold the state as long as its loop lasts
        most = most_written(self.ready, most)
        made = self._written(most, like)
        fits = made is not None and len(made.plan.steps) == 1 and made.is_closed
        return (most, made) if made is not None and fits else (1, one)

    def _written(self, steps: int, like: Sequence[Any]) -> Prepared | None:
        """So many steps as one call; None where they cannot be written as one."""
        if steps == 1:
            return self.ready.prepared
        graph = written_out(self.ready.found.variant.graph, steps)
        return None if graph is None else prepared_for(self.ready, graph, like, self.options)


def most_written(ready: ReadyLike, most: int) -> int:
    """How many steps of a call may be written out in one kernel that compiles in time."""
    lowered = ready.found.lowered
    if len(lowered.kernels) != 1 or lowered.schedule.groups[0].form.kind not in WRITTEN:
        return 1
    slots = sum(node.operator.cost.slots for node in lowered.graph.nodes)
    return max(1, min(most, LONGEST_WRITTEN // max(1, slots)))


def prepared_for(
    ready: ReadyLike, graph: FunctionGraph, like: Sequence[Any], options: Options
) -> Prepared:
    """A call of another graph with the arguments of one; ``like``: arrays that lie as its."""
    found, one = ready.found, ready.prepared
    variant = Variant(found.variant.trace, graph, found.variant.static)
    lowered = lowered_for(variant, found.extents, found.spans, found.lowered.device, options)
    return Prepared(lowered, one.executor, found.extents, like, one.constants)


def _longest(prepared: Prepared) -> int:
    """Elements that a block of a kernel takes, at most."""
    kernels, extents = [step.kernel for step in prepared.plan.steps], prepared.extents
    return max(k.work(extents) // max(1, math.prod(k.grid(extents))) for k in kernels) or 1
