"""mov between a register and the parts of a vector."""

from __future__ import annotations

import numpy as np

from opweave.runtime.isa.form import InstructionForm, size_of
from opweave.runtime.isa.instruction import Vector
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.machine import Active, Machine, Step


def moved(scope: Scope, form: InstructionForm) -> Step | None:
    """The step of a mov with a vector; None of any other instruction."""
    one = form.instruction
    if one.root != "mov" or not any(isinstance(o, Vector) for o in one.operands):
        return None
    kind = form.type("b16 b32 b64 u32 u64 s32 s64 f32 f64")
    form.finish()
    target, _source = one.operands
    return (_unpacked if isinstance(target, Vector) else _packed)(scope, form, kind)


def _part(form: InstructionForm, kind: str, parts: Vector) -> str:
    bits = size_of(kind) // len(parts.parts)
    if len(parts.parts) not in (2, 4) or bits < 8:
        raise form.unknown()
    return f"b{bits}"


def _unpacked(scope: Scope, form: InstructionForm, kind: str) -> Step:
    one = form.instruction
    target, source = one.operands
    part = _part(form, kind, target)
    read = scope.reader(source, f"b{size_of(kind)}", one)
    writers = [scope.writer(t, part, one) for t in target.parts]

    def step(machine: Machine, active: Active) -> None:
        words = np.ascontiguousarray(read(machine, active))
        words = words.view(f"u{size_of(part) // 8}").reshape(-1, len(writers))
        for n, write in enumerate(writers):
            write(machine, active, words[:, n].copy())

    return step


def _packed(scope: Scope, form: InstructionForm, kind: str) -> Step:
    one = form.instruction
    target, source = one.operands
    part = _part(form, kind, source)
    readers = [scope.reader(s, part, one) for s in source.parts]
    write = scope.writer(target, f"b{size_of(kind)}", one)

    def step(machine: Machine, active: Active) -> None:
        values = [read(machine, active) for read in readers]
        made = np.empty((max(map(len, values)), len(values)), values[0].dtype)
        for n, value in enumerate(values):
            made[:, n] = value
        write(machine, active, made.view(f"u{size_of(kind) // 8}")[:, 0].copy())

    return step
