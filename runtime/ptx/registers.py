"""What takes more than one register: mov of vectors, and sums with a carry."""

from __future__ import annotations

import numpy as np

from opweave.runtime.isa.form import InstructionForm, size_of
from opweave.runtime.isa.instruction import Array, Vector
from opweave.runtime.isa.integers import product_of
from opweave.runtime.ptx.binding import Scope, put
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


CARRY = "%carry@"  # the condition code, a register that no text can name
# Roots with the condition code: what they add to, and whether they read the carry.
CARRIED = {"add": False, "sub": False, "mad": False, "addc": True, "subc": True, "madc": True}


def carried(scope: Scope, form: InstructionForm) -> Step | None:
    """The step of a sum that reads or sets the carry; None of any other instruction."""
    one = form.instruction
    takes, gives = CARRIED.get(one.root), "cc" in one.modifiers
    if takes is None or not (takes or gives):
        return None
    kind = form.type("u32 s32 u64 s64")
    form.flag("cc")
    half = form.one_of(("lo", "hi")) if one.root.startswith("mad") else ""
    form.finish()
    raw = f"b{size_of(kind)}"
    readers = [scope.reader(o, kind, one) for o in one.operands[1:]]
    if len(readers) != (3 if half else 2):
        raise form.unknown()
    write = scope.writer(one.operands[0], raw, one)
    product = product_of(kind, half) if half else None
    slot, is_difference = scope.slots[CARRY], one.root.startswith("sub")

    def step(machine: Machine, active: Active) -> None:
        terms = [read(machine, active) for read in readers]
        if product is not None:
            terms = [product(terms[0], terms[1]), terms[2]]
        a, b = (t.view(f"u{t.itemsize}") for t in terms)
        carry = _carry(machine, slot, active).astype(a.dtype) if takes else a.dtype.type(0)
        made, out = _sum(a, b, carry, is_difference)
        write(machine, active, made)
        if gives:
            put(machine, slot, active, out)

    return step


def _carry(machine: Machine, slot: int, active: Active) -> Array:
    held = machine.registers[slot]
    return held if active is None or len(held) == 1 else held[active]


def _sum(a: Array, b: Array, carry: Array, is_difference: bool) -> tuple[Array, Array]:
    """Sum or difference of unsigned integers, and the carry or borrow out of it."""
    if is_difference:
        return a - b - carry, (a < b) | ((a == b) & (carry != 0))
    first = a + b
    made = first + carry
    return made, (first < a) | (made < first)
