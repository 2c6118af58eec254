"""What a program launches, as a file of CUDA C or of Python has it: memory, numbers, kernels.

It follows from the same call plan that is saved (recording.py), for the extents of the program.
All temporaries, workspaces and the word for faults lie in one arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opweave._saved.given import GivenArguments, signature_data
from opweave._saved.launches import (
    ARENA,
    Exported,
    ExportedArgument,
    KernelLaunch,
    LaunchSlot,
    MemoryPlace,
)
from opweave._saved.plain import of_data, of_structure
from opweave._saved.recording import Recorded
from opweave._saved.saving import Saveable, given_of, recorded_of
from opweave._saved.taken import (
    arguments_of,
    check_bytes,
    check_numbers,
    fresh,
    name_of,
    own_names,
    with_known,
)
from opweave.compiler.captures.structure import Changing
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.values import Scalar, Value
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.specialise import Variant
from opweave.compiler.scheduling.memory import ALIGNMENT
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import SavedError
from opweave.runtime.calls.plan import CallPlan
from opweave.runtime.calls.steps import Step


def exported(program: Saveable) -> Exported:
    """A program as a list of launches.

    Raises:
        SavedError: it is for the host, or does what such a list cannot; names it.
    """
    if program.target == "host":
        raise SavedError('expected a program for a GPU, such as target="sm_90a", found "host"')
    given, variant = given_of(program), program.found.variant
    frozen = signature_data(given, variant)[0]["frozen"]  # refuses what cannot be saved
    if isinstance(variant.trace.structure, Changing):
        of_structure(variant.trace.structure, given.name)  # refuses it, too
    recorded, constants = recorded_of(program, compiles=False, joins=True)
    scalars = [*variant.trace.graph.scalars]
    renamed = own_names([*(each.name for each in variant.graph.inputs), *scalars])
    known = {name: Expr("argument", (renamed.get(name, name),)) for name in scalars}
    known |= {name: literal(of_data(value)) for name, value in frozen.items()}
    return _Listing(given, variant, recorded, constants, known, renamed).exported(program)


class _Listing:
    """Gives names to the arrays of a plan."""

    def __init__(
        self, given: GivenArguments, variant: Variant, recorded: Recorded,
        constants: Sequence[Any], known: Mapping[str, Expr], renamed: Mapping[str, str],
    ):  # fmt: skip
        """``known``: numbers by their names in the function, ``renamed``: names in the file."""
        self.name, self.recorded, self.known = given.name, recorded, known
        self.launcher = name_of(recorded.lowered.graph.name)
        self.plan: CallPlan = recorded.prepared.plan
        self.graph = recorded.lowered.graph
        check_numbers(variant, given.name)
        names = iter(variant.trace.graph.scalars)
        inputs = iter(variant.graph.inputs)
        writes = {write.place for write in self.graph.written}
        self.arguments = [*arguments_of(given, inputs, names, writes, renamed)]
        check_bytes(given.name, constants)
        arrays = [a.name for a in self.arguments if a.dtype is not None]
        self.taken = {a.name for a in self.arguments}
        self.constants = {
            fresh(f"{self.launcher}_constant_{n}", self.taken): np.ascontiguousarray(array)
            for n, array in enumerate(constants)
        }
        self.arena = self.plan.memory.nbytes
        self.places = [MemoryPlace(name) for name in (*arrays, *self.constants)]
        self.results: list[ExportedArgument] = []
        self.copies: list[tuple[MemoryPlace, MemoryPlace, int]] = []
        self.cleared: list[tuple[MemoryPlace, int]] = []
        self._place_results()

    def _in_arena(self, nbytes: int) -> MemoryPlace:
        place = MemoryPlace(ARENA, self.arena)
        self.arena += max(1, -(-nbytes // ALIGNMENT)) * ALIGNMENT
        return place

    def _place_results(self) -> None:
        """Results get names; what is only copied to an argument lies in the arena."""
        plan, prepared = self.plan, self.recorded.prepared
        order, straight = self._returned(), dict(plan.straight)
        where: dict[int, MemoryPlace] = {}
        for value, _ in plan.makes:
            if value in order:
                several = f"{order.index(value)}" if len(order) > 1 else ""
                where[value] = MemoryPlace(fresh(f"out{several}", self.taken))
            elif value in straight:
                where[value] = self.places[straight[value]]
            else:
                where[value] = self._in_arena(self._bytes_of(value))
            if value in prepared.added:
                self.cleared.append((where[value], self._bytes_of(value)))
            self.places.append(where[value])
        for value in order:
            shape, dtype = prepared.shapes[value]
            self.results.append(ExportedArgument(where[value].name, dtype, shape))
        self._copy_stores(where)
        self.places.append(self._in_arena(8) if plan.notes_faults else MemoryPlace(ARENA))

    def _returned(self) -> list[int]:
        """The values that are returned: arrays that kernels write, each once."""
        outputs, shapes = self.graph.outputs[: self.graph.returned], self.recorded.prepared.shapes
        order = [o.id for o in outputs if isinstance(o, Value) and o.id in shapes]
        if len(order) < len(outputs):
            others = (n for n, o in enumerate(outputs) if getattr(o, "id", None) not in order)
            which = f"result {next(others)}" if len(outputs) > 1 else "the result"
            raise SavedError(
                f"{self.name}: {which} is an argument, a view, an array in another order than "
                "C's, or a number: a list of launches gives arrays that kernels write; return a "
                "copy, such as np.array(x, order='C')"
            )
        if len({*order}) < len(order):
            raise SavedError(f"{self.name} returns one array twice: return it once")
        return order

    def _bytes_of(self, value: int) -> int:
        shape, dtype = self.recorded.prepared.shapes[value]
        return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize

    def _copy_stores(self, where: dict[int, MemoryPlace]) -> None:
        for write in self.graph.written:
            value = self.graph.outputs[write.output]
            if write.part or write.by or not isinstance(value, Value) or value.id not in where:
                raise SavedError(
                    f"{self.name} writes to {write.shown(self.graph)}: a list of launches "
                    "writes whole arguments that a kernel computes"
                )
            source, target = where[value.id], self.places[write.place]
            if source != target:
                self.copies.append((source, target, self._bytes_of(value.id)))

    def exported(self, program: Saveable) -> Exported:
        launches = tuple(self._launch(n, step) for n, step in self.recorded.launched)
        if any(step.compute is not None for step in self.plan.steps):
            raise SavedError(
                f"{self.name} has a product that a library computes: lower "
                "with_toggles(USE_VENDOR=0), or --toggle USE_VENDOR=0, whose products are kernels"
            )
        if self.plan.notes_faults:
            self.cleared.append((self.places[self.plan.faults], 8))
        return Exported(
            self.launcher, tuple(self.arguments), tuple(self.results), self.constants, self.arena,
            launches, tuple(self.copies), tuple(self.cleared), program.target,
            program.fused.options.fast, program.found.variant.trace.structure,
        )  # fmt: skip

    def _place(self, array: int, offset: int) -> MemoryPlace:
        if array == self.plan.arena:
            return MemoryPlace(ARENA, offset)
        found = self.places[array]
        return MemoryPlace(found.name, found.offset + offset)

    def _launch(self, number: int, step: Step) -> KernelLaunch:
        lowered, extents = self.recorded.lowered, self.recorded.prepared.extents
        kernel = lowered.kernels[number]
        memory = {slot: self._place(array, offset) for slot, array, offset in step.arrays}
        numbers = {slot: self.plan.scalars[n] for slot, n in step.numbers}
        slots = tuple(
            self._slot(kernel, slot, memory, numbers, step) for slot in range(len(kernel.params))
        )
        at, nbytes = step.zeroed
        cleared = [(MemoryPlace(ARENA, at), nbytes)] if nbytes else []
        cleared += [(memory[slot], size) for slot, size in kernel.zeroed(extents)]
        return KernelLaunch(
            kernel, number, lowered.sources[number], kernel.grid(extents),
            kernel.dynamic_bytes(extents), slots, tuple(cleared),
        )  # fmt: skip

    def _slot(
        self, kernel: Kernel, slot: int, memory: dict[int, MemoryPlace],
        numbers: dict[int, Scalar], step: Step,
    ) -> LaunchSlot:  # fmt: skip
        param = kernel.params[slot]
        if slot in memory:
            is_value = param.kind in ("input", "output")
            dtype = self._dtype(param.source) if is_value else None
            return LaunchSlot(memory[slot], param.ctype, dtype)
        if slot in numbers:
            return LaunchSlot(with_known(numbers[slot].expr, self.known), param.ctype)
        wide = bool(kernel.toggles.get("USE_64BIT_INDEX"))
        index = "int64" if wide else "int"
        return LaunchSlot(step.fixed[slot], param.ctype if param.kind == "scalar" else index)

    def _dtype(self, value: int) -> DType:
        graph = self.graph
        values = {i.value.id: i.value for i in graph.inputs}
        values |= {r.id: r for node in graph.nodes for r in node.results}
        return values[value].dtype
