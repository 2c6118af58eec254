"""Type rules: from operand types to the types of the loop and of its results.

A rule takes the operand types (a ``DType``, or int, float or complex for a weak Python scalar) and
the static attributes, and returns ``(loop types of the operands, result types)``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.core import TypeRule
from opweave.opcodes.dtypes import BF16, BOOL, F16, F32, F64, I32, I64, U8, U64, DType
from opweave.opcodes.errors import DTypeError

Types = tuple[Any, ...]
Signature = tuple[tuple[DType, ...], tuple[DType, ...]]


def as_ufunc(ufunc: np.ufunc) -> TypeRule:
    """NumPy's own resolution of a ufunc's loop, with the deviation for bfloat16."""

    @lru_cache(maxsize=4096)
    def rule(types: Types, attrs: Any = ()) -> Signature:
        asked = tuple(t.numpy if isinstance(t, DType) else t for t in _keep_bfloat16(types))
        try:
            found = ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout))
        except TypeError as error:
            names = ", ".join(str(getattr(t, "__name__", t)) for t in types)
            raise DTypeError(f"{ufunc.__name__}: no meaning for ({names}): {error}") from None
        loop = tuple(dtypes.of(d) for d in found)
        return loop[: ufunc.nin], loop[ufunc.nin :]

    return rule


def by_value(ufunc: np.ufunc) -> TypeRule:
    """Comparisons: a Python integer is compared by value, even if the dtype cannot hold it."""
    resolve = as_ufunc(ufunc)

    @lru_cache(maxsize=4096)
    def rule(types: Types, attrs: Any = ()) -> Signature:
        whole = [t for t in types if isinstance(t, DType) and t.kind in "iub"]
        return resolve(tuple(I64 if t is int and whole else t for t in types), attrs)

    return rule


NO_MEANING = "no meaning for {}; take .real, .imag or abs()"


def of_reals(rule: TypeRule, refusal: str = NO_MEANING) -> TypeRule:
    """A type rule that refuses complex numbers."""

    def checked(types: Types, attrs: Any = ()) -> Signature:
        loop, results = rule(types, attrs)
        found = next((dtype for dtype in (*loop, *results) if dtype.is_complex), None)
        if found is not None:
            raise DTypeError(refusal.format(found.numpy_name))
        return loop, results

    return checked


def _keep_bfloat16(types: Types) -> Types:
    """A weak Python float joins bfloat16 as bfloat16, as it does every other float type."""
    if dtypes.keeps_bfloat16(types):
        return tuple(t if isinstance(t, DType) else BF16 for t in types)
    return types


@lru_cache(maxsize=4096)
def same(types: Types, attrs: Any = ()) -> Signature:
    """All operands promoted to one type, which is the result's."""
    to = dtypes.promote(*types)
    return (to,) * len(types), (to,)


@lru_cache(maxsize=4096)
def with_array(types: Types, attrs: Any = ()) -> Signature:
    """As ``same``; NumPy makes an array of the first, so that a number there is not weak."""
    return same((dtypes.promote(types[0]), *types[1:]))


@lru_cache(maxsize=4096)
def floating(types: Types, attrs: Any = ()) -> Signature:
    """Promoted to a float type that holds it, as NumPy's float functions do: 8 bits to float16."""
    to = float_of(dtypes.promote(*types))
    return (to,) * len(types), (to,)


def float_of(dtype: DType) -> DType:
    """The float type that holds a type.

    Raises:
        DTypeError: none holds a complex one.
    """
    if dtype.is_complex:
        raise DTypeError(NO_MEANING.format(dtype.numpy_name))
    return dtype if dtype.is_float else {1: F16, 2: F32}.get(dtype.itemsize, F64)


@lru_cache(maxsize=4096)
def picture(types: Types, attrs: Any = ()) -> Signature:
    """Pictures of a float type, with amounts of the same type."""
    first = types[0]
    if not isinstance(first, DType) or not first.is_float:
        name = getattr(first, "numpy_name", getattr(first, "__name__", first))
        raise DTypeError(
            f"expected a picture of floats, found {name}; convert it with "
            "opweave.pixels.from_uint8"
        )
    to = dtypes.promote(*types)
    return (to,) * len(types), (to,)


