"""A prepared call on a GPU that is repeated: a CUDA graph over memory of its own.

Where a library computes a step, which CuPy does not capture, all steps are launched each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.cuda.graphs import Stepwise, captured
from opweave.runtime.cuda.starts import DeviceStart


class DeviceReplay:
    """A prepared call as a CUDA graph, captured once over memory of its own.

    Inputs are copied into that memory when they are bound, through staging buffers in pinned
    memory that are kept, unless ``staging`` is False.  For one thread at a time.
    """

    def __init__(self, prepared: Prepared, arrays: Sequence[Any], *, staging: bool = True):
        """``arrays``: NumPy's, in the order of the inputs."""
        executor: Any = prepared.executor
        self.prepared, self.start, self.executor = prepared, DeviceStart(prepared), executor
        self._staging = staging
        self._staged: dict[int, Any] = {}
        self._device = executor.cupy.cuda.Device(executor.index)
        self._run(self._capture, arrays)

    def _run(self, work: Any, *args: Any) -> Any:
        name = self.prepared.name
        return self.executor.state.run(partial(work, *args), f"the CUDA graph of {name}")

    def _capture(self, arrays: Sequence[Any]) -> None:
        xp = self.executor.cupy
        with self._device:
            self.stream = xp.cuda.Stream(non_blocking=True)
            with self.stream:
                self._slots = [xp.empty(a.shape, a.dtype) for a in arrays]
                made = self.prepared.plan.made()
                constants, faults = self.prepared.constants, self.prepared.new_faults()
                self._every = (*self._slots, *constants, *made, faults)
                self._upload(enumerate(arrays))
                # once before: modules are loaded outside of the capture
                self._memory = self.start.memory()
                numbers = self.prepared.plan.numbers(self.prepared.extents)
                launch = partial(self.start.launch, self._memory, numbers, self._every)
                launch()
                self.stream.synchronize()
            computes = self.prepared.plan.computes
            self._graph = Stepwise(launch) if computes else captured(self.stream, launch)

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
            found = self.prepared.results(self._every, self.prepared.extents)
            return [self.executor.fetched(array, self.stream) for array in found]
