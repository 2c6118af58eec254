"""atom and red: one thread after another, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from opweave.runtime.isa.floats import arithmetic, extremum
from opweave.runtime.isa.form import InstructionForm, Row
from opweave.runtime.isa.instruction import TYPES, Array, Instruction, storage
from opweave.runtime.isa.rounding import add
from opweave.runtime.ptx.accesses import ORDERS, SCOPES, SPACES, addresses, asked
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.machine import Active, Machine, Step
from opweave.runtime.ptx.memory import AccessFault, Memory

Update = Callable[..., Array]


def _one_more(old: Array, most: Array) -> Array:
    made: Array = np.where(old >= most, np.uint32(0), old + np.uint32(1))
    return made


def _one_less(old: Array, most: Array) -> Array:
    made: Array = np.where((old == 0) | (old > most), most, old - np.uint32(1))
    return made


def _swapped(old: Array, expected: Array, new: Array) -> Array:
    made: Array = np.where(old == expected, new, old)
    return made


PLAIN: Mapping[str, tuple[str, Update]] = {
    "add": ("u32 s32 u64 s64", np.add),
    "min": ("u32 s32 u64 s64", np.minimum),
    "max": ("u32 s32 u64 s64", np.maximum),
    "and": ("b32 b64", np.bitwise_and),
    "or": ("b32 b64", np.bitwise_or),
    "xor": ("b32 b64", np.bitwise_xor),
    "exch": ("b32 b64", lambda old, new: np.copy(new)),
    "inc": ("u32", _one_more),
    "dec": ("u32", _one_less),
    "cas": ("b16 b32 b64", _swapped),
}  # fmt: skip
FLOATS: Mapping[str, tuple[str, Row]] = {
    "add": ("f32 f64 f16 f16x2 bf16 bf16x2", arithmetic(add, 2, "rn")),
    "min": ("f16 f16x2 bf16 bf16x2", extremum(False)),
    "max": ("f16 f16x2 bf16 bf16x2", extremum(True)),
}


def _update(form: InstructionForm, name: str, kind: str, hints: tuple[str, ...] = ()) -> Update:
    types, function = PLAIN[name]
    if kind in types.split():
        return function
    if name in FLOATS and kind in FLOATS[name][0].split():
        made = Instruction(name, (*hints, kind), (), None, False, form.instruction.line, None)
        return FLOATS[name][1](InstructionForm(made)).compute
    raise form.unknown()


def _named(form: InstructionForm) -> tuple[str, str, str]:
    """Space, name and type of an atomic."""
    kind = form.type()
    form.one_of(ORDERS, "relaxed")
    form.one_of(SCOPES, "")
    space, name = form.one_of(SPACES, "generic"), form.one_of(PLAIN)
    form.drop(("noftz", "L2::"))
    form.finish()
    return space, name, kind


def _bound(scope: Scope, form: InstructionForm, gives: bool) -> Step:
    one = form.instruction
    space, name, kind = _named(form)
    near, dtype = _update(form, name, kind), TYPES[kind]
    # sums of f32 in global memory flush subnormal numbers, those in shared memory do not
    far = _update(form, name, kind, ("ftz",)) if (name, kind) == ("add", "f32") else near
    target, *rest = one.operands if gives else (None, *one.operands)
    write = scope.writer(target, kind, one) if gives else None
    where, size = addresses(scope, rest[0], form), dtype.itemsize
    readers = [scope.reader(o, kind, one) for o in rest[1:]]
    if len(readers) != (2 if name == "cas" else 1):
        raise form.unknown()

    def step(machine: Machine, active: Active) -> None:
        address = machine.spread(where(machine, active), active)
        values = [machine.spread(read(machine, active), active) for read in readers]
        machine.stores += 1
        try:
            memory, at = asked(machine, one, active, space, address, size, "atomic")
            update = near if memory is machine.shared.whole else far
            old = in_turns(memory, at, storage(kind), dtype, update, values)
        except AccessFault as fault:
            machine.refuse(fault, one, active)
        if write is not None:
            write(machine, active, old)

    return step


def in_turns(
    memory: Memory, address: Array, raw: np.dtype[np.generic], dtype: np.dtype[np.generic],
    update: Update, values: list[Array],
) -> Array:  # fmt: skip
    """Update memory for each thread in turn; returns what each of them found.

    Threads of different addresses take the same turn, so only those that share one wait.

    Raises:
        AccessFault: of a thread's address, which may not be read or written.
    """
    order = np.argsort(address, kind="stable")
    ordered = address[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    starts = np.flatnonzero(first)
    turn = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    found = np.empty(len(address), raw)
    for n in range(int(turn.max()) + 1):
        now = order[turn == n]
        try:
            old = memory.fetch(address[now], raw, 1)[:, 0]
            found[now] = old
            new = np.ascontiguousarray(update(old.view(dtype), *(v[now] for v in values)))
            memory.store(address[now], new.view(raw).reshape(-1, 1))
        except AccessFault as fault:
            raise fault.among(now) from None
    return found


STEPS: Mapping[str, Callable[[Scope, InstructionForm], Step]] = {
    "atom": lambda scope, form: _bound(scope, form, True),
    "red": lambda scope, form: _bound(scope, form, False),
}
