"""Tracebacks that end at the user's line: frames of opweave are left out of what a user reads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from opweave.opcodes.errors import BY_NUMPY, OpweaveError
from opweave.runtime.process import environment

P = ParamSpec("P")
R = TypeVar("R")
OURS = "opweave"
# Libraries that opweave calls; their frames stay where the user calls them.
CALLED = frozenset({"numpy", "cupy", "jinja2", "cuda", *sys.stdlib_module_names}) - {"__main__"}
FAULT = "frames of opweave are left out: OPWEAVE_LOGS=traceback shows them"


def folded(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function of ours so that tracebacks of its errors end at the user's line.

    A function that is called often has an ``except`` clause of its own instead, which costs
    nothing until something is raised.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            fold(error)
            raise

    return called


def fold(error: BaseException) -> None:
    """Leave frames of opweave out of the traceback of an error, and of its causes.

    A bare ``raise`` adds no entry for the frame that it stands in, so that the caller's frame
    leaves itself out, too.
    """
    if "traceback" in environment.logs():
        return
    for found in list(_chain(error)):
        is_said = isinstance(found, OpweaveError) or FAULT in getattr(found, "__notes__", ())
        if _last(found.__traceback__) == OURS and not is_said:
            found.add_note(FAULT)
        found.__traceback__ = _without_ours(found.__traceback__)
        _drop_ours(found)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, its causes and contexts, each once."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            yield found
            waiting += [found.__cause__, found.__context__]


def _drop_ours(error: BaseException) -> None:
    """Leave out errors that opweave caught on the way, since no line of the user raised them.

    An error that the user was handling then is shown, although our ``raise ... from None`` hid it.
    """
    context, cause = error.__context__, error.__cause__
    while (
        context is not None
        and context is not cause
        and _without_ours(context.__traceback__) is None
    ):
        context = context.__context__
    if context is not error.__context__:
        error.__context__ = context
        error.__suppress_context__ = cause is not None or context is None


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The entries that are neither ours nor those of libraries that we called."""
    kept: list[TracebackType] = []
    within = False
    while traceback is not None:
        library = _library(traceback)
        within = library == OURS or (within and library in CALLED)
        kept += [] if within else [traceback]
        traceback = traceback.tb_next
    made: TracebackType | None = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _last(traceback: TracebackType | None) -> str:
    """The library whose frame raised."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return "" if traceback is None else _library(traceback)


def _library(traceback: TracebackType) -> str:
    if traceback.tb_frame.f_code.co_name == BY_NUMPY:
        return OURS
    name: Any = traceback.tb_frame.f_globals.get("__name__", "")
    return str(name).partition(".")[0]
