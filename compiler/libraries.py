"""SciPy inside of a traced function: its functions that ask no array what to do."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from opweave.compiler.lifting import arrays_in
from opweave.compiler.special import ASKING_NOBODY, is_special
from opweave.opcodes.errors import DTypeError, TraceError, UnsupportedError

NAMES = ("scipy", "scipy.special")


class Library:
    """Stands for ``scipy`` or ``scipy.special``: what traced arrays are given to is ours."""

    def __init__(self, module: types.ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return replaced(getattr(self._module, name))

    def __dir__(self) -> list[str]:
        return dir(self._module)


def replaced(found: Any) -> Any:
    """What a traced function sees of a part of SciPy; anything else as it is."""
    if isinstance(found, types.ModuleType):
        return Library(found) if found.__name__ in NAMES else found
    name = getattr(found, "__name__", None)
    if name in ASKING_NOBODY and is_special(found):
        return _asking(found, ASKING_NOBODY[name])
    return found


def _asking(function: Callable[..., Any], handler: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks whether an array is traced, as NumPy's own do."""

    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
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

    return asked
