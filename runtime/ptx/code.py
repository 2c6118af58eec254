"""A kernel made ready to run: its instructions bound, in straight pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from opweave.opcodes.errors import PtxLaunchError
from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import (
    Function,
    Instruction,
    Name,
    PtxModule,
    ResultPair,
    storage,
)
from opweave.runtime.isa.parser import parse
from opweave.runtime.isa.table import operation_of
from opweave.runtime.ptx import (
    accesses,
    atomics,
    clusters,
    control,
    copies,
    matrices,
    mbarriers,
    warps,
)
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.layout import KernelLayout, laid_out
from opweave.runtime.ptx.machine import Active, End, Machine, Step, Straight
from opweave.runtime.ptx.registers import carried, moved

TOGETHER = {**warps.TOGETHER, **matrices.TOGETHER}
ENDS = ("bra", "ret", "exit", "trap", "call", "bar", "barrier", *TOGETHER)
STEPS = {
    **accesses.STEPS, **atomics.STEPS, **copies.STEPS, **mbarriers.STEPS, **clusters.STEPS,
}  # fmt: skip
# A loop around one of these waits for somebody else.
LOOKS = ("volatile", "acquire", "relaxed", "mmio", "try_wait", "test_wait")


@dataclass
class Code:
    """A kernel that can be launched.

    Attributes:
        straight: by the number of the first instruction.
        slots: the dtype of each register.
        approximate: opcodes whose results hardware gives less exactly.
        spins: some loop waits for memory, so all blocks have to run together.
    """

    name: str
    module: PtxModule
    layout: KernelLayout
    straight: dict[int, Straight] = field(default_factory=dict)
    slots: list[np.dtype[Any]] = field(default_factory=list)
    approximate: set[str] = field(default_factory=set)
    spins: bool = False


@lru_cache(maxsize=256)
def code_of(text: str, name: str) -> Code:
    """Bind a kernel of a PTX text.

    Raises:
        PtxSyntaxError: the text is no PTX.
        UnknownInstructionError: an instruction that is not executed.
        PtxLaunchError: the text has no such kernel.
    """
    module = parse(text)
    entry = module.functions.get(name)
    if entry is None or not entry.is_entry:
        found = ", ".join(f.name for f in module.functions.values() if f.is_entry)
        raise PtxLaunchError(f"the PTX has no kernel {name!r}: it has {found or 'none'}")
    return _Binding(module, entry).made


class _Binding:
    def __init__(self, module: PtxModule, entry: Function):
        self.layout = laid_out(module, entry)
        self.made = Code(entry.name, module, self.layout)
        self.made.slots = [storage(kind) for kind in self.layout.kinds]
        starts = {0}
        for placed in self.layout.functions.values():
            starts |= {placed.start, *placed.labels.values()}
            for n, one in enumerate(placed.function.code, placed.start):
                if is_end(one):
                    starts |= {n + 1}
        for placed in self.layout.functions.values():
            self._function(placed, sorted(starts))

    def _function(self, placed: Any, starts: list[int]) -> None:
        scope = placed.scope
        stop = placed.start + len(placed.function.code)
        own = [s for s in starts if placed.start <= s <= stop]
        for start, end in zip(own, [*own[1:], stop], strict=True):
            code = placed.function.code[start - placed.start : end - placed.start]
            if not code:
                self.made.straight[start] = Straight(start, (_RETURN,), (), self._returning(
                    placed, InstructionForm(_RETURN), start))  # fmt: skip
                continue
            ends = is_end(code[-1])
            steps = [self._step(scope, one) for one in (code[:-1] if ends else code)]
            last = self._end(placed, code[-1], end - 1) if ends else control.following(end)
            self.made.straight[start] = Straight(start, tuple(code), tuple(steps), last)

    def _returning(self, placed: Any, form: InstructionForm, at: int) -> End:
        if placed.function.is_entry:
            return control.leaving(placed.scope, form, at + 1)
        form.flag("uni")
        form.finish()
        slot = placed.returns

        def go(machine: Machine, threads: Any) -> None:
            back = np.broadcast_to(machine.registers[slot], (machine.count,))[threads]
            for target in np.unique(back).tolist():
                machine.go(int(target), threads[back == target])

        return control.divided(placed.scope, form, go, at + 1)

    def _end(self, placed: Any, one: Instruction, at: int) -> End:
        form, scope = InstructionForm(one), placed.scope
        if one.root == "bra":
            target = placed.labels[one.operands[0].text]
            spins = target <= at and self._looks(placed, target, at)
            self.made.spins |= spins
            return control.branch(scope, form, target, at + 1, spins)
        if one.root == "ret":
            return self._returning(placed, form, at)
        if one.root == "exit":
            return control.leaving(scope, form, at + 1)
        if one.root == "trap":
            return _trap(scope, form, at)
        if one.root == "call":
            return self._call(placed, form, at)
        if one.root == "barrier" and "cluster" in one.modifiers:
            return clusters.cluster_barrier(scope, form, at)
        if one.root in ("bar", "barrier") and "warp" not in one.modifiers:
            return control.barrier(scope, form, at)
        root = "bar.warp" if one.root == "bar" else one.root
        return control.meeting(scope, form, TOGETHER[root](scope, form), at)

    def _looks(self, placed: Any, first: int, last: int) -> bool:
        code = placed.function.code[first - placed.start : last - placed.start + 1]
        return any(
            one.root in ("atom", "nanosleep")
            or (one.root != "st" and set(LOOKS) & {*one.modifiers})
            for one in code
        )

    def _call(self, placed: Any, form: InstructionForm, at: int) -> End:
        form.flag("uni")
        form.finish()
        return self.layout.calling(placed, form, at)

    def _step(self, scope: Scope, one: Instruction) -> Step:
        form = InstructionForm(one)
        made = moved(scope, form) or carried(scope, form)
        if made is None and one.root in STEPS:
            made = STEPS[one.root](scope, form)
        if made is None:
            made = self._computed(scope, form)
        return made if one.predicate is None else _guarded(scope, one, made)

    def _computed(self, scope: Scope, form: InstructionForm) -> Step:
        one = form.instruction
        found = operation_of(form)
        if found is None:
            raise form.unknown()
        if found.approximate:
            self.made.approximate.add(one.opcode)
        target, *sources = one.operands
        if len(sources) != len(found.sources):
            raise form.unknown(f"{len(sources)} operands, expected {len(found.sources)}")
        readers = [scope.reader(s, k, one) for s, k in zip(sources, found.sources, strict=True)]
        targets = [target.first, target.second] if isinstance(target, ResultPair) else [target]
        widens = one.root == "cvt"
        kinds = found.results[: len(targets)]
        writers = [scope.writer(t, k, one, widens) for t, k in zip(targets, kinds, strict=True)]
        if len(found.results) == 1:
            return _single(readers, writers[0], found.compute)

        def compute(machine: Machine, active: Active) -> None:
            values = found.compute(*(read(machine, active) for read in readers))
            for write, value in zip(writers, values, strict=False):
                write(machine, active, value)

        return compute


def _single(readers: list[Any], write: Any, function: Callable[..., Any]) -> Step:
    if len(readers) == 2:
        first, second = readers
        return lambda m, a: write(m, a, function(first(m, a), second(m, a)))
    return lambda m, a: write(m, a, function(*[read(m, a) for read in readers]))


def _guarded(scope: Scope, one: Instruction, step: Step) -> Step:
    read, negated = scope.reader(Name(one.predicate or ""), "pred", one), one.negated

    def run(machine: Machine, active: Active) -> None:
        held = read(machine, active)
        held = ~held if negated else held
        if held.all():
            step(machine, active)
        elif held.any():
            step(machine, np.flatnonzero(held) if active is None else active[held])

    return run


def _trap(scope: Scope, form: InstructionForm, at: int) -> End:
    def go(machine: Machine, threads: Any) -> None:
        raise machine.error(PtxLaunchError, form.instruction, int(threads[0]), "has met a trap")

    form.finish()
    return control.divided(scope, form, go, at + 1)


def is_end(one: Instruction) -> bool:
    """Threads may part or wait there."""
    return one.root in ENDS


_RETURN = Instruction("ret", (), (), None, False, 0, None)
