"""Truths: stand-ins for Python's own bools, which ``np.allclose`` and its like return.

A truth may be returned, and be an operand beside arrays, as a bool may in NumPy.  Whatever else
Python does with it (``t + 1``, ``t is True``, ``if t``) makes the function run in parts, where it
is the bool itself.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.traced.arrays import TracedArray
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import UnsupportedError

# Attributes that our own functions read; arrays have them, and bools do not.
OF_ARRAYS = ("dtype", "ndim", "shape", "size")


class Truth(TracedArray):
    """Stands for a Python bool that kernels compute."""

    __slots__ = ()
    __opweave_truth__ = True

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return bool

    @property
    def plain(self) -> Any:
        """The truth as an array without dimensions, which NumPy makes of a bool."""
        return self.tracer.wrapped(self.value)

    def _applied(self, operator: Operator, *operands: Any) -> Any:
        if not any(is_traced_array(o) and type(o) is not Truth for o in operands):
            self._by_python(operator.name)
        return super()._applied(operator, *operands)

    def _by_python(self, what: str) -> NoReturn:
        raise self.tracer.noted(UnsupportedError(
            f"{what} of a bool of Python's, as np.allclose gives ({self.tracer.where()}): return "
            "it, or ask (x == y).all(), which is an array's"
        ))  # fmt: skip

    def _assigned(self, value: Any, name: str) -> Any:
        return value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*_plain(args), **_plain(kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_plain(args), **_plain(kwargs))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(bool, name):
            self._by_python(f".{name}")
        if not _is_ours(sys._getframe(1)):
            raise AttributeError(f"'bool' object has no attribute {name!r}")
        return super().__getattr__(name)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).split(".")[0] == "opweave"


def _of_array(name: str) -> property:
    """An attribute that our own functions see, and functions of the user's do not."""

    def get(self: Truth) -> Any:
        if _is_ours(sys._getframe(1)):
            return getattr(self.plain, name)
        raise AttributeError(f"'bool' object has no attribute {name!r}")

    return property(get)


for _name in OF_ARRAYS:
    setattr(Truth, _name, _of_array(_name))


def _plain(item: Any) -> Any:
    """Arguments of a NumPy function with arrays in the place of truths."""
    if type(item) in (list, tuple):
        return type(item)(map(_plain, item))
    if type(item) is dict:
        return {name: _plain(value) for name, value in item.items()}
    return item.plain if type(item) is Truth else item
