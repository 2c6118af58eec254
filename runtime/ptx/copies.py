"""cp.async: bytes come into shared memory when somebody has waited for them, and not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import Array, Immediate
from opweave.runtime.ptx.accesses import addresses, asked
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.machine import Active, Machine, Step
from opweave.runtime.ptx.memory import AccessFault, check_aligned


@dataclass
class Copy:
    """Copies that are under way, one for each thread.

    Attributes:
        at: addresses in the shared memory of all blocks.
        words: what comes there, [n, words].
        group: the group of each thread's copy.
    """

    threads: Array
    at: Array
    words: Array
    group: Array


def _sizes(form: InstructionForm) -> tuple[str, int]:
    """Where a copy goes, and its bytes."""
    one = form.instruction
    cache = form.one_of(("ca", "cg"))
    space = form.one_of(("shared", "shared::cta"))
    form.one_of(("global",))
    form.drop(("L2::",))
    form.finish()
    size = one.operands[2]
    if not isinstance(size, Immediate) or size.bits not in (
        (16,) if cache == "cg" else (4, 8, 16)
    ):
        raise form.unknown("copies have 4, 8 or 16 bytes, .cg 16")
    if len(one.operands) > 4:
        raise form.unknown()
    return space, size.bits


def _copy(scope: Scope, form: InstructionForm) -> Step:
    one, (space, count) = form.instruction, _sizes(form)
    target, source, _, *given = one.operands
    into, out = addresses(scope, target, form), addresses(scope, source, form)
    valid = scope.reader(given[0], "u32", one) if given else None

    def copy(machine: Machine, active: Active) -> None:
        address = machine.spread(out(machine, active), active)
        place = machine.spread(into(machine, active), active)
        wanted = None if valid is None else machine.spread(valid(machine, active), active)
        if machine.recorder is not None:
            machine.recorder.accessed(machine, one, active, "global", address, count, "load")
        try:
            words = _fetched(machine, address, wanted, count)
            _, at = asked(machine, one, active, space, place, count, "store")
        except AccessFault as fault:
            machine.refuse(fault, one, active)
        _begin(machine, active, at, words)

    return copy


def _fetched(machine: Machine, address: Array, wanted: Array | None, count: int) -> Array:
    """The bytes of each source; behind the first so many they are zero."""
    word = np.dtype("u4")
    if wanted is None or bool((wanted >= count).all()):
        return machine.memory.fetch(address, word, count // 4)
    check_aligned(address, count)
    made = np.zeros((len(address), count), np.uint8)
    for n in range(count):
        some = np.flatnonzero(wanted > n)
        if len(some):
            try:
                found = machine.memory.fetch(address[some] + n, np.dtype("u1"), 1)
            except AccessFault as fault:
                raise fault.among(some) from None
            made[some, n] = found[:, 0]
    return made.view(word)


def _begin(machine: Machine, active: Active, at: Array, words: Array) -> None:
    """Until the copy has come nobody may read where it goes."""
    region = machine.shared.whole.regions[0]
    _, written, _ = region.rows(words.dtype, words.shape[1])
    assert written is not None
    written[at // (4 * words.shape[1])] = 0
    threads = machine.everyone if active is None else active
    machine.copies.append(Copy(threads, at, words, machine.groups[threads].copy()))


def finish(machine: Machine, threads: Array, left: Array) -> None:
    """End those copies of threads whose group is older than the youngest so many groups."""
    last = np.full(machine.count, np.iinfo(np.int64).min)
    last[threads] = machine.groups[threads] - left
    kept = []
    for copy in machine.copies:
        done = copy.group < last[copy.threads]
        if done.any():
            machine.shared.whole.store(copy.at[done], copy.words[done])
            machine.stores += 1
        if not done.all():
            stay = ~done
            kept.append(Copy(copy.threads[stay], copy.at[stay], copy.words[stay],
                             copy.group[stay]))  # fmt: skip
    machine.copies = kept


def _commit(scope: Scope, form: InstructionForm) -> Step:
    form.finish()

    def commit(machine: Machine, active: Active) -> None:
        machine.groups[machine.everyone if active is None else active] += 1

    return commit


def _wait(scope: Scope, form: InstructionForm) -> Step:
    """wait_group n: all but the youngest n groups have come."""
    form.finish()
    read = scope.reader(form.instruction.operands[0], "u32", form.instruction)

    def wait(machine: Machine, active: Active) -> None:
        threads = machine.everyone if active is None else active
        finish(machine, threads, read(machine, active).astype(np.int64))

    return wait


def _wait_all(scope: Scope, form: InstructionForm) -> Step:
    form.finish()

    def wait(machine: Machine, active: Active) -> None:
        threads = machine.everyone if active is None else active
        machine.groups[threads] += 1
        finish(machine, threads, np.zeros(1, np.int64))

    return wait


KINDS: Mapping[str, Callable[[Scope, InstructionForm], Step]] = {
    "commit_group": _commit, "wait_group": _wait, "wait_all": _wait_all,
}  # fmt: skip


def _asynchronous(scope: Scope, form: InstructionForm) -> Step:
    if not form.flag("async"):
        raise form.unknown()
    kind = form.one_of(KINDS, "")
    return KINDS[kind](scope, form) if kind else _copy(scope, form)


STEPS: Mapping[str, Callable[[Scope, InstructionForm], Step]] = {"cp": _asynchronous}
