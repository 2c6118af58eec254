"""Arguments of a call: which are arrays, and what of them belongs to a guard or to a key."""

from __future__ import annotations

from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from opweave.compiler.captures.anew import function_key
from opweave.compiler.captures.structure import Identity
from opweave.compiler.ir.plain_arrays import LIBRARIES, is_array, is_cupy, is_plain
from opweave.compiler.traced.foreign import remedy
from opweave.compiler.tracing.arguments import ArrayType, Static, static_key
from opweave.opcodes import dtypes
from opweave.opcodes.errors import AlignmentError, ArgumentError, DTypeError, SubclassError
from opweave.runtime.calls.arrays import layout_of, pointer, span

NUMBERS = (bool, int, float, complex, np.generic)
# Types of values that select what a function does; they are always part of the guard.
STATIC_TYPES = (
    bool, np.bool_, str, bytes, Enum, type, np.dtype, np.ufunc, slice, type(...), ModuleType,
    FunctionType, BuiltinFunctionType, MethodType, Identity,
)  # fmt: skip


def is_scalar(value: Any) -> bool:
    """True for a number that may differ from call to call.

    A bool is part of the guard, and a text of NumPy's, an element of an array of texts.  So is a
    number of another class, which the function may ask for.
    """
    kind = type(value)
    return kind in (int, float, complex) or (
        issubclass(kind, np.generic) and not issubclass(kind, STATIC_TYPES) and _is_numpys(kind)
    )


def _is_numpys(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("numpy", "ml_dtypes")


def array_type(name: str, array: Any) -> ArrayType:
    """Describe an array argument.

    Raises:
        SubclassError: it is of a class of its own.
        DTypeError: its dtype is not supported.
        AlignmentError: it is not aligned to its own items.
    """
    if not is_plain(type(array)):
        what = f"argument {name}" if name else "an array"
        raise SubclassError(
            f"{what}: {type(array).__name__} gives an array a meaning of its own, which a kernel "
            "does not have; pass np.asarray(x) where the elements alone are meant"
        )
    try:
        dtype = dtypes.of(array.dtype)
    except DTypeError as error:
        raise DTypeError(f"argument {name}: {error}") from None
    part = dtype.part.itemsize
    if any(stride % dtype.itemsize for stride in array.strides) or pointer(array) % part:
        raise AlignmentError(
            f"argument {name}: its elements are not aligned to {dtype.itemsize} bytes; "
            "copy it with np.ascontiguousarray"
        )
    aligned = pointer(array) % 16 == 0
    library = "cupy" if is_cupy(array) else LIBRARIES[type(array)]
    return ArrayType(dtype, tuple(array.shape), layout_of(array), aligned, span(array), library)


def argument_type(name: str, value: Any, static: bool) -> Any:
    """What a trace takes for an argument.

    Raises:
        ArgumentError: not an array, a number or a static value.
    """
    if static or isinstance(value, STATIC_TYPES) or type(value) is object:  # a sentinel
        return Static(value)
    if is_array(value):
        return array_type(name, value)
    if is_scalar(value):
        return value
    if isinstance(value, NUMBERS):
        return Static(value)
    parameter = name.split("[")[0].split(".")[0]
    written = remedy(value, name)
    selects = f"name {parameter!r} in static_argnames if it selects what the function does"
    raise ArgumentError(
        f"argument {name}: expected a NumPy or CuPy array, a number, or a tuple, list, dict or "
        f"dataclass of them, found {_called(type(value))}; "
        + (f"pass {written}" if written else selects)
    )


def _called(kind: type) -> str:
    """A class as people know it, of a library with its name.

    >>> import fractions
    >>> _called(fractions.Fraction), _called(set)
    ('fractions.Fraction', 'set')
    """
    library = kind.__module__.split(".")[0]
    return kind.__name__ if library == "builtins" else f"{library}.{kind.__name__}"


def argument_key(value: Any, static: bool, aligned: bool) -> Any:
    """What must be equal for a prepared call to serve another: exact shapes and strides.

    Dtypes have their classes beside them, which tell apart int64 and ``np.longlong``.
    """
    if type(value) is np.ndarray and not aligned:
        dtype = value.dtype
        return dtype, type(dtype), value.shape, value.strides, value.flags.aligned
    if is_array(value):
        place: Any = pointer(value) % 16
        if is_cupy(value):  # a prepared call runs on one device
            place = value.device.id, place
        dtype = value.dtype
        return dtype, type(dtype), value.shape, value.strides, type(value), place
    if static or not is_scalar(value):
        return static_key(value)
    return type(value)


def argument_kind(value: Any, static: bool) -> Any:
    """What calls of other extents have in common: dtype and dimensions, or a static value.

    Functions that are made anew and do the same are alike.
    """
    if isinstance(value, np.ndarray) or is_cupy(value):
        return type(value), value.dtype, value.dtype.char, value.ndim
    if type(value) is FunctionType and (key := function_key(value)) is not None:
        return key
    return type(value) if is_scalar(value) and not static else static_key(value)
