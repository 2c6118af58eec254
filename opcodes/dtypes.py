"""The element types, one row each.

A type has two C spellings: ``storage`` is what lies in memory, ``register`` is what a fragment
computes with.  float16 and bfloat16 compute in float and are rounded to their own precision after
each operator, which for + - * / and sqrt equals computing in the narrow type itself
(float32 has more than 2p + 2 bits for both; Figueroa, "When is double rounding innocuous?", 1995).
A complex number is a pair of floats, its parts; digits and exponents of its row are a part's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from opweave.opcodes.errors import DTypeError


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes:
        name: short name in generated source and messages, such as ``f32``.
        numpy_name: NumPy's name.
        kind: ``f`` float, ``c`` complex, ``i`` signed, ``u`` unsigned, ``b`` bool.
        itemsize: bytes in memory.
        storage: C type in memory.
        register: C type in a register.
        round: helper that rounds a register to this precision, or "".
        digits: significand bits with the hidden one; 0 for integers.
        tiny_exponent: the smallest subnormal is 2**tiny_exponent.
    """

    name: str
    numpy_name: str
    kind: str
    itemsize: int
    storage: str
    register: str
    round: str = ""
    digits: int = 0
    tiny_exponent: int = 0

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return of, (self.numpy_name,)  # there is one of each

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype (``ml_dtypes`` supplies bfloat16)."""
        return _numpy_dtype(self.numpy_name)

    @property
    def register_bytes(self) -> int:
        """Bytes of a value as it is computed with: 16-bit floats are held wide."""
        return 4 if self.round else self.itemsize

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def part(self) -> DType:
        """The type of a complex number's real part; any other type itself."""
        return PARTS.get(self.name, self)


F16 = DType("f16", "float16", "f", 2, "float16", "float", "round_f16", 11, -24)
BF16 = DType("bf16", "bfloat16", "f", 2, "bfloat16", "float", "round_bf16", 8, -133)
F32 = DType("f32", "float32", "f", 4, "float", "float", "", 24, -149)
F64 = DType("f64", "float64", "f", 8, "double", "double", "", 53, -1074)
I8 = DType("i8", "int8", "i", 1, "int8", "int8")
I16 = DType("i16", "int16", "i", 2, "int16", "int16")
I32 = DType("i32", "int32", "i", 4, "int", "int")
I64 = DType("i64", "int64", "i", 8, "int64", "int64")
U8 = DType("u8", "uint8", "u", 1, "uint8", "uint8")
U16 = DType("u16", "uint16", "u", 2, "uint16", "uint16")
U32 = DType("u32", "uint32", "u", 4, "uint32", "uint32")
U64 = DType("u64", "uint64", "u", 8, "uint64", "uint64")
BOOL = DType("b1", "bool", "b", 1, "bool", "bool")
C64 = DType("c64", "complex64", "c", 8, "complex64", "complex64", "", 24, -149)
C128 = DType("c128", "complex128", "c", 16, "complex128", "complex128", "", 53, -1074)

# Of the same bits as int64 and uint64, and other characters to NumPy, which promotes them apart.
LONGLONG = DType("i64", "longlong", "i", 8, "int64", "int64")
ULONGLONG = DType("u64", "ulonglong", "u", 8, "uint64", "uint64")

ALL: tuple[DType, ...] = (
    F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, BOOL, C64, C128,
)  # fmt: skip
EVERY: tuple[DType, ...] = (*ALL, LONGLONG, ULONGLONG)
FLOATS: tuple[DType, ...] = (F16, BF16, F32, F64)
HALVES: tuple[DType, ...] = (F16, BF16)  # of which products have float32 sums
COMPLEX: tuple[DType, ...] = (C64, C128)
PARTS = {"c64": F32, "c128": F64}
_BY_NAME = {d.numpy_name: d for d in ALL}
_EXPECTED = ", ".join(_BY_NAME)


@cache
def _numpy_dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    return np.dtype(name)


_BY_CHAR = {d.numpy.char: d for d in (LONGLONG, ULONGLONG, I64, U64)}


def of(dtype: Any) -> DType:
    """Return the row for a NumPy dtype, a scalar type or a name.

    Raises:
        DTypeError: opweave has no kernels for that type.
    """
    try:
        if isinstance(dtype, np.dtype) and dtype.isnative and dtype.char in _BY_CHAR:
            return _BY_CHAR[dtype.char]  # which equals another one
        return _of(dtype)
    except DTypeError:
        raise
    except Exception:  # NumPy raises many types, and the object's own methods any; not kept
        text = ascii(dtype) if type(dtype) is str else f"an object of type {type(dtype).__name__}"
        raise DTypeError(f"{text[:80]} is not a dtype: expected one of {_EXPECTED}") from None


# How a dtype may be written.
SPELT = re.compile(r"[<>=|]?[A-Za-z?][A-Za-z0-9_]*")


@cache
def _of(dtype: Any) -> DType:
    if isinstance(dtype, DType):
        if not any(dtype is row for row in EVERY):
            raise DTypeError(f"{dtype.name!r} is no row of the table: expected one of {_EXPECTED}")
        return dtype
    if isinstance(dtype, str) and not SPELT.fullmatch(dtype):
        raise ValueError(dtype)  # NumPy takes the character NUL for bool
    found = np.dtype(_numpy_dtype(dtype) if dtype == "bfloat16" else dtype)
    name = found.name if found.isnative else str(found)
    if name in ("int64", "uint64"):
        return _BY_CHAR[found.char]
    if name not in _BY_NAME:
        raise DTypeError(
            f"dtype {name[:80]} is not supported: expected one of {_EXPECTED}; convert with "
            ".astype(...)"
        )
    return _BY_NAME[name]


def promote(*types: Any) -> DType:
    """NumPy's promotion (NEP 50) of dtypes and of the weak types int, float and complex.

    A Python scalar keeps bfloat16 bfloat16; NumPy itself would widen it to float32.

    Raises:
        DTypeError: the promoted type is not supported.
    """
    strong = [t for t in types if isinstance(t, DType)]
    weak = [t for t in types if not isinstance(t, DType)]
    if not strong:
        return C128 if complex in weak else F64 if float in weak else I64
    if keeps_bfloat16(types):
        weak = []
    samples = {int: 1, float: 1.0, complex: 1j}
    try:
        found = np.result_type(*[t.numpy for t in strong], *[samples[t] for t in weak])
    except TypeError as error:
        raise DTypeError(str(error)) from None
    return of(found)


def keeps_bfloat16(types: tuple[Any, ...]) -> bool:
    """True where numbers join bfloat16 as bfloat16: beside no wider type, and none complex."""
    strong = [t for t in types if isinstance(t, DType)]
    plain = all(t is BF16 or t.kind in "iub" for t in strong)
    return BF16 in strong and plain and complex not in types
