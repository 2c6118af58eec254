"""Clusters: addresses in the shared memory of another block, and barriers of all its blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import TYPES, Array, Name
from opweave.runtime.ptx.accesses import CLUSTER_SHIFT
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.control import divided
from opweave.runtime.ptx.machine import Active, End, Machine, Step
from opweave.runtime.ptx.memory import SHARED_WINDOW

_RANK = Name("%cluster_ctarank")


def _map(scope: Scope, form: InstructionForm) -> Step:
    """mapa: the same place in the shared memory of the block of a rank."""
    one = form.instruction
    kind = form.type("u32 u64")
    is_shared = form.flag("shared::cluster")
    form.finish()
    if not is_shared and kind == "u32":
        raise form.unknown("generic addresses have 64 bits")
    write = scope.writer(one.operands[0], kind, one)
    read, rank = (
        scope.reader(one.operands[1], kind, one),
        scope.reader(one.operands[2], "u32", one),
    )
    dtype = TYPES[kind]

    def place(machine: Machine, active: Active) -> None:
        address = read(machine, active)
        block = rank(machine, active).astype(np.int64) + 1
        low = address & dtype.type((1 << CLUSTER_SHIFT) - 1)
        base = dtype.type(0 if is_shared else SHARED_WINDOW)
        write(machine, active, base + low + (block << CLUSTER_SHIFT).astype(dtype))

    return place


def _rank(scope: Scope, form: InstructionForm) -> Step:
    """getctarank: whose shared memory an address lies in."""
    one = form.instruction
    kind = form.type("u32 u64")
    form.flag("shared::cluster")
    form.finish()
    write, read = (
        scope.writer(one.operands[0], "u32", one),
        scope.reader(one.operands[1], kind, one),
    )
    own = scope.reader(_RANK, "u32", one)

    def ask(machine: Machine, active: Active) -> None:
        address = read(machine, active).astype(np.int64) & (SHARED_WINDOW - 1)
        rank = address >> CLUSTER_SHIFT
        found = np.where(rank > 0, rank - 1, own(machine, active))
        write(machine, active, found.astype(np.uint32))

    return ask


def cluster_barrier(scope: Scope, form: InstructionForm, at: int) -> End:
    """barrier.cluster.arrive and .wait."""
    one = form.instruction
    form.flag("cluster")
    waits = form.one_of(("arrive", "wait")) == "wait"
    form.one_of(("acquire",) if waits else ("release", "relaxed"), "")
    form.flag("aligned")
    form.finish()

    def go(machine: Machine, threads: Array) -> None:
        if waits:
            machine.waiting.clusters.wait(at + 1, one, threads)
            return
        machine.go(at + 1, threads)
        machine.waiting.clusters.arrive(one, threads)

    return divided(scope, form, go, at + 1)


STEPS: Mapping[str, Callable[[Scope, InstructionForm], Step]] = {
    "mapa": _map, "getctarank": _rank,
}  # fmt: skip
