"""Branches, calls, exits, and what lanes wait for, a row for each instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.runtime.sass.listing import SassInstruction
from opweave.runtime.sass.machine import AT_BAR, AT_BSYNC, RUNNING, U32, WARP, Array, SassMachine

FULL = U32(0xFFFFFFFF)


def leave(m: SassMachine, lanes: Array) -> None:
    """Lanes end; nobody waits for them any more."""
    m.live[lanes] = False
    rejoin(m)


def rejoin(m: SassMachine) -> None:
    """Let go of lanes at a convergence barrier for which no living lane is missing."""
    waiting = m.waiting == AT_BSYNC
    if not waiting.any():
        return
    here = m.ballot(waiting) & _same_place(m, waiting)
    missing = m.mask & m.ballot(m.live) & ~here
    m.waiting[waiting & (missing == 0)] = RUNNING


def _same_place(m: SassMachine, waiting: Array) -> Array:
    """By lane the mask of those of its warp that wait at the same instruction."""
    found = np.zeros(m.lanes, U32)
    for place in np.unique(m.pc[waiting]):
        lanes = waiting & (m.pc == place)
        found[lanes] = m.ballot(lanes)[lanes]
    return found


def release(m: SassMachine) -> bool:
    """Let blocks go on of which every living lane waits at a barrier; False if there is none."""
    at = (m.waiting == AT_BAR) | ~m.live
    each = m.launched.warps * WARP
    ready = np.repeat(at.reshape(-1, each).all(1), each) & m.live
    m.waiting[ready] = RUNNING
    return bool(ready.any())


def _branch(e: Any, n: int, active: Array) -> None:
    m, one = e.machine, e.instructions[n]
    lanes, maybe = e.guarded(one, active)
    if "DIV" in one.modifiers:
        lanes, maybe = _divergent(m, one, lanes, maybe)
    for o in one.operands:
        if o.kind == "p":
            truth, sure = m.predicate(o)
            maybe = maybe | (lanes & ~sure)
            lanes = lanes & truth & sure
    if n not in e.flow.targets:  # a branch to a computed address
        maybe, lanes = maybe | lanes, lanes & False
    else:
        m.pc[lanes] = e.flow.targets[n]
    if maybe.any():
        e.skip(n, maybe)


def _divergent(
    m: SassMachine, one: SassInstruction, lanes: Array, maybe: Array
) -> tuple[Array, Array]:
    """BRA.DIV: taken where lanes of a mask are elsewhere; ~URZ is the mask of all of them."""
    source = next((o for o in one.operands if o.kind == "r"), None)
    mask, known = (FULL, True) if source is None else m.value(source)
    if source is not None and "~" in source.sign:
        mask = ~np.asarray(mask, U32)
    apart = (m.ballot(lanes) & mask) != mask
    return lanes & apart & known, maybe | (lanes & ~np.broadcast_to(known, lanes.shape))


def _exit(e: Any, n: int, active: Array) -> None:
    m, one = e.machine, e.instructions[n]
    lanes, maybe = e.guarded(one, active)
    for o in one.operands:
        if o.kind == "p":
            truth, sure = m.predicate(o)
            maybe, lanes = maybe | (lanes & ~sure), lanes & truth & sure
    leave(m, lanes)
    if maybe.any():
        e.skip(n, maybe)


def _call(e: Any, n: int, active: Array) -> None:
    m, one = e.machine, e.instructions[n]
    lanes, maybe = e.guarded(one, active)
    if n in e.flow.targets:
        m.pc[lanes] = e.flow.targets[n]
    else:
        maybe = maybe | lanes
    if maybe.any():
        e.skip(n, maybe)


def _return(e: Any, n: int, active: Array) -> None:
    """RET.REL: to an address that the caller has left in a register."""
    m, one = e.machine, e.instructions[n]
    lanes, maybe = e.guarded(one, active)
    value, known = m.value(next(o for o in one.operands if o.kind == "r"))
    maybe, lanes = maybe | (lanes & ~known), lanes & known
    m.pc[lanes] = (value[lanes] // 16).astype(np.int64)
    if maybe.any():
        e.skip(n, maybe)


def _number(one: SassInstruction) -> int:
    text = next(o.text for o in one.operands if o.text[:1] == "B")
    return int(text[1:])


def _join(e: Any, n: int, active: Array) -> None:
    """BSSY: note which lanes are to meet."""
    m, one = e.machine, e.instructions[n]
    lanes, _ = e.guarded(one, active)
    number = _number(one)
    m.barriers[number] = np.where(lanes, m.ballot(lanes), m.barriers[number])


def _meet(e: Any, n: int, active: Array) -> None:
    """BSYNC: wait for them."""
    m, one = e.machine, e.instructions[n]
    lanes, _ = e.guarded(one, active)
    m.mask[lanes] = m.barriers[_number(one)][lanes]
    m.waiting[lanes] = AT_BSYNC
    rejoin(m)


def _break(e: Any, n: int, active: Array) -> None:
    """BREAK: lanes that will not come to a barrier."""
    m, one = e.machine, e.instructions[n]
    lanes, _ = e.guarded(one, active)
    number = _number(one)
    gone = m.ballot(lanes)
    m.barriers[number] &= ~gone
    rejoin(m)


def _block_barrier(e: Any, n: int, active: Array) -> None:
    """BAR.SYNC: wait for all lanes of the block; BAR.ARV and reductions are treated alike."""
    lanes, maybe = e.guarded(e.instructions[n], active)
    e.machine.waiting[lanes | maybe] = AT_BAR


def _move_barrier(e: Any, n: int, active: Array) -> None:
    """BMOV: a convergence barrier to a register or back."""
    m, one = e.machine, e.instructions[n]
    first, second = one.operands[:2]
    if first.kind == "r":
        number = _number(one)
        m.set(first.index, m.barriers[number], True, active)
        if "CLEAR" in one.modifiers:
            m.barriers[number][active] = 0
    elif second.kind == "r" and first.text[:1] == "B":
        value, _ = m.value(second)
        m.barriers[_number(one)][active] = np.broadcast_to(value, m.lanes)[active]


def _nothing(e: Any, n: int, active: Array) -> None:
    """WARPSYNC: lanes of a warp meet; the order of lanes here needs no waiting."""


CONTROL: dict[str, Callable[[Any, int, Array], None]] = {
    "BRA": _branch, "EXIT": _exit, "KILL": _exit, "CALL": _call, "RET": _return,
    "BSSY": _join, "BSYNC": _meet, "BREAK": _break, "BAR": _block_barrier,
    "BMOV": _move_barrier, "WARPSYNC": _nothing, "BRX": _branch,
}  # fmt: skip
