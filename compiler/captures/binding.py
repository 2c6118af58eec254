"""Bound methods, callable objects and partials as functions that read what they hold."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from opweave.compiler.captures.containers import is_object

# The variable that holds the object of a bound method, in ``_calling`` and ``_with_object``.
OBJECT = "self"


def unbound(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function for a callable that holds something; any other value as it is.

    What the callable holds becomes variables around the function.  They are read at each call, as
    those of a closure are.
    """
    name = ""
    if isinstance(fn, types.MethodType):
        inner, made = _function(fn.__func__), _with_object(fn.__func__, fn.__self__)
    elif isinstance(fn, functools.partial):
        inner = _function(unbound(fn.func))
        made = _with_arguments(inner, fn.args, fn.keywords)
    elif is_object(fn):
        inner, name = _function(type(fn).__call__), type(fn).__name__
        made = _calling(fn)
    else:
        return fn
    return fn if inner is None else _named(made, inner, name or inner.__name__, fn)


def _function(found: Any) -> types.FunctionType | None:
    """The function that is called in the end; also that of a fused function."""
    inner = found.__wrapped__ if hasattr(found, "__opweave_fused__") else found
    return inner if isinstance(inner, types.FunctionType) else None


def function_behind(fn: Any) -> Any:
    """The function in Python that ends up being called, as it is now; None where there is none."""
    given = getattr(fn, "__opweave_given__", fn)
    if isinstance(given, types.MethodType):
        return _function(given.__func__)
    if isinstance(given, functools.partial):
        return function_behind(given.func)
    return _function(given if isinstance(given, types.FunctionType) else type(given).__call__)


def renew_signature(fn: Any) -> None:
    """Note the signature of what a function was made for, which may have changed."""
    inner = function_behind(fn)
    if hasattr(fn, "__opweave_given__") and inner is not None:
        fn.__signature__ = inspect.signature(fn.__opweave_given__)
        fn.__opweave_of__ = getattr(inner, "__opweave_of__", inner)


def _calling(self: Any) -> Any:
    """Python looks for ``__call__`` in the object's class, at each call."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    return called


def _with_object(function: Any, self: Any) -> Any:
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return called


def _with_arguments(function: Any, args: Any, keywords: Any) -> Any:
    def called(*others: Any, **kwargs: Any) -> Any:
        return function(*args, *others, **{**keywords, **kwargs})

    return called


def _named(made: Any, inner: types.FunctionType, name: str, fn: Any) -> Any:
    """The function in the user's module, under the user's name, where the user's lines begin."""
    code = inner.__code__
    named: Any = types.FunctionType(
        made.__code__.replace(co_filename=code.co_filename, co_firstlineno=code.co_firstlineno),
        inner.__globals__, name, None, made.__closure__,
    )  # fmt: skip
    named.__module__, named.__doc__ = inner.__module__, inner.__doc__
    named.__qualname__ = inner.__qualname__
    named.__opweave_given__ = fn
    renew_signature(named)
    return named
