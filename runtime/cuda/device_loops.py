"""A prepared call on a GPU whose results are the first arguments of the next, many times.

Some steps are captured into a CUDA graph once, over two sets of arrays that take turns; a loop is
then a launch for so many steps.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.steps import scalar_value
from opweave.runtime.cuda.call_graphs import captured, is_captured, keep, stream_key
from opweave.runtime.cuda.device_plans import DeviceCallPlan
from opweave.runtime.process import locks

if TYPE_CHECKING:
    from opweave.runtime.calls.prepared import Prepared

# About how many kernels a graph has: so many that a launch costs each of them little, and so few
# that it is made in the time of some hundred launches.
KERNELS = 64
# Graphs of one loop that are kept, each with two states of its own.
MOST_GRAPHS = 4
# If the state and the temporaries of a step are larger, steps are launched one by one: a kernel
# that moves this many bytes takes longer than its launch.  A graph would keep memory and save
# nothing.
MOST_BYTES = 1 << 24

Arrays = Sequence[Any]


class _Turns(NamedTuple):
    """Two places of the state, other memory of the kernels, and the graph of some steps.

    The graph leads from ``first`` by way of ``second`` back to ``first``.
    """

    first: Arrays
    second: Arrays
    memory: tuple[Any, ...]
    graph: Any


class DeviceLoop:
    """One prepared call, whose results are all that it writes; see ``Prepared.loop``."""

    def __init__(self, prepared: Prepared):
        self.prepared, self.plan = prepared, DeviceCallPlan(prepared)
        self.executor: Any = prepared.executor
        self.outputs = [self.plan.places[value] for value in prepared.outputs]
        self.per_graph = 2 * max(1, KERNELS // (2 * max(1, len(prepared.steps))))
        shapes = (prepared.shapes[value] for value in prepared.outputs)
        nbytes = sum(math.prod(shape) * dtype.itemsize for shape, dtype in shapes)
        self.is_large = nbytes + self.plan.memory.nbytes > MOST_BYTES
        self._graphs: OrderedDict[Any, _Turns] = OrderedDict()
        self._lock = locks.lock()

    def __call__(self, arrays: Arrays, env: Mapping[str, Any], times: int) -> list[Any]:
        """The state after so many steps, in new arrays, in the order of the current stream.

        The first step reads the arguments, the last one writes the new arrays, and graphs run the
        steps between: so arguments and results may lie anywhere.
        """
        state, others = arrays[: len(self.outputs)], arrays[len(self.outputs) :]
        others = [*others, *self.prepared.constants]
        result = self._new_state()
        stream = self.executor.cupy.cuda.get_current_stream()
        with self._lock:  # the memory of a graph serves one loop after the other
            if times < self.per_graph + 2 or self.is_large or is_captured(stream):
                spare = self._new_state() if times > 1 else ()
                run = partial(self._step, others, self.plan.memory_of_a_call(), env)
                _apart(run, state, result, spare, times)
                return list(result)
            first, second, memory, graph = self._turns_for(stream, others, env)
            run = partial(self._step, others, memory, env)
            run(state, first)
            graphs, rest = divmod(times - 2, self.per_graph)
            for _ in range(graphs):
                self._run(graph.launch, stream)
            _apart(run, first, result, second, rest + 1)
        return list(result)

    def _new_state(self) -> Arrays:
        make = dict(self.plan.makes)
        return [make[value]() for value in self.prepared.outputs]

    def _step(
        self,
        others: Arrays,
        memory: tuple[Any, ...],
        env: Mapping[str, Any],
        state: Arrays,
        into: Arrays,
    ) -> None:
        """Launch one step; ``into`` takes its results."""
        every = [*state, *others, *into]
        for place, array in zip(self.outputs, into, strict=True):
            every[place] = array
        faults = self.executor.faults() if self.prepared.notes_faults else None
        self.plan.launch(every, memory, env, faults)

    def _turns_for(self, stream: Any, others: Arrays, env: Mapping[str, Any]) -> _Turns:
        """The graph of these arguments on a stream; made, if there is none yet.

        Its arrays belong to the stream for which they were asked.
        """
        scalars = (s for step in self.prepared.steps for _, s in step.scalars)
        numbers = tuple(scalar_value(scalar, env) for scalar in scalars)
        key = (*stream_key(stream), numbers, *map(pointer, others))
        found = self._graphs.get(key)
        if found is None:
            found = self._run(self._made, others, env)
            keep(self._graphs, key, found, MOST_GRAPHS)
        self._graphs.move_to_end(key)
        return found

    def _made(self, others: Arrays, env: Mapping[str, Any]) -> _Turns:
        first, second = self._new_state(), self._new_state()
        memory = self.plan.memory_of_a_call()

        def steps() -> None:
            for _ in range(self.per_graph // 2):
                self._step(others, memory, env, first, second)
                self._step(others, memory, env, second, first)

        stream = self.executor.cupy.cuda.Stream(non_blocking=True)
        return _Turns(first, second, memory, captured(stream, steps))

    def _run(self, work: Any, *args: Any) -> Any:
        name = self.prepared.graph.name
        return self.executor.state.run(partial(work, *args), f"the CUDA graph of {name}, repeated")


def _apart(
    run: Callable[[Arrays, Arrays], None], state: Arrays, result: Arrays, spare: Arrays, times: int
) -> None:
    """Launch step by step, so that the last one writes to ``result``."""
    for left in range(times, 0, -1):
        into = result if left % 2 else spare
        run(state, into)
        state = into
