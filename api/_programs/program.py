"""A lowered function: its kernels to run, compile and check."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from opweave._html.shown import Shown
from opweave._interchange.functions import gives_arrays, takes_arrays
from opweave._programs.beside import check_kinds, together
from opweave._programs.interface import Arguments, FusedLike
from opweave._programs.kernel_view import KernelView
from opweave._programs.own_sources import with_source
from opweave._programs.report import Report, bound_of, output_names, run_judged
from opweave._programs.valued import checked
from opweave._saved.given import GivenArguments
from opweave._tracebacks import folded
from opweave.bounds import Bound
from opweave.compiler.bounds.bounds import run_bounded
from opweave.compiler.captures.structure import alone, packed
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.ir.reference import run_reference
from opweave.compiler.pipeline.driver import Lowered, finish
from opweave.compiler.pipeline.specialise import Specialised
from opweave.compiler.scheduling.schedule import Schedule
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError
from opweave.opcodes.structural import Placed, with_placed
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.simt.executors import VerifyExecutor

# What runs without a GPU the kernels that are lowered for one: modules, which few programs need.
CHECKING = {"simt": "executors:VerifyExecutor", "ptx": "by_ptx:PtxExecutor"}


class Program(Shown, by="_programs.pieces:program"):
    """What ``lower`` returns: kernels for one target, for one guard and shape class."""

    def __init__(
        self, fused: FusedLike, found: Specialised, lowered: Lowered | None = None,
        given: GivenArguments | None = None,
    ):  # fmt: skip
        """``given``: the arguments that it was lowered for, which a saved program takes."""
        self.fused: Any = fused
        self.found = found
        self.given = given
        self.variant = found.variant
        self.lowered = found.lowered if lowered is None else lowered

    def __repr__(self) -> str:
        names = ", ".join(k.name for k in self.lowered.kernels)
        return f"<program for {self.target}: {names}>"

    @property
    def target(self) -> str:
        """The architecture, or "host"."""
        return self.lowered.device.arch

    @property
    def stands_in(self) -> bool:
        """NumPy computes what kernels that someone wrote mean; their sources do not run."""
        kernels = self.lowered.kernels
        return any(k.template == "handwritten" and k.by_numpy for k in kernels)

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        """The kernels in execution order."""
        return tuple(KernelView(self, n) for n in range(len(self.lowered.kernels)))

    @property
    def source(self) -> str:
        """Source of all kernels."""
        return "\n".join(self.lowered.sources)

    @property
    def graph(self) -> Any:
        """The graph that the kernels compute; prints as text."""
        return self.lowered.graph

    @gives_arrays
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run what was lowered: on the GPU, on the host, or an sm target in verify mode.

        Raises:
            ArgumentError: the arguments do not fit the guard or shape class of this program.
            LaunchError: verify mode found a fault.
        """
        call = self.arguments(args, kwargs)
        return self.run_by(self.executor(call), call)

    @gives_arrays
    def verify(self, *args: Any, schedule: int = 0, executor: str = "simt", **kwargs: Any) -> Any:
        """Run without a GPU what was lowered for one: barriers and bounds are checked.

        Args:
            schedule: order of threads and blocks: 0 forward, 1 reverse, any other number a seed.
            executor: "simt" compiles the source with the host's compiler, every thread a fibre;
                "ptx" runs the instructions that NVRTC makes of it, see docs/ptx.md, where 0 is
                the lowest instruction first and any other schedule a seed.

        Raises:
            ArgumentError: the program is for the host, or there is no such executor.
            LaunchError: a fault.
            UnknownInstructionError: by "ptx", an instruction that is not executed.
        """
        if self.target == "host":
            raise ArgumentError("verify: expected a program for an sm target, found one for host")
        made = self._checking(executor, schedule)
        return self.run_by(made, self.arguments(args, kwargs, on_host=True))

    def _checking(self, executor: str, schedule: int) -> Any:
        if executor not in CHECKING:
            raise ArgumentError(
                f"executor={shown(executor)}: expected {' or '.join(map(repr, CHECKING))}"
            )
        module, _, name = CHECKING[executor].partition(":")
        kind = getattr(import_module(f"opweave.runtime.simt.{module}"), name)
        return kind(schedule, self.fused.options.fast)

    def executor(self, call: Arguments) -> Any:
        """What runs the kernels for these arguments."""
        fast = self.fused.options.fast
        if self.target == "host":
            return HostExecutor(fast)
        if call.kind == "cuda":
            from opweave.runtime.cuda import executor as cuda

            return cuda.executor(cuda.device_of(list(call.arrays.values())), fast)
        return VerifyExecutor(0, fast)

    def run_by(self, executor: Any, call: Arguments) -> Any:
        """Run the kernels by an executor of one's own."""
        return self._packed(call.run(self.lowered, executor), call)

    def _packed(self, outputs: list[Any], call: Arguments) -> Any:
        call.hold(outputs, self.variant.graph.written)
        return packed(alone(self.variant.trace.structure), outputs, call.containers)

    def arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], on_host: bool = False
    ) -> Arguments:
        """A call's arguments by their places in the graph; copies of those that it writes to.

        NumPy's arrays serve a program that was lowered for CuPy's, and the other way round.

        Args:
            on_host: all of them as NumPy's, whatever they are.

        Raises:
            ArgumentError: they do not fit the guard or shape class of this program.
        """
        fused = self.fused
        call = fused.signature.bind(args, kwargs)
        trace = self.variant.trace
        found = fused.found_for(call, self.lowered.device, trace.libraries)
        if found.lowered is not self.found.lowered:
            raise ArgumentError(
                "the arguments belong to another guard or shape class than this program was "
                "lowered for: call .lower again with them"
            )
        inputs, held = self.variant.graph.inputs, (*call.arrays, *trace.constants)
        if on_host or self.target == "host":
            held = tuple(a.get() if is_cupy(a) else a for a in held)
        check_kinds(trace.graph, held, fused.signature.name)
        copied = {written.place for written in self.variant.graph.written}
        held = tuple(a.copy("K") if n in copied else a for n, a in enumerate(together(held)))
        arrays = {i.value.id: a for i, a in zip(inputs, held, strict=True)}
        env = call.scalars(self.variant.graph.scalars)
        return Arguments(arrays, env, found.extents, call.containers)

    def edited(self, lowered: Lowered) -> Program:
        """The same guard and shape class with other kernels."""
        return Program(self.fused, self.found, lowered, self.given)

    @gives_arrays
    def reference(self, *args: Any, **kwargs: Any) -> Any:
        """The same graph by NumPy alone, in the arrays' own types."""
        call = self.arguments(args, kwargs, on_host=True)
        return self._packed(run_reference(self.lowered.graph, call.arrays, call.known), call)

    @takes_arrays
    def check(
        self,
        *args: Any,
        schedule: int | None = None,
        executor: str | None = None,
        **kwargs: Any,
    ) -> Report:
        """Run, and compare with NumPy in float64 under the derived bound.

        With a ``schedule`` or an ``executor`` it runs as ``verify`` does, without a GPU.  With
        toggles that operators declare (``ow.toggle``) each other value is run, too.

        Raises:
            CheckError: a result lies outside its bound, or has other bits with another value of a
                toggle whose values are declared to give the same bits.
        """
        fast = self.fused.options.fast
        is_here = schedule is None and executor is None
        call = self.arguments(args, kwargs, on_host=not is_here)
        runs = (
            self.executor(call) if is_here else self._checking(executor or "simt", schedule or 0)
        )
        return checked(self.lowered, partial(run_judged, call=call, executor=runs), fast)

    @takes_arrays
    def bisect(self, *args: Any, **kwargs: Any) -> Any:
        """See ``Fused.bisect``."""
        from opweave._programs.bisect import bisect

        return bisect(self, self.arguments(args, kwargs))

    @takes_arrays
    def bounds(self, *args: Any, executor: str = "host", **kwargs: Any) -> tuple[Bound, ...]:
        """Wide values and largest errors of the outputs; see ``opweave.bounds.derive``."""
        return self._bounds(self.arguments(args, kwargs), executor)

    def _bounds(self, call: Arguments, executor: str) -> tuple[Bound, ...]:
        graph = self.lowered.graph
        found = run_bounded(graph, call.on_host, call.known, call.extents, executor)
        names = output_names(graph)
        return tuple(bound_of(name, graph.outputs[n], found[n]) for n, name in names.items())

    @folded
    def compile(self, source: str | None = None, kernel: int = 0) -> Program:
        """Build every kernel; with ``source``, your own version in the place of a kernel.

        Raises:
            CompileError: with the op-code, the numbered source and the log.
            NoCompilerError: says what to install.
        """
        program = self
        if source is not None:
            program = self.edited(with_source(self.lowered, source, kernel))
        for view in program.kernels:
            if not view.data.by_numpy:
                view.binary  # noqa: B018  (building is the point)
        return program

    @folded
    def save(self, folder: str | PathLike[str], *others: Program) -> Path:
        """Write a folder with sources, binaries and the plan of a call, see ``ow.load_program``.

        It takes arguments of the shapes and types that the program was lowered for.  What the
        function reads from outside keeps its value.

        Args:
            folder: a new one.
            others: programs of the same function and arguments for other targets.

        Raises:
            SavedError: the program calls NumPy's library between kernels, has arguments that are
                not in C order, or something else that cannot be saved; names it.
            FileError: the folder is there already, or cannot be written.
        """
        from opweave._saved.saving import save

        return save(folder, (self, *others))

    @folded
    def export(self, *files: str | PathLike[str]) -> tuple[Path, ...]:
        """Write files that need no opweave: CUDA C++ with a launcher, or Python with CuPy.

        All of them are written, or none.

        Args:
            files: new ones, whose names end in .cu (a header for C is written beside it) or .py.

        Returns:
            What was written.

        Raises:
            SavedError: the program is for the host, has a product that a library computes, or
                does something else that a list of launches cannot; names it.
            FileError: a file is there already, or cannot be written.
        """
        from opweave._saved.exporting import export

        return export(self, *files)

    @takes_arrays
    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """See ``Fused.explain``."""
        from opweave._programs.explain import explain

        return explain(self, self.fused.signature.bind(args, kwargs))

    def rescheduled(self, schedule: Schedule, placed: Sequence[Placed] = ()) -> Program:
        """The kernels of another schedule of the same graph, with further structural op-codes."""
        device, overrides = self.lowered.device, self.fused.options.overrides
        structure = with_placed(self.lowered.structure, placed)
        made = finish(schedule, self.found.extents, self.found.spans, device, overrides, structure)
        return self.edited(made)
