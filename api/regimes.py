"""Regimes: whether a call is bound by overhead, by memory or by arithmetic.

Counted: the bytes and operations of the kernels over the rates of the device; the largest share
names the regime.  Measured: the same call with twice the rows.  A call that takes as long as
before was bound by overhead.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from opweave._functions.fuse import fuse
from opweave._functions.fused import Fused
from opweave._functions.raw import RawKernel
from opweave._interchange.functions import takes_arrays
from opweave._programs.program import Program
from opweave._programs.rates import Rates, Regime
from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.compiler.pipeline.specialise import symbol_extents
from opweave.compiler.scheduling.work import work_of
from opweave.compiler.tracing.calling import invoke
from opweave.opcodes.errors import ArgumentError

SAMPLES, SHORTEST = 7, 2e-3
# Elements of the array that is copied, beyond the caches, and of the one that a chain works on:
# small enough for a host's caches; on a GPU large enough that a launch does not show.
COPIED = {"host": 1 << 24, "cuda": 1 << 28}
CHAINED = {"host": 1 << 18, "cuda": 1 << 25}
CHAIN = 256  # multiply-adds an element for the rate of arithmetic
SPECIAL_CHAIN = 16
MATRIX = 512  # extent of the library's product on a host
LAUNCHES = 9


@takes_arrays
def regime(
    fused: Fused | RawKernel | Program, *args: Any, measure: bool = True,
    rates: Rates | None = None, **kwargs: Any,
) -> Regime:  # fmt: skip
    """Say whether a call is bound by overhead, memory or arithmetic.

    Args:
        fused: a fused function, a kernel of ``raw_kernel``, or a program lowered from one.
        args, kwargs: its arguments.
        measure: run the call, and a call with twice the rows, where it can run: for the host or
            for the GPU that the arrays lie on.  Otherwise the description of the target counts.
        rates: of the device; None measures them once, or takes the description's.

    Raises:
        ArgumentError: not a fused function, or arguments that it does not take.
    """
    if isinstance(fused, RawKernel):
        fused = fused.fused
    if not isinstance(fused, Fused | Program):
        raise ArgumentError(
            f"regime: expected a function made by ow.fuse, found {type(fused).__name__}"
        )
    if rates is not None and not isinstance(rates, Rates):
        raise ArgumentError(
            f"regime: rates: expected Rates or None, found {type(rates).__name__}; "
            "opweave.regimes.Rates.of(device) has those of a description"
        )
    program = fused.lower(*args, **kwargs) if isinstance(fused, Fused) else fused
    function = program.fused
    call = function.signature.bind(args, kwargs)
    extents = program.variant.extents(symbol_extents(list(call.types.values())))
    work = work_of(program.lowered.schedule, extents)
    on_gpu = any(map(is_cupy, call.arrays))
    if not measure or not (on_gpu or program.target == "host"):
        return Regime.of(work, rates or Rates.of(program.lowered.device))
    clock, values = clock_of(call.arrays), _timed(program, call.values)
    seconds = clock(partial(invoke, function, call.layout.arguments(values)))
    twice = _doubled(program, values)
    growth = None
    if twice is not None:
        growth = clock(partial(invoke, function, call.layout.arguments(twice))) / seconds
    return Regime.of(work, rates or measured_rates(on_gpu), growth, seconds)


def _timed(program: Program, values: Sequence[Any]) -> Sequence[Any]:
    """The arguments of the calls that are timed: copies, where these write to some."""
    if not program.variant.graph.written:
        return values
    return [v.copy("K") if is_array(v) else v for v in values]


def _doubled(program: Program, values: Sequence[Any]) -> list[Any] | None:
    """The arguments with twice the rows: every axis whose extent is that of the first one."""
    inputs = iter(program.graph.inputs)
    shapes = [next(inputs).value.shape if is_array(v) else () for v in values]
    rows = next((shape[0] for shape in shapes if shape), None)
    # a matrix with all rows twice is singular, and NumPy's library may refuse it
    calls_library = any(node.is_library for node in program.graph.nodes)
    if rows is None or isinstance(rows, int) or calls_library:
        return None
    made = list(values)
    for number, shape in enumerate(shapes):
        for axis in (axis for axis, extent in enumerate(shape) if extent == rows):
            xp = _cuda().cupy() if is_cupy(made[number]) else np
            made[number] = xp.concatenate((made[number], made[number]), axis=axis)
    return made


Clock = Callable[[Callable[[], Any]], float]


def clock_of(arrays: Sequence[Any]) -> Clock:
    """What times calls on these arrays: median seconds of a call, warm."""
    clock: Clock = _cuda().median_seconds if any(map(is_cupy, arrays)) else host_seconds
    return clock


def host_seconds(run: Callable[[], Any]) -> float:
    """Median time of a call, of several batches each long enough for the clock."""
    run()
    start = time.perf_counter()
    run()
    once = time.perf_counter() - start
    count = max(1, int(SHORTEST / max(once, 1e-7)))
    times = []
    for _ in range(SAMPLES):
        start = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times)


@cache
def measured_rates(on_gpu: bool) -> Rates:
    """Rates of this machine's host, or of the current GPU, measured once with kernels of ours.

    A copy of arrays beyond the caches, by us or by the library; chains of multiply-adds, or on a
    host the library's product of matrices, which keeps more of them under way; a chain of
    exponentials; calls of one kernel and of several on one element.
    """

    xp, kind = (_cuda().cupy(), "cuda") if on_gpu else (np, "host")
    small, large = (xp.ones(n[kind], np.float32) for n in (CHAINED, COPIED))
    out, out_large = xp.empty_like(small), xp.empty_like(large)
    clock = clock_of([small])
    copy, chain = fuse(lambda x: -x), fuse(_multiply_adds, fast=True)
    special, tiny = fuse(_exponentials), small[:1].copy()
    several = fuse(_negatives).unfused()
    one, many = clock(lambda: copy(tiny)), clock(lambda: several(tiny))
    launch = max((many - one) / (LAUNCHES - 1), 1e-9)
    flops = 2 * CHAIN * small.size / clock(lambda: chain(small, out=out))
    if not on_gpu:
        matrix = xp.ones((MATRIX, MATRIX), np.float32)
        flops = max(flops, 2 * MATRIX**3 / clock(lambda: matrix @ matrix))
    ways = (lambda: copy(large, out=out_large), lambda: xp.copyto(out_large, large))
    copied = min(map(clock, ways))
    return Rates(
        bandwidth=2 * large.nbytes / copied,
        flops=flops,
        special=SPECIAL_CHAIN * small.size / clock(lambda: special(small, out=out)),
        launch=launch,
        source="measured",
        call=max(one - launch, 0.0),
    )


def _cuda() -> Any:
    from opweave.runtime.cuda import executor as cuda

    return cuda


def _multiply_adds(x: Any) -> Any:
    for _ in range(CHAIN):
        x = x * 0.999 + 0.001
    return x


def _negatives(x: Any) -> Any:
    for _ in range(LAUNCHES):
        x = -x
    return x


def _exponentials(x: Any) -> Any:
    for _ in range(SPECIAL_CHAIN):
        x = np.exp(x * -0.5)
    return x


__all__ = ["Rates", "Regime", "measured_rates", "regime"]
