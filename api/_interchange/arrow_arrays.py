"""Arrow's arrays of numbers without nulls: read where they lie, and results as such arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from opweave._interchange.kinds import ArrayKind, NotTaken, refusing

LABEL = "pyarrow.Array"
# What Arrow raises of elements that it has no type for, or several.
REFUSING = ("ArrowInvalid", "ArrowNotImplementedError", "ArrowTypeError")


def kind_of(cls: type) -> ArrayKind:
    """The kind of a class of Arrow's."""
    pyarrow = _pyarrow()
    if issubclass(cls, pyarrow.ChunkedArray):
        do = "{x}.combine_chunks()"
        return refusing(LABEL, "pyarrow.ChunkedArray, whose chunks lie apart", do)
    if issubclass(cls, pyarrow.Scalar):
        return ArrayKind(LABEL, number, give, "pyarrow.scalar({x})", is_immutable=True)
    if issubclass(cls, pyarrow.NumericArray):
        return ArrayKind(LABEL, view, give, "pyarrow.array({x})", is_immutable=True)
    found = f"pyarrow.{cls.__name__}, whose elements are no numbers in a row"
    return refusing(LABEL, found, "{x}.to_numpy(zero_copy_only=False)")


def view(array: Any) -> Any:
    """The elements of an array where they lie, read-only.

    Raises:
        NotTaken: it has nulls, or times.
    """
    if _pyarrow().types.is_temporal(array.type):
        found = f"one of {array.type}, whose elements count units of time"
        raise NotTaken(found, f"{{x}}.cast(pyarrow.int{array.type.bit_width}())")
    if array.null_count:
        found = f"one with {array.null_count} nulls, which a kernel has not"
        raise NotTaken(found, "{x}.fill_null(0), or {x}.drop_null()")
    return array.to_numpy()


def number(scalar: Any) -> Any:
    """A scalar as an array without dimensions, read-only.

    Raises:
        NotTaken: it is null, or no number.
    """
    types = _pyarrow().types
    if not (types.is_integer(scalar.type) or types.is_floating(scalar.type)):
        raise NotTaken(f"a scalar of {scalar.type}, which is no number", "{x}.as_py()")
    if not scalar.is_valid:
        raise NotTaken("a scalar that is null, which a kernel has not", "a number")
    made = np.asarray(scalar.as_py(), scalar.type.to_pandas_dtype())
    made.flags.writeable = False
    return made


def give(array: Any, like: Any) -> Any:
    """An Arrow array on the memory of an array that nobody else has; a scalar of no dimensions.

    Raises:
        NotTaken: it has several dimensions, or a type that Arrow has not.
    """
    pyarrow = _pyarrow()
    if array.ndim > 1:
        found = f"a result of {array.ndim} dimensions, where Arrow's arrays have one"
        raise NotTaken(found, "{x}.to_numpy(), and the result is NumPy's")
    if not (array.flags.owndata and array.flags.writeable):
        array = np.array(array)
    try:
        return pyarrow.array(array) if array.ndim else pyarrow.array(array.reshape(1))[0]
    except tuple(getattr(pyarrow, name) for name in REFUSING) as error:
        found = f"a result of {array.dtype}, which Arrow has not ({error})"
        raise NotTaken(found, "{x}.to_numpy(), and the result is NumPy's") from None


def _pyarrow() -> Any:
    return sys.modules["pyarrow"]  # who has an array has imported it
