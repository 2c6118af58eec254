"""One kernel of a lowered function, to read, change, run and check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opweave._html.shown import Shown
from opweave._programs.interface import ProgramLike
from opweave._programs.report import Report
from opweave._programs.side_by_side import side_by_side
from opweave._programs.standalone import Standalone, standalone
from opweave.compiler.codegen.structure import placed
from opweave.compiler.kernels.flat import flat
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Line
from opweave.compiler.scheduling.edit import Edit
from opweave.compiler.scheduling.schedule import Schedule
from opweave.opcodes.cached import cached_property
from opweave.opcodes.errors import ArgumentError, EditError
from opweave.opcodes.structural import Placed, Structural
from opweave.runtime.binaries import disassembly as inspect
from opweave.runtime.binaries import nvrtc
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.binaries.build import build_kernel
from opweave.templates import TEMPLATES

if TYPE_CHECKING:
    from opweave._profiler.report import ProfileReport


class KernelView(Shown, by="_programs.pieces:view"):
    """One kernel of a program."""

    def __init__(self, program: ProgramLike, number: int):
        self.program = program
        self.number = number

    def __repr__(self) -> str:
        return f"<kernel {self.name} for {self.program.target}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.opcodes))

    @property
    def data(self) -> Kernel:
        """The kernel as the template sees it."""
        return self.program.lowered.kernels[self.number]

    @property
    def name(self) -> str:
        """The name of the function in the source."""
        return self.data.name

    @property
    def source(self) -> str:
        """CUDA C source."""
        return self.program.lowered.sources[self.number]

    @property
    def flat(self) -> str:
        """The source with its toggles resolved: what the compiler sees, in the fewest lines.

        It compiles to the same code.
        """
        return flat(self.source, self.data.toggles)

    def beside(self, other: KernelView) -> str:
        """Where this kernel and another one differ, in two columns of what the compiler sees.

        Raises:
            ArgumentError: the other one is no kernel of a program or list.
        """
        if not isinstance(other, KernelView):
            raise ArgumentError(f"beside: expected a kernel, found {type(other).__name__}")
        return side_by_side(self.flat, other.flat)

    def raw_kernel(self) -> Standalone:
        """The kernel for another program: one text, grid, block, and a launcher for CuPy.

        ``.source`` includes nothing of opweave's, ``.load()`` is a ``cupy.RawKernel`` of it, and
        ``__doc__`` has the lines that launch it.

        Raises:
            ArgumentError: the program is for the host.
        """
        program = self.program
        extents = program.found.extents
        return standalone(self.data, self.source, program.lowered.graph, extents)

    @property
    def opcodes(self) -> tuple[Line, ...]:
        """The flat op-code list."""
        return self.data.opcodes

    @property
    def toggles(self) -> dict[str, int]:
        """Values of the #define toggles."""
        return dict(self.data.toggles)

    @cached_property
    def binary(self) -> Binary:
        """The compiled kernel: a cubin, or a shared object for the host."""
        if self.data.by_numpy:
            raise ArgumentError(
                f"{self.name} is computed by a library or by NumPy: it has no binary"
            )
        fast = self.program.fused.options.fast
        return build_kernel(self.data, self.source, fast=fast)

    def _cubin(self) -> bytes:
        if self.binary.kind != "cubin":
            raise ArgumentError("SASS, PTX and resources exist for sm targets only")
        return self.binary.payload

    @property
    def sass(self) -> str:
        """Disassembly, of an sm target.

        Raises:
            ArgumentError: the target is the host.
        """
        return inspect.sass(self._cubin())

    @property
    def ptx(self) -> str:
        """PTX text, of an sm target.

        Raises:
            ArgumentError: the target is the host.
        """
        if self.program.target == "host":
            raise ArgumentError("SASS, PTX and resources exist for sm targets only")
        options = nvrtc.options(fast=self.program.fused.options.fast)
        return nvrtc.ptx(self.source, self.program.target, options, TEMPLATES)

    @cached_property
    def resources(self) -> inspect.Resources:
        """Registers, stack, shared memory, spills."""
        return inspect.resources(self._cubin(), self.name)

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return self.resources.registers

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block."""
        return self.resources.shared_bytes

    @property
    def spill_bytes(self) -> int:
        """Bytes of registers that a thread stores to memory, because there are too few."""
        return self.resources.spill_bytes

    # Edits

    def insert(
        self, code: Any, *, before: str | None = None, after: str | None = None
    ) -> KernelView:
        """Insert one more op-code, before or after a name; returns a new kernel, ready to run.

        ``kernel.insert(ow.opcodes.clip(0, 1), before="store")``

        Raises:
            EditError: no such place, or the op-code does not fit there.
        """
        return self._changed(self._edit().insert(code, before, after))

    def replace(self, name: str, code: Any) -> KernelView:
        """Put another op-code in the place of one.

        An elementwise one takes the place of an elementwise one, a structural one that of the
        template's: ``kernel.replace("index", ow.opcodes.grid_stride)``.

        Raises:
            EditError: it does not fit there.
        """
        if isinstance(code, Structural):
            return self._changed(self.program.lowered.schedule, placed(self.data, name, code))
        return self._changed(self._edit().replace(name, code))

    def remove(self, name: str) -> KernelView:
        """Take an elementwise op-code out.

        Raises:
            EditError: its users cannot take its operand instead.
        """
        return self._changed(self._edit().remove(name))

    def _edit(self) -> Edit:
        names = {
            result: line.node for line in self.opcodes if line.node >= 0 for result in line.results
        }
        found = self.program.found
        types = found.variant.trace.scalar_types
        loads = {p.name: p.source for p in self.data.params if p.kind == "input"}
        return Edit(self.program.lowered.schedule, self.number, names, found.extents, types, loads)

    def _changed(self, schedule: Schedule, added: Sequence[Placed] = ()) -> KernelView:
        views = self.program.rescheduled(schedule, added).kernels
        if self.number >= len(views):
            raise EditError("the kernel has no op-codes left")
        changed: KernelView = views[self.number]
        return changed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program that this kernel belongs to, with this kernel in it."""
        return self.program(*args, **kwargs)

    def check(self, *args: Any, **kwargs: Any) -> Report:
        """Check the program that this kernel belongs to."""
        found: Report = self.program.check(*args, **kwargs)
        return found

    def profile(self, *args: Any, **kwargs: Any) -> ProfileReport:
        """What this kernel does in a call of its program, see ``ow.profile``."""
        from opweave._profiler.profile import profile
        from opweave._profiler.report import ProfileReport

        whole = profile(self.program, *args, **kwargs)
        return ProfileReport(tuple(k for k in whole.kernels if k.name == self.name))

    def reference(self, *args: Any, **kwargs: Any) -> Any:
        """NumPy's result of the program that this kernel belongs to."""
        return self.program.reference(*args, **kwargs)
