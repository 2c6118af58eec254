"""Kernels that cannot compute a call, and note so: those that count elements without a bin.

NumPy raises where an element is negative, and gives more counts than were planned where one is
larger.  So the call ends where the kernel does, as behind a call of NumPy's library
(``library.py``), and the function runs line by line.  It waits for the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from opweave.opcodes.errors import BoundsError
from opweave.runtime.calls.writes import Unwritten

if TYPE_CHECKING:
    from opweave.compiler.kernels.counting import CountKernel
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.runtime.calls.interface import Executor

NOT_CAPTURED = (
    "counts of elements that may have no bin cannot be captured: the host looks at each call; "
    "count what has a bin by its type, such as uint8 in 256 bins"
)


def refusal(
    kernel: Kernel, arrays: Sequence[tuple[int, int, int]], executor: Executor
) -> Callable[[Sequence[Any]], None] | None:
    """What looks at the word that a kernel has noted something in; None of one that notes nothing.

    Args:
        arrays: (slot, array of the call, bytes from its first element).
    """
    if not getattr(kernel, "refuses", False):  # a saved program has kernels of another class
        return None
    kernel = cast("CountKernel", kernel)
    kinds = [param.kind for param in kernel.params]
    (word,) = (array for slot, array, _ in arrays if kinds[slot] == "partials")
    text, holds = kernel.missing, executor.holds

    def check(every: Sequence[Any]) -> None:
        if holds(every[word]):
            raise Unwritten(text, (), BoundsError(text))

    return check
