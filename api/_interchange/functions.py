"""Functions of a call's arguments that take arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from opweave._interchange.exchange import Exchange, exchanged
from opweave._tracebacks import folded

P = ParamSpec("P")
R = TypeVar("R")


class Behind:
    """Names of the arguments behind a first one: a fused function, or what was made of one."""

    def __init__(self, first: Any):
        made = getattr(first, "fused", first)
        self._signature = getattr(made, "signature", None)
        self.count = -1
        self.name: str = getattr(self._signature, "name", type(first).__name__)

    def place(self, number: int) -> str:
        """How a user writes an argument by its position."""
        found: str = str(number) if self._signature is None else self._signature.place(number - 1)
        return found


def takes_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """A function of users' (of a fused function and its arguments) that takes arrays of others.

    As ``folded`` it raises errors with the user's lines alone.
    """
    return _exchanging(function, Exchange.run_plainly)


def gives_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """The same, whose results are such arrays, too."""
    return _exchanging(function, Exchange.run)


def _exchanging(
    function: Callable[P, R], run: Callable[[Exchange, Callable[..., Any]], Any]
) -> Callable[P, R]:
    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        found = exchanged(Behind(args[0] if args else None), args, kwargs)
        result: R = function(*args, **kwargs) if found is None else run(found, function)
        return result

    return folded(wrapper)
