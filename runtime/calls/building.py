"""All kernels of a call, compiled on all cores: each kind once, the longest first."""

from __future__ import annotations

from typing import Any

from opweave.compiler.ir.values import Extents
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.runtime.binaries.build import distinct
from opweave.runtime.binaries.compilers import at_once
from opweave.runtime.binaries.progress import Progress
from opweave.runtime.calls.interface import Executor

# What the scheduler of the host takes, once for all processes.
SECONDS_OF_LIBRARY = 1.5
# From so many seconds on one kernel alone is compiled on a thread too, so that progress is told.
LONG_ALONE = 1.0
# A kernel, its source, and the seconds that it is expected to compile.
Costly = tuple[Kernel, str, float]


def costs(lowered: Lowered, mode: str, extents: Extents | None = None) -> list[Costly]:
    """The kernels that have binaries of their own, the longest first.

    ``extents`` leaves out those that are not started.
    """
    seconds = dict(zip(map(id, lowered.kernels), lowered.seconds, strict=True))
    pairs = [
        (kernel, source)
        for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
        if not kernel.by_numpy and not (extents and kernel.is_empty(extents))
    ]
    kept = distinct(pairs, mode) if len(pairs) > 1 else pairs
    found = [(kernel, source, seconds[id(kernel)]) for kernel, source in kept]
    return sorted(found, key=lambda each: -each[2])


def build_all(lowered: Lowered, executor: Executor, extents: Extents) -> None:
    """Compile what a call needs on several threads, since compilers are processes."""
    found = costs(lowered, executor.mode, extents)
    calls: list[tuple[Any, ...]] = [(each, executor.build, k, text) for k, text, each in found]
    calls += [(SECONDS_OF_LIBRARY, make) for make in executor.also if not make.called]
    calls.sort(key=lambda call: -call[0])
    if len(calls) > 1 or (executor.cached and any(each >= LONG_ALONE for each, *_ in calls)):
        progress = Progress(lowered.graph.name, [seconds for seconds, *_ in calls])
        at_once(lambda make, *given: make(*given), [call for _, *call in calls], progress)
