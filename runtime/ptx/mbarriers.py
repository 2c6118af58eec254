"""mbarrier: barriers that lie in shared memory, with phases and bytes that are to come.

The 64 bits of one are opaque to a program; here they hold, from the lowest: threads of a phase,
threads still to come (20 bits each), bytes still to come (23 bits, an offset added), the phase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import Array, Name
from opweave.runtime.ptx.accesses import SCOPES, addresses, located
from opweave.runtime.ptx.atomics import in_turns
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.machine import Active, Machine, Step
from opweave.runtime.ptx.memory import AccessFault

WORD = np.dtype("u8")
COUNT, TX_BITS, NO_BYTES = (1 << 20) - 1, (1 << 23) - 1, 1 << 22
PHASE = np.uint64(1 << 63)
SPACES = ("shared", "shared::cta", "shared::cluster")


def _word(expected: Array, pending: Array, tx: Array, phase: Array) -> Array:
    made = expected.astype(np.uint64) | pending.astype(np.uint64) << np.uint64(20)
    result: Array = made | (tx + NO_BYTES).astype(np.uint64) << np.uint64(40) | phase
    return result


def _parts(word: Array) -> tuple[Array, Array, Array, Array]:
    """Threads, those to come, bytes to come, phase."""
    expected = (word & np.uint64(COUNT)).astype(np.int64)
    pending = (word >> np.uint64(20) & np.uint64(COUNT)).astype(np.int64)
    tx = (word >> np.uint64(40) & np.uint64(TX_BITS)).astype(np.int64) - NO_BYTES
    return expected, pending, tx, word & PHASE


def _init(old: Array, count: Array) -> Array:
    threads = count.astype(np.int64)
    return _word(threads, threads, np.zeros_like(threads), np.zeros_like(old))


def _change(old: Array, came: Array, awaited: Array) -> Array:
    """So many threads have come, and so many more bytes are to come; then a phase may end."""
    expected, pending, tx, phase = _parts(old)
    pending, tx = pending - came.astype(np.int64), tx + awaited.astype(np.int64)
    ends = (pending == 0) & (tx == 0)
    pending = np.where(ends, expected, pending)
    return _word(expected, pending, tx, np.where(ends, phase ^ PHASE, phase))


def _nothing(old: Array) -> Array:
    return old


Values = Callable[[Machine, Active], Array]


def _constant(value: int) -> Values:
    found = np.array([value])
    return lambda machine, active: found


def _update(scope: Scope, form: InstructionForm, target: object, operand: object,
            update: Callable[..., Array], given: list[Values]) -> Step:  # fmt: skip
    """Change the barrier at an address; ``target`` gets what it was."""
    one = form.instruction
    space = form.one_of(SPACES, "generic")
    form.type("b64")
    form.finish()
    where = addresses(scope, operand, form)
    write = scope.writer(target, "b64", one) if target is not None else None

    def step(machine: Machine, active: Active) -> None:
        address = machine.spread(where(machine, active), active)
        values = [machine.spread(read(machine, active), active) for read in given]
        machine.stores += 1
        try:
            memory, at = located(machine, active, space, address, 8)
            if update is _init:
                memory.store(at, update(np.zeros(len(at), WORD), *values).reshape(-1, 1))
                return
            old = in_turns(memory, at, WORD, WORD, update, values)
        except AccessFault as fault:
            machine.refuse(fault, one, active)
        if write is not None:
            write(machine, active, old)

    return step


def _initialise(scope: Scope, form: InstructionForm) -> Step:
    address, count = form.instruction.operands
    return _update(scope, form, None, address, _init,
                   [scope.reader(count, "u32", form.instruction)])  # fmt: skip


def _invalidate(scope: Scope, form: InstructionForm) -> Step:
    return _update(scope, form, None, form.instruction.operands[0], _nothing, [])


def _arrive(scope: Scope, form: InstructionForm) -> Step:
    """arrive, and arrive.expect_tx; as many threads as an operand says, or one."""
    one = form.instruction
    form.one_of(("release", "relaxed"), "")
    form.one_of(SCOPES, "")
    operands = list(one.operands)
    target = operands.pop(0) if isinstance(operands[0], Name) else None
    value = scope.reader(operands[1], "u32", one) if len(operands) > 1 else None
    if form.flag("expect_tx"):
        if value is None:
            raise form.unknown()
        given = [_constant(1), value]
    else:
        given = [value or _constant(1), _constant(0)]
    return _update(scope, form, target, operands[0], _change, given)


def _bytes(sign: int) -> Callable[[Scope, InstructionForm], Step]:
    """expect_tx and complete_tx: bytes are awaited, or have come."""

    def row(scope: Scope, form: InstructionForm) -> Step:
        one = form.instruction
        form.one_of(("relaxed",), "")
        form.one_of(SCOPES, "")
        read = scope.reader(one.operands[1], "u32", one)

        def signed(machine: Machine, active: Active) -> Array:
            return sign * read(machine, active).astype(np.int64)

        return _update(scope, form, None, one.operands[0], _change, [_constant(0), signed])

    return row


def _test(scope: Scope, form: InstructionForm) -> Step:
    """test_wait and try_wait: has the phase ended of a state, or of a parity?"""
    one = form.instruction
    form.one_of(("acquire", "relaxed"), "")
    form.one_of(SCOPES, "")
    parity = form.flag("parity")
    space = form.one_of(SPACES, "generic")
    form.type("b64")
    form.finish()
    write = scope.writer(one.operands[0], "pred", one)
    where = addresses(scope, one.operands[1], form)
    read = scope.reader(one.operands[2], "u32" if parity else "b64", one)

    def test(machine: Machine, active: Active) -> None:
        address = machine.spread(where(machine, active), active)
        asked = machine.spread(read(machine, active), active)
        try:
            memory, at = located(machine, active, space, address, 8)
            word = memory.fetch(at, WORD, 1)[:, 0]
        except AccessFault as fault:
            machine.refuse(fault, one, active)
        phase = asked.astype(np.uint64) << np.uint64(63) if parity else asked & PHASE
        write(machine, active, (word & PHASE) != phase)

    return test


KINDS: Mapping[str, Callable[[Scope, InstructionForm], Step]] = {
    "init": _initialise, "inval": _invalidate, "arrive": _arrive, "expect_tx": _bytes(1),
    "complete_tx": _bytes(-1), "test_wait": _test, "try_wait": _test,
}  # fmt: skip


def _barrier(scope: Scope, form: InstructionForm) -> Step:
    first = form.instruction.modifiers[0] if form.instruction.modifiers else ""
    if first not in KINDS:
        raise form.unknown()
    form.flag(first)
    return KINDS[first](scope, form)


STEPS: Mapping[str, Callable[[Scope, InstructionForm], Step]] = {"mbarrier": _barrier}
