"""What loads and stores of a kernel have in common: types, addresses, and their text."""

from __future__ import annotations

from opweave.compiler.kernels.layout import Access
from opweave.opcodes.dtypes import DType
from opweave.opcodes.structural import Structural


class Typed:
    """What has a dtype: its C types in registers and in memory."""

    dtype: DType

    @property
    def ctype(self) -> str:
        return self.dtype.register

    @property
    def storage(self) -> str:
        return self.dtype.storage


class Addressed(Typed):
    """An array operand that is read or written along a walk; ``by`` a user's own op-code."""

    name: str
    access: Access
    by: Structural | None

    @property
    def place(self) -> str:
        """Address of what a whole row reads or writes."""
        return self.access.at(self.name, "")

    @property
    def element(self) -> str:
        """Address of the element in column ``j``."""
        found, gather = self.access, self.access.gather
        if found.kind == "runs":
            run = f"divisor({found.extent})"
            gather = f"j / {run} * {found.stride} + j % {run}"
        return found.at(self.name, "j") + (f" + {gather}" if gather else "")

    @property
    def words(self) -> str:
        """The policy by which an op-code of a user's reads or writes whole chunks, or ""."""
        return self.by.words if self.by and self.access.kind == "chunk" else ""

    def read(self, address: str) -> str:
        """What reads the element at an address."""
        slots = {"T": self.ctype, "S": self.storage}
        return self.by.over(p=address, **slots) if self.by else f"load({address})"

    def written(self, value: str) -> str:
        """What writes a value to the element in column ``j``."""
        slots = {"T": self.ctype, "S": self.storage}
        if self.by:
            return self.by.over(p=self.element, x=value, **slots)
        return f"store({self.element}, {value})"

    @property
    def walked(self) -> str:
        """How it is walked: an op-code of a user's takes one element after the other."""
        return "gather" if self.by else self.access.kind
