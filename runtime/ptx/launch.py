"""Launches of kernels in PTX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opweave.opcodes.errors import PtxLaunchError
from opweave.runtime.isa.instruction import Array, PtxVariable
from opweave.runtime.ptx.code import Code, code_of
from opweave.runtime.ptx.machine import Machine, Shape
from opweave.runtime.ptx.memory import Memory, PtxRegion, lazily
from opweave.runtime.ptx.recorder import Recorder
from opweave.runtime.ptx.schedules import schedule_of

BATCH = 16384  # threads that run together: their registers stay in the cache of a core
BUDGET = 20_000_000  # instructions that a batch may run
MOST_BLOCKS, MOST_BLOCKS_Y, MOST_THREADS = 2**31 - 1, 65535, 1024


@dataclass(frozen=True)
class PtxLaunch:
    """What a launch of PTX has besides its memory.

    Attributes:
        text: of the PTX.
        name: of the kernel.
        shape: extents of grid, blocks and clusters.
        params: the bytes of the parameters, as the kernel lays them out.
        shared_bytes: dynamic shared memory of a block.
        schedule: 0 runs the lowest instruction first, another number is a seed.
        budget: instructions that a batch of blocks may run.
        chosen: linear numbers of the blocks that run; None for all.
    """

    text: str
    name: str
    shape: Shape
    params: bytes
    shared_bytes: int = 0
    schedule: int = 0
    budget: int = BUDGET
    chosen: Sequence[int] | None = None


def packed(text: str, name: str, values: Sequence[bytes]) -> bytes:
    """The bytes of parameters, each where the kernel expects it.

    Raises:
        PtxLaunchError: their number or sizes are not the kernel's.
    """
    code = code_of(text, name)
    params = code.layout.functions[name].function.params
    if len(params) != len(values):
        raise PtxLaunchError(f"{name} takes {len(params)} parameters: found {len(values)}")
    made = bytearray(code.layout.params_size)
    for v, value in zip(params, values, strict=True):
        at = code.layout.parameters[v.name]
        made[at : at + v.size] = value[: v.size].ljust(v.size, b"\0")
    return bytes(made)


def run(launch: PtxLaunch, regions: Sequence[PtxRegion], recorder: Recorder | None = None) -> None:
    """Run a kernel on memory.

    Raises:
        PtxSyntaxError, UnknownInstructionError: the text cannot be executed.
        PtxLaunchError: the launch cannot be, or does not end.
        PtxMemoryError: an access that may not be.
    """
    code = code_of(launch.text, launch.name)
    _check(launch, code)
    memory, symbols = _with_variables(code, regions)
    symbols["%dynamic_smem_size"] = launch.shared_bytes
    schedule = schedule_of(launch.schedule)
    sizes = code.layout.shared + launch.shared_bytes, code.layout.local
    cluster = int(np.prod(launch.shape.cluster))
    for blocks in _batches(launch, code):
        machine = Machine(
            launch.name, code.straight, code.slots, launch.shape, schedule.order(blocks, cluster),
            memory, symbols, launch.params, sizes, schedule, launch.budget, recorder,
        )  # fmt: skip
        machine.run()


def _check(launch: PtxLaunch, code: Code) -> None:
    shape = launch.shape
    x, y, z = shape.grid
    if not (1 <= x <= MOST_BLOCKS and 1 <= y <= MOST_BLOCKS_Y and 1 <= z <= MOST_BLOCKS_Y):
        raise PtxLaunchError(
            f"{launch.name}: a grid of {x} x {y} x {z} blocks: expected 1 to 2**31 - 1, and 1 to "
            "65535 along the other axes"
        )
    if not 1 <= shape.threads <= MOST_THREADS:
        raise PtxLaunchError(f"{launch.name}: {shape.threads} threads: expected 1 to 1024")
    if any(g % c for g, c in zip(shape.grid, shape.cluster, strict=True)):
        raise PtxLaunchError(f"{launch.name}: the grid is no multiple of its clusters")
    if launch.chosen is not None and shape.cluster != (1, 1, 1):
        raise PtxLaunchError(f"{launch.name}: blocks of clusters cannot be chosen: run them all")
    if len(launch.params) != code.layout.params_size:
        raise PtxLaunchError(
            f"{launch.name}: {len(launch.params)} bytes of parameters, expected "
            f"{code.layout.params_size}"
        )


def _batches(launch: PtxLaunch, code: Code) -> list[Array] | map[Array]:
    """Linear numbers of the blocks that run together, batch by batch."""
    shape, cluster = launch.shape, int(np.prod(launch.shape.cluster))
    count = shape.blocks if launch.chosen is None else len(launch.chosen)
    per = max(BATCH // shape.threads // cluster, 1) * cluster
    if code.spins:
        per = count
        if count * shape.threads > 1 << 22:
            raise PtxLaunchError(
                f"{launch.name}: its blocks wait for each other, so all {count} have to run "
                "together: call it on a smaller grid"
            )
    chosen = None if launch.chosen is None else np.asarray(launch.chosen, np.int64)

    def batch(start: int) -> Array:
        places = np.arange(start, min(start + per, count))
        return _of_clusters(places, shape) if chosen is None else chosen[places]

    return map(batch, range(0, count, per))


def _of_clusters(places: Array, shape: Shape) -> Array:
    """Linear numbers of blocks, so that those of a cluster follow each other by rank."""
    if shape.cluster == (1, 1, 1):
        return places
    number, rank = np.divmod(places, int(np.prod(shape.cluster)))
    made, step = np.zeros_like(places), 1
    for extent, size in zip(shape.grid, shape.cluster, strict=True):
        made += (number % (extent // size) * size + rank % size) * step
        number, rank, step = number // (extent // size), rank // size, step * extent
    return made


def _with_variables(code: Code, regions: Sequence[PtxRegion]) -> tuple[Memory, dict[str, int]]:
    """Memory with the module's own variables, and their addresses."""
    made, symbols = [*regions], {}
    for v in code.module.variables:
        if v.space in ("global", "const"):
            region = _variable(v)
            made.append(region)
            symbols[v.name] = region.base
    return Memory(made), symbols


def _variable(v: PtxVariable) -> PtxRegion:
    data = lazily(v.size + 256)
    skip = -int(data.ctypes.data) % 256
    data = data[skip : skip + v.size]
    data[: len(v.initial)] = np.frombuffer(v.initial, np.uint8)
    return PtxRegion(v.name, int(data.ctypes.data), data, writable=v.space == "global")
