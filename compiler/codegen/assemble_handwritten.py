"""What no template makes: kernels that someone wrote, and calls of NumPy's library.

Each is a group of its own.  The source of a kernel stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.operands import Key
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Value
from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.library import LibraryKernel
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Walk
from opweave.compiler.toggles.facts import Facts
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel
from opweave.opcodes.handwritten.launch_limits import MOST_SHARED
from opweave.opcodes.operators.library_calls import LibraryCall

Step = TypeVar("Step", HandwrittenKernel, LibraryKernel)


class ApartAssembler(Assembler):
    """Makes a step of a node that is a group of its own."""

    def _operands(self) -> dict[Key, ArrayOperand]:
        return {}  # no loop of ours reads or writes

    def _walk(self) -> Walk:
        return Walk((), (), ())

    def facts(self) -> Facts:
        return Facts(self.device, 4, False, False, False)

    def _step(self, kind: type[Step], node: Node, what: str, **own: Any) -> Step:
        """A kernel without a loop of ours."""
        reads, writes = (", ".join(v.type for v in side) for side in (node.values, node.results))
        return kind(
            title=(what, f"{reads or 'nothing'} -> {writes}"), target=self.device.arch,
            toggles={}, functions=(), row_loads=(), cached=(), passes=(), row_lines=(),
            row_stores=(), coordinates=(), rows=(), cols=(), plan=None, group=self.number,
            overridden=tuple(self.overrides), node=node, **own,
        )  # fmt: skip


class HandwrittenAssembler(ApartAssembler):
    """Makes a kernel that someone wrote of its node."""

    def kernel(self) -> Kernel:
        (node,) = self.nodes
        row = node.operator
        assert isinstance(row, CudaKernel)
        return self._step(
            HandwrittenKernel, node, f"handwritten: {row.c_name}", name=row.c_name,
            template="handwritten", params=_params(row, node),
            most_shared=self.device.shared_bytes or MOST_SHARED,
        )  # fmt: skip


class LibraryAssembler(ApartAssembler):
    """Makes the step of a call of NumPy's library."""

    def kernel(self) -> Kernel:
        (node,) = self.nodes
        row = node.operator
        assert isinstance(row, LibraryCall)
        return self._step(
            LibraryKernel, node, f"call: {row.name}", name=self.group.name, template="library",
            params=_params_of_call(node, self.group.outputs),
        )  # fmt: skip


def _params_of_call(node: Node, stored: Sequence[Value]) -> tuple[Param, ...]:
    """Operands, and the results that somebody reads, as the parameters of a kernel."""
    made = [
        Param("scalar", f"x{n}", item.dtype.register, item)
        if isinstance(item, Scalar)
        else Param("input", f"x{n}", f"const {item.dtype.storage}*", item.id)
        for n, item in enumerate(node.operands)
    ]
    made += [
        Param("output", f"out{n}", f"{value.dtype.storage}*", value.id)
        for n, value in enumerate(node.results)
        if value in stored
    ]
    return tuple(made)


def _params(row: CudaKernel, node: Node) -> tuple[Param, ...]:
    """The parameters in the order of the source, with what a launch binds to each."""
    bound: dict[str, Operand] = {
        p.name: item
        for declared, items in ((row.given, node.operands), (row.made, node.results))
        for p, item in zip(declared, items, strict=True)
    }
    made = []
    for p in row.parameters:
        item = bound[p.name]
        if isinstance(item, Scalar):
            made.append(Param("scalar", p.name, item.dtype.register, item))
            continue
        is_output = p.name in row.outputs
        ctype = f"{'' if is_output else 'const '}{item.dtype.storage}*"
        made.append(Param("output" if is_output else "input", p.name, ctype, item.id))
    return tuple(made)
