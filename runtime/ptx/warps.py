"""Instructions that the lanes of a warp run together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.opcodes.errors import PtxLaunchError
from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import Array, ResultPair
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.machine import Active, Machine

# What lanes do that have met: all of them at once, several warps together.
Together = Callable[[Machine, Array], None]
Mask = Callable[[Machine, Active], Array]
Made = tuple[Mask | None, Together]


def active_of(machine: Machine, threads: Array) -> Active:
    """None where these are all."""
    return None if len(threads) == machine.count else threads


def _pair(operand: Any) -> tuple[Any, Any]:
    return (operand.first, operand.second) if isinstance(operand, ResultPair) else (operand, None)


def _shuffle(scope: Scope, form: InstructionForm) -> Made:
    one = form.instruction
    if not form.flag("sync"):
        raise form.unknown("shuffles without .sync")
    mode = form.one_of(("up", "down", "bfly", "idx"))
    form.type("b32")
    form.finish()
    result, value, by, clamp, mask = one.operands
    target, inside = _pair(result)
    write = scope.writer(target, "b32", one)
    tell = scope.writer(inside, "pred", one) if inside is not None else None
    read, distance, limit = (scope.reader(o, "b32", one) for o in (value, by, clamp))

    def shuffle(machine: Machine, threads: Array) -> None:
        active = active_of(machine, threads)
        lane = machine.lane[threads]
        b, c = (r(machine, active).astype(np.int64) for r in (distance, limit))
        source, ok = _source(mode, lane, b & 31, c)
        values = np.zeros(machine.count, np.uint32)
        values[threads] = read(machine, active)
        from_thread = threads - lane + source
        _check_sources(machine, threads, from_thread, ok, form)
        write(machine, active, values[np.where(ok, from_thread, threads)])
        if tell is not None:
            tell(machine, active, ok)

    return scope.reader(mask, "u32", one), shuffle


def _source(mode: str, lane: Array, by: Array, c: Array) -> tuple[Array, Array]:
    """The lane that each lane reads, and whether it lies within the segment."""
    segment = (c >> 8) & 31
    bound = c & 31
    most = (lane & segment) | (bound & ~segment)
    least = lane & segment
    if mode == "up":
        return lane - by, lane - by >= most
    source = {"down": lane + by, "bfly": lane ^ by, "idx": least | (by & ~segment)}[mode]
    return source, source <= most


def _check_sources(
    machine: Machine, threads: Array, source: Array, ok: Array, form: InstructionForm
) -> None:
    """Refuse a read of a lane that does not take part."""
    if len(threads) == machine.count and machine.full_warps:
        return
    part = np.zeros(machine.count + 32, bool)
    part[threads] = True
    same = machine.warp[np.minimum(source, machine.count - 1)] == machine.warp[threads]
    bad = ok & ~(part[source] & same)
    if bad.any():
        raise machine.error(
            PtxLaunchError, form.instruction, int(threads[np.argmax(bad)]),
            "reads a lane that does not take part in the shuffle",
        )  # fmt: skip


def _counts(machine: Machine, threads: Array, held: Array) -> tuple[Array, Array]:
    """Bits of the lanes whose predicate holds, and of those that are there, of each thread."""
    bit = np.where(held, np.uint32(1) << machine.lane[threads].astype(np.uint32), np.uint32(0))
    warp = machine.warp[threads]
    made, there = (np.zeros(int(warp[-1]) + 1, np.uint32) for _ in "ab")
    np.bitwise_or.at(made, warp, bit.astype(np.uint32))
    np.bitwise_or.at(there, warp, (np.uint32(1) << machine.lane[threads].astype(np.uint32)))
    return made[warp], there[warp]


VOTES: Mapping[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "ballot": ("b32", lambda true, there: true),
    "any": ("pred", lambda true, there: true != 0),
    "all": ("pred", lambda true, there: true == there),
    "uni": ("pred", lambda true, there: (true == there) | (true == 0)),
}


def _vote(scope: Scope, form: InstructionForm) -> Made:
    one = form.instruction
    if not form.flag("sync"):
        raise form.unknown("votes without .sync")
    kind, function = VOTES[form.one_of(VOTES)]
    form.type(kind)
    form.finish()
    write = scope.writer(one.operands[0], kind, one)
    read = scope.reader(one.operands[1], "pred", one)

    def vote(machine: Machine, threads: Array) -> None:
        active = active_of(machine, threads)
        held = machine.spread(read(machine, active), active)
        write(machine, active, function(*_counts(machine, threads, held)))

    return scope.reader(one.operands[2], "u32", one), vote


def _match(scope: Scope, form: InstructionForm) -> Made:
    one = form.instruction
    form.flag("sync")
    every = form.one_of(("any", "all")) == "all"
    kind = form.type("b32 b64")
    form.finish()
    target, told = _pair(one.operands[0])
    write = scope.writer(target, "b32", one)
    tell = scope.writer(told, "pred", one) if told is not None else None
    read = scope.reader(one.operands[1], kind, one)

    def match(machine: Machine, threads: Array) -> None:
        active = active_of(machine, threads)
        values = machine.spread(read(machine, active), active)
        made = np.zeros(len(threads), np.uint32)
        for warp in np.unique(machine.warp[threads]):
            own = np.flatnonzero(machine.warp[threads] == warp)
            equal = values[own][:, None] == values[own][None, :]
            bits = (equal * (1 << machine.lane[threads[own]])[None, :]).sum(1)
            made[own] = np.where(equal.all(), bits, 0) if every else bits
        write(machine, active, made)
        if tell is not None:
            tell(machine, active, made != 0)

    return scope.reader(one.operands[2], "u32", one), match


REDUCED: Mapping[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _reduce(scope: Scope, form: InstructionForm) -> Made:
    one = form.instruction
    form.flag("sync")
    function = REDUCED[form.one_of(REDUCED)]
    kind = form.type("u32 s32 b32")
    form.finish()
    write = scope.writer(one.operands[0], kind, one)
    read = scope.reader(one.operands[1], kind, one)

    def reduce(machine: Machine, threads: Array) -> None:
        active = active_of(machine, threads)
        values = machine.spread(read(machine, active), active)
        warp = machine.warp[threads]
        starts = np.flatnonzero(np.r_[True, warp[1:] != warp[:-1]])
        total = function.reduceat(values, starts).astype(values.dtype)
        write(machine, active, np.repeat(total, np.diff(np.r_[starts, len(warp)])))

    return scope.reader(one.operands[2], "u32", one), reduce


def _active_mask(scope: Scope, form: InstructionForm) -> Made:
    """Of the lanes that run it at this moment."""
    form.type("b32")
    form.finish()
    write = scope.writer(form.instruction.operands[0], "b32", form.instruction)

    def ask(machine: Machine, threads: Array) -> None:
        _, there = _counts(machine, threads, np.ones(len(threads), bool))
        write(machine, active_of(machine, threads), there)

    return None, ask


def _elect(scope: Scope, form: InstructionForm) -> Made:
    """The lowest lane of the mask is elected."""
    one = form.instruction
    form.flag("sync")
    form.finish()
    target, told = _pair(one.operands[0])
    write, tell = scope.writer(target, "b32", one), scope.writer(told, "pred", one)

    def elect(machine: Machine, threads: Array) -> None:
        active = active_of(machine, threads)
        warp, lane = machine.warp[threads], machine.lane[threads].astype(np.uint32)
        first = np.r_[True, warp[1:] != warp[:-1]]
        lowest = np.repeat(lane[first], np.diff(np.r_[np.flatnonzero(first), len(warp)]))
        write(machine, active, lowest)
        tell(machine, active, first)

    return scope.reader(one.operands[1], "u32", one), elect


def _sync(scope: Scope, form: InstructionForm) -> Made:
    """bar.warp.sync."""
    return scope.reader(form.instruction.operands[0], "u32", form.instruction), lambda m, t: None


TOGETHER: Mapping[str, Callable[[Scope, InstructionForm], Made]] = {
    "shfl": _shuffle, "vote": _vote, "match": _match, "redux": _reduce,
    "activemask": _active_mask, "elect": _elect, "bar.warp": _sync,
}  # fmt: skip
