"""Instructions that say where threads go on: branches, calls, ends, barriers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import Array, Instruction, Name
from opweave.runtime.ptx.binding import Reader, Scope, Writer
from opweave.runtime.ptx.machine import End, Machine
from opweave.runtime.ptx.waiting import Barrier, Meeting
from opweave.runtime.ptx.warps import Made, active_of


def divided(scope: Scope, form: InstructionForm, threads_go: Callable[[Machine, Array], None],
            following: int) -> End:  # fmt: skip
    """Threads whose guard holds do this, the others go on behind it."""
    one = form.instruction
    if one.predicate is None:
        return threads_go
    read, negated = scope.reader(Name(one.predicate), "pred", one), one.negated

    def end(machine: Machine, threads: Array) -> None:
        held = read(machine, active_of(machine, threads))
        held = ~held if negated else held
        if held.all():
            threads_go(machine, threads)
        elif not held.any():
            machine.go(following, threads)
        else:
            held = np.broadcast_to(held, threads.shape)
            threads_go(machine, threads[held])
            machine.go(following, threads[~held])

    return end


def branch(scope: Scope, form: InstructionForm, target: int, following: int, spins: bool) -> End:
    """bra; one that ``spins`` goes back to look at memory again, and yields."""
    form.flag("uni")
    form.finish()
    one = form.instruction

    def go(machine: Machine, threads: Array) -> None:
        if spins:
            machine.waiting.spin(target, one, threads)
        else:
            machine.go(target, threads)

    return divided(scope, form, go, following)


def leaving(scope: Scope, form: InstructionForm, following: int) -> End:
    """exit, and ret of a kernel."""
    form.flag("uni")
    form.finish()
    return divided(scope, form, lambda machine, threads: machine.leave(threads), following)


def meeting(scope: Scope, form: InstructionForm, made: Made, at: int) -> End:
    """An instruction that the lanes of a mask run together."""
    mask, together = made
    one = form.instruction

    def then(machine: Machine, threads: Array) -> None:
        together(machine, threads)
        machine.go(at + 1, threads)

    def go(machine: Machine, threads: Array) -> None:
        if mask is None:
            then(machine, threads)
            return
        active = active_of(machine, threads)
        masks = np.broadcast_to(mask(machine, active), threads.shape)
        for value in np.unique(masks).tolist():  # lanes with other masks meet apart
            machine.waiting.meet(at, Meeting(one, threads[masks == value], value, then))

    return divided(scope, form, go, at + 1)


@dataclass(frozen=True)
class _BarrierForm:
    """How threads come to a barrier.

    Attributes:
        number, wanted: readers of its number, and of the threads that it waits for.
        predicate: what is reduced, by ``reduction``; ``write`` takes the result.
    """

    one: Instruction
    waits: bool
    number: Reader
    wanted: Reader | None
    reduction: str
    predicate: Reader | None
    write: Writer | None

    def come(self, machine: Machine, threads: Array, then: Any) -> None:
        """Threads come; those that wait go on with ``then``."""
        active = active_of(machine, threads)
        numbers = np.broadcast_to(self.number(machine, active), threads.shape)
        needed = np.zeros(len(threads), np.int64)
        if self.wanted is not None:
            needed = needed + self.wanted(machine, active)
        values = None
        if self.predicate is not None:
            values = machine.spread(self.predicate(machine, active), active)
        for n in np.unique(numbers).tolist():
            own = numbers == n
            held = None if values is None else values[own]
            party = Barrier(self.one, threads[own], needed[own], self.waits, held, then)
            machine.waiting.arrive(n, party)

    def reduced(self, machine: Machine, threads: Array, found: Any) -> None:
        """Give threads what the predicates of their block come to."""
        if self.write is None:
            return
        true, every, scopes = found
        true, every = true[scopes[threads]], every[scopes[threads]]
        made = {"popc": true.astype(np.uint32), "and": true == every, "or": true > 0}
        self.write(machine, active_of(machine, threads), made[self.reduction])


def _barrier_form(scope: Scope, form: InstructionForm) -> _BarrierForm:
    one = form.instruction
    form.one_of(("cta",), "")
    how = form.one_of(("sync", "arrive", "red"))
    form.flag("aligned")
    reduction = form.one_of(("popc", "and", "or"), "") if how == "red" else ""
    kind = form.type("u32" if reduction == "popc" else "pred") if reduction else ""
    form.finish()
    operands = list(one.operands)
    write = scope.writer(operands.pop(0), kind, one) if reduction else None
    predicate = scope.reader(operands.pop(), "pred", one) if reduction else None
    number = scope.reader(operands[0], "u32", one)
    wanted = scope.reader(operands[1], "u32", one) if len(operands) > 1 else None
    return _BarrierForm(one, how != "arrive", number, wanted, reduction, predicate, write)


def barrier(scope: Scope, form: InstructionForm, at: int) -> End:
    """bar.sync, bar.arrive, bar.red; barrier.* alike."""
    bound = _barrier_form(scope, form)

    def then(machine: Machine, threads: Array, found: Any) -> None:
        bound.reduced(machine, threads, found)
        machine.go(at + 1, threads)

    def go(machine: Machine, threads: Array) -> None:
        if machine.recorder is not None:
            machine.recorder.barrier(machine, form.instruction, threads)
        if not bound.waits:
            machine.go(at + 1, threads)
        bound.come(machine, threads, then)

    return divided(scope, form, go, at + 1)


def following(at: int) -> End:
    """The next instruction begins another straight piece."""
    return lambda machine, threads: machine.go(at, threads)
