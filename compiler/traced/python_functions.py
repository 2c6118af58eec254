"""Python's functions that ask for the type or the truth of a number, made fit for traced ones."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.traced.choices import chosen, is_choosable
from opweave.compiler.traced.numbers import TracedScalar


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function in C that takes no stand-in for a number; traced numbers become static."""

    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})

    return asked


def _plain(item: Any) -> Any:
    return item.tracer.concrete(item) if issubclass(type(item), TracedScalar) else item


@functools.wraps(pow)
def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    return base**exp if mod is None else pow(*map(_plain, (base, exp, mod)))


def _extremum(plain: Callable[..., Any], operator: str) -> Callable[..., Any]:
    @functools.wraps(plain)
    def extremum(*args: Any, **kwargs: Any) -> Any:
        items = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        if kwargs or len(items) < 2 or not is_choosable(items):
            return plain(*args, **kwargs)
        return chosen(operator, items)

    return extremum


def _joining(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that joins sequences, and adds what has ``__add__`` and an index."""

    @functools.wraps(function)
    def joined(*items: Any) -> Any:
        if any(map(is_traced_array, items)):
            raise TypeError(f"{function.__name__}: arrays are joined by np.concatenate() alone")
        return function(*items)

    return joined


BUILTINS: dict[str, Callable[..., Any]] = {
    "pow": _pow,
    "max": _extremum(builtins.max, "greater"),
    "min": _extremum(builtins.min, "less"),
}
INSTEAD: dict[Any, Callable[..., Any]] = {
    **{getattr(builtins, name): function for name, function in BUILTINS.items()},
    math.ldexp: _of_numbers(math.ldexp),
    operator.concat: _joining(operator.concat),
    operator.iconcat: _joining(operator.iconcat),
}
