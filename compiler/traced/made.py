"""Arrays that a function makes, numbers that NumPy keeps as arrays, and user's lines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Set
from functools import cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value, Where
from opweave.opcodes.errors import UnsupportedError

_INTERNAL = ("opweave", "numpy", "cupy")


def is_boxed(
    value: Value, nodes: Mapping[int, Node], hidden: Set[int], unboxed: Set[int] = frozenset()
) -> bool:
    """True for a value without dimensions that NumPy has as an array, False for a NumPy number.

    Arrays are: arguments, results of ``where`` and its like, and casts and views of these.

    Args:
        nodes: those that made the values, by a result's id.
        hidden: views that stand for a dimension which a vector lost, or for an element.
        unboxed: inputs that are numbers.
    """
    node = nodes.get(value.id)
    if node is None:
        return value.id not in unboxed
    if node.operator.name in ("cast", "real", "imag"):
        return is_boxed(node.values[0], nodes, hidden, unboxed)
    if node.is_view:  # a view of a scalar is a scalar; so is the product of two vectors
        source = node.values[0]
        of_scalar = source.shape == () and not is_boxed(source, nodes, hidden, unboxed)
        return value.id not in hidden and not of_scalar
    return node.operator.name in ("where", "copy", "to_uint8", "full")


@cache
def _is_internal(module: str) -> bool:
    return module.split(".")[0] in _INTERNAL


def users_frame() -> FrameType | None:
    """The innermost frame that is neither ours nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_internal(str(frame.f_globals.get("__name__", ""))):
        frame = frame.f_back
    return frame


def users_line(first_line: int = 0) -> Where:
    """The line of the innermost frame that is neither ours nor NumPy's."""
    return line_of(users_frame(), first_line)


def line_of(frame: FrameType | None, first_line: int = 0) -> Where:
    """The line at which a frame is."""
    if frame is None:
        return Where()
    return Where(frame.f_code.co_filename, frame.f_lineno, frame.f_lineno - first_line + 1)


def users_place() -> tuple[CodeType | None, int]:
    """The same as code and an instruction of it; one that comes earlier begins a loop again."""
    frame = users_frame()
    return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


class Made(NamedTuple):
    """An array that is no argument: its value, its name in the source, and what is static of it.

    ``contents`` are its bytes when it was met.
    """

    value: Value
    name: str
    type: Any
    array: Any
    contents: Any

    def check(self) -> None:
        """Check that nobody has written to it since.

        Raises:
            UnsupportedError: somebody has, and kernels would read the new elements.
        """
        if bool((self.contents != contents_of(self.array)).any()):
            raise UnsupportedError(
                "an array that the function makes is written to after it was used: make another "
                "one, or write to one that is computed from the arguments"
            )


def contents_of(array: Any) -> Any:
    """The bytes of an array, in an array of their own."""
    return array.copy(order="C").reshape(-1).view(np.uint8)
