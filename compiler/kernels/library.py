"""A call of NumPy's library among the kernels of a program: a step that NumPy itself computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Extents, Value
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Line
from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import Phase
from opweave.opcodes.operators.library_calls import LibraryCall


@dataclass(frozen=True, kw_only=True)
class LibraryKernel(Kernel):
    """A call of NumPy's library, in a program.

    Attributes:
        node: its operator has the function, and its attributes what else the call says.
    """

    node: Node = field(hash=False)

    @property
    def row(self) -> LibraryCall:
        """The function and what its operands are for."""
        assert isinstance(self.node.operator, LibraryCall)
        return self.node.operator

    @property
    def call(self) -> str:
        """The call as text: ``np.sort(a: f64[n0], axis=-1)``."""
        operands = zip(self.row.params, self.node.operands, strict=True)
        given = [f"{name}: {_type_of(operand)}" for name, operand in operands]
        given += [f"{name}={shown(item)}" for name, item in self.node.attrs]
        return f"{self.row.name}({', '.join(given)})"

    @property
    def made(self) -> str:
        """The types of its results."""
        return ", ".join(value.type for value in self.node.results)

    @property
    def source(self) -> str:
        """A comment, where a kernel has its source."""
        at = f", line {self.node.where.relative}" if self.node.where.relative else ""
        return f"// {self.call} -> {self.made}\n// called between kernels{at}: no source runs\n"

    @property
    def by_numpy(self) -> bool:
        return True

    @property
    def extents_text(self) -> str:
        return "called between kernels"

    @property
    def opcodes(self) -> tuple[Line, ...]:
        return (
            Line(Phase.SIGNATURE, self.name, f"{self.call} -> {self.made}", where=self.node.where),
        )

    def is_empty(self, extents: Extents) -> bool:
        """Never: of arrays without elements NumPy may warn, or raise."""
        return False


def _type_of(operand: object) -> str:
    return operand.type if isinstance(operand, Value) else repr(operand)
