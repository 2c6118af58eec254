"""Instructions that read and write memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import (
    TYPES,
    Address,
    Array,
    Instruction,
    Name,
    storage,
)
from opweave.runtime.ptx.binding import Scope
from opweave.runtime.ptx.machine import Active, Machine, Step
from opweave.runtime.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW, AccessFault, Memory

SPACES = ("global", "shared::cta", "shared::cluster", "shared", "local", "const", "param")
ORDERS = ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
SCOPES = ("cta", "cluster", "gpu", "sys")
# What a cache is to keep changes no value.
HINTS = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::", "L2::", "level::", "noftz")
CLUSTER_SHIFT = 24  # shared::cluster addresses: the block's rank + 1 above its own address
Where = tuple[Memory, Array]


def access_form(form: InstructionForm) -> tuple[str, str, int]:
    """Space, type and lanes of ld or st."""
    kind = form.type()
    lanes = int(form.one_of(("v2", "v4", "v8"), "v1")[1:])
    form.one_of(ORDERS, "weak")
    form.one_of(SCOPES, "")
    space = form.one_of(SPACES, "generic")
    form.flag("nc")
    form.flag("unified")
    form.drop(HINTS)
    form.finish()
    return space, kind, lanes


def addresses(
    scope: Scope, operand: Any, form: InstructionForm
) -> Callable[[Machine, Active], Array]:
    """A function that gives the addresses of an operand such as ``[%rd1+16]``."""
    if not isinstance(operand, Address):
        raise form.unknown("expected an address")
    base = scope.reader(operand.base, "s64", form.instruction)
    if isinstance(operand.base, Name):
        kind = scope.kinds.get(operand.base.text, "s64")
        if TYPES[kind].itemsize == 4:  # addresses of shared memory fit 32 bits
            base = scope.reader(operand.base, "u32", form.instruction)
    offset = operand.offset

    def read(machine: Machine, active: Active) -> Array:
        found = base(machine, active)
        found = found if found.dtype == np.int64 else found.astype(np.int64)
        return found + offset if offset else found

    return read


def resolved(space: str, address: Array) -> tuple[str, Array]:
    """The space of generic addresses, and the addresses in it; others as they are.

    Raises:
        AccessFault: they are of several spaces.
    """
    if space != "generic" or address.max() < SHARED_WINDOW:
        return "global" if space == "generic" else space, address
    if (address >= LOCAL_WINDOW).all():
        return "local", address - LOCAL_WINDOW
    if ((address >= SHARED_WINDOW) & (address < LOCAL_WINDOW)).all():
        return "shared", address - SHARED_WINDOW
    raise AccessFault("one instruction on addresses of several spaces")


def located(machine: Machine, active: Active, space: str, address: Array, size: int) -> Where:
    """The memory of a space, and addresses in it.

    Raises:
        AccessFault: out of bounds or not aligned.
    """
    space, address = resolved(space, address)
    if space in ("global", "const"):
        return machine.memory, address
    if space in ("local", "param"):
        own = machine.everyone if active is None else active
        return machine.local.whole, machine.local.at(own, address, size)
    owner = machine.owners(active)
    if space != "shared::cta" and int(address.max()) >> CLUSTER_SHIFT:
        owner, address = in_cluster(machine, owner, address)
    return machine.shared.whole, machine.shared.at(owner, address, size)


def asked(
    machine: Machine, one: Instruction, active: Active, space: str, address: Array, size: int,
    kind: str,
) -> Where:  # fmt: skip
    """Count an access, generic ones where they lie; then as ``located``."""
    space, address = resolved(space, address)
    if machine.recorder is not None:
        machine.recorder.accessed(machine, one, active, space, address, size, kind)
    return located(machine, active, space, address, size)


def in_cluster(machine: Machine, owner: Array, address: Array) -> tuple[Array, Array]:
    """The block that an address of shared::cluster names, and the address in it."""
    size = int(np.prod(machine.shape.cluster))
    rank = address >> CLUSTER_SHIFT
    if int(rank.max()) > size:
        raise AccessFault("shared memory of a block that the cluster has not",
                          int(np.argmax(rank)))  # fmt: skip
    theirs = owner // size * size + rank - 1
    return np.where(rank > 0, theirs, owner), address & ((1 << CLUSTER_SHIFT) - 1)


def _load(scope: Scope, form: InstructionForm) -> Step:
    one = form.instruction
    space, kind, lanes = access_form(form)
    target, source = one.operands
    writers = [scope.writer(part, kind, one, widens=True) for part in scope.vector(target)]
    if len(writers) != lanes:
        raise form.unknown()
    if space == "param" and isinstance(source.base, Name) and source.base.text not in scope.places:
        return _parameter(scope, form, kind, writers)
    where, dtype = addresses(scope, source, form), storage(kind)
    size = dtype.itemsize * lanes
    space = "generic" if space == "param" and source.base.text in scope.slots else space
    own = space not in ("global", "const", "generic")

    def load(machine: Machine, active: Active) -> None:
        address = where(machine, active)
        if own:
            address = machine.spread(address, active)
        try:
            memory, at = asked(machine, one, active, space, address, size, "load")
            found = memory.fetch(at, dtype, lanes)
        except AccessFault as fault:
            machine.refuse(fault, one, active)
        for n, write in enumerate(writers):
            write(machine, active, found[:, n].copy())

    return load


def _parameter(scope: Scope, form: InstructionForm, kind: str, writers: list[Any]) -> Step:
    """A parameter of the kernel: the same for all threads."""
    source, dtype = form.instruction.operands[1], storage(kind)
    offset = scope.parameters[source.base.text] + source.offset

    def load(machine: Machine, active: Active) -> None:
        for n, write in enumerate(writers):
            write(machine, active, np.frombuffer(machine.params, dtype, 1,
                                                 offset + n * dtype.itemsize).copy())  # fmt: skip

    return load


def _store(scope: Scope, form: InstructionForm) -> Step:
    one = form.instruction
    space, kind, lanes = access_form(form)
    target, source = one.operands
    readers = [scope.reader(part, kind, one) for part in scope.vector(source)]
    if len(readers) != lanes:
        raise form.unknown()
    where, dtype = addresses(scope, target, form), storage(kind)
    size = dtype.itemsize * lanes

    def store(machine: Machine, active: Active) -> None:
        address = machine.spread(where(machine, active), active)
        values = np.empty((len(address), lanes), dtype)
        for n, read in enumerate(readers):
            values[:, n] = read(machine, active).view(dtype)
        machine.stores += 1
        try:
            memory, at = asked(machine, one, active, space, address, size, "store")
            memory.store(at, values)
        except AccessFault as fault:
            machine.refuse(fault, one, active)

    return store


def _convert_address(scope: Scope, form: InstructionForm) -> Step:
    """cvta: between a space's own addresses and generic ones."""
    one = form.instruction
    kind = form.type("u32 u64")
    to = form.flag("to")
    space = form.one_of(("global", "const", "param", *WINDOWS))
    form.finish()
    window = WINDOWS.get(space, 0) * (-1 if to else 1)
    read, write = (
        scope.reader(one.operands[1], kind, one),
        scope.writer(one.operands[0], kind, one),
    )
    by = TYPES[kind].type(window % (1 << 64)) if kind == "u64" else np.uint32(0)
    if kind == "u32" and window:
        raise form.unknown("generic addresses have 64 bits")
    return lambda machine, active: write(machine, active, read(machine, active) + by)


