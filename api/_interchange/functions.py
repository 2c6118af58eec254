"""Functions of a call's arguments that take arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from opweave._interchange.exchange import exchanged

P = ParamSpec("P")
R = TypeVar("R")


class Behind:
    """Names of the arguments behind the first one: a fused function, or what was made of one."""

    def __init__(self, first: Any):
        made = getattr(first, "fused", first)
        signature = getattr(made, "signature", None)
        self.names: tuple[str, ...] = getattr(signature, "names", ())
        self.name: str = getattr(signature, "name", type(first).__name__)
        self._signature = signature

    def place(self, number: int) -> str:
        """How a user writes an argument by its position."""
        if self._signature is None:
            return str(number)
        found: str = self._signature.place(number - 1)
        return found


def takes_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """A function (of a fused function and its arguments) that takes arrays of other libraries."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        found = exchanged(Behind(args[0]), args, kwargs, deep=True)
        return function(*args, **kwargs) if found is None else found.run_plainly(function)

    return wrapper


def gives_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """The same, whose results are such arrays, too."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        found = exchanged(Behind(args[0]), args, kwargs, deep=True)
        return function(*args, **kwargs) if found is None else found.run(function)

    return wrapper
