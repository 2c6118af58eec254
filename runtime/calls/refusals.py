"""Kernels that cannot compute a call, and note so: those that count elements without a bin.

NumPy raises where an element is negative, and gives more counts than were planned where one is
larger.  So the call ends where the kernel does, as behind a call of NumPy's library
(``library.py``), and the function runs line by line.  It waits for the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from opweave.opcodes.errors import BoundsError
from opweave.runtime.calls.writes import Unwritten

if TYPE_CHECKING:
    from opweave.compiler.kernels.counting import CountKernel
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.runtime.calls.interface import Executor

WORD = 8  # bytes of what they note
NOT_CAPTURED = (
    "counts of elements that may have no bin cannot be captured: the host looks at each call; "
    "count what has a bin by its type, such as uint8 in 256 bins"
)


@dataclass(frozen=True)
class Refusal:
    """Where a kernel notes that it cannot compute a call, and what follows.

    Attributes:
        array: of the call, which has the word.
        at: bytes from its first element.
        why: for people.
        executor: looks at it.
    """

    array: int
    at: int
    why: str
    executor: Executor

    def check(self, every: Sequence[Any]) -> None:
        """
        Raises:
            Unwritten: the kernel has noted so.
        """
        if self.executor.holds(every[self.array][self.at : self.at + WORD]):
            raise self.error()

    def error(self) -> Unwritten:
        """What ends the call."""
        return Unwritten(self.why, (), BoundsError(self.why))


def refusal(
    kernel: Kernel, arrays: Sequence[tuple[int, int, int]], executor: Executor
) -> Refusal | None:
    """Where a kernel notes that it cannot compute a call; None of one that notes nothing.

    Args:
        arrays: (slot, array of the call, bytes from its first element).
    """
    if not getattr(kernel, "refuses", False):  # a saved program has kernels of another class
        return None
    kernel = cast("CountKernel", kernel)
    kinds = [param.kind for param in kernel.params]
    ((word, at),) = ((array, at) for slot, array, at in arrays if kinds[slot] == "partials")
    return Refusal(word, at, kernel.missing, executor)
