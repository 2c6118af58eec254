"""``ow.profile``: what a kernel does on a GPU, counted from its binary, with no GPU.

The instructions that a compiler made are executed for control and addresses, see
``runtime/sass/execution.py``; what they count goes to a model of a device, ``runtime/model/``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from opweave._interchange.functions import takes_arrays
from opweave._profiler.report import KernelProfile, ProfileReport
from opweave.compiler.ir.accumulation import ProductPlan
from opweave.compiler.ir.device import BY_ARCH, DEVICES, Device, device_for
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.scheduling.vendors import reason
from opweave.opcodes.errors import ArgumentError, ToggleError
from opweave.runtime.model.device import DeviceModel, described
from opweave.runtime.model.facts import LaunchFacts
from opweave.runtime.model.occupancy import Occupancy, occupancy
from opweave.runtime.model.times import model_time
from opweave.runtime.sass.accesses import SECTOR, Requests
from opweave.runtime.sass.compiled import Compiled, compiled
from opweave.runtime.sass.counters import arrays_touched, by_block, by_line, by_pipe, counters
from opweave.runtime.sass.cubins import constants
from opweave.runtime.sass.execution import Execution, execute
from opweave.runtime.sass.in_flight import InFlight, Latencies, in_flight
from opweave.runtime.sass.launches import Noted, NotingExecutor
from opweave.runtime.sass.machine import DeviceLaunch


@dataclass(frozen=True)
class ProfiledLaunch:
    """What a profile is of: a source, and one launch of a kernel in it.

    Attributes:
        slots: the parameters' bytes.
        arrays: bytes of each array by its number, see ``launches.py``.
        elements: that sentences count by, 0 for none.
    """

    source: str
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    slots: Sequence[bytes]
    arrays: dict[int, int]
    elements: int = 0
    fast: bool = False
    counters: frozenset[int] = frozenset()


@takes_arrays
def profile(fused: Any, *args: Any, target: str = "sm_90a", **kwargs: Any) -> ProfileReport:
    """Count what the kernels of a call do on a GPU, and model its time; no GPU is needed.

    Args:
        fused: a fused function, or a program that was lowered from one for an sm target.
        args, kwargs: its arguments; NumPy arrays, of which no element is looked at.
        target: an architecture, or a device such as ``"A100"``, which the model then takes.

    Raises:
        ArgumentError: not a fused function, CuPy arrays, or a program for the host.
        LaunchError: a kernel does not end.
        NoCompilerError: NVRTC or the disassemblers are not installed.
    """
    program = _lowered(fused, args, kwargs, target)
    device = model_of(program.target, target)
    executor = NotingExecutor()
    program.run_by(executor, program.arguments(args, kwargs, on_host=True))
    sources = dict(zip(map(id, program.lowered.kernels), program.lowered.sources, strict=True))
    fast = program.fused.options.fast
    launches = [_launch_of(seen, sources[id(seen.kernel)], fast) for seen in executor.seen]
    kernels = tuple(profiled(each, program.target, device) for each in launches)
    return ProfileReport(kernels, _by_library(program))


def _by_library(program: Any) -> tuple[str, ...]:
    """What is no kernel: products that go to the vendor's library."""
    lowered, asked = program.lowered, program.fused.options.vendor
    graph = lowered.schedule.graph
    return tuple(
        f"{node.operator.name} ({node.where}), not counted: "
        + reason(node, graph, program.found.extents, lowered.device, asked)
        for node in graph.nodes
        if isinstance(node.plan, ProductPlan) and node.plan.unit == "blas"
    )


def _launch_of(seen: Noted, source: str, fast: bool) -> ProfiledLaunch:
    return ProfiledLaunch(
        source, seen.kernel.name, seen.grid, seen.block, seen.shared_bytes, seen.slots,
        seen.arrays, seen.elements, fast, seen.counters,
    )  # fmt: skip


def model_of(arch: str, target: Any) -> DeviceModel:
    name = target if target in DEVICES else BY_ARCH[arch].name
    if name not in described():
        raise ToggleError(f"no model describes {name}: expected one of {', '.join(described())}")
    return described()[name]


def _lowered(fused: Any, args: Any, kwargs: Any, target: Any) -> Any:
    """The program of a function for these arguments, or the program given."""
    fused = getattr(fused, "program", fused)  # a kernel
    program = fused
    if not hasattr(fused, "lowered"):
        if not hasattr(fused, "lower"):
            raise ArgumentError(
                f"profile: expected a function made by ow.fuse, found {type(fused).__name__}; "
                "for CUDA source there is ow.profile_source"
            )
        if any(map(is_cupy, args)):
            raise ArgumentError("profile counts without a GPU: pass NumPy arrays (x.get())")
        device: Device = device_for(target)
        if device.is_host:
            raise ArgumentError("profile: expected an sm target, found host")
        program = fused.lower(*args, target=target, **kwargs)
        program = getattr(program, "program", program)  # a list becomes a kernel
    if program.target == "host":
        raise ArgumentError("profile: expected a program for an sm target, found one for host")
    return program


