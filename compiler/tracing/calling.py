"""How a user's function is called: its signature, and arguments by position and by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """A function's signature; for a ufunc, or a partial of one, the signature of its operands.

    >>> signature_of(np.add)
    <Signature (x0, x1, /)>

    Raises:
        TypeError, ValueError: it has none that can be read.
    """
    given = len(fn.args) if isinstance(fn, partial) else 0
    ufunc = fn.func if isinstance(fn, partial) else fn
    if isinstance(ufunc, np.ufunc):
        names = [f"x{number}" for number in range(given, ufunc.nin)]
        return inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
        )
    return inspect.signature(fn)


def invoke(fn: Callable[..., Any], call: Mapping[str, Any]) -> Any:
    """Call with arguments by parameter."""
    return called(fn, *passed(fn, call))


def called(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call the user's function.  What is raised behind this frame comes from that function."""
    return fn(*args, **kwargs)


def passed(fn: Callable[..., Any], call: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments as they are passed: by name, and by position where a name is impossible."""
    if type(fn) is FunctionType and not vars(fn) and not _has_others(fn.__code__):
        return [], dict(call)
    try:
        parameters = signature_of(fn).parameters
    except (TypeError, ValueError):
        return list(call.values()), {}
    kinds = {name: p.kind for name, p in parameters.items()}
    starred = [n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, value in call.items():
        kind = kinds[name]
        if kind is inspect.Parameter.VAR_POSITIONAL:
            args += value
        elif kind is inspect.Parameter.VAR_KEYWORD:
            kwargs |= value
        elif kind is inspect.Parameter.POSITIONAL_ONLY or (
            kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            and (starred or not _takes_keyword(fn, name))
        ):
            args.append(value)
        else:
            kwargs[name] = value
    return args, kwargs


def _has_others(code: CodeType) -> bool:
    """True for code with parameters that cannot be passed by name."""
    flags = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    return bool(code.co_flags & flags or code.co_posonlyargcount)


def is_of_function(error: BaseException) -> bool:
    """True for an error that the user's function raised, or what it calls, while it was traced."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code is not called.__code__:
        traceback = traceback.tb_next
    return traceback is not None


def _takes_keyword(fn: Any, name: str) -> bool:
    """False for a wrapper that has its signature from another function, and takes ``*args``."""
    code = getattr(getattr(fn, "__opweave_of__", fn), "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return True
    return name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
