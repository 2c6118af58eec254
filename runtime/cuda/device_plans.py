"""The kernels of a prepared call on a GPU: temporaries in an arena, and all of it as a CUDA graph.

The executor hands CuPy in; only runtime/cuda/executor.py imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.compiler.scheduling.memory import memory_plan
from opweave.runtime.calls.steps import Step, scalar_value
from opweave.runtime.cuda.call_graphs import CallGraphs, captured

if TYPE_CHECKING:
    from opweave.runtime.calls.prepared import Prepared


class DeviceCallPlan:
    """How a prepared call of several kernels runs on a GPU.

    The arena comes from CuPy's pool, for the current stream, and goes back there behind the last
    launch: the pool gives it to later work of that stream only, which runs after this.  So two
    streams never share one.
    """

    def __init__(self, prepared: Prepared):
        self.prepared = prepared
        self.memory = memory_plan(prepared.schedule, prepared.extents)
        makes = [pair for makes in prepared.makes for pair in makes]
        self.makes = tuple(pair for pair in makes if pair[0] not in self.memory.places)
        known = (*prepared.inputs, *(value for value, _ in self.makes))
        self.places = {value: place for place, value in enumerate(known)}
        self._steps = tuple((step, self._fills(step)) for step in prepared.steps if step.launch)
        nbytes = self.memory.nbytes
        self._arena = prepared.executor.arena(nbytes) if nbytes else None
        is_one = len(self._steps) < 2 or prepared.notes_faults  # each call's faults are its own
        parts = prepared, self.memory_of_a_call, self.launch
        self._graphs = CallGraphs(*parts) if prepared.replay and not is_one else None

    def _fills(self, step: Step) -> tuple[tuple[int, int, int], ...]:
        """Slot, place of the array or -1 for the arena, and bytes from there, of each pointer."""
        at = self.memory.places
        return tuple(
            (slot, -1, at[value] + offset) if value in at else (slot, self.places[value], offset)
            for slot, value, offset in step.pointers
        )

    def __call__(
        self, arrays: Sequence[Any], env: Mapping[str, Any], out: Mapping[int, Any], faults: Any
    ) -> dict[int, Any]:
        """Launch with these arguments; the arrays of arguments and results by value."""
        made = [out[v] if v in out else make() for v, make in self.makes]
        every = (*arrays, *made)
        if self._graphs is None or not self._graphs.launch(every, env):
            self.launch(every, self.memory_of_a_call(), env, faults)
        return dict(zip(self.places, every, strict=True))

    def memory_of_a_call(self) -> tuple[Any, ...]:
        """Memory that kernels use besides arguments and results; it must live until they are done.

        That is the arena, or None, and for each step its partial results and counters, if any.
        """
        executor = self.prepared.executor
        works = (
            executor.workspace(step.kernel, step.rows) if step.partials >= 0 else ()
            for step, _ in self._steps
        )  # fmt: skip
        return (None if self._arena is None else self._arena(), *works)

    def launch(
        self, every: Sequence[Any], memory: Sequence[Any], env: Mapping[str, Any], faults: Any
    ) -> None:
        """Launch all kernels; ``every``: arguments and results, ``memory``: of this call."""
        arena, *works = memory
        arrays, address = (*every, arena), self.prepared.executor.address
        for (step, fills), work in zip(self._steps, works, strict=True):
            slots = list(step.fixed)
            for slot, place, offset in fills:
                slots[slot] = address(arrays[place], offset)
            for slot, scalar in step.scalars:
                slots[slot] = scalar_value(scalar, env)
            if step.partials >= 0:
                slots[step.partials], slots[step.counter] = work
            if step.faults >= 0:
                slots[step.faults] = faults
            assert step.launch is not None
            step.launch(step.pack(*slots), ())


class DeviceReplay:
    """A prepared call as a CUDA graph, captured once over memory of its own.

    Inputs are copied into that memory when they are bound, through staging buffers in pinned
    memory that are kept, unless ``staging`` is False.  For one thread at a time.
    """

    def __init__(self, prepared: Prepared, arrays: Sequence[Any], *, staging: bool = True):
        """``arrays``: NumPy's, in the order of the inputs."""
        executor: Any = prepared.executor
        self.prepared, self.plan, self.executor = prepared, DeviceCallPlan(prepared), executor
        self._staging = staging
        self._staged: dict[int, Any] = {}
        self._device = executor.cupy.cuda.Device(executor.index)
        self._run(self._capture, arrays)

    def _run(self, work: Any, *args: Any) -> Any:
        name = self.prepared.graph.name
        return self.executor.state.run(partial(work, *args), f"the CUDA graph of {name}")

    def _capture(self, arrays: Sequence[Any]) -> None:
        xp = self.executor.cupy
        with self._device:
            self.stream = xp.cuda.Stream(non_blocking=True)
            with self.stream:
                self._slots = [xp.empty(a.shape, a.dtype) for a in arrays]
                made = [make() for _, make in self.plan.makes]
                self._every = (*self._slots, *self.prepared.constants, *made)
                self._faults = self.executor.faults() if self.prepared.notes_faults else None
                self._upload(enumerate(arrays))
                # once before: modules are loaded outside of the capture
                self._memory, env = self.plan.memory_of_a_call(), self.prepared.extents
                self.plan.launch(self._every, self._memory, env, self._faults)
                self.stream.synchronize()
            launch = partial(self.plan.launch, self._every, self._memory, env, self._faults)
            self._graph = captured(self.stream, launch)

    def bind(self, number: int, array: Any) -> None:
        """Copy another array, or other elements, into an input."""
        self._run(self._bind, number, array)

    def _bind(self, number: int, array: Any) -> None:
        with self._device, self.stream:
            self._upload([(number, array)])

    def _upload(self, arrays: Any) -> None:
        for number, array in arrays:
            given = self._in_staging(number, array) if self._staging else array
            self._slots[number].set(given, stream=self.stream)

    def _in_staging(self, number: int, array: Any) -> Any:
        """The same elements in pinned memory, which the device reads at its full rate."""
        if array.nbytes == 0:
            return array
        buffer = self._staged.get(number)
        if buffer is None:
            memory = self.executor.cupy.cuda.alloc_pinned_memory(array.nbytes)
            buffer = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
            self._staged[number] = buffer
        self.stream.synchronize()  # the last copy from this buffer must have arrived
        np.copyto(buffer, array)
        return buffer

    def taken(self) -> Callable[[], list[Any]]:
        """Replay now, since calls share one memory; returns a function that gives the results."""
        found = list(self._run(self._replay))
        return lambda: found

    def _replay(self) -> list[Any]:
        with self._device, self.stream:
            self._graph.launch(self.stream)
            held = dict(zip(self.plan.places, self._every, strict=True))
            found = self.prepared.results(held, self.prepared.extents, None)
            return [self.executor.fetched(array, self.stream) for array in found]