def profiled(
    launch: ProfiledLaunch, arch: str, device: DeviceModel, made: Compiled | None = None
) -> KernelProfile:
    """Execute one launch for its counts, and ask the model."""
    made = made or compiled(launch.source, launch.name, arch, fast=launch.fast)
    bank = constants(made.parameters, launch.slots, launch.grid, launch.block)
    run = execute(made.listing, DeviceLaunch(launch.grid, launch.block, bank, launch.counters))
    shared = made.shared_bytes(arch) + launch.shared_bytes
    held = occupancy(device, prod(launch.block), made.resources.registers, shared)
    latency = Latencies(
        device.memory_latency_cycles, device.shared_latency_cycles, device.other_latency_cycles
    )
    flying, last = (in_flight(made.listing.instructions, t, latency) for t in run.traces)
    joining = max(0.0, last.cycles - flying.cycles) if run.in_order else 0.0
    facts = facts_of(launch, made, run, held, flying, device, joining)
    model = model_time(facts, device)
    found = _static(launch, made, held, shared) | counters(made.listing, run)
    found |= {
        "launch__waves_per_multiprocessor": model.waves,
        "opweave__last_wave_filled_pct": 100 * (model.waves % 1 or 1.0),
        "opweave__loads_in_flight_per_thread": float(flying.loads),
        "opweave__bytes_in_flight_per_thread": float(flying.bytes),
        "opweave__bytes_moved.sum": facts.moved_bytes,
        "opweave__bytes_least.sum": facts.least_bytes,
    }
    lines = by_line(made.listing, run.issued)
    return KernelProfile(
        launch.name, arch, device.name, device.clock_mhz, found, facts, model, run.skipped,
        run.unknown, run.sampled, run.blocks, run.in_order,
        by_block(made.listing, run.issued), lines, launch.source,
    )  # fmt: skip


def _static(
    launch: ProfiledLaunch, made: Compiled, held: Occupancy, shared: int
) -> dict[str, float]:
    """What the binary and the grid say without any execution."""
    own = made.resources
    names = {"registers": "registers", "shared memory": "shared_mem", "warps": "warps",
             "blocks": "blocks"}  # fmt: skip
    limits = {f"launch__occupancy_limit_{names[k]}": float(v) for k, v in held.limits.items()}
    return {
        "launch__grid_size": float(prod(launch.grid)),
        "launch__block_size": float(prod(launch.block)),
        "launch__registers_per_thread": float(own.registers),
        "launch__shared_mem_per_block": float(shared),
        "launch__stack_size": float(own.stack_bytes),
        "opweave__spill_bytes_per_thread": float(own.spill_bytes),
        **limits,
        "sm__maximum_warps_per_active_cycle_pct": 100 * held.share,
    }


def facts_of(
    launch: ProfiledLaunch, made: Compiled, run: Execution, held: Occupancy, flying: InFlight,
    device: DeviceModel, joining_cycles: float,
) -> LaunchFacts:  # fmt: skip
    """What the model asks."""
    lines = by_line(made.listing, run.issued)
    issued = by_pipe(made.listing, run.issued)
    heaviest = {
        pipe: max(((n, row.get(pipe, 0.0)) for n, row in lines.items()), key=lambda r: r[1])
        for pipe, count in issued.items()
        if count
    }
    moved, loaded, least = _bytes(launch, run, held, device)
    far = [r for r in run.requests.values() if r.space == "global"]
    near = [r for r in run.requests.values() if r.space == "shared"]
    every = sum(r.sectors for r in far)
    return LaunchFacts(
        prod(launch.block), prod(launch.grid), launch.elements, issued, moved,
        loaded, least,
        (sum(r.wavefronts for r in near), sum(r.least for r in near)),
        (every, sum(r.bytes for r in far) / SECTOR),
        flying.loads, flying.bytes, flying.cycles, held.blocks, held.limiter,
        _worst(made, run, lambda r: r.sectors - r.bytes / SECTOR if r.space == "global" else 0.0),
        _worst(made, run, lambda r: r.wavefronts - r.least),
        _shared_line(launch.source, launch.name), joining_cycles, heaviest,
    )  # fmt: skip


def _worst(made: Compiled, run: Execution, cost: Callable[[Requests], float]) -> tuple[int, float]:
    """The line whose accesses cost most, and how much."""
    found: dict[int, float] = {}
    for n, row in run.requests.items():
        line = made.listing.instructions[n if n >= 0 else -1 - n].line
        found[line] = found.get(line, 0.0) + cost(row)
    line = max(found, key=lambda n: found[n], default=0)
    return (line, found[line]) if found.get(line, 0.0) > 0 else (0, 0.0)


def _shared_line(source: str, kernel: str) -> int:
    """Where a kernel has its first array in shared memory; 0 if nobody finds it."""
    begin = re.search(rf"\b{re.escape(kernel)}\s*\(", source)
    place = source.find("__shared__", begin.end() if begin else len(source))
    return source.count("\n", 0, place) + 1 if place >= 0 else 0


def _bytes(
    launch: ProfiledLaunch, run: Execution, held: Occupancy, device: DeviceModel
) -> tuple[float, float, float]:
    """Bytes moved from and to the memory, those of them that are loaded, and the least.

    Each array once, where the cache holds all of them.  Else once among the blocks that run at one
    time; and once more where a block comes back to what it touched, and the cache does not hold
    what all of these touch.
    """
    together = min(prod(launch.grid), max(1, held.blocks) * device.sms)
    found = arrays_touched(run, launch.grid[0], together)
    sizes = {n: min(t.once, launch.arrays.get(n) or t.once) for n, t in found.items()}
    least = float(sum(sizes.values()))
    is_held = least <= device.l2_bytes
    alive = sum(t.by_block for t in found.values()) * together / prod(launch.grid)
    moved = {
        n: sizes[n] if is_held else max(sizes[n], t.together)
        + (t.again if alive > device.l2_bytes else 0.0)
        for n, t in found.items()
    }  # fmt: skip
    loaded = sum(nbytes for n, nbytes in moved.items() if found[n].is_loaded)
    return float(sum(moved.values())), float(loaded), least