def _is_space(scope: Scope, form: InstructionForm) -> Step:
    one = form.instruction
    space = form.one_of(("global", *WINDOWS))
    form.finish()
    write = scope.writer(one.operands[0], "pred", one)
    read = scope.reader(one.operands[1], "s64", one)
    low, high = {"global": (0, SHARED_WINDOW), "local": (LOCAL_WINDOW, 1 << 62)}.get(
        space, (SHARED_WINDOW, LOCAL_WINDOW)
    )

    def ask(machine: Machine, active: Active) -> None:
        address = read(machine, active)
        write(machine, active, (address >= low) & (address < high))

    return ask


def _nothing(scope: Scope, form: InstructionForm) -> Step:
    """Fences and hints: memory here is in order at each instruction."""
    return lambda machine, active: None


WINDOWS = {"shared::cta": SHARED_WINDOW, "shared::cluster": SHARED_WINDOW,
           "shared": SHARED_WINDOW, "local": LOCAL_WINDOW}  # fmt: skip
STEPS: Mapping[str, Callable[[Scope, InstructionForm], Step]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "cvta": _convert_address,
    "isspacep": _is_space,
    "membar": _nothing,
    "fence": _nothing,
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "applypriority": _nothing,
    "nanosleep": _nothing,
    "pmevent": _nothing,
}
