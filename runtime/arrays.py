"""Arguments of a call: which are arrays, what of them is static, what guards a compilation."""

from __future__ import annotations

import sys
from ctypes import addressof, c_char
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from opweave.compiler.specialise import static_key
from opweave.compiler.trace import ArrayType, Static
from opweave.compiler.tree import Identity
from opweave.opcodes import dtypes
from opweave.opcodes.errors import AlignmentError, ArgumentError, DTypeError

_from_buffer: Any = c_char.from_buffer
NUMBERS = (bool, int, float, complex, np.generic)
# What selects what a function does, and is part of the guard wherever it stands.
STATIC_TYPES = (
    str, bytes, Enum, type, np.dtype, np.ufunc, slice, type(...), ModuleType, FunctionType,
    BuiltinFunctionType, MethodType, Identity,
)  # fmt: skip


def is_cupy(value: Any) -> bool:
    """True for a CuPy array; does not import CuPy."""
    if type(value) is np.ndarray:
        return False
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, cupy.ndarray)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_cupy(value)


def is_scalar(value: Any) -> bool:
    """True for a number, which may differ from call to call."""
    return isinstance(value, NUMBERS) and not isinstance(value, Enum)


def layout_of(array: Any) -> str:
    """Layout class of an array, see ``compiler.ir.Input``."""
    if array.flags.c_contiguous:
        return "C"
    out: list[str] = []
    following: tuple[int, int] | None = None  # (stride, extent) of the next longer dimension
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent == 1:
            out.append("b")
            continue
        if following is not None and stride == following[0] * following[1]:
            out.append("m")
        elif stride == array.itemsize:
            out.append("u")
        else:
            out.append("s")
        following = (stride, extent)
    return "".join(reversed(out))


def pointer(array: Any, offset: int = 0) -> int:
    """Address of an array's first element, or of so many bytes from there."""
    if not isinstance(array, np.ndarray):
        return int(array.data.ptr) + offset
    try:  # the quick way; it asks for a writable contiguous buffer of a plain dtype
        return addressof(_from_buffer(array)) + offset
    except (TypeError, ValueError, BufferError):
        return int(array.__array_interface__["data"][0]) + offset


def array_type(name: str, array: Any) -> ArrayType:
    """Describe an array argument.

    Raises:
        DTypeError: its dtype is not supported.
        AlignmentError: it is not aligned to its own items.
    """
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
    return ArrayType(dtype, tuple(array.shape), layout_of(array), aligned, span(array))


def argument_type(name: str, value: Any, static: bool) -> Any:
    """What a trace takes for an argument.

    Raises:
        ArgumentError: not an array, a number or a static value.
    """
    if static or isinstance(value, STATIC_TYPES):
        return Static(value)
    if isinstance(value, np.ma.MaskedArray | np.matrix):
        raise ArgumentError(
            f"argument {name}: {type(value).__name__} has semantics of its own; pass np.asarray(x)"
        )
    if is_array(value):
        return array_type(name, value)
    if isinstance(value, NUMBERS):
        return value
    parameter = name.split("[")[0].split(".")[0]
    raise ArgumentError(
        f"argument {name}: expected a NumPy or CuPy array, a number, or a tuple, list, dict or "
        f"dataclass of them, found {type(value).__name__}; name {parameter!r} in static_argnames "
        "if it selects what the function does"
    )


def argument_key(value: Any, static: bool, aligned: bool) -> Any:
    """What must be equal for a prepared call to serve another: exact shapes and strides."""
    if type(value) is np.ndarray and not aligned:
        return value.dtype, value.shape, value.strides, value.flags.aligned
    if is_cupy(value):  # what is prepared runs on one device
        place = value.device.id, pointer(value) % 16
        return value.dtype, value.shape, value.strides, type(value), place
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.strides, type(value), pointer(value) % 16
    if static or not is_scalar(value):
        return static_key(value)
    return type(value)


def argument_kind(value: Any, static: bool) -> Any:
    """What calls of other extents have in common: dtype and dimensions, or the static value."""
    if isinstance(value, np.ndarray) or is_cupy(value):
        return type(value), value.dtype, value.ndim
    return type(value) if is_scalar(value) and not static else static_key(value)


def overlap(a: Any, b: Any) -> bool:
    """True if two arrays may share bytes."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b))
    if is_cupy(a) and is_cupy(b):
        return bool(sys.modules["cupy"].may_share_memory(a, b))
    return False


def overlaps_itself(array: Any) -> bool:
    """True unless the strides alone say that every element has bytes of its own."""
    if array.flags.c_contiguous:
        return False
    reach = array.itemsize
    steps = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    for stride, extent in sorted(steps):
        if stride < reach:
            return bool(array.size)
        reach += stride * (extent - 1)
    return False


def span(array: Any) -> int:
    """Largest offset of an array's layout from its first element, in elements."""
    steps = zip(array.shape, array.strides, strict=True)
    return int(sum(abs(s) * max(0, n - 1) for n, s in steps)) // int(array.itemsize)
