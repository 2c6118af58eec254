"""Memory on a GPU that kernels use besides arguments and results.

The executor hands CuPy in; only runtime/cuda/executor.py imports it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from opweave.opcodes.errors import LaunchError
from opweave.runtime.calls.refusals import NOT_CAPTURED
from opweave.runtime.cuda.graphs import is_captured
from opweave.runtime.process import locks

MOST_COUNTERS = 256


class Workspaces:
    """Partial results and counters of kernels on one device, and what captures use."""

    def __init__(self, cupy: Any, index: int):
        self._cupy, self._index = cupy, index
        self.counters: dict[tuple[int, int, int], Any] = {}
        self._of_captures: list[tuple[Any, Any]] = []  # streams, and what was made on them
        self._lock = locks.rlock()  # a finalizer may come here when memory is freed

    def found(self, nbytes: int, words: int) -> tuple[Any, Any]:
        """Partial results from the pool; counters are kept per stream, and reset themselves.

        A stream's kernels run one after the other.  The per-thread default stream has one number
        for all threads, so the thread counts too.  The device is the current one.
        """
        stream = self._cupy.cuda.get_current_stream()
        key = stream.ptr, threading.get_ident(), words
        found = self.counters.get(key)
        if found is None:
            found = self._new_counters(key)
        if not words:  # the host looks at the partial results, too
            return self._cupy.empty(nbytes, self._cupy.uint8), found
        return self._cupy.cuda.alloc(nbytes), found  # in half the time of an array

    def _new_counters(self, key: tuple[int, int, int]) -> Any:
        with self._lock:
            if len(self.counters) >= MOST_COUNTERS:
                self.counters.clear()
            return self.counters.setdefault(key, self._cupy.zeros(key[-1], self._cupy.uint32))

    def holds(self, words: Any) -> bool:
        """Whether kernels have noted anything in some memory; waits for them.

        Raises:
            LaunchError: the caller captures the stream, on which nothing runs.
        """
        if is_captured(self._cupy.cuda.get_current_stream()):
            raise LaunchError(NOT_CAPTURED)
        return bool(words.get().any())

    def for_capture(self, make: Callable[[], Any]) -> Any:
        """Memory for kernels that the caller captures; it is kept until the process ends.

        A graph runs its kernels long after the call that was captured, and whoever holds it does
        not say for how long.  On the stream that is captured zeros would be set at each replay,
        and not before the first.  So they are set on a stream of their own.
        """
        with self._cupy.cuda.Device(self._index), self._lock:
            aside = self._cupy.cuda.Stream(non_blocking=True)
            with aside:
                made = make()
                aside.synchronize()
            self._of_captures.append((aside, made))  # the stream too: no other has its number
        return made
