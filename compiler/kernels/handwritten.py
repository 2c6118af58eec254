"""A kernel that someone wrote, among those that the compiler makes: its source stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Extents, Value, count, extent_of
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Line
from opweave.opcodes.codes import Phase
from opweave.opcodes.errors import ArgumentError, LaunchError
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel, ExecutionConfig, Shaped


@dataclass(frozen=True, kw_only=True)
class HandwrittenKernel(Kernel):
    """A kernel that someone wrote, in a program.

    Attributes:
        node: its operator has the source, and the functions of shapes.
        most_shared: bytes of shared memory that a block of the target has.
    """

    node: Node = field(hash=False)
    most_shared: int

    @property
    def row(self) -> CudaKernel:
        """What the user has declared."""
        assert isinstance(self.node.operator, CudaKernel)
        return self.node.operator

    @property
    def source(self) -> str:
        return self.row.source

    @property
    def by_numpy(self) -> bool:
        return self.target == "host"

    @property
    def block(self) -> tuple[int, int, int]:
        return self.row.block

    @property
    def extents_text(self) -> str:
        grid = "a grid by shapes" if callable(self.row.blocks) else f"grid {self.row.blocks}"
        return f"{grid}, block {self.row.block}"

    @property
    def opcodes(self) -> tuple[Line, ...]:
        signature = ", ".join(p.text for p in self.row.parameters)
        return (
            Line(Phase.SIGNATURE, self.name, signature, where=self.node.where),
            Line(Phase.CLOSE, "close", "the source as it was written"),
        )

    def zeroed(self, extents: Extents) -> tuple[tuple[int, int], ...]:
        """Slots of the outputs that begin as zeros, and their bytes."""
        made = zip(self.row.made, self.node.results, strict=True)
        sizes = {p.name: count(v.shape, extents) * v.dtype.itemsize for p, v in made}
        slots = ((n, p.name) for n, p in enumerate(self.params) if p.name in self.row.zeros)
        return tuple((n, sizes[name]) for n, name in slots)

    def is_empty(self, extents: Extents) -> bool:
        return all(count(r.shape, extents) == 0 for r in self.node.results)

    def launched(self, extents: Extents) -> ExecutionConfig:
        """Grid, block and shared memory of a launch.

        Raises:
            LaunchError: a launch that the device does not take.
        """
        at = f" ({self.node.where})" if self.node.where.file else ""
        try:
            return self.row.launched(self._seen(extents), self.most_shared)
        except ArgumentError as error:
            raise LaunchError(f"{error}{at}") from error.__cause__

    def grid(self, extents: Extents) -> tuple[int, int, int]:
        return self.launched(extents).grid

    def dynamic_bytes(self, extents: Extents) -> int:
        return self.launched(extents).shared_bytes

    def _seen(self, extents: Extents) -> Mapping[str, Any]:
        """What functions of shapes see."""
        given = zip(self.row.given, self.node.operands, strict=True)
        made = zip(self.row.made, self.node.results, strict=True)
        arrays = {p.name: o for p, o in (*given, *made) if isinstance(o, Value)}
        shaped = {
            name: Shaped(tuple(extent_of(e, extents) for e in v.shape), v.dtype.numpy)
            for name, v in arrays.items()
        }
        return {**shaped, **dict(self.node.attr("numbers"))}
