"""Code that Python itself calls in the middle of a function: handlers, finalizers, callbacks."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Mapping, Sequence
from itertools import pairwise
from threading import get_ident
from types import FrameType
from typing import Any

# The phases that callbacks of the garbage collector are told.
PHASES = ("start", "stop")


class Collector:
    """Whether Python collects garbage in this thread, and so calls finalizers of anybody's."""

    def __init__(self) -> None:
        self.runs = False
        self._thread = get_ident()

    def watch(self) -> None:
        """Be told from now on."""
        gc.callbacks.append(self._told)

    def forget(self) -> None:
        """Be told no more; a second call does nothing."""
        if self._told in gc.callbacks:
            gc.callbacks.remove(self._told)
        self.runs = False

    def _told(self, phase: str, info: Mapping[str, int]) -> None:
        if get_ident() == self._thread:  # the callbacks are those of all threads
            self.runs = phase == "start"


def is_called_by_python(frame: FrameType) -> bool:
    """True for a handler of signals, ``gc.callbacks``, ``__del__`` and callbacks of references.

    A handler is given a number and a frame, a callback a phase and a dict; or a dead reference.
    """
    code = frame.f_code
    if code.co_name == "__del__":
        return True
    is_starred = bool(code.co_flags & inspect.CO_VARARGS)
    if code.co_argcount + is_starred == 0:
        return False
    names, given = code.co_varnames[: code.co_argcount + is_starred], frame.f_locals
    found = [v for n in names for v in _listed(given.get(n))]
    return any(_is_dead_reference(one) for one in found[:2]) or any(
        type(two) is FrameType
        or (type(one) is str and one in PHASES and type(two) is dict and "generation" in two)
        for one, two in pairwise(found)
    )


def _is_dead_reference(value: Any) -> bool:
    return issubclass(type(value), weakref.ref) and value() is None


def _listed(value: Any) -> Sequence[Any]:
    return value if type(value) is tuple else (value,)
