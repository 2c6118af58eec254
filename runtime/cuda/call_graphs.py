"""Calls on a GPU that come again as CUDA graphs, found by where their arrays lie.

In a loop arguments are the same arrays again and again, and CuPy's pool gives the same memory for
results.  A call with addresses and numbers that came before is one launch of a graph.  All other
calls launch their kernels.  So nothing is copied, and arrays may lie anywhere.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.steps import scalar_value
from opweave.runtime.process import locks

# A call is captured when it comes for the third time: a capture takes as long as many launches.
CAPTURED_AT = 3
# Graphs of one prepared call that are kept, each with temporaries of its own; and calls that are
# counted towards a capture.
MOST_GRAPHS = 16
MOST_SEEN = 256
PER_THREAD_STREAM = 2  # cudaStreamPerThread: one number for the streams of all threads


class CallGraphs:
    """The CUDA graphs of one prepared call."""

    def __init__(
        self, prepared: Any, memory_of_a_call: Callable[[], Any], launch: Callable[..., None]
    ):
        """Functions that make memory for temporaries, and that launch all kernels with it."""
        self.name, self.executor = prepared.graph.name, prepared.executor
        self._memory_of_a_call, self._launch = memory_of_a_call, launch
        self._numbers = tuple(s for step in prepared.steps for _, s in step.scalars)
        self._seen: OrderedDict[Any, int] = OrderedDict()
        self._graphs: OrderedDict[Any, tuple[Any, Any]] = OrderedDict()  # and what it writes to
        self._lock = locks.lock()

    def launch(self, every: Sequence[Any], env: Mapping[str, Any]) -> bool:
        """Launch the graph of these arrays on the current stream, if there is one.

        False where the kernels have to be launched: the call is new, or the stream is being
        captured by the caller, whose graph gets the kernels themselves.
        """
        stream = self.executor.cupy.cuda.get_current_stream()
        if is_captured(stream):
            return False
        numbers = tuple(scalar_value(scalar, env) for scalar in self._numbers)
        key = (*stream_key(stream), numbers, *map(pointer, every))
        with self._lock:  # a graph is launched by one thread at a time
            found = self._graphs.get(key)
            if found is None:
                if not self._is_due(key):
                    return False
                found = self._run(self._captured, every, env)
                keep(self._graphs, key, found, MOST_GRAPHS)
            self._graphs.move_to_end(key)
            graph, _ = found
            self._run(graph.launch, stream)
        return True

    def _is_due(self, key: Any) -> bool:
        count = self._seen.pop(key, 0) + 1
        if count < CAPTURED_AT:
            keep(self._seen, key, count, MOST_SEEN)
        return count >= CAPTURED_AT

    def _captured(self, every: Sequence[Any], env: Mapping[str, Any]) -> tuple[Any, Any]:
        """The kernels as a graph, and the memory that it uses besides the arrays.

        The memory belongs to the stream for which it is asked, as the graph does.
        """
        memory = self._memory_of_a_call()
        stream = self.executor.cupy.cuda.Stream(non_blocking=True)
        return captured(stream, partial(self._launch, every, memory, env, None)), memory

    def _run(self, work: Any, *args: Any) -> Any:
        return self.executor.state.run(partial(work, *args), f"the CUDA graph of {self.name}")


def captured(stream: Any, launch: Callable[[], None]) -> Any:
    """Capture launches as a CUDA graph; nothing runs.  Modules must be loaded already."""
    with stream:
        stream.begin_capture()
        try:
            launch()
        finally:
            graph = stream.end_capture()
    return graph


def is_captured(stream: Any) -> bool:
    """True while the caller captures a graph of its own, which gets the kernels themselves."""
    return bool(stream.ptr) and bool(stream.is_capturing())  # the default stream never is


def stream_key(stream: Any) -> tuple[int, int]:
    """A key of a stream; with the thread, since all per-thread default streams have one number."""
    return stream.ptr, threading.get_ident() if stream.ptr == PER_THREAD_STREAM else 0


def keep(known: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Add an entry; the one that was used least recently makes room."""
    if len(known) >= most:
        known.popitem(last=False)
    known[key] = value
