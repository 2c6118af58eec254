"""What outlives a call: functions, generators and tracebacks that the function has made.

They get the user's own globals, and the arrays themselves in the place of stand-ins.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from traceback import walk_stack, walk_tb
from typing import Any

from opweave.compiler.parts.interface import LazySightLike
from opweave.compiler.parts.write_back import Settling


def _outliving(sight: LazySightLike, function: types.FunctionType) -> Any:
    """A function that was made inside, with the user's own globals and arrays themselves."""
    scope = sight.scopes.get(id(function.__globals__))
    if scope is None or id(function) in sight.functions:
        return sight.functions.get(id(function), function)
    code, closure = function.__code__, function.__closure__
    made = types.FunctionType(code, scope, function.__name__, None, closure)
    sight.meant[id(function)] = function, made  # before what it holds, which may be itself
    settling = Settling(sight.real)
    for cell in closure or ():
        with suppress(ValueError):  # the cell is empty
            cell.cell_contents = settling.settled(cell.cell_contents)
    made.__defaults__ = settling.settled(function.__defaults__)
    made.__kwdefaults__ = settling.settled(function.__kwdefaults__)
    made.__doc__ = function.__doc__
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    made.__dict__.update(settling.settled(dict(function.__dict__)))
    return made


def _suspended(sight: LazySightLike, generator: types.GeneratorType[Any, Any, Any]) -> Any:
    """A generator that has not ended; its variables hold arrays themselves from now on.

    One that has not begun is made again by the user's own function, since its globals are
    read when it goes on.
    """
    frame = generator.gi_frame
    if frame is None or generator.gi_running:
        return generator
    names, settling = frame.f_locals, Settling(sight.real)
    names.update({name: settling.settled(value) for name, value in names.items()})
    if inspect.getgeneratorstate(generator) == inspect.GEN_CREATED:
        held = (f for f in gc.get_referents(generator) if type(f) is types.FunctionType)
        function = next((f for f in held if f.__code__ is generator.gi_code), None)
        if function is not None and (own := _outliving(sight, function)) is not function:
            made = _called_again(own, names)
            sight.meant[id(generator)] = generator, made
            return made
    _stored(frame)
    return generator


def _raised(sight: LazySightLike, traceback: types.TracebackType) -> types.TracebackType:
    """A traceback, in whose frames that have ended variables hold arrays themselves."""
    sight.meant[id(traceback)] = traceback, traceback  # a frame may hold its exception
    running = {frame for frame, _ in walk_stack(None)}
    settling = Settling(sight.real)
    for frame, _ in walk_tb(traceback):
        if frame not in running and id(frame.f_globals) in sight.scopes:
            found = frame.f_locals
            found.update({name: settling.settled(value) for name, value in found.items()})
            _stored(frame)
    return traceback


def _stored(frame: types.FrameType) -> None:
    """Make the variables of a frame what its ``f_locals`` say, which is a copy before 3.13."""
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def _called_again(function: types.FunctionType, given: Mapping[str, Any]) -> Any:
    """Call a function with the values that its parameters have."""
    code = function.__code__
    names, count = list(code.co_varnames), code.co_argcount
    last = count + code.co_kwonlyargcount
    args = [given[name] for name in names[:count]]
    kwargs = {name: given[name] for name in names[count:last]}
    if code.co_flags & inspect.CO_VARARGS:
        args += given[names[last]]
        last += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= given[names[last]]
    return function(*args, **kwargs)


OUTLIVING: dict[type, Callable[[LazySightLike, Any], Any]] = {
    types.FunctionType: _outliving,
    types.GeneratorType: _suspended,
    types.TracebackType: _raised,
}
