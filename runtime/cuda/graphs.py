"""CUDA graphs of a call plan: how launches are captured, and which graphs are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from opweave.runtime.calls.planned import PlannedCall
from opweave.runtime.process import locks

# Keys that are counted towards a capture.
MOST_SEEN = 256
PER_THREAD_STREAM = 2  # cudaStreamPerThread: one number for the streams of all threads


class Graphs:
    """The CUDA graphs of one prepared call by what tells them apart.

    Attributes:
        lock: held while one is found and launched: by one thread at a time.
    """

    def __init__(self, prepared: PlannedCall, most: int, due: int = 1, what: str = ""):
        """
        Args:
            most: so many are kept; the one that was used least recently makes room.
            due: a call is captured when it comes for this time.
            what: follows the name of the call in messages.
        """
        self.executor: Any = prepared.executor
        self.name = f"the CUDA graph of {prepared.name}{what}"
        self.lock = locks.lock()
        self._most, self._due = most, due
        self._seen: OrderedDict[Any, int] = OrderedDict()
        self._graphs: OrderedDict[Any, Any] = OrderedDict()
        self._retired: list[tuple[Any, Any]] = []

    def find(self, key: Any, stream: Any, make: Callable[[Any], Any]) -> Any:
        """What ``make`` gives for a new stream to capture on; None where a capture is not due.

        Args:
            stream: on which what is found will be launched, part of the key.
        """
        found = self._graphs.get(key)
        if found is None:
            if not self._is_due(key):
                return None
            found = stream, self.run(self._made, make)
            for dropped in _keep(self._graphs, key, found, self._most):
                self.run(self._retire, *dropped)
        self._graphs.move_to_end(key)
        return found[1]

    def _retire(self, stream: Any, graph: Any) -> None:
        """Drop a graph and its memory, when what was launched of it has ended."""
        if is_captured(stream):  # may not be waited for
            self._retired.append((stream, graph))
            return
        stream.synchronize()

    def run(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run what asks the device; its errors become typed ones."""
        return self.executor.state.run(partial(work, *args), self.name)

    def _made(self, make: Callable[[Any], Any]) -> Any:
        return make(self.executor.cupy.cuda.Stream(non_blocking=True))

    def _is_due(self, key: Any) -> bool:
        count = self._seen.pop(key, 0) + 1
        if count < self._due:
            _keep(self._seen, key, count, MOST_SEEN)
        return count >= self._due


def captured(stream: Any, launch: Callable[[], None]) -> Any:
    """Capture launches as a CUDA graph; nothing runs.  Modules must be loaded already."""
    with stream:
        stream.begin_capture()
        try:
            launch()
        finally:
            graph = stream.end_capture()
    return graph


class Stepwise:
    """What cannot be a graph, started as one: step by step."""

    def __init__(self, start: Callable[[], None]):
        self._start = start

    def launch(self, stream: Any) -> None:
        """Start all on a stream."""
        with stream:
            self._start()


def is_captured(stream: Any) -> bool:
    """True while the caller captures a graph of its own, which gets the kernels themselves."""
    return bool(stream.ptr) and bool(stream.is_capturing())  # the default stream never is


def stream_key(stream: Any) -> tuple[int, int]:
    """A key of a stream; with the thread, since all per-thread default streams have one number."""
    return stream.ptr, threading.get_ident() if stream.ptr == PER_THREAD_STREAM else 0


def _keep(known: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> list[Any]:
    """Add an entry; the one that was used least recently makes room, and is returned."""
    dropped = [known.popitem(last=False)[1]] if len(known) >= most else []
    known[key] = value
    return dropped
