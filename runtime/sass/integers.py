"""Meaning of the instructions that addresses and branches are made of, a row each.

A row takes the machine, the instruction, and the lanes in which it is executed.  Each is written
from the instruction's name in NVIDIA's CUDA Binary Utilities and from what kernels whose results
are known compute with it; the tests hold each of them to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.runtime.sass.listing import PT, UPT, SassInstruction, SassOperand
from opweave.runtime.sass.machine import I64, U32, U64, Array, SassMachine

Row = Callable[[SassMachine, SassInstruction, Array], None]
LOW = U64(0xFFFFFFFF)
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
    "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip
JOIN: dict[str, Callable[[Any, Any], Any]] = {
    "AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor,
}  # fmt: skip


def sources(
    one: SassInstruction,
) -> tuple[list[SassOperand], list[SassOperand], list[SassOperand]]:
    """Predicates that are written, values that are read, predicates that are read."""
    operands = list(one.operands)
    leading: list[SassOperand] = []
    if operands and operands[0].kind == "r":
        operands = operands[1:]
    while operands and operands[0].kind == "p":
        leading.append(operands.pop(0))
    values = [o for o in operands if o.kind != "p"]
    return leading, values, [o for o in operands if o.kind == "p"]


def signed(value: Any) -> Any:
    """The 32 bits as a signed number of 64."""
    return np.asarray(value, U32).view(np.int32).astype(I64)


def valued(m: SassMachine, o: SassOperand, *, negates: bool = True) -> tuple[Any, Any]:
    """An operand with its sign applied."""
    value, known = m.value(o)
    if "~" in o.sign:
        value = ~value
    if "-" in o.sign and negates:
        value = (~np.asarray(value) + U32(1)).astype(U32)
    return value, known


def _add_pairs(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """IADD.64: the sum of two pairs."""
    leading, values, carries = sources(one)
    total: Any = U64(0)
    known: Any = not carries and all(o.index in (PT, UPT) for o in leading)
    for o in values:
        value, is_known = m.pair(o)
        wide = np.asarray(value, U64)
        total, known = total + (~wide + U64(1) if "-" in o.sign else wide), known & is_known
    m.set_pair(one.operands[0].index, total, known, active)


def _add(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """IADD3 [.X]: the sum of up to three, with the carries of an earlier one."""
    if "64" in one.modifiers:
        _add_pairs(m, one, active)
        return
    leading, values, carries = sources(one)
    total: Any = U64(0)
    known: Any = True
    for o in values:
        value, is_known = valued(m, o, negates=False)
        value = np.asarray(value, U32)
        wide = value.astype(U64)
        if "-" in o.sign:  # the carry of -x is that of ~x + 1
            wide = (~value).astype(U64) + U64(1)
        total, known = total + wide, known & is_known
    if "X" in one.modifiers:
        for o in carries:
            truth, is_known = m.predicate(o)
            total, known = total + truth.astype(U64), known & is_known
    m.set(one.operands[0].index, (total & LOW).astype(U32), known, active)
    for n, o in enumerate(leading):
        m.set_predicate(o.index, (total >> U64(32)) > n, known, active)


def _multiply(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """IMAD: a * b + c; of WIDE a pair, of HI the upper half of the sum with a pair."""
    leading, (a, b, c), carries = sources(one)
    wide, high = "WIDE" in one.modifiers, "HI" in one.modifiers
    (x, kx), (y, ky) = valued(m, a), valued(m, b)
    z, kz = m.pair(c) if wide or high else valued(m, c)
    if (wide or high) and "-" in c.sign:
        z = ~np.asarray(z, U64) + U64(1)
    known = kx & ky & kz
    unsigned = "U32" in one.modifiers
    x, y = (np.asarray(v, U32).astype(U64) if unsigned else signed(v).view(U64) for v in (x, y))
    product = x * y
    total = product + np.asarray(z).astype(U64)
    if "X" in one.modifiers:
        for o in carries:
            truth, is_known = m.predicate(o)
            total, known = total + truth.astype(U64), known & is_known
    if wide:
        m.set_pair(one.operands[0].index, total, known, active)
        for o in leading:
            m.set_predicate(o.index, total < product, known, active)
    else:
        part = total >> U64(32) if high else total & LOW
        m.set(one.operands[0].index, part.astype(U32), known, active)


def _lea(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """LEA: (a << s) + b; of HI the upper half of a pair, or of a number with its sign, shifted."""
    leading, values, carries = sources(one)
    high, extends = "HI" in one.modifiers, "SX32" in one.modifiers
    a, b, *rest = values
    shift = U64(rest[-1].value if rest else 0)
    (x, kx), (y, ky) = valued(m, a, negates=not high), valued(m, b)
    known = kx & ky
    x = signed(x).view(U64) if extends else np.asarray(x, U32).astype(U64)
    if high and not extends:
        upper, is_known = valued(m, rest[0], negates=False)
        x, known = x | np.asarray(upper, U32).astype(U64) << U64(32), known & is_known
    if high and "-" in a.sign:
        x = ~x + U64(1)
    total = (x << shift >> U64(32) if high else x << shift) & LOW
    total = total + np.asarray(y, U32).astype(U64)
    for o in carries if "X" in one.modifiers else ():
        truth, is_known = m.predicate(o)
        total, known = total + truth.astype(U64), known & is_known
    m.set(one.operands[0].index, (total & LOW).astype(U32), known, active)
    for o in leading:
        m.set_predicate(o.index, total > LOW, known, active)


def _shift(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """SHF: a pair (c, a) shifted; the lower half, or with HI the upper one.

    The amount wraps with W; else it is held to the width of the type.
    """
    _, (a, s, c), _ = sources(one)
    (x, kx), (n, kn), (y, ky) = m.value(a), m.value(s), m.value(c)
    both = np.asarray(x, U32).astype(U64) | np.asarray(y, U32).astype(U64) << U64(32)
    most = U32(32 if {"U32", "S32"} & set(one.modifiers) else 63)
    n = (n & U32(31) if "W" in one.modifiers else np.minimum(n, most)).astype(U64)
    if "L" in one.modifiers:
        moved = both << n
    elif {"S32", "S64"} & set(one.modifiers):
        moved = (both.view(I64) >> n.astype(I64)).view(U64)
    else:
        moved = both >> n
    part = moved >> U64(32) if "HI" in one.modifiers else moved & LOW
    m.set(one.operands[0].index, part.astype(U32), kx & kn & ky, active)


def _extend(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """SGXT: as many lower bits as the second operand says, with their sign; of U32 without."""
    _, (a, n), _ = sources(one)
    (x, kx), (bits, kn) = m.value(a), m.value(n)
    most = np.minimum(np.asarray(bits, U32) & U32(31) if "W" in one.modifiers else bits, U32(32))
    count = np.asarray(most).astype(U64)
    kept = np.asarray(x, U32).astype(U64) & ((U64(1) << count) - U64(1))
    if "U32" not in one.modifiers:
        top = np.where(count > 0, kept >> (np.maximum(count, U64(1)) - U64(1)) & U64(1), U64(0))
        kept = np.where(top, kept | ~((U64(1) << count) - U64(1)), kept)
    m.set(one.operands[0].index, (kept & LOW).astype(U32), kx & kn, active)


def table(lut: int, x: Any, y: Any, z: Any) -> Any:
    """A function of three bits, bit by bit, by its truth table."""
    found = x & ~x
    for row in range(8):
        if lut >> row & 1:
            found = found | ((x if row & 4 else ~x) & (y if row & 2 else ~y)
                             & (z if row & 1 else ~z))  # fmt: skip
    return found


def _logic(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """LOP3.LUT: a function of three, and whether any bit is set."""
    outs = [o for o in one.operands[:1] if o.kind == "p"]
    rest = one.operands[len(outs) :]
    target, a, b, c, lut = rest[:5]
    (x, kx), (y, ky), (z, kz) = (valued(m, o) for o in (a, b, c))
    x, y, z = (np.asarray(v, U32) for v in (x, y, z))
    found = table(lut.value, x, y, z)
    # x & 0xff needs nothing of z where the table does not ask for it
    asked = [_asks(lut.value, bit) for bit in (4, 2, 1)]
    known: Any = True
    for k, is_asked in zip((kx, ky, kz), asked, strict=True):
        known = known & (k if is_asked else True)
    m.set(target.index, found, known, active)
    for o in outs:
        m.set_predicate(o.index, found != 0, known, active)


def _asks(lut: int, bit: int) -> bool:
    return any((lut >> row & 1) != (lut >> (row ^ bit) & 1) for row in range(8))


def _compare(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """ISETP: a comparison joined with a predicate; of EX with that of the lower halves."""
    first, second, a, b, *rest = one.operands
    (x, kx), (y, ky) = valued(m, a), valued(m, b)
    is_unsigned = "U32" in one.modifiers
    x, y = ((np.asarray(v, U32) if is_unsigned else signed(v)) for v in (x, y))
    name = one.modifiers[0]
    m.note(x, y, kx & ky, active)
    found, known = COMPARE[name](x, y), kx & ky
    if "EX" in one.modifiers:
        lower, is_known = m.predicate(rest[1])
        strict = COMPARE[name[0] + "T"](x, y) if name[0] in "LG" else x != y
        same = np.equal(x, y) & lower
        found = (strict | same) if name != "EQ" else same
        known = known & is_known
    joined = next(JOIN[mod] for mod in one.modifiers if mod in JOIN)
    truth, is_known = m.predicate(rest[0])
    known = known & is_known
    m.set_predicate(first.index, joined(found, truth), known, active)
    m.set_predicate(second.index, joined(~np.asarray(found), truth), known, active)


def _predicates(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """PLOP3.LUT: two functions of three predicates."""
    first, second, a, b, c, lut, other = one.operands[:7]
    (x, kx), (y, ky), (z, kz) = (m.predicate(o) for o in (a, b, c))
    for out, rows in ((first, lut.value), (second, other.value)):
        known: Any = True
        for k, bit in ((kx, 4), (ky, 2), (kz, 1)):
            known = known & (k if _asks(rows, bit) else True)
        m.set_predicate(out.index, table(rows, x, y, z), known, active)


def _select(m: SassMachine, one: SassInstruction, active: Array) -> None:
    _, (a, b), (p,) = sources(one)
    (x, kx), (y, ky), (truth, is_known) = valued(m, a), valued(m, b), m.predicate(p)
    m.set(one.operands[0].index, np.where(truth, x, y), np.where(truth, kx, ky) & is_known, active)


def _minimum(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """IMNMX, VIADDMNMX: the smaller of two where the predicate holds, else the larger."""
    _, values, (*_, p) = sources(one)
    (x, kx), (y, ky) = valued(m, values[0]), valued(m, values[1])
    known = kx & ky
    if one.root == "VIADDMNMX":
        x = (np.asarray(x, U32) + y).astype(U32)
        y, is_known = valued(m, values[2])
        known = known & is_known
    truth, is_known = m.predicate(p)
    if "U32" not in one.modifiers:
        x, y = signed(x), signed(y)
    m.note(x, y, known, active)
    found = np.where(truth, np.minimum(x, y), np.maximum(x, y))
    m.set(one.operands[0].index, found.astype(U32), known & is_known, active)


INTEGERS: dict[str, Row] = {
    "IADD3": _add, "UIADD3": _add, "VIADD": _add, "IADD": _add, "UIADD": _add, "UVIADD": _add,
    "IMAD": _multiply, "UIMAD": _multiply,
    "LEA": _lea, "ULEA": _lea,
    "SHF": _shift, "USHF": _shift, "SGXT": _extend, "USGXT": _extend,
    "LOP3": _logic, "ULOP3": _logic,
    "ISETP": _compare, "UISETP": _compare,
    "PLOP3": _predicates, "UPLOP3": _predicates,
    "SEL": _select, "USEL": _select,
    "IMNMX": _minimum, "VIMNMX": _minimum, "UIMNMX": _minimum, "VIADDMNMX": _minimum,
    "UVIMNMX": _minimum,
}  # fmt: skip
