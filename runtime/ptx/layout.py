"""Where the functions, registers and variables of a kernel lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opweave.opcodes.errors import UnknownInstructionError
from opweave.runtime.isa.form import InstructionForm
from opweave.runtime.isa.instruction import Array, Function, Name, PtxModule, PtxVariable, Vector
from opweave.runtime.ptx.binding import Scope, put
from opweave.runtime.ptx.control import divided
from opweave.runtime.ptx.machine import End, Machine
from opweave.runtime.ptx.registers import CARRY
from opweave.runtime.ptx.warps import active_of


@dataclass
class PlacedFunction:
    """A function with the number of its first instruction.

    Attributes:
        labels: numbers of instructions.
        returns: the register that has the instruction behind the call.
    """

    function: Function
    start: int
    labels: dict[str, int]
    scope: Scope
    returns: int


@dataclass
class KernelLayout:
    """All that a kernel needs room for.

    Attributes:
        kinds: PTX types of the registers.
        shared, local: bytes of a block and of a thread; dynamic shared memory lies behind.
        parameters: where each parameter of the kernel lies.
        params_size: bytes of them.
    """

    functions: dict[str, PlacedFunction] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    shared: int = 0
    local: int = 0
    parameters: dict[str, int] = field(default_factory=dict)
    params_size: int = 0
    module: PtxModule = field(default_factory=PtxModule)

    def calling(self, placed: PlacedFunction, form: InstructionForm, at: int) -> End:
        """A call: its arguments go to the function's parameters; its result has one place.

        Raises:
            UnknownInstructionError: of a function that the text does not have.
        """
        _, name, given = _called(form)
        callee = self.functions.get(name)
        if callee is None:
            raise form.unknown(f"there is no function {name} in the PTX")
        copies = [
            (placed.scope.places[a.text], callee.scope.places[p.name], p.size)
            for a, p in zip(given, callee.function.params, strict=True)
        ]
        target, slot = callee.start, callee.returns

        def go(machine: Machine, threads: Array) -> None:
            _copy(machine, threads, copies)
            put(machine, slot, active_of(machine, threads), np.array([at + 1], np.uint64))
            machine.go(target, threads)

        return divided(placed.scope, form, go, at + 1)


def _called(form: InstructionForm) -> tuple[list[Name], str, list[Name]]:
    operands = list(form.instruction.operands)
    results: list[Any] = []
    if isinstance(operands[0], Vector):
        results = list(operands.pop(0).parts)
    name = operands.pop(0)
    given = list(operands.pop(0).parts) if operands else []
    if (
        operands
        or not isinstance(name, Name)
        or not all(isinstance(o, Name) for o in (*results, *given))
    ):
        raise form.unknown("a call through a register")
    return results, name.text, given


def _copy(machine: Machine, threads: Array, copies: list[tuple[int, int, int]]) -> None:
    local = machine.local
    region = local.whole.regions[0]
    assert region.written is not None
    for source, target, size in copies:
        for base in (region.data, region.written):
            rows = base.reshape(-1, local.stride)
            rows[threads, target : target + size] = rows[threads, source : source + size]


def called_from(module: PtxModule, entry: Function) -> Iterator[Function]:
    """The kernel and all functions that it may call, each once.

    Raises:
        UnknownInstructionError: a function that calls itself.
    """
    found: dict[str, Function] = {entry.name: entry}
    path: list[tuple[Function, tuple[str, ...]]] = [(entry, (entry.name,))]
    while path:
        function, above = path.pop()
        for one in function.code:
            if one.root != "call":
                continue
            name = _called(InstructionForm(one))[1]
            if name in above:
                raise UnknownInstructionError(
                    f"PTX line {one.line}: {one.opcode}: {name} calls itself; recursion is not "
                    "executed"
                )
            if name in module.functions:
                found.setdefault(name, module.functions[name])
                path.append((module.functions[name], (*above, name)))
    yield from found.values()


def laid_out(module: PtxModule, entry: Function) -> KernelLayout:
    """Room for a kernel's registers and variables, and numbers for its instructions."""
    made, start = KernelLayout(module=module), 0
    for v in entry.params:
        made.params_size = _up(made.params_size, v.align)
        made.parameters[v.name] = made.params_size
        made.params_size += v.size
    functions = list(called_from(module, entry))
    shared = _shared(made, module, functions)
    for function in functions:
        registers = {**function.registers, CARRY: "pred"}
        slots = {name: len(made.kinds) + n for n, name in enumerate(registers)}
        made.kinds += registers.values()
        returns = len(made.kinds)
        made.kinds.append("u64")
        places = shared | _locals(made, function)
        spaces = {v.name: v.space for v in module.variables} | {
            v.name: "param" for v in entry.params
        }
        scope = Scope(slots, function.registers, places, spaces, made.parameters)
        labels = {name: start + n for name, n in function.labels.items()}
        made.functions[function.name] = PlacedFunction(function, start, labels, scope, returns)
        start += len(function.code) + 1
    _join_results(made)
    return made


def _join_results(made: KernelLayout) -> None:
    """The variable that takes a call's result is the one that the function writes."""
    for placed in made.functions.values():
        for one in placed.function.code:
            if one.root == "call":
                results, name, _ = _called(InstructionForm(one))
                callee = made.functions.get(name)
                for mine, theirs in zip(results, callee.function.results if callee else (),
                                        strict=False):  # fmt: skip
                    assert callee is not None
                    placed.scope.places[mine.text] = callee.scope.places[theirs.name]


def _shared(made: KernelLayout, module: PtxModule, functions: list[Function]) -> dict[str, int]:
    places: dict[str, int] = {}
    every: list[PtxVariable] = [*module.variables]
    for function in functions:
        every += function.variables
    for v in (v for v in every if v.space == "shared" and v.size):
        made.shared = _up(made.shared, v.align)
        places[v.name] = made.shared
        made.shared += v.size
    dynamic = [v for v in every if v.space == "shared" and not v.size]
    made.shared = _up(made.shared, max((v.align for v in dynamic), default=1))
    return places | {v.name: made.shared for v in dynamic}


def _locals(made: KernelLayout, function: Function) -> dict[str, int]:
    own = [v for v in function.variables if v.space in ("local", "param")]
    places = {}
    for v in own + ([] if function.is_entry else [*function.params, *function.results]):
        made.local = _up(made.local, max(v.align, 8))
        places[v.name] = made.local
        made.local += v.size
    return places


def _up(size: int, align: int) -> int:
    return -(-size // align) * align
