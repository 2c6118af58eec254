"""Locks that a forked child finds free, and functions that are called once, whoever asks.

A forked child has one thread, but its parent's locks in their state: a lock that another thread
held would never be released.  Data behind our locks is consistent at any moment, as it must be for
Ctrl-C, so the child may take them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_made: WeakSet[Any] = WeakSet()


def lock() -> threading.Lock:
    """A ``threading.Lock`` that is free in a forked child."""
    made = threading.Lock()
    _made.add(made)
    return made


def rlock() -> Any:
    """A ``threading.RLock`` that is free in a forked child, unless its own thread has it."""
    made = threading.RLock()
    _made.add(made)
    return made


def _free_all() -> None:
    for made in list(_made):
        if not (hasattr(made, "_is_owned") and made._is_owned()):
            made._at_fork_reinit()  # as threading and logging do with their own locks


os.register_at_fork(after_in_child=_free_all)


class Once(Generic[T]):
    """A function without arguments that is called once, and whose result is kept.

    ``functools.cache`` calls it in each thread that asks before the first has an answer.
    """

    def __init__(self, make: Callable[[], T]):
        self.__doc__ = make.__doc__
        self.__wrapped__ = make
        self._results: list[T] = []
        self._lock = rlock()  # a finalizer of the same thread may ask, too

    def __call__(self) -> T:
        if not self._results:
            with self._lock:
                if not self._results:
                    self._results.append(self.__wrapped__())
        return self._results[0]

    @property
    def called(self) -> bool:
        """True if there is a result."""
        return bool(self._results)

    def become(self, result: T) -> None:
        """Let the result be another one for all who ask from now on."""
        self._results[:] = [result]

    def cache_clear(self) -> None:
        """Forget the result."""
        self._results.clear()
