"""What a program asks of the namespace: dtypes, their limits and kinds, devices, capabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError, DTypeError
from opweave.xp import devices, shapes
from opweave.xp.arrays import Array, array_of
from opweave.xp.devices import CPU, check, moved
from opweave.xp.dtypes import (
    BOOL,
    COMPLEX128,
    DTYPES,
    FLOAT64,
    INT64,
    LETTER,
    REAL_OF,
    DType,
    dtype_of,
    promoted_all,
    with_number,
)
from opweave.xp.maps import NUMBERS, node_of

# The dtypes that a kind has, by its name in the standard.
KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


class FloatLimits(NamedTuple):
    """What ``finfo`` says."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerLimits(NamedTuple):
    """What ``iinfo`` says."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The array in another dtype; itself with ``copy=False``, if it has that.

    Raises:
        DTypeError: no dtype of the standard, or complex numbers to real ones.
        ArgumentError: there is no such device.
    """
    node, wanted = node_of(x, "astype"), dtype_of(dtype, "astype")
    if device is not None:
        node = moved(node, device)
    if LETTER[node.dtype] == "c" and LETTER[wanted] in "if":
        raise DTypeError(f"astype: {node.dtype} to {wanted}: take xp.real or xp.abs before")
    if node.dtype == wanted:
        if not copy:
            return x if node is x._node else array_of(node)
        return array_of(devices.copied(node))
    return array_of(shapes.cast(node, wanted))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype promotes to another."""
    dtype = from_.dtype if isinstance(from_, Array) else dtype_of(from_, "can_cast")
    return bool(np.can_cast(dtype, dtype_of(to, "can_cast")))


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a dtype of floats.

    Raises:
        DTypeError: of none.
    """
    dtype = _asked(type, "finfo")
    if LETTER[dtype] not in "fc":
        raise DTypeError(f"finfo: expected a dtype of floats, found {dtype}")
    real = REAL_OF.get(dtype, dtype)
    found = np.finfo(real)
    return FloatLimits(
        found.bits, float(found.eps), float(found.max), float(found.min),
        float(found.smallest_normal), real,
    )  # fmt: skip


def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of a dtype of integers.

    Raises:
        DTypeError: of none.
    """
    dtype = _asked(type, "iinfo")
    if LETTER[dtype] != "i":
        raise DTypeError(f"iinfo: expected a dtype of integers, found {dtype}")
    found = np.iinfo(dtype)
    return IntegerLimits(found.bits, int(found.max), int(found.min), dtype)


def _asked(given: Any, what: str) -> DType:
    return given.dtype if isinstance(given, Array) else dtype_of(given, what)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, or one of several.

    Raises:
        ArgumentError: there is no such kind.
    """
    found = dtype_of(dtype, "isdtype")
    for each in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(each, str):
            if each not in KINDS:
                known = ", ".join(map(repr, KINDS))
                raise ArgumentError(f"isdtype: expected one of {known}, found {shown(each)}")
            if found.name in KINDS[each]:
                return True
        elif found == dtype_of(each, "isdtype"):
            return True
    return False


def result_type(*arrays_and_dtypes: Any) -> DType:
    """What arrays, dtypes and numbers promote to.

    Raises:
        DTypeError: the standard does not say it.
        ArgumentError: there is neither an array nor a dtype.
    """
    numbers = [given for given in arrays_and_dtypes if type(given) in NUMBERS]
    rest = [given for given in arrays_and_dtypes if type(given) not in NUMBERS]
    if not rest:
        raise ArgumentError("result_type: expected an array or a dtype")
    found = promoted_all([_asked(given, "result_type") for given in rest], "result_type")
    for number in numbers:
        found = with_number(found, number, "result_type")
    return found


class NamespaceInfo:
    """What ``__array_namespace_info__`` gives."""

    def capabilities(self) -> dict[str, Any]:
        """What may depend on values: masks, and shapes of results."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where arrays lie that name no device."""
        return CPU

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of arrays that name none."""
        check(device, "default_dtypes")
        return {
            "real floating": FLOAT64, "complex floating": COMPLEX128, "integral": INT64,
            "indexing": INT64,
        }  # fmt: skip

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """All dtypes, or those of a kind, by name."""
        check(device, "dtypes")
        names = {n: d for n, d in DTYPES.items() if kind is None or isdtype(d, kind)}
        return {"bool": BOOL, **names} if "bool" in names else names

    def devices(self) -> tuple[str, ...]:
        """All devices."""
        return tuple(devices.names())


def __array_namespace_info__() -> NamespaceInfo:
    """What a program asks of the namespace."""
    return NamespaceInfo()
