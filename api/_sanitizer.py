"""The SIMT checker: races, barriers, bounds and more of any CUDA kernel, on a CPU.

``sanitize`` checks the kernels of a fused function, ``sanitize_source`` a kernel that someone
wrote by hand.  Each runs under several schedules, every access of every thread is seen, and what
one thread does is held against what the others did: two accesses race if no barrier, warp
barrier, fence or atomic orders them, in whichever order they happened to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave._interchange.functions import takes_arrays
from opweave.compiler.captures.tree import flatten
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.ir.values import TURNS
from opweave.opcodes.errors import ArgumentError, LaunchError
from opweave.runtime.simt.checker import MOST_FAULTS
from opweave.runtime.simt.findings import Finding, findings
from opweave.runtime.simt.handwritten import Handwritten, Uninitialised

if TYPE_CHECKING:
    from opweave._programs.program import Program

MOST_SCHEDULES = 10_000
# Turns of kernels that repeat a step by themselves.  With three, one turn reads what the first has
# stored, and stores what the last one reads.
SEEN_TURNS = 3


@dataclass(frozen=True)
class SanitizerReport:
    """What the checker found.

    Attributes:
        findings: the faults, by line; empty if there is none.
        args: arrays as the kernel left them, in the place of those given; scalars as given.
        schedules: orders of threads and blocks that were run.
        varies: numbers of the arguments (of a fused function: of the results) whose contents
            depend on the schedule.
        complete: False if there were more places with faults than the checker keeps.
        result: what a fused function returned, under the first schedule.
    """

    findings: list[Finding]
    args: list[Any]
    schedules: int
    varies: tuple[int, ...] = ()
    complete: bool = True
    result: Any = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        """True if nothing was found."""
        return not self.findings

    def __str__(self) -> str:
        lines = list(map(str, self.findings)) or ["no findings"]
        shown = ", ".join(map(str, self.varies))
        note = [f"contents depend on the schedule: {shown}"] if self.varies else []
        note += [] if self.complete else [f"only the first {MOST_FAULTS} places are kept"]
        return "\n".join([*lines, *note, f"{self.schedules} schedules"])


Report = SanitizerReport  # its name in pickles of earlier versions


def uninitialised(shape: int | Sequence[int], dtype: Any) -> Uninitialised:
    """An array argument that nobody has written yet: reading it before writing is a finding.

    Args:
        shape: extents.
        dtype: NumPy dtype, or its name.

    Raises:
        ArgumentError: no shape, or no dtype.
    """
    try:
        extents = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
        kind = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"uninitialised({shape!r}, {dtype!r}): {error}") from None
    if kind.hasobject or any(n < 0 for n in extents):
        raise ArgumentError(
            f"uninitialised({shape!r}, {dtype!r}): expected extents and a dtype of numbers"
        )
    return Uninitialised(extents, kind)


def sanitize_source(
    source: str, kernel: str, grid: int | Sequence[int], block: int | Sequence[int],
    args: Sequence[Any], shared_bytes: int = 0, schedules: int = 8,
) -> SanitizerReport:  # fmt: skip
    """Run a hand-written CUDA kernel on the host and report what is wrong with it.

    Args:
        source: CUDA C++ with the kernel in it.  Line 1 is the first of this string.
        kernel: name of the ``__global__`` function, or an instance such as ``"sum<float, 256>"``.
        grid: blocks, as a number or up to three.
        block: threads of a block, as a number or up to three; at most 1024 in all.
        args: in the order of the parameters: NumPy (or CuPy) arrays, ``uninitialised`` ones,
            NumPy scalars, or Python numbers, which take the type of the parameter.  Arrays are
            copied; those that overlap do so for the kernel too.
        shared_bytes: dynamic shared memory of a block.
        schedules: orders to run: forward, reverse, then seeded random ones.

    Raises:
        ArgumentError: arguments that do not fit the kernel, or a launch that no GPU takes.
        CompileError: the compiler refuses the source.
        UnsupportedError: a header or PTX instruction that is not understood.
        LaunchError: the kernel stopped itself (``assert``, ``__trap``) or never ends.
    """
    _check_schedules(schedules)
    launched = Handwritten(source, kernel, grid, block, args, shared_bytes)
    faults, contents, complete = [], [], True
    for schedule in range(schedules):
        found, arrays = launched.run(schedule)
        faults += found
        complete = complete and len(found) < MOST_FAULTS
        contents.append(arrays)
    made = findings(faults, kernel, launched.config, source)
    _refuse_stopped(made)
    return SanitizerReport(made, contents[0], schedules, _varying(contents), complete)


@takes_arrays
def sanitize(
    fused: Any, *args: Any, schedules: int = 8,
    target: str = "sm_80", **kwargs: Any,
) -> SanitizerReport:  # fmt: skip
    """Check every kernel of a fused function, as lowered for a GPU, under several schedules.

    A kernel that repeats a step by itself takes three turns.

    Args:
        fused: a fused function, what ``repeat`` made of one, a kernel of ``raw_kernel``, an
            op-code list, or a program or kernel that was lowered from one of these and perhaps
            edited.
        args, kwargs: its arguments; NumPy arrays.
        schedules: orders to run: forward, reverse, then seeded random ones.
        target: the architecture to lower for.

    Raises:
        ArgumentError: not a fused function, or arguments that it does not take.
    """
    from opweave._repeats.repeated import Repeated
    from opweave.runtime.simt.executors import SanitizeExecutor

    _check_schedules(schedules)
    if isinstance(fused, Repeated):  # its first round
        args, named = fused.counting.given(args, 0)
        fused, kwargs = fused.step, {**kwargs, **named}
    program = _lowered(fused, args, kwargs, target)
    seen: dict[int, tuple[Any, list[Any]]] = {}
    results, complete = [], True
    for schedule in range(schedules):
        executor = SanitizeExecutor(schedule, program.fused.options.fast)
        call = program.arguments(args, kwargs, on_host=True)
        call = replace(call, env={**call.env, TURNS: SEEN_TURNS})
        results.append(program.run_by(executor, call))
        for number, launch in enumerate(executor.seen):
            seen.setdefault(number, (launch, []))[1].extend(launch.faults)
            complete = complete and len(launch.faults) < MOST_FAULTS
    made = _findings_of(program, seen.values())
    outputs = [[leaf for _, leaf in flatten(r)[0]] for r in results]
    return SanitizerReport(made, list(args), schedules, _varying(outputs), complete, results[0])


def _findings_of(program: Program, launches: Iterable[tuple[Any, list[Any]]]) -> list[Finding]:
    """What the faults of each launch mean.

    Raises:
        LaunchError: a kernel stopped itself.
    """
    lowered = program.lowered
    sources = {k.name: s for k, s in zip(lowered.kernels, lowered.sources, strict=True)}
    made: list[Finding] = []
    for launch, faults in launches:
        name = launch.kernel.name
        made += findings(faults, name, launch.config, sources.get(name, ""))
    _refuse_stopped(made)
    return made


def _lowered(fused: Any, args: Any, kwargs: Any, target: str) -> Program:
    """What to check: the program of a function for these arguments, or the program given.

    Raises:
        ArgumentError: neither of the two, CuPy arrays, or a program for the host.
    """
    from opweave._functions.fused import Fused
    from opweave._functions.raw import RawKernel
    from opweave._programs.kernel_view import KernelView
    from opweave._programs.program import Program

    if isinstance(fused, RawKernel) or hasattr(type(fused), "__opweave_list__"):
        fused = fused.fused
    if isinstance(fused, KernelView) and isinstance(fused.program, Program):
        fused = fused.program
    if any(map(is_cupy, args)):
        raise ArgumentError("sanitize runs on the host: pass NumPy arrays (x.get())")
    if isinstance(fused, Fused):
        fused = fused.lower(*args, target=target, **kwargs)
    if not isinstance(fused, Program):
        raise ArgumentError(
            f"sanitize: expected a function made by ow.fuse, found {type(fused).__name__}; "
            "for CUDA source there is ow.sanitize_source"
        )
    if fused.target == "host":
        raise ArgumentError("sanitize: expected a program for an sm target, found one for host")
    return fused


def _varying(contents: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    """Numbers of the arrays that are not the same bytes under every schedule."""
    return tuple(
        n
        for n, first in enumerate(contents[0])
        if any(np.asarray(c[n]).tobytes() != np.asarray(first).tobytes() for c in contents[1:])
    )


def _check_schedules(schedules: int) -> None:
    if not isinstance(schedules, int) or not 1 <= schedules <= MOST_SCHEDULES:
        raise ArgumentError(
            f"schedules={schedules!r}: expected a number from 1 to {MOST_SCHEDULES}"
        )


def _refuse_stopped(found: Sequence[Finding]) -> None:
    others = [str(f) for f in found if f.kind != "stopped"]
    for finding in found:
        if finding.kind == "stopped":
            raise LaunchError("\n".join([str(finding), *others]))