@lru_cache(maxsize=4096)
def quantised(types: Types, attrs: Any = ()) -> Signature:
    """Floats in, uint8 out."""
    (loop, *_), _ = picture(types)
    return (loop,), (U8,)


@lru_cache(maxsize=4096)
def predicate(types: Types, attrs: Any = ()) -> Signature:
    """All operands promoted to one type; the result is bool."""
    to = dtypes.promote(*types)
    return (to,) * len(types), (BOOL,)


@lru_cache(maxsize=4096)
def selection(types: Types, attrs: Any = ()) -> Signature:
    """``where``: a bool and two operands of one type."""
    to = dtypes.promote(*types[1:])
    return (BOOL, to, to), (to,)


def cast(types: Types, attrs: tuple[tuple[str, Any], ...] = ()) -> Signature:
    """The dtype stands in the attributes."""
    (source,) = types
    return (source,), (dtypes.of(dict(attrs)["dtype"]),)


@lru_cache(maxsize=4096)
def stated(types: Types, attrs: tuple[tuple[str, Any], ...] = ()) -> Signature:
    """A number takes the dtype that stands in the attributes."""
    dtype = dtypes.of(dict(attrs)["dtype"])
    return (dtype,), (dtype,)


@lru_cache(maxsize=4096)
def summation(types: Types, attrs: Any = ()) -> Signature:
    """sum and prod widen small integers: bool and int32 to int64, uint8 to uint64."""
    (source,) = types
    asked = dict(attrs).get("dtype")
    narrow = source.itemsize < 8
    to = {"b": I64, "i": I64, "u": U64}.get(source.kind) if narrow else source
    to = to if asked is None else dtypes.of(asked)
    return (to or source,), (to or source,)


@lru_cache(maxsize=4096)
def averaging(types: Types, attrs: Any = ()) -> Signature:
    """mean and var: integers give float64."""
    (source,) = types
    to = F64 if source.kind in "iub" else source
    return (source,), (to,)


@lru_cache(maxsize=4096)
def first(types: Types, attrs: Any = ()) -> Signature:
    """One operand, its type unchanged."""
    return (types[0],), (types[0],)


@lru_cache(maxsize=4096)
def first_and_index(types: Types, attrs: Any = ()) -> Signature:
    """An operand whose type is unchanged, and an index."""
    return (types[0], I64), (types[0],)


@lru_cache(maxsize=4096)
def alone(types: Types, attrs: tuple[tuple[str, Any], ...] = ()) -> Signature:
    """No operand; the dtype stands in the attributes."""
    return (), (dtypes.of(dict(attrs)["dtype"]),)


@lru_cache(maxsize=4096)
def indices(types: Types, attrs: Any = ()) -> Signature:
    """Integers as indices: int32 as it is, others as int64.

    Raises:
        DTypeError: no integers.
    """
    for item in types:
        if item is not int and (not isinstance(item, DType) or item.kind not in "iu"):
            raise DTypeError(f"an index must be an integer, found {item}")
    to = I32 if types[0] is I32 else I64
    return (to,) * len(types), (to,)


@lru_cache(maxsize=4096)
def table_and_indices(types: Types, attrs: Any = ()) -> Signature:
    """An array of any type, and an index for each of its axes."""
    loops = tuple(indices((item,))[0][0] for item in types[1:])
    return (types[0], *loops), (types[0],)


@lru_cache(maxsize=4096)
def truth(types: Types, attrs: Any = ()) -> Signature:
    """any and all: the operand is read as bool, the result is bool."""
    return (BOOL,), (BOOL,)


def wide_float(result: DType) -> DType:
    """Accumulate float16 and bfloat16 in float32, every other type in itself."""
    return F32 if result in (F16, BF16) else result


def wide_truth(result: DType) -> DType:
    """Truth in int32: with bytes beside floats, lanes of a loop have several widths, and g++
    shuffles them (measured: (x > 3).any(axis=1) of float32 takes six times as long)."""
    return I32 if result is BOOL else wide_float(result)


BY_NAME: dict[str, TypeRule] = {"same": same, "float": floating, "bool": predicate}
