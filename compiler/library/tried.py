"""What a call of NumPy's library gives, learned from small arrays: types, and how they are packed.

The shapes are those of ``rules.py``.  All else of a result follows from the types of operands and
from what else the call says, and NumPy itself tells it: of arrays of two elements an axis.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.ir.values import Scalar, Value
from opweave.compiler.library.table import LibraryRow
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import UnsupportedError
from opweave.opcodes.operators.library_calls import LibraryArg, LibraryCall, library_call

LENGTH = 2


class Tried(NamedTuple):
    """What a call gives.

    Attributes:
        dtypes: of each result.
        ranks: dimensions of each.
        pack: makes of the results what the function returns.
    """

    dtypes: tuple[DType, ...]
    ranks: tuple[int, ...]
    pack: Any


def operator_of(
    row: LibraryRow,
    given: tuple[LibraryArg, ...],
    made: tuple[DType, ...],
    attrs: Mapping[str, Any],
) -> LibraryCall:
    """The operator of a function, for operands that are for these arguments."""
    by_position = row.by_position([g.parameter for g in given])
    # of all elements: the result has another shape
    fills = "" if row.fills == "method" and attrs.get("axis", 0) is None else row.fills
    return library_call(row.function, given, by_position, made, fills)


def tried(
    row: LibraryRow, given: tuple[LibraryArg, ...], operands: Sequence[tuple[Any, Any]],
    attrs: Mapping[str, Any],
) -> Tried:  # fmt: skip
    """Call the function on small arrays.

    Args:
        operands: a value or a number's expression of each, and the number.

    Raises:
        UnsupportedError: it raises, or gives something else than arrays and numbers of NumPy's.
    """
    named = {**attrs, **{n: small(attrs[n]) for n, small in row.small.items() if n in attrs}}
    pairs = zip(given, operands, strict=True)
    items = [_small(row, g.parameter, operand, number) for g, (operand, number) in pairs]
    args, kwargs = operator_of(row, given, (), {}).arguments(tuple(items), named)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = row.function(*args, **kwargs)
        except Exception as error:
            text = f"{row.name}: {type(error).__name__} of small arrays: {error}"
            raise UnsupportedError(text) from None
    results = found if isinstance(found, tuple) else (found,)
    if not all(_is_result(result) for result in results):
        raise UnsupportedError(f"{row.name}: gives neither an array nor a number of NumPy's")
    pack = getattr(type(found), "_make", tuple) if isinstance(found, tuple) else _only
    kinds = tuple(dtypes.of(result.dtype) for result in results)
    return Tried(kinds, tuple(result.ndim for result in results), pack)


def typed_as(array: Any) -> Tried:
    """Of a call that gives an array of the type and rank of another one."""
    return Tried((array.value.dtype,), (array.ndim,), _only)


def _only(results: Sequence[Any]) -> Any:
    return results[0]


def _is_result(found: Any) -> bool:
    return isinstance(found, np.generic) or (type(found) is np.ndarray and found.ndim > 0)


def _small(row: LibraryRow, name: str, operand: Any, number: Any) -> Any:
    """A small array in the place of an array: ones on the diagonal, 0 and 1 in a vector."""
    if isinstance(operand, Scalar):
        small = row.small.get(name)
        return np.asarray(small(number) if small else number, operand.dtype.numpy)[()]
    assert isinstance(operand, Value)
    shape = [1 if type(extent) is int and extent == 1 else LENGTH for extent in operand.shape]
    made = np.zeros(shape, operand.dtype.numpy)
    if len(shape) == 1:
        made[...] = np.arange(shape[0])
    elif shape:
        made[...] = np.eye(shape[-2], shape[-1])
    return made
