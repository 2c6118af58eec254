"""Stand-ins for modules inside a traced function, and for functions that give modules.

A module has one stand-in in a run, from wherever the function has the module: a global, a default,
an import inside of it, ``sys.modules``.  So ``xp is np`` has Python's answer.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from opweave.compiler.arrays.lifting import arrays_in
from opweave.compiler.captures.purity import OURS, PURE
from opweave.compiler.numpy_api.dispatch import CREATORS
from opweave.compiler.numpy_api.scipy_special import asked
from opweave.compiler.traced.python_functions import INSTEAD
from opweave.compiler.traced.unwatched import unwatched
from opweave.compiler.tracing.interface import Sight
from opweave.compiler.tracing.questions import StandIn
from opweave.opcodes.errors import DTypeError, TraceError, UnsupportedError

ARRAY_MODULES = ("numpy", "cupy")
# Pure modules that have a stand-in, since something in them has one.
SEEN = ("scipy", "scipy.special", "datetime", "math", "inspect", "operator")
# Functions that make arrays of numbers and lists.
MAKERS = frozenset(
    "arange linspace logspace geomspace eye identity tri array asarray ascontiguousarray".split()
)


class Module(StandIn):
    """Stands for a module; the function's sight says what its parts are."""

    __slots__ = ("_found", "_sight")
    _sight: Sight

    def __init__(self, found: types.ModuleType, sight: Sight):
        object.__setattr__(self, "_found", found)
        object.__setattr__(self, "_sight", sight)

    def __getattr__(self, name: str) -> Any:
        return self._sight.attribute(self._found, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._sight.assign(self._found, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._found)


Module.__name__ = "module"  # the name in texts of Python's errors


class Modules(Mapping[str, Any]):
    """Stands for ``sys.modules``."""

    def __init__(self, sight: Sight):
        self._sight = sight

    def __getitem__(self, name: str) -> Any:
        return self._sight.plain(sys.modules[name])

    def __contains__(self, name: object) -> bool:
        return name in sys.modules

    def __iter__(self) -> Iterator[str]:
        return iter(list(sys.modules))

    def __len__(self) -> int:
        return len(sys.modules)


def has_stand_in(found: Any) -> bool:
    """True for a module that a traced function sees as a stand-in: all that may have effects."""
    if not isinstance(found, types.ModuleType):
        return False
    if found.__name__ not in ARRAY_MODULES and found.__name__.split(".")[0] in OURS:
        return False
    return found.__name__ in SEEN or found.__name__.split(".")[0] not in PURE


def array_function(module: types.ModuleType, name: str) -> Any:
    """A part of NumPy or CuPy as a traced function uses it.

    Functions of arrays are NumPy's, which asks a traced value what to do; those that make arrays
    are the module's own.
    """
    makes = name in MAKERS or name in CREATORS or not hasattr(np, name)
    return getattr(module if makes else np, name)


@functools.cache
def _creators() -> dict[int, str]:
    return {id(getattr(np, name)): name for name in CREATORS}


def creator_name(found: Any) -> str | None:
    """The name of a function of NumPy's that makes arrays; None of anything else."""
    return _creators().get(id(found))


# Functions that give modules.
GIVERS = (importlib.import_module, inspect.getmodule)


def giving(found: Callable[..., Any], sight: Sight) -> Callable[..., Any]:
    """A function that returns modules, as a copied function sees it: it returns stand-ins."""

    @functools.wraps(found)
    def given(*args: Any, **kwargs: Any) -> Any:
        return sight.plain(found(*args, **kwargs))

    return given


def importing(sight: Sight) -> Callable[..., Any]:
    """``__import__``, as a copied function sees it.

    What Python runs of its own to find a module, or of a module that nobody has imported before,
    is no part of the function: it runs once, whoever imports it.
    """
    return giving(unwatched(builtins.__import__), sight)


def warn(
    message: Any, category: type[Warning] | None = None, stacklevel: int = 1, source: Any = None
) -> None:
    """``warnings.warn`` of a function in parts: ``stacklevel`` does not count our frames."""
    frame = sys._getframe(1)
    while stacklevel > 1 and frame.f_back is not None:
        frame = frame.f_back
        stacklevel -= str(frame.f_globals.get("__name__", "")).split(".")[0] != "opweave"
    if isinstance(message, Warning):
        category = type(message)
    warnings.warn_explicit(
        message, category or UserWarning, frame.f_code.co_filename, frame.f_lineno,
        frame.f_globals.get("__name__") or "<string>",
        frame.f_globals.setdefault("__warningregistry__", {}), source=source,
    )  # fmt: skip


def asking(found: Any) -> Any:
    """A wrapper that asks traced values, for a function of SciPy's or Python's that does not."""
    if type(found) is types.BuiltinFunctionType:
        found = INSTEAD.get(found, found)
    handler = asked(found) if callable(found) else None
    return found if handler is None else _asking(found, handler)


def _asking(function: Callable[..., Any], handler: Callable[..., Any]) -> Callable[..., Any]:
    """The wrapper of a function: it asks traced arrays, as NumPy's own functions do."""

    @functools.wraps(function)
    def instead(*args: Any, **kwargs: Any) -> Any:
        traced = next(arrays_in([*args, *kwargs.values()]), None)
        if traced is None:
            return function(*args, **kwargs)
        what = f"special.{function.__name__}"
        try:
            return traced._call(what, handler, args, kwargs)
        except (UnsupportedError, TraceError, DTypeError) as error:
            if not hasattr(traced.tracer, "eagerly"):
                raise
            return traced.tracer.eagerly(what, error, function, args, kwargs)

    return instead
