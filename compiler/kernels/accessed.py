"""What a kernel loads from memory and stores there, by name."""

from __future__ import annotations

from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import OperandLoad, OperandStore
from opweave.opcodes.codes import Phase


def factors_of(kernel: Kernel) -> list[Factor]:
    """Arrays that pass through tiles."""
    product = kernel.product
    return [*kernel.across, *((product.x, product.y) if product is not None else ())]


def accessed(kernel: Kernel, phase: Phase) -> list[str]:
    """The names of what a kernel loads or stores in memory."""
    if phase is Phase.STORE:
        return [p.name for p in kernel.params if p.kind == "output"]
    loads = (load.name for load in loads_of(kernel) if load.access.kind != "staged")
    return list(dict.fromkeys((*(f.name for f in factors_of(kernel)), *loads)))


def shown_accesses(kernel: Kernel, phase: Phase) -> str:
    names = ", ".join(f"{phase.value} {n}" for n in accessed(kernel, phase))
    return f"those of {kernel.name}: {names or f'no {phase.value}'}"


def loads_of(kernel: Kernel) -> list[OperandLoad]:
    return [*kernel.row_loads, *(load for step in kernel.passes for load in step.loads)]


def stores_of(kernel: Kernel) -> list[OperandStore]:
    return [*kernel.row_stores, *(store for step in kernel.passes for store in step.stores)]
