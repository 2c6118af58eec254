"""Moves, constants, special registers, bit counts and the floats inside an integer division."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.runtime.sass.integers import INTEGERS, Row, signed, sources, valued
from opweave.runtime.sass.listing import SassInstruction, SassOperand
from opweave.runtime.sass.machine import U32, U64, WARP, Array, SassMachine
from opweave.runtime.sass.slices import result_registers


def _move(m: SassMachine, one: SassInstruction, active: Array) -> None:
    value, known = valued(m, one.operands[1])
    m.set(one.operands[0].index, value, known, active)


def _absolute(m: SassMachine, one: SassInstruction, active: Array) -> None:
    value, known = m.value(one.operands[1])
    found = np.abs(signed(value)).astype(U32)
    m.set(one.operands[0].index, found, known, active)


def _special(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """S2R, S2UR, CS2R."""
    value = m.special(one.operands[1].text)
    first = one.operands[0].index
    m.set(first, U32(0) if value is None else value, value is not None, active)
    if result_registers(one) == 2:
        m.set(first + 1, U32(0), value is not None, active)


def _constant(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """LDC, ULDC, LDCU: words of a constant bank."""
    target, source = one.operands[0], one.operands[-1]
    for n in range(result_registers(one)):
        word = SassOperand("c", "", source.index, source.value + 4 * n, parts=source.parts)
        m.set(target.index + n, *m.value(word), active)


def _permute(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """PRMT: four bytes of two registers; bit 3 of a selector repeats the byte's sign."""
    _, (a, s, b), _ = sources(one)
    (x, kx), (y, ky), (chosen, ks) = m.value(a), m.value(b), m.value(s)
    both = np.asarray(x, U32).astype(U64) | np.asarray(y, U32).astype(U64) << U64(32)
    found: Any = U64(0)
    for n in range(4):
        selector = (np.asarray(chosen).astype(U64) >> U64(4 * n)) & U64(15)
        byte = both >> (selector & U64(7)) * U64(8) & U64(255)
        byte = np.where(selector & U64(8), np.where(byte & U64(128), U64(255), U64(0)), byte)
        found = found | byte << U64(8 * n)
    if one.modifiers:  # F4E and other modes
        kx = False
    m.set(one.operands[0].index, found.astype(U32), kx & ky & ks, active)


def _population(m: SassMachine, one: SassInstruction, active: Array) -> None:
    value, known = valued(m, one.operands[1])
    found = np.bitwise_count(np.asarray(value, U32)).astype(U32)
    m.set(one.operands[0].index, found, known, active)


