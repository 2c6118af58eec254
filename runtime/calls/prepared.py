"""Launch: arguments bound, buffers made, kernels started.

``Prepared`` does what needs to be done only once for exact shapes, strides and types: grids,
extents, strides, packing formats.  A prepared call then only packs pointers and scalars, and
launches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.compiler.ir.expr import Expr, evaluate
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import TURNS, Value, extent_of
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.runtime.calls.building import build_all
from opweave.runtime.calls.interface import Executor, Loop
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.outcomes import check_nonempty, fault, truth
from opweave.runtime.calls.results import (
    BOXED,
    TRUTH,
    Makes,
    Single,
    begun,
    kinds_of,
    last_uses,
    shared_places,
    single_of,
)
from opweave.runtime.calls.steps import Launch, by_library, scalar_value, step_of
from opweave.runtime.calls.writes import Writes


class Prepared:
    """A call for which only pointers and scalars are missing."""

    def __init__(
        self, lowered: Lowered, executor: Executor, extents: Mapping[str, int],
        arrays: Sequence[Any], constants: Sequence[Any] = (), replay: bool = False,
    ):  # fmt: skip
        """``arrays`` are like those of the inputs, in order; the last inputs are the constants.

        ``replay``: calls that come again may become a CUDA graph, see runtime/cuda/call_graphs.py.
        """
        self.replay = replay
        self.constants = tuple(constants)
        self.graph: FunctionGraph = lowered.graph
        self.schedule = lowered.schedule
        self.executor = executor
        loops = any(kernel.carried for kernel in lowered.kernels)
        self.extents = {**extents, **({TURNS: 1} if loops else {})}
        check_nonempty(self.graph, extents)
        self.inputs = tuple(i.value.id for i in self.graph.inputs)
        like = dict(zip(self.inputs, (*arrays, *self.constants), strict=True))
        self.layouts = Layouts(lowered.schedule, extents, like)
        self.shapes = self.layouts.shapes
        self.needs_env = (
            loops
            or any(isinstance(o, Expr) for o in self.graph.outputs)
            or any(s.expr.op != "argument" for k in lowered.kernels for s in k.scalars())
        )
        self._look_at_outputs(extents)
        self._prepare_steps(lowered)
        self._loop: Loop | None = None
        self.plan = executor.plan(self) if self.single is None else None
        at_once = self.single is not None or self.plan is not None
        writes = Writes(lowered.schedule, arrays, at_once) if self.graph.written else None
        self.writes: Writes | None = writes

    def _look_at_outputs(self, extents: Mapping[str, int]) -> None:
        graph = self.graph
        self.outputs = tuple(o.id if isinstance(o, Value) else -1 for o in graph.outputs)
        # shape and dtype of every output that arrays can be given for
        self.fitting = {
            o.id: (tuple(extent_of(e, extents) for e in o.shape), o.dtype.numpy)
            for o in graph.outputs
            if isinstance(o, Value) and graph.base(o).id in self.shapes
        }
        # of outputs without dimensions
        self.kinds = kinds_of(graph)
        # places of outputs that may be one array, of which NumPy makes a view
        self.shared = shared_places(graph)
        # arrays of the last call that was given some, and which are written straight
        self.last_targets: tuple[tuple[Any, ...], tuple[tuple[int, int], ...]] = ((), ())

    def _prepare_steps(self, lowered: Lowered) -> None:
        for kernel in lowered.kernels:
            if not kernel.is_empty(self.extents):
                kernel.grid(self.extents)  # a launch that no device takes is refused first
        build_all(lowered, self.executor, self.extents)
        self.steps = tuple(
            step_of(kernel, self._launcher(kernel, source), self.layouts, self.executor.packer)
            for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
        )
        # results whose stores add to what is there
        self.added = frozenset(v for kernel in lowered.kernels for v in kernel.added)
        self.makes: Makes = tuple(
            tuple((v.id, self._maker(v.id)) for v in group.outputs)
            for group in lowered.schedule.groups
        )
        self.drops = last_uses(self.graph, self.steps, self.makes)
        self.notes_faults = any(step.faults >= 0 for step in self.steps)
        is_apart = not (self.constants or self.shared)
        self.single = single_of(self.graph, self.steps, self.makes) if is_apart else None

    def _maker(self, value_id: int) -> Callable[[], Any]:
        """A function that makes the array of a result; zeros, where a kernel adds to it."""
        make = self.executor.allocator(*self.shapes[value_id])
        return begun(make) if value_id in self.added else make

    def _launcher(self, kernel: Kernel, source: str) -> Launch | None:
        if kernel.is_empty(self.extents):
            return None
        if kernel.by_numpy:
            return by_library(kernel, self.layouts)
        return self.executor.launcher(kernel, source, self.extents)

    def __call__(
        self, arrays: Sequence[Any], scalars: Mapping[str, Any], out: Mapping[int, Any] = {}
    ) -> list[Any]:
        """Run the kernels and return the outputs in order.

        ``out`` gives arrays for some outputs, by value id; they must not overlap an input.
        """
        if self.single is not None:
            return self._call_single(self.single, arrays, scalars, out)
        if self.constants:
            arrays = (*arrays, *self.constants)
        env = {**self.extents, **scalars} if self.needs_env else scalars
        faults = self.executor.faults() if self.notes_faults else None
        run = self._run_apart if self.plan is None else self.plan
        found = self.results(run(arrays, env, out, faults), env, faults)
        return self._apart(found) if self.shared else found

    def _apart(self, results: list[Any]) -> list[Any]:
        """Results of which no two are the same object: a view replaces the second one."""
        for place, first in self.shared:
            if results[place] is results[first]:
                results[place] = results[place][...]
        return results

    def results(self, held: Mapping[int, Any], env: Mapping[str, Any], faults: Any) -> list[Any]:
        """The outputs, given the arrays by value.

        Raises:
            BoundsError: a kernel noted an index that has no element.
        """
        if faults is not None and (word := self.executor.noted(faults)):
            raise fault(self.graph, word, {**self.extents, **env})
        return [self._output(i, o, held, env) for i, o in enumerate(self.graph.outputs)]

    def loop(self) -> Loop | None:
        """A function that runs it many times, its results as arguments; None: impossible."""
        if self._loop is None and self._is_closed():
            self._loop = self.executor.loop(self)  # two threads may make it, and one is kept
        return self._loop

    def _is_closed(self) -> bool:
        """True where the results are arrays of their own, each written by a kernel."""
        made = [value for makes in self.makes for value, _ in makes]
        shaped = all(isinstance(o, Value) and o.shape for o in self.graph.outputs)
        apart = len(set(self.outputs)) == len(self.outputs)
        return shaped and apart and set(self.outputs) <= set(made)

    def _run_apart(
        self, arrays: Sequence[Any], env: Mapping[str, Any], out: Mapping[int, Any], faults: Any
    ) -> dict[int, Any]:
        """One launch after the other, each value in an array of its own."""
        held: dict[int, Any] = dict(zip(self.inputs, arrays, strict=True))
        for number, drops in enumerate(self.drops):
            self.run_step(number, held, env, out, faults)
            for value_id in drops:
                del held[value_id]
        return held

    def run_step(
        self, number: int, held: dict[int, Any], env: Mapping[str, Any],
        out: Mapping[int, Any] = {}, faults: Any = None,
    ) -> None:  # fmt: skip
        """One launch, of what ``held`` has; its results are added to that."""
        step = self.steps[number]
        for value_id, make in self.makes[number]:
            given = out.get(value_id)
            held[value_id] = make() if given is None else given
        slots = list(step.fixed)
        passed = []
        for slot, value_id, offset in step.pointers:
            array = held[value_id]
            passed.append(array)
            slots[slot] = self.executor.address(array, offset)
        for slot, scalar in step.scalars:
            slots[slot] = scalar_value(scalar, env)
        if step.partials >= 0:
            partials, counter = self.executor.workspace(step.kernel, step.rows)
            slots[step.partials], slots[step.counter] = map(
                self.executor.address, (partials, counter)
            )
            passed += [partials, counter]
        if step.faults >= 0:
            slots[step.faults] = self.executor.address(faults)
            passed.append(faults)
        if step.launch is not None:
            step.launch(step.pack(*slots), passed)

    def _call_single(
        self,
        single: Single,
        arrays: Sequence[Any],
        scalars: Mapping[str, Any],
        out: Mapping[int, Any],
    ) -> list[Any]:
        step, makes, pointers, returned = single
        if out:
            every = [*arrays, *[out[v] if v in out else make() for v, make in makes]]
        else:
            every = [*arrays, *[make() for _, make in makes]]
        slots, address = list(step.fixed), self.executor.address
        for slot, place, offset in pointers:
            slots[slot] = address(every[place], offset)
        if step.scalars:
            env = {**self.extents, **scalars} if self.needs_env else scalars
            for slot, scalar in step.scalars:
                slots[slot] = scalar_value(scalar, env)
        assert step.launch is not None
        step.launch(step.pack(*slots), [every[place] for _, place, _ in pointers])
        return [every[place] for place in returned]

    def _output(self, index: int, output: Any, held: Mapping[int, Any], env: Any) -> Any:
        if isinstance(output, Value):
            array = held[self.graph.base(output).id]
            array = self.layouts.viewed(array, output.id)
            if output.shape == ():
                found = self.executor.result(array, self.kinds[index] is BOXED)
                return found if self.kinds[index] is not TRUTH else truth(found)
            return array
        return evaluate(output, env)
