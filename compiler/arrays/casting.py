"""What NumPy asks of types before it asks of shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from opweave.opcodes.errors import DTypeError


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
