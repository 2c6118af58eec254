"""Arguments of a call: which are arrays, and what of them belongs to a guard or to a key."""

from __future__ import annotations

import sys
from ctypes import c_size_t
from enum import Enum
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from opweave.compiler.captures.structure import Identity
from opweave.compiler.traced.foreign import remedy
from opweave.compiler.traced.made import is_array, is_cupy
from opweave.compiler.tracing.arguments import ArrayType, Static, static_key
from opweave.opcodes import dtypes
from opweave.opcodes.errors import AlignmentError, ArgumentError, DTypeError, SubclassError

NUMBERS = (bool, int, float, complex, np.generic)
# Types of values that select what a function does; they are always part of the guard.
STATIC_TYPES = (
    bool, np.bool_, str, bytes, Enum, type, np.dtype, np.ufunc, slice, type(...), ModuleType,
    FunctionType, BuiltinFunctionType, MethodType, Identity,
)  # fmt: skip


# NumPy's classes of arrays that a kernel can take, and their names in a trace.
LIBRARIES = {np.ndarray: "numpy", np.memmap: "memmap"}


def is_plain(kind: type) -> bool:
    """True for NumPy's and CuPy's own classes of arrays, and for files in memory.

    A kernel would lose what other classes add, for example by ``__array_ufunc__``.
    """
    cupy = sys.modules.get("cupy")
    return kind in LIBRARIES or (cupy is not None and kind is cupy.ndarray)


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


def layout_of(array: Any) -> str:
    """Layout class of an array, see ``Input`` of compiler/ir/graph.py."""
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


@cache
def held_at() -> int:
    """Offset, in bytes, of the address of the data in an array's object; 0 if it is not known.

    It lies behind the head of every object (``PyArrayObject_fields`` of NumPy's ndarraytypes.h).
    Where it is not known C starts no plan.
    """
    at, probe = object.__basicsize__, np.zeros(1)
    found = c_size_t.from_address(id(probe) + at).value
    return at if found == probe.__array_interface__["data"][0] else 0


_HELD_AT = held_at()
_word_at = c_size_t.from_address


def pointer(array: Any, offset: int = 0) -> int:
    """Address of an array's first element, or of so many bytes from there."""
    if not isinstance(array, np.ndarray):
        return int(array.data.ptr) + offset
    if _HELD_AT:  # many times as quick as asking NumPy
        return _word_at(id(array) + _HELD_AT).value + offset
    return int(array.__array_interface__["data"][0]) + offset


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
    """What calls of other extents have in common: dtype and dimensions, or a static value."""
    if isinstance(value, np.ndarray) or is_cupy(value):
        return type(value), value.dtype, value.dtype.char, value.ndim
    return type(value) if is_scalar(value) and not static else static_key(value)


def assigned(array: Any, value: Any) -> None:
    """Let an array hold the elements of another one."""
    array[...] = value


def overlap(a: Any, b: Any) -> bool:
    """True if two arrays may share bytes."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b))
    if is_cupy(a) and is_cupy(b):
        return bool(sys.modules["cupy"].may_share_memory(a, b))
    return False


def overlaps_itself(array: Any) -> bool:
    """True unless the strides alone show that no two elements share bytes."""
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
