"""A call plan on a GPU: kernels launched one by one, or as CUDA graphs of what comes again.

In a loop arguments are the same arrays again and again, and CuPy's pool gives the same memory for
results.  A call with addresses and numbers that came before is one launch of a graph.  All other
calls launch their kernels.  So nothing is copied, and arrays may lie anywhere.

Of a step that is repeated, some rounds are captured into a graph once, over two sets of arrays
that take turns; a loop is then a launch for so many steps.

The executor hands CuPy in; only runtime/cuda/executor.py imports it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.loops import Arrays, Turns
from opweave.runtime.calls.planned import PlannedCall
from opweave.runtime.calls.starts import StepwiseStart
from opweave.runtime.cuda.graphs import Graphs, captured, is_captured, stream_key

# A call is captured when it comes for the third time: a capture takes as long as many launches.
CAPTURED_AT = 3
# Graphs of one prepared call that are kept, each with temporaries of its own.
MOST_GRAPHS = 16
# About how many kernels a graph of a loop has: so many that a launch costs each of them little,
# and so few that it is made in the time of some hundred launches.
KERNELS = 64
# Graphs of one loop that are kept, each with two states of its own.
MOST_LOOPS = 4
# If the state and the temporaries of a step are larger, steps are launched one by one: a kernel
# that moves this many bytes takes longer than its launch.  A graph would keep memory and save
# nothing.
MOST_BYTES = 1 << 24


class _Rounds(NamedTuple):
    """Two places of the state, other memory of the kernels, and the graph of some steps.

    The graph leads from ``first`` by way of ``second`` back to ``first``.
    """

    first: Arrays
    second: Arrays
    memory: tuple[Any, ...]
    graph: Any


class DeviceStart(StepwiseStart):
    """Starts the plan of a prepared call on a GPU.

    The arena comes from CuPy's pool, for the current stream, and goes back there behind the last
    launch: the pool gives it to later work of that stream only, which runs after this.  So two
    streams never share one.
    """

    def __init__(self, prepared: PlannedCall):
        super().__init__(prepared)
        executor: Any = prepared.executor
        self.prepared: Any = prepared  # one that loops has shapes, too
        self.cuda, self._state = executor.cupy.cuda, executor.state
        self.by_address = not self.plan.computes  # a library takes shapes
        self._for_capture = executor.workspaces.for_capture
        launches = [step for step in self.plan.steps if step.launch is not None]
        is_one = len(launches) < 2 or self.plan.notes_faults  # each call's faults are its own
        again = prepared.replay and not (is_one or self.plan.computes)
        self._graphs = Graphs(prepared, MOST_GRAPHS, CAPTURED_AT) if again else None
        self._loops = Graphs(prepared, MOST_LOOPS, what=", repeated")
        # numbers in a key differ where their bits do, as 0.0 and -0.0
        self._packed = struct.Struct("<" + self.plan.formats).pack

        self._uses_memory = self._arena is not None or bool(self.plan.workspaces)

    def memory(self) -> tuple[Any, ...]:
        return self._lasting(super().memory) if self._uses_memory else (None,)

    def _lasting(self, make: Callable[[], Any]) -> Any:
        """What kernels use besides arguments and results: it lives as long as they may run."""
        if is_captured(self.cuda.get_current_stream()):
            return self._for_capture(make)
        return make()

    def __call__(self, every: Sequence[Any], numbers: Sequence[Any]) -> None:
        if self._state.ready():
            self._queue(every, numbers)
        else:  # streams are those of the current device
            self._state.check()
            with self.cuda.Device(self._state.index):
                self._queue(every, numbers)

    def _queue(self, every: Sequence[Any], numbers: Sequence[Any]) -> None:
        if self._graphs is None or not self._launched(self._graphs, every, numbers):
            self.launch(self.memory(), numbers, every)

    def _launched(self, graphs: Graphs, every: Sequence[Any], numbers: Sequence[Any]) -> bool:
        """Launch the graph of these arrays on the current stream, if there is one.

        False where the kernels have to be launched: the call is new, or the stream is being
        captured by the caller, whose graph gets the kernels themselves.
        """
        stream = self.cuda.get_current_stream()
        if is_captured(stream):
            return False
        key = (*stream_key(stream), self._packed(*numbers), *map(pointer, every[:-1]))
        with graphs.lock:
            found = graphs.find(key, stream, partial(self._captured, every, numbers))
            if found is not None:
                graphs.run(found[0].launch, stream)
        return found is not None

    def _captured(self, every: Sequence[Any], numbers: Sequence[Any], stream: Any) -> Any:
        """The kernels as a graph, and the memory that it uses besides the arrays.

        The memory belongs to the stream for which it is asked, as the graph does.
        """
        memory = self.memory()
        return captured(stream, partial(self.launch, memory, numbers, every)), memory

    def many(self, turns: Turns, times: int) -> None:
        """Run that many steps of a loop: by graphs but for the first and the last ones."""
        stream, loops = self.cuda.get_current_stream(), self._loops
        with loops.lock:  # the memory of a graph serves one loop after the other
            no_graph = not self.has_graphs or is_captured(stream)
            no_graph |= turns.differ or turns.enough is not None
            if times < self._per_graph + 2 or no_graph:
                start = partial(self.launch, self.memory())
                spare = self._lasting(turns.made_spare) if times > 1 else None
                turns.apart(start, times, spare=spare)
                return
            # its arrays belong to the stream for which they were asked
            numbers = self._packed(*turns.numbers(0))
            key = (*stream_key(stream), numbers, *map(pointer, turns.others))
            first, second, memory, graph = loops.find(key, stream, partial(self._rounds, turns))
            start = partial(self.launch, memory)
            start(turns.numbers(0), turns.every(turns.state, first))
            graphs, rest = divmod(times - 2, self._per_graph)
            for _ in range(graphs):
                loops.run(graph.launch, stream)
            turns.apart(start, rest + 1, turns.next_state(first), second)

    def _rounds(self, turns: Turns, stream: Any) -> _Rounds:
        first, second, memory = turns.make(), turns.make(), self.memory()
        start = partial(self.launch, memory, turns.numbers(0))

        def steps() -> None:
            for _ in range(self._per_graph // 2):
                for before, into in ((first, second), (second, first)):
                    start(turns.every(turns.next_state(before), into))

        return _Rounds(first, second, memory, captured(stream, steps))

    @property
    def has_graphs(self) -> bool:
        """Whether rounds may become graphs: they are short, and no library computes for them."""
        return not (self._is_large or self.plan.computes)

    @property
    def _per_graph(self) -> int:
        """Steps of a graph, an even number: the state is back where it was."""
        return 2 * max(1, KERNELS // (2 * max(1, len(self.plan.steps))))

    @property
    def _is_large(self) -> bool:
        shapes = (self.prepared.shapes[value] for value, _ in self.plan.makes)
        nbytes = sum(math.prod(shape) * dtype.itemsize for shape, dtype in shapes)
        return bool(nbytes + self.plan.memory.nbytes > MOST_BYTES)
