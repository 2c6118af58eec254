"""Launch: arguments bound, buffers made, kernels started.

``Prepared`` does what needs to be done only once for exact shapes, strides and types: grids,
extents, strides, packing formats, all in one call plan (plan.py).  A prepared call then only makes
results, and its executor starts the plan (planned.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import TURNS, Value, extent_of
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.opcodes.cached import cached_property
from opweave.runtime.calls.building import build_all
from opweave.runtime.calls.filling import APART, call_plan
from opweave.runtime.calls.graph_results import (
    check_nonempty,
    indexed,
    returned_of,
    shared_places,
    straight_of,
)
from opweave.runtime.calls.interface import Executor
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.loops import Rows, Turns
from opweave.runtime.calls.plan import CallPlan
from opweave.runtime.calls.planned import PlannedCall
from opweave.runtime.calls.results import begun
from opweave.runtime.calls.steps import Launch
from opweave.runtime.calls.writes import Writes


class Prepared(PlannedCall):
    """A call of what was lowered for which only pointers and numbers are missing."""

    layouts: Layouts

    def __init__(
        self, lowered: Lowered, executor: Executor, extents: Mapping[str, int],
        arrays: Sequence[Any], constants: Sequence[Any] = (), replay: bool = False,
        apart: bool = False,
    ):  # fmt: skip
        """``arrays`` are like those of the inputs, in order; the last inputs are the constants.

        Args:
            replay: calls that come again may become a CUDA graph, see runtime/cuda/graphs.py.
            apart: each temporary has an array of its own, for who starts step by step.
        """
        self.replay = replay
        self.constants = tuple(constants)
        self.graph: FunctionGraph = lowered.graph
        self.name, self.indexed = lowered.graph.name, indexed(lowered.graph)
        self.schedule = lowered.schedule
        self.executor = executor
        loops = any(kernel.carried for kernel in lowered.kernels)
        self.extents = {**extents, TURNS: 1} if loops else {**extents}
        check_nonempty(self.graph, extents)
        inputs = (i.value.id for i in self.graph.inputs)
        like = dict(zip(inputs, (*arrays, *self.constants), strict=True))
        self.layouts = Layouts(lowered.schedule, extents, like)
        self.shapes = self.layouts.shapes
        self._look_at_outputs(extents)
        self.plan = self._planned(lowered, arrays, apart)
        self.returned = returned_of(self.layouts, self.plan.outputs)
        self.needs_env = (
            loops
            or any(isinstance(o, Expr) for o in self.graph.outputs)
            or any(scalar.expr.op != "argument" for scalar in self.plan.scalars)
        )
        is_single = self._is_plain and not (self.constants or self.shared)
        self.single = self.plan.only_step if is_single and not self.plan.computes else None
        self.writes = Writes.of(self.graph, arrays) if self.graph.written else None

    def _look_at_outputs(self, extents: Mapping[str, int]) -> None:
        graph = self.graph
        self.outputs = tuple(o.id if isinstance(o, Value) else -1 for o in graph.outputs)
        # shape and dtype of every output that arrays can be given for
        self.fitting = {
            o.id: (tuple(extent_of(e, extents) for e in o.shape), o.dtype.numpy)
            for o in graph.outputs
            if isinstance(o, Value) and graph.base(o).id in self.shapes
        }
        # outputs are arrays of the call as they are
        self._is_plain = all(
            isinstance(o, Value) and o.shape and o.id not in graph.views for o in graph.outputs
        )
        # places of outputs that may be one array, of which NumPy makes a view
        self.shared = shared_places(graph)
        # arrays of the last call that was given some, and which are written straight
        self.last_targets: tuple[tuple[Any, ...], tuple[tuple[int, int], ...]] = ((), ())

    def _planned(self, lowered: Lowered, arrays: Sequence[Any], apart: bool) -> CallPlan:
        for kernel in lowered.kernels:
            if not kernel.is_empty(self.extents):
                kernel.grid(self.extents)  # a launch that no device takes is refused first
        build_all(lowered, self.executor, self.extents)
        launches = [
            self._launcher(kernel, source)
            for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
        ]
        # results whose stores add to what is there
        self.added = frozenset(v for kernel in lowered.kernels for v in kernel.added)
        of = lowered.kernels, lowered.schedule, self.extents
        memory = APART if apart else self.executor.memory(*of)
        straight = straight_of(lowered.schedule, arrays)
        return call_plan(
            lowered, launches, self.layouts, memory, straight, self.executor, self._maker
        )

    def _maker(self, value_id: int) -> Callable[[], Any]:
        """A function that makes the array of a result; zeros, where a kernel adds to it."""
        make = self.executor.allocator(*self.shapes[value_id])
        return begun(make) if value_id in self.added else make

    def _launcher(self, kernel: Kernel, source: str) -> Launch | None:
        if kernel.is_empty(self.extents) or kernel.by_numpy:
            return None
        return self.executor.launcher(kernel, source, self.extents)

    def loop(self, arrays: Sequence[Any], env: Mapping[str, Any], times: int) -> list[Any]:
        """The first arguments after so many steps, in new arrays; see ``is_closed``.

        Raises:
            BoundsError: a kernel noted an index that has no element.
        """
        turns = Turns(self, arrays, [self.plan.numbers(env)])
        self.start.many(turns, times)
        self.check(turns.faults, env)
        return turns.next_state(turns.result)

    def rounds(
        self, arrays: Sequence[Any], envs: Sequence[Mapping[str, Any]], rows: Rows,
        carried: Sequence[int], asks: bool = False,
    ) -> tuple[list[Any], int]:  # fmt: skip
        """The outputs after a step for each set of numbers, and how many steps there were.

        Args:
            envs: numbers and extents of each step.
            rows: what its kernels get of them, see ``CallPlan.numbers``.
            carried: places of the outputs that become the first arrays of the next step, see
                ``closes``.
            asks: a step whose last output is true is the last one.

        Raises:
            BoundsError: a kernel noted an index that has no element.
        """
        turns = Turns(self, arrays, rows, carried, asks)
        self.start.many(turns, len(rows))
        every = turns.every(turns.state, turns.written)
        return self.results(every, envs[turns.ran - 1]), turns.ran

    @cached_property
    def is_closed(self) -> bool:
        """True where it may loop: results are arrays of their own, each written by a kernel."""
        return self._is_plain and self.closes(range(len(self.graph.outputs)))

    def closes(self, carried: Sequence[int]) -> bool:
        """The same of the results at these places; no other one lies in an argument."""
        graph, plan = self.graph, self.plan
        arrays = [plan.outputs[n] for n in carried]
        values = [graph.outputs[n] for n in carried]
        # where addresses are all that is taken, another shape of all of an array is one, too
        by_address = self.start.by_address
        are_whole = all(
            isinstance(v, Value) and (v.id not in graph.views or (by_address and self.is_all(n)))
            for n, v in zip(carried, values, strict=True)
        )
        inside = any(0 <= array < plan.inputs for array in plan.outputs)
        return are_whole and len({*arrays}) == len(arrays) and not inside

    def is_all(self, place: int) -> bool:
        """Whether an output is all of the array that it views, in the same order."""
        output, view = self.graph.outputs[place], self.returned[place].view
        assert isinstance(output, Value)
        if (found := self.shapes.get(self.graph.base(output).id)) is None:
            return False  # of an argument
        base = np.empty(found[0], found[1].numpy)
        seen = base if view is None else view.of(base)
        is_first = seen.ctypes.data == base.ctypes.data
        return bool(is_first and seen.size == base.size and seen.flags.c_contiguous)
