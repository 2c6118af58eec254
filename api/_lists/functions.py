"""An op-code list as a Python function.

A trace copies the function that it is given, with all that its module has; so what runs a list
stands elsewhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave._lists.codes import ListLike
from opweave._lists.running import run_list


def function_of(found: ListLike) -> Callable[..., Any]:
    """The function that runs a list."""

    def run(**given: Any) -> Any:
        return returned(run_list(found, given))

    return with_arguments(run, found.name, found.arguments)


class OwnFunction:
    """The function of a list's own kernel, which may have structural op-codes.

    What calls the list itself fuses it with other operators.
    """

    __opweave_fused__ = True  # a trace calls it as it is

    def __init__(self, found: ListLike):
        self.found, self.__name__ = found, found.name
        self.__wrapped__ = function_of(found)
        self.__signature__ = inspect.signature(self.__wrapped__)

    def __reduce__(self) -> Any:
        return OwnFunction, (self.found,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(**self.__signature__.bind(*args, **kwargs).arguments)


def with_arguments(
    function: Callable[..., Any], name: str, arguments: Sequence[str]
) -> Callable[..., Any]:
    """A function of keywords under a name, with a signature of these arguments."""
    made: Any = function
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made.__name__ = name
    made.__signature__ = inspect.Signature([inspect.Parameter(a, kind) for a in arguments])
    return function


def returned(results: Mapping[str, Any]) -> Any:
    """What a function returns: one result, or a tuple of them."""
    values = tuple(results.values())
    return values[0] if len(values) == 1 else values
