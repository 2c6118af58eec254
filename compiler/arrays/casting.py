"""What NumPy asks of types before it asks of shapes, and what it says of operators in place."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from opweave.opcodes.errors import DTypeError

# Operators in place, by their methods.
IN_PLACE = {
    "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=", "__itruediv__": "/=",
    "__ifloordiv__": "//=", "__imod__": "%=", "__ipow__": "**=", "__imatmul__": "@=",
    "__iand__": "&=", "__ior__": "|=", "__ixor__": "^=",
    "__ilshift__": "<<=", "__irshift__": ">>=",
}  # fmt: skip


def shown(name: str) -> str:
    """What a user writes for a method in place; any other name."""
    return IN_PLACE.get(name, name)


def refuse_as_numpy(name: str, target: Any, result: Any) -> None:
    """Raise NumPy's own error where an operator in place cannot store its result.

    Raises:
        TypeError: of a class of NumPy's.
    """
    types = np.asarray(target).dtype, np.asarray(result).dtype
    if name in IN_PLACE and not np.can_cast(types[1], types[0], "same_kind"):
        getattr(operator, name)(*(np.empty(0, dtype) for dtype in types))


def type_of(operand: Any) -> Any:
    """What NumPy chooses a loop by: the dtype of an operand, or a Python type, which is weak."""
    example = getattr(operand, "example", operand)
    if type(example) in (int, float):
        return type(example)
    return operand.dtype if hasattr(operand, "dtype") else np.asarray(example).dtype


@contextmanager
def types_first(
    ufunc: np.ufunc, operands: Sequence[Any], targets: Sequence[Any]
) -> Iterator[None]:
    """Where shapes do not fit: say first that targets cannot hold results of their type.

    Args:
        operands: of which one at least is traced.
        targets: what ``out=`` names; or nothing.

    Raises:
        DTypeError: one cannot.
    """
    try:
        yield
    except ValueError as error:
        if targets:
            check_types(ufunc, operands, targets, error)
        raise


def check_types(
    ufunc: np.ufunc, operands: Sequence[Any], targets: Sequence[Any], cause: Exception
) -> None:
    """Check that targets can hold the results of a ufunc.

    Raises:
        DTypeError: one cannot.
    """
    try:
        ufunc.resolve_dtypes((*map(type_of, operands), *map(type_of, targets)))
    except TypeError as error:
        traced = next(o for o in (*targets, *operands) if hasattr(type(o), "tracer"))
        raise DTypeError(f"{error} ({traced.tracer.where()})") from cause
