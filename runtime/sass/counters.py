"""Counters of one launch, under the names that Nsight Compute has for them.

What it has no name for is ours, and its name begins with ``opweave__``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opweave.runtime.sass.accesses import SECTOR, footprint, touched
from opweave.runtime.sass.execution import Execution
from opweave.runtime.sass.flow import Flow
from opweave.runtime.sass.listing import Listing
from opweave.runtime.sass.pipes import OTHER, PIPES, pipe_of
from opweave.runtime.sass.sampling import shared

# Our pipes by the names of Nsight Compute's documentation, "Pipelines".
METRICS = {
    "fma": "sm__inst_executed_pipe_fma.sum",
    "fp16": "sm__inst_executed_pipe_fp16.sum",
    "alu": "sm__inst_executed_pipe_alu.sum",
    "xu": "sm__inst_executed_pipe_xu.sum",
    "fp64": "sm__inst_executed_pipe_fp64.sum",
    "tensor": "sm__inst_executed_pipe_tensor.sum",
    "lsu": "sm__inst_executed_pipe_lsu.sum",
    "uniform": "sm__inst_executed_pipe_uniform.sum",
    "tex": "sm__inst_executed_pipe_tex.sum",
    "branch": "sm__inst_executed_pipe_cbu.sum",
    OTHER: "opweave__inst_executed_pipe_unknown.sum",
}
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"


def by_pipe(listing: Listing, issued: Iterable[float]) -> dict[str, float]:
    """Warp instructions by pipe."""
    found = dict.fromkeys((*PIPES, OTHER), 0.0)
    for one, times in zip(listing.instructions, issued, strict=True):
        found[pipe_of(one)] += times
    return found


def by_line(listing: Listing, issued: Iterable[float]) -> dict[int, dict[str, float]]:
    """Warp instructions by line of the source and pipe."""
    found: dict[int, dict[str, float]] = {}
    for one, times in zip(listing.instructions, issued, strict=True):
        if times:
            row = found.setdefault(one.line, defaultdict(float))
            row[pipe_of(one)] += times
    return {line: dict(row) for line, row in sorted(found.items())}


@dataclass(frozen=True)
class BlockCount:
    """A basic block of the binary.

    Attributes:
        address: of its first instruction.
        runs: warps that executed it, in the whole launch.
        instructions: of the block, by pipe.
        line: of its first instruction in the source, 0 where unknown.
    """

    address: int
    runs: float
    instructions: dict[str, int]
    line: int


def by_block(listing: Listing, issued: Sequence[float]) -> tuple[BlockCount, ...]:
    """The basic blocks in the order of their addresses, without the padding at the end."""
    flow, found = Flow(listing), []
    for first, end in flow.ends.items():
        rows = [one for one in listing.instructions[first:end] if one.root != "NOP"]
        if rows:
            pipes = Counter(map(pipe_of, rows))
            runs = float(round(issued[first]))
            found.append(BlockCount(rows[0].address, runs, dict(pipes), rows[0].line))
    return tuple(found)


def counters(listing: Listing, run: Execution) -> dict[str, float]:
    """All that was counted, by name, as whole numbers where they are counts."""
    found = {"smsp__inst_executed.sum": sum(run.issued)}
    found |= {METRICS[pipe]: n for pipe, n in by_pipe(listing, run.issued).items()}
    rows = list(run.requests.values())
    for op in ("ld", "st", "atom", "red"):
        far = [r for r in rows if r.op == op and r.space == "global"]
        found[GLOBAL.format("requests", op)] = sum(r.requests for r in far)
        found[GLOBAL.format("sectors", op)] = sum(r.sectors for r in far)
        found[f"opweave__bytes_asked_mem_global_op_{op}.sum"] = sum(r.bytes for r in far)
    for op in ("ld", "st", "atom"):
        near = [r for r in rows if r.op == op and r.space == "shared"]
        waves = sum(r.wavefronts for r in near)
        found[WAVEFRONTS.format(op)] = waves
        found[CONFLICTS.format(op)] = waves - sum(r.least for r in near)
    found["opweave__requests_with_addresses_from_data.sum"] = sum(r.unknown for r in rows)
    hidden = sum(s.instructions * s.warps for s in run.skipped)
    found["opweave__inst_not_attributed_at_most.sum"] = hidden
    return {name: float(round(value)) for name, value in found.items()}


@dataclass(frozen=True)
class Touched:
    """What a launch touches of one array, in bytes of whole sectors.

    Attributes:
        by_block: each once a block.
        once: each once.
        together: each once among the blocks that run at one time.
        again: by blocks that come back to it in another loop.
        is_loaded: threads wait for it.
    """

    by_block: float
    once: float
    together: float
    again: float
    is_loaded: bool


def arrays_touched(run: Execution, wide: int, together: int) -> dict[int, Touched]:
    """By array, scaled to all blocks.

    Args:
        wide: blocks of the grid along x.
        together: blocks that run at one time.
    """
    both = touched(run.requests.values())
    shares = shared(both, run.sample.three, wide, together)
    counted = footprint(touched(run.requests.values(), run.sample.stands))
    loaded = footprint(touched(r for r in run.requests.values() if not r.is_store))
    scale, out = SECTOR * run.blocks / run.sampled, {}
    for array, (blocks, once) in counted.items():
        more = run.walked.get(array, (0.0, 0.0))
        by_block = (blocks + more[0]) * scale
        share, again = shares.get(array, 1.0), run.again.get(array, 0.0)
        out[array] = Touched(
            by_block, (once + more[1]) * scale, by_block * share, again * scale, array in loaded
        )
    return out
