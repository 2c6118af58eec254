"""A kernel that counts: how many elements have each value of 0 to ``bins - 1``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from opweave.compiler.ir.values import Extents
from opweave.compiler.kernels.kernel import Kernel
from opweave.opcodes.operators.counts import without_bin

# Elements that a block may count, whose own counters have 32 bits.
MOST_COUNTED = 2**31
# Elements of a block on the host, at least, in all and for each bin; and blocks, at most.
HOST_ELEMENTS, HOST_ELEMENTS_OF_BIN, HOST_BLOCKS = 1 << 15, 32, 256
WORD = 8  # bytes of a count, and of the word for elements without a bin
OUTSIDE = "outside"  # the parameter of that word


@dataclass(frozen=True, kw_only=True)
class CountKernel(Kernel):
    """A kernel that counts.

    Attributes:
        bins: values that are counted.
        refuses: an element may have none of them, which the kernel notes.
        bin_type: the type of a bin in C.
        at: the user's line, in brackets.
    """

    bins: int
    refuses: bool
    bin_type: str
    at: str = ""

    @classmethod
    def of(cls, kernel: Kernel, **own: Any) -> CountKernel:
        """The kernel with what a count has besides."""
        given = {item.name: getattr(kernel, item.name) for item in fields(kernel)}
        return cls(**{**given, **own})

    @property
    def slots(self) -> int:
        """Values that are counted, and one for elements that have none."""
        return self.bins + self.refuses

    @property
    def missing(self) -> str:
        """What is wrong where an element has no bin."""
        return without_bin(self.bins, self.at)

    def zeroed(self, extents: Extents) -> tuple[tuple[int, int], ...]:
        """The counts, and the word for elements without a bin."""
        sizes = {"output": WORD * self.bins, "partials": WORD}
        return tuple((n, sizes[p.kind]) for n, p in enumerate(self.params) if p.kind in sizes)

    def is_empty(self, extents: Extents) -> bool:
        """Never: of no elements the counts are zeros."""
        return False

    def grid(self, extents: Extents) -> tuple[int, int, int]:
        """As many blocks as the elements take, or the device holds; one where there are none.

        On the host each has so many that its own counts, which it sets and adds, are few.
        """
        _, _, cols = self.elements(extents)
        least = max(1, -(-cols // MOST_COUNTED))
        if self.target == "host":
            each = max(HOST_ELEMENTS, HOST_ELEMENTS_OF_BIN * self.slots)
            return (max(min(cols // each, HOST_BLOCKS), least), 1, 1)
        return (max(super().grid(extents)[0], least), 1, 1)
