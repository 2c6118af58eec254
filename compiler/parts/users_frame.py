"""NumPy's functions called from the user's line, to which Python's warnings belong.

NumPy warns at the line that calls it, and once for each line and module.  So the call gets a frame
of that line, with the globals of the user's module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from opweave.compiler.traced.made import users_frame
from opweave.opcodes.errors import BY_NUMPY

MOST_LINES = 1024


def called_there(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call a function from the user's line."""
    return caller_there(users_frame())(function, args, kwargs)


def caller_there(frame: FrameType | None) -> Callable[..., Any]:
    """What calls a function, with arguments and those by name, from the line of a frame."""
    if frame is None:
        return _called
    return FunctionType(_code(frame.f_code.co_filename, frame.f_lineno), frame.f_globals)


def caller_at(file: str, line: int) -> Callable[..., Any]:
    """What calls a function from a line of a file, of whose module it has the globals."""
    modules = (
        vars(module) for module in [*sys.modules.values()] if isinstance(module, ModuleType)
    )
    named = {"__name__": "__main__", "__file__": file}
    found = next((names for names in modules if names.get("__file__") == file), named)
    return FunctionType(_code(file, line), found) if file else _called


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return function(*args, **kwargs)


@lru_cache(MOST_LINES)
def _code(file: str, line: int) -> CodeType:
    first = line - 1  # the body is a line below the first one
    return _called.__code__.replace(
        co_filename=file, co_firstlineno=first, co_name=BY_NUMPY, co_qualname=BY_NUMPY
    )