def _leading(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """FLO.U32: the number of the highest bit that is set; all ones where none is."""
    value, known = valued(m, one.operands[1])
    value = np.asarray(value, U32)
    top = np.where(value > 0, np.log2(np.maximum(value, 1).astype(np.float64)), -1.0)
    is_plain = "SH" not in one.modifiers and one.modifiers[:1] == ("U32",)
    found = np.floor(top).astype(np.int64).astype(U32)
    m.set(one.operands[0].index, found, known & np.bool_(is_plain), active)


def _vote(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """VOTE.ANY: the mask of the active lanes that hold a predicate."""
    predicate = one.operands[-1]
    truth, is_known = m.predicate(predicate)
    mask = m.ballot(active & truth)
    known = not m.ballot(active & ~is_known).any()
    target = next((o for o in one.operands if o.kind == "r"), None)
    if target is not None:
        m.set(target.index, mask, known, active)
    first = one.operands[0]
    if first.kind == "p":
        every, any_ = mask == m.ballot(active), mask != 0
        held = {"ALL": every, "ANY": any_, "EQ": every | ~any_}[one.modifiers[0]]
        m.set_predicate(first.index, held, known, active)


def _shuffle(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """SHFL.IDX: what another lane of the warp holds."""
    first, target, source, lane, clamp = one.operands
    value, known = m.value(source)
    at, is_at = m.value(lane)
    whole = one.modifiers == ("IDX",) and clamp.kind == "i" and clamp.value == 0x1F
    if not whole or source.kind != "r":
        m.set(target.index, U32(0), False, active)
    else:
        here = np.arange(m.lanes)
        other = here // WARP * WARP + (np.asarray(at).astype(np.int64) & 31)
        m.set(target.index, value[other], known[other] & is_at, active)
    m.set_predicate(first.index, False, False, active)


def _to_uniform(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """R2UR: what the first active lane of the warp holds, for all of it."""
    target = next(o for o in one.operands if o.kind == "r")
    value, known = m.value(one.operands[-1])
    lanes = active.reshape(-1, WARP)
    first = np.arange(len(lanes)) * WARP + lanes.argmax(1)
    value, known = np.broadcast_to(value, m.lanes), np.broadcast_to(known, m.lanes)
    spread = np.repeat(value[first], WARP), np.repeat(known[first], WARP)
    m.set(target.index, *spread, np.repeat(lanes.any(1), WARP))


def _pack_predicates(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """P2R: the predicates as bits, under a mask; the other bits are those of a register."""
    source, mask = one.operands[-2:]
    value, known = m.value(source)
    total: Any = np.asarray(value) & U32(~mask.value & 0xFFFFFFFF)
    if one.modifiers:  # B1 and other bytes
        known = False
    for n in range(7):
        if mask.value >> n & 1:
            total = total | m.predicates[n].astype(U32) << U32(n)
            known = known & m.sure[n]
    m.set(one.operands[0].index, total, known, active)


def _unpack_predicates(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """R2P: bits of a register as predicates, those under a mask."""
    source, mask = one.operands[1], one.operands[2]
    value, known = m.value(source)
    for n in range(7):
        if mask.value >> n & 1:
            m.set_predicate(n, np.asarray(value) >> U32(n) & U32(1) > 0, known, active)


def _reciprocal(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """MUFU.RCP of a float that came from an integer; a division by integers corrects it."""
    value, known = m.value(one.operands[1])
    if one.modifiers != ("RCP",) or one.operands[1].sign:
        known, value = False, U32(0x3F800000)
    with np.errstate(all="ignore"):
        found = np.float32(1) / np.asarray(value, U32).view(np.float32)
    m.set(one.operands[0].index, np.asarray(found, np.float32).view(U32), known, active)


def _to_float(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """I2F: rounded upwards for RP, else to nearest."""
    value, known = valued(m, one.operands[-1])
    plain = set(one.modifiers) <= {"U32", "RP"}
    is_unsigned = "U32" in one.modifiers
    exact = (np.asarray(value, U32) if is_unsigned else signed(value)).astype(np.float64)
    found = exact.astype(np.float32)
    if "RP" in one.modifiers:
        found = np.where(found < exact, np.nextafter(found, np.float32(np.inf)), found)
    target = one.operands[0].index
    m.set(target, found.astype(np.float32).view(U32), known & np.bool_(plain), active)
    if result_registers(one) == 2:
        m.set(target + 1, U32(0), False, active)


def _to_integer(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """F2I.U32.TRUNC."""
    value, known = m.value(one.operands[-1])
    plain = {"U32", "TRUNC"} <= set(one.modifiers) and not one.operands[-1].sign
    with np.errstate(all="ignore"):
        number = np.nan_to_num(np.asarray(value, U32).view(np.float32).astype(np.float64))
    found = np.clip(np.trunc(number), 0, 2**32 - 1).astype(U32)
    target = one.operands[0].index
    m.set(target, found, known & np.bool_(plain), active)
    if result_registers(one) == 2:
        m.set(target + 1, U32(0), False, active)


def _packed_constant(m: SassMachine, one: SassInstruction, active: Array) -> None:
    """HFMA2.MMA as a move: -0 * 0 + (upper, lower), two halves of a constant."""
    zeros = [o.text.lstrip("-") for o in one.operands[1:3]] == ["RZ", "RZ"]
    halves = [o.text for o in one.operands[3:5]]
    try:
        bits = [int(np.float16(float(h)).view(np.uint16)) for h in halves]
    except ValueError:
        bits = []
    is_known = zeros and len(bits) == 2
    value = U32(bits[0] << 16 | bits[1]) if is_known else U32(0)
    m.set(one.operands[0].index, value, is_known, active)


SEMANTICS: dict[str, Row] = {
    **INTEGERS,
    "MOV": _move, "UMOV": _move, "MOV32I": _move,
    "IABS": _absolute, "UIABS": _absolute,
    "S2R": _special, "S2UR": _special, "CS2R": _special,
    "LDC": _constant, "ULDC": _constant, "LDCU": _constant,
    "PRMT": _permute, "UPRMT": _permute,
    "POPC": _population, "UPOPC": _population,
    "FLO": _leading, "UFLO": _leading,
    "VOTE": _vote, "VOTEU": _vote, "SHFL": _shuffle, "R2UR": _to_uniform,
    "P2R": _pack_predicates, "R2P": _unpack_predicates,
    "MUFU": _reciprocal, "I2F": _to_float, "F2I": _to_integer,
    "HFMA2": _packed_constant,
}  # fmt: skip
