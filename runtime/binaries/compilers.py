"""Compilers that run, and how they end: after Ctrl-C none is left behind.

A compiler is a family of processes (g++ starts cc1plus, as and ld), and we can wait for its head
only.  So each has a process group of its own, which is ended as a whole.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from opweave.runtime.binaries.progress import Progress
from opweave.runtime.process import locks
from opweave.runtime.process.share import cores

T = TypeVar("T")

# Time to remove temporary files in, before a compiler that does not end is killed.
SECONDS_TO_END = 1.0

_of_thread = threading.local()


class Running:
    """The compilers that several threads run for one request."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ending = 0  # the signal for compilers that start after the end

    def enter(self) -> None:
        """Let compilers of this thread belong to this request from now on."""
        _of_thread.running = self

    @contextmanager
    def with_(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Know a process while it runs."""
        with self._lock:
            self._processes.add(process)
            if self._ending:
                _signal(process, self._ending)
        try:
            yield
        finally:
            with self._lock:
                self._processes.discard(process)

    def stop(self) -> None:
        """End all of them, and those that start later; their threads wait for them."""
        end = time.monotonic() + SECONDS_TO_END
        self._signal_all(signal.SIGTERM)
        while self._processes and time.monotonic() < end:
            time.sleep(0.01)
        self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: int) -> None:
        with self._lock:
            self._ending = number
            for process in self._processes:
                _signal(process, number)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process that still runs, and to those that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def communicate(process: subprocess.Popen[bytes], text: bytes) -> tuple[bytes, bytes]:
    """Write a process its input and read what it prints; whatever is raised meanwhile ends it."""
    running = getattr(_of_thread, "running", None) or Running()
    with process, running.with_(process):
        try:
            return process.communicate(text)
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    _signal(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(SECONDS_TO_END)
        return
    _signal(process, signal.SIGKILL)
    process.wait()


def at_once(
    work: Callable[..., T], calls: Sequence[Sequence[Any]], progress: Progress | None = None
) -> list[T]:
    """The results of several calls, made on several threads, because compilers are processes.

    They begin in order.  If one fails, or at Ctrl-C, no other is begun and compilers that run are
    ended.
    """
    running, progress = Running(), progress or Progress("", [0.0] * len(calls))
    with ThreadPoolExecutor(min(len(calls), cores()), initializer=running.enter) as pool:
        try:
            made = {pool.submit(work, *call): number for number, call in enumerate(calls)}
            waiting = set(made)
            while waiting:
                done, waiting = wait(waiting, progress.pause, FIRST_COMPLETED)
                for each in done:
                    each.result()
                progress.tell([made[each] for each in done])
            return [each.result() for each in made]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            running.stop()
            raise
        finally:
            progress.end()
