"""What launching needs of an executor, and what an executor asks of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from opweave.compiler.ir.values import Extents
from opweave.opcodes.dtypes import DType
from opweave.runtime.calls.by_numpy import Compute, Operand
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.steps import Launch, Started, Step
from opweave.runtime.process.locks import Once

if TYPE_CHECKING:
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.compiler.kernels.param import Param
    from opweave.compiler.scheduling.memory import MemoryPlan
    from opweave.compiler.scheduling.schedule import Schedule


class Start(Protocol):
    """How an executor starts the steps of a call plan.

    Attributes:
        by_address: of arrays it takes nothing but where they begin.
    """

    by_address: bool

    def __call__(self, every: Sequence[Any], numbers: Sequence[Any]) -> None:
        """Start all; ``every``: arguments, results and the word for faults, or None."""

    def many(self, turns: Any, times: int) -> None:
        """Start so many steps of a loop, see loops.py."""


class Executor(Protocol):
    """What launching needs of an executor.

    Attributes:
        mode: "run", or what kernels are built for to be checked, see hostcc.py.
        cached: binaries are kept; else each one is compiled where a call is prepared.
        passes_arrays: launches take the arrays themselves, besides their addresses.
        as_arrays: results that have no dimension stay arrays.
        also: what else is compiled once in a process, before a kernel starts.
    """

    mode: str
    cached: bool
    passes_arrays: bool
    as_arrays: bool
    also: tuple[Once[Any], ...]

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        """A function that makes arrays for an output or a temporary."""

    def arena(self, nbytes: int) -> Callable[[], Any]:
        """A function that makes memory for the temporaries of a call, see ``memory``."""

    def workspace(
        self, kernel: Kernel, partials: int, counters: int
    ) -> Callable[[], tuple[Any, Any]]:
        """A function that makes memory for partial results of a kernel, and zeros for counters.

        Args:
            partials: bytes.
            counters: likewise.
        """

    def faults(self) -> Any:
        """A zeroed 64-bit word, in which kernels note an index that has no element."""

    def noted(self, faults: Any) -> int:
        """What was noted: 0 for nothing, and where nobody looks."""

    def holds(self, words: Any) -> bool:
        """Whether an array of bytes is anything but zero; waits for the kernels before."""

    def build(self, kernel: Kernel, source: str) -> Any:
        """The binary of a kernel; may be called from several threads."""

    def launcher(self, kernel: Kernel, source: str, extents: Extents) -> Launch:
        """A function of packed arguments and the arrays behind their pointers."""

    def computed(
        self, kernel: Kernel, layouts: Layouts, operands: Sequence[Operand], taken: Sequence[int]
    ) -> Compute:
        """A function of a call's arrays and numbers that has a library compute a step."""

    def packer(self, kernel: Kernel, formats: Sequence[str]) -> Callable[..., Any]:
        """A function that packs the values of slots for ``launcher``."""

    def starting(self, step: Step) -> Started | None:
        """A function of a call's arrays and numbers that starts a step, if it does anything."""

    def address(self, array: Any, offset: int = 0) -> Any:
        """What a slot holds for an array, or for so many bytes behind its first element."""

    def memory(self, kernels: Any, schedule: Schedule, extents: Extents) -> MemoryPlan:
        """Where temporaries lie in the arena."""

    def start(self, prepared: Any) -> Start:
        """What starts the steps of a prepared call's plan."""

    def result(self, array: Any, boxed: bool) -> Any:
        """What a caller gets for an array."""

    def copy(self, array: Any, value: Any) -> None:
        """Let an array hold the elements of another of its shape, when all kernels are done."""


class Launchable(Protocol):
    """What a launch asks of a kernel."""

    @property
    def name(self) -> str: ...
    @property
    def template(self) -> str: ...
    @property
    def params(self) -> Sequence[Param]: ...
    @property
    def toggles(self) -> Mapping[str, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    def grid(self, extents: Extents) -> tuple[int, int, int]: ...
    def work(self, extents: Extents) -> int: ...
    def dynamic_bytes(self, extents: Extents) -> int: ...
    def zeroed(self, extents: Extents) -> tuple[tuple[int, int], ...]: ...
