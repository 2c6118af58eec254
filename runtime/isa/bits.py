"""Rows of instructions on bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.runtime.isa.form import InstructionForm, Operation, Row, same, size_of
from opweave.runtime.isa.instruction import TYPES, Array

LOGICAL = "pred b16 b32 b64"


def _shift(left: bool) -> Row:
    """A shift by more than the width gives zeros, or copies of the sign."""

    def row(form: InstructionForm) -> Operation:
        kind = form.type("b16 b32 b64" if left else "b16 b32 b64 u16 u32 u64 s16 s32 s64")
        bits, dtype = size_of(kind), TYPES[kind]
        signed = dtype.kind == "i"

        def computed(a: Array, by: Array) -> Array:
            far = by >= bits
            amount = np.minimum(by, bits - 1).astype(dtype)
            made = a << amount if left else a >> amount
            result: Array = made if signed or not far.any() else np.where(far, dtype.type(0), made)
            return result

        return Operation((kind, "u32"), (kind,), computed)

    return row


def _funnel(form: InstructionForm) -> Operation:
    left = form.one_of(("l", "r")) == "l"
    clamp = form.one_of(("clamp", "wrap")) == "clamp"
    kind = form.type("b32")

    def computed(low: Array, high: Array, by: Array) -> Array:
        amount = np.minimum(by, 32) if clamp else by & 31
        amount = amount.astype(np.uint64)
        both = (high.astype(np.uint64) << np.uint64(32)) | low
        made = (both << amount) >> np.uint64(32) if left else both >> amount
        return made.astype(np.uint32)

    return Operation((kind, kind, "u32"), (kind,), computed)


def _permute(form: InstructionForm) -> Operation:
    mode = form.one_of(PERMUTED, "")  # behind the type: prmt.b32.f4e
    kind = form.type("b32")
    return Operation((kind,) * 3, (kind,), lambda a, b, c: _bytes(a, b, PERMUTED[mode](c)))


def _bytes(a: Array, b: Array, selectors: list[Array]) -> Array:
    both = (b.astype(np.uint64) << np.uint64(32)) | a
    made = np.zeros(np.broadcast(both, selectors[0]).shape, np.uint32)
    for n, selector in enumerate(selectors):
        at = selector.astype(np.uint64)
        byte = (both >> ((at & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        signs = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        byte = np.where(at & np.uint64(8), signs, byte)
        made |= (byte << np.uint64(8 * n)).astype(np.uint32)
    return made


def _table(rows: list[list[int]]) -> Callable[[Array], list[Array]]:
    """The selectors of a mode of prmt, by the two lowest bits of its third operand."""
    found = np.array(rows, np.uint32)
    return lambda c: [found[c & 3, n] for n in range(4)]


PERMUTED: Mapping[str, Callable[[Array], list[Array]]] = {
    "": lambda c: [(c >> (4 * n)) & 15 for n in range(4)],
    "f4e": _table([[(i + n) & 7 for n in range(4)] for i in range(4)]),
    "b4e": _table([[(i - n) & 7 for n in range(4)] for i in range(4)]),
    "rc8": _table([[i] * 4 for i in range(4)]),
    "ecl": _table([[max(i, n) for n in range(4)] for i in range(4)]),
    "ecr": _table([[min(i, n) for n in range(4)] for i in range(4)]),
    "rc16": _table([[0, 1, 0, 1], [2, 3, 2, 3]] * 2),
}


def _insert(form: InstructionForm) -> Operation:
    kind = form.type("b32 b64")
    dtype, bits = TYPES[kind], size_of(kind)

    def computed(a: Array, b: Array, at: Array, count: Array) -> Array:
        mask = _low(count & 255, bits, dtype)
        return (_left(a & mask, at & 255, bits)) | (b & ~_left(mask, at & 255, bits))

    return Operation((kind, kind, "u32", "u32"), (kind,), computed)


def _low(count: Array, bits: int, dtype: np.dtype[Any]) -> Array:
    """Masks of so many low bits."""
    one = dtype.type(1)
    some = (one << np.minimum(count, bits - 1).astype(dtype)) - one
    result: Array = np.where(count >= bits, ~dtype.type(0), some)
    return result


def _left(x: Array, by: Array, bits: int) -> Array:
    result: Array = np.where(
        by >= bits, x.dtype.type(0), x << np.minimum(by, bits - 1).astype(x.dtype)
    )
    return result


def _extract(form: InstructionForm) -> Operation:
    kind = form.type("u32 u64 s32 s64")
    dtype, bits = TYPES[kind], size_of(kind)
    raw = np.dtype(f"u{bits // 8}")

    def computed(a: Array, at: Array, count: Array) -> Array:
        at, count = at & 255, count & 255
        first = np.minimum(at, bits - 1)
        made: Array = np.where(at >= bits, raw.type(0), a.view(raw) >> first.astype(raw))
        made = made & _low(count, bits, raw)
        if dtype.kind == "u":
            return made
        last = np.minimum(at + np.maximum(count, 1) - 1, bits - 1)
        sign = ((a.view(raw) >> last.astype(raw)) & raw.type(1)).astype(bool) & (count > 0)
        # what lies beyond the field, or beyond the operand, are copies of the sign
        held = np.where(at >= bits, raw.type(0), _low(np.minimum(count, bits - first), bits, raw))
        return np.where(sign, made | ~held, made).view(dtype)

    return Operation((kind, "u32", "u32"), (kind,), computed)


def _lop3(form: InstructionForm) -> Operation:
    kind = form.type("b32")

    def computed(a: Array, b: Array, c: Array, table: Array) -> Array:
        made = np.zeros(np.broadcast(a, b, c).shape, np.uint32)
        for n in range(8):
            if int(table.flat[0]) >> n & 1:
                terms = [x if n >> k & 1 else ~x for x, k in ((a, 2), (b, 1), (c, 0))]
                made |= terms[0] & terms[1] & terms[2]
        return made

    return Operation((kind,) * 3 + ("u32",), (kind,), computed)


def _length(x: Array) -> Array:
    """Bits up to the highest that is set."""
    made = np.zeros(x.shape, np.uint32)
    rest = x.astype(np.uint64)
    for by in (32, 16, 8, 4, 2, 1):
        large = rest >= np.uint64(1 << by)
        made += np.where(large, by, 0).astype(np.uint32)
        rest = np.where(large, rest >> np.uint64(by), rest)
    return made + (rest > 0).astype(np.uint32)


def _count(function: Callable[[Array, int], Array]) -> Row:
    def row(form: InstructionForm) -> Operation:
        kind = form.type("b32 b64")
        return Operation((kind,), ("u32",), lambda x: function(x, size_of(kind)))

    return row


def _find(form: InstructionForm) -> Operation:
    """bfind: the highest bit that differs from the sign."""
    kind = form.type("u32 u64 s32 s64")
    amount, bits = form.flag("shiftamt"), size_of(kind)

    def computed(x: Array) -> Array:
        raw = np.where(x < 0, ~x, x).astype(x.dtype).view(f"u{bits // 8}")
        length = _length(raw)
        made = bits - length if amount else length - np.uint32(1)
        return np.where(length == 0, np.uint32(0xFFFFFFFF), made).astype(np.uint32)

    return Operation((kind,), ("u32",), computed)


def _reverse(form: InstructionForm) -> Operation:
    kind = form.type("b32 b64")

    def computed(x: Array) -> Array:
        raw = np.ascontiguousarray(x).view(np.uint8).reshape(len(x), -1)
        turned = np.packbits(np.unpackbits(raw, axis=1)[:, ::-1], axis=1)
        return turned.view(x.dtype)[:, 0]

    return Operation((kind,), (kind,), computed)


def _mask(form: InstructionForm) -> Operation:
    clamp = form.one_of(("clamp", "wrap")) == "clamp"
    kind = form.type("b32")

    def computed(at: Array, count: Array) -> Array:
        if not clamp:
            at, count = at & 31, count & 31
        return _left(_low(count, 32, np.dtype("u4")), at, 32)

    return Operation(("u32", "u32"), (kind,), computed)


ROWS: Mapping[str, Row] = {
    "and": same(np.bitwise_and, 2, LOGICAL),
    "or": same(np.bitwise_or, 2, LOGICAL),
    "xor": same(np.bitwise_xor, 2, LOGICAL),
    "not": same(np.invert, 1, LOGICAL),
    "lop3": _lop3,
    "shl": _shift(True),
    "shr": _shift(False),
    "shf": _funnel,
    "prmt": _permute,
    "bfi": _insert,
    "bfe": _extract,
    "bmsk": _mask,
    "popc": _count(lambda x, bits: np.bitwise_count(x).astype(np.uint32)),
    "clz": _count(lambda x, bits: bits - _length(x)),
    "bfind": _find,
    "brev": _reverse,
}
