"""Rows of integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from opweave.runtime.isa.form import InstructionForm, Operation, Row, same, size_of
from opweave.runtime.isa.instruction import TYPES, Array

INTEGERS = "u16 s16 u32 s32 u64 s64"


def wider(kind: str) -> str:
    """The type of twice the width."""
    return f"{kind[0]}{2 * size_of(kind)}"


def _high(kind: str) -> Callable[[Array, Array], Array]:
    """The upper half of a product."""
    if size_of(kind) < 64:
        wide, shift = TYPES[wider(kind)], size_of(kind)
        return lambda a, b: ((a.astype(wide) * b.astype(wide)) >> shift).astype(TYPES[kind])
    return _high_signed if kind[0] == "s" else _high_unsigned


def _high_unsigned(a: Array, b: Array) -> Array:
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = a & low, a >> half, b & low, b >> half
    middle = ah * bl + ((al * bl) >> half)
    other = al * bh + (middle & low)
    result: Array = ah * bh + (middle >> half) + (other >> half)
    return result


def _high_signed(a: Array, b: Array) -> Array:
    x, y = a.view(np.uint64), b.view(np.uint64)
    high = _high_unsigned(x, y)
    nought = np.uint64(0)
    return (high - np.where(a < 0, y, nought) - np.where(b < 0, x, nought)).view(np.int64)


def product_of(kind: str, half: str) -> Callable[[Array, Array], Array]:
    """The lower or upper half of a product, or all of it."""
    if half == "wide":
        wide = TYPES[wider(kind)]
        return lambda a, b: a.astype(wide) * b.astype(wide)
    return _high(kind) if half == "hi" else np.multiply


def _multiply(form: InstructionForm) -> Operation:
    kind, half = form.type(INTEGERS), form.one_of(("lo", "hi", "wide"))
    made = wider(kind) if half == "wide" else kind
    return Operation((kind, kind), (made,), product_of(kind, half))


def _multiply_add(form: InstructionForm) -> Operation:
    kind, half = form.type(INTEGERS), form.one_of(("lo", "hi", "wide"))
    made = wider(kind) if half == "wide" else kind
    product = product_of(kind, half)
    if half == "hi" and kind == "s32" and form.flag("sat"):
        return Operation((kind,) * 3, (kind,), lambda a, b, c: _clamped(
            product(a, b).astype(np.int64) + c, kind))  # fmt: skip
    return Operation((kind, kind, made), (made,), lambda a, b, c: product(a, b) + c)


def _clamped(x: Array, kind: str) -> Array:
    limits = np.iinfo(TYPES[kind])
    return np.clip(x, limits.min, limits.max).astype(TYPES[kind])


def _sum(function: Callable[[Array, Array], Array]) -> Row:
    def row(form: InstructionForm) -> Operation:
        kind = form.type(INTEGERS)
        if kind == "s32" and form.flag("sat"):
            return Operation((kind,) * 2, (kind,), lambda a, b: _clamped(
                function(a.astype(np.int64), b.astype(np.int64)), kind))  # fmt: skip
        return Operation((kind,) * 2, (kind,), function)

    return row


def _quotient(a: Array, b: Array) -> Array:
    """Toward zero; by zero all bits are set, as on hardware."""
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b)
    made = a // safe
    if a.dtype.kind == "i":
        made = made + ((made * safe != a) & ((a < 0) != (safe < 0)))
    return np.where(zero, ~a.dtype.type(0), made).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    """With the sign of the dividend; by zero all bits are set, as on hardware."""
    zero = b == 0
    return np.where(zero, ~a.dtype.type(0), np.fmod(a, np.where(zero, b.dtype.type(1), b)))


def _mul24(form: InstructionForm) -> Operation:
    kind, half = form.type("u32 s32"), form.one_of(("lo", "hi"))
    shift = 16 if half == "hi" else 0

    def computed(a: Array, b: Array) -> Array:
        wide = [_low24(x).astype(np.int64) for x in (a, b)]
        return ((wide[0] * wide[1]) >> shift).astype(TYPES[kind])

    return Operation((kind, kind), (kind,), computed)


def _low24(x: Array) -> Array:
    return (x << 8) >> 8


def _absolute(a: Array, b: Array, c: Array) -> Array:
    return np.where(a < b, b - a, a - b) + c


def _dot(lanes: int) -> Row:
    """dp4a, and dp2a with the half of b that it takes."""

    def row(form: InstructionForm) -> Operation:
        b_kind, a_kind = form.type("u32 s32"), form.type("u32 s32")
        high = lanes == 2 and form.one_of(("lo", "hi")) == "hi"
        made = "s32" if "s32" in (a_kind, b_kind) else "u32"
        narrow = {"u32": "u", "s32": "i"}

        def computed(a: Array, b: Array, c: Array) -> Array:
            x = np.ascontiguousarray(a).view(f"{narrow[a_kind]}{4 // lanes}").reshape(-1, lanes)
            y = np.ascontiguousarray(b).view(f"{narrow[b_kind]}1").reshape(-1, 4)
            y = y[:, 2 * high : 2 * high + lanes]
            total = (x.astype(np.int64) * y.astype(np.int64)).sum(1)
            result: Array = (total + c).astype(TYPES[made])
            return result

        return Operation((a_kind, b_kind, made), (made,), computed)

    return row


def _minmax(function: Callable[[Array, Array], Array]) -> Row:
    def row(form: InstructionForm) -> Operation:
        kind = form.type(INTEGERS)
        nought = TYPES[kind].type(0)
        if kind == "s32" and form.flag("relu"):
            return Operation((kind,) * 2, (kind,), lambda a, b: np.maximum(
                function(a, b), nought))  # fmt: skip
        return Operation((kind,) * 2, (kind,), function)

    return row


def _cnot(a: Array) -> Array:
    result: Array = (a == 0).astype(a.dtype)
    return result


SIGNED = "s16 s32 s64"
ROWS: Mapping[str, Row] = {
    "add": _sum(np.add),
    "sub": _sum(np.subtract),
    "mul": _multiply,
    "mad": _multiply_add,
    "mul24": _mul24,
    "sad": same(_absolute, 3, INTEGERS),
    "div": same(_quotient, 2, INTEGERS),
    "rem": same(_remainder, 2, INTEGERS),
    "abs": same(np.abs, 1, SIGNED),
    "neg": same(np.negative, 1, SIGNED),
    "min": _minmax(np.minimum),
    "max": _minmax(np.maximum),
    "dp4a": _dot(4),
    "dp2a": _dot(2),
    "cnot": same(_cnot, 1, "b16 b32 b64"),
}
