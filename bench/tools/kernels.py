"""What kernels of each template ask of five architectures: ``python -m bench.tools.kernels``.

Writes ``bench/results/model/kernels.json``, a row a line, and ``kernels.md`` beside it.  Tests
hold what the sources make now to these rows.  Nothing is measured: counts come from the binaries.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import opweave as ow
from bench.experiments.model.forms import FORMS
from bench.experiments.model.workloads import Workload
from opweave.runtime.model.device import described

FOLDER = Path(__file__).resolve().parents[1] / "results" / "model"
DEVICES = ("T4", "A100", "RTX 4090", "H200", "B200")
PIPES = ("alu", "fma", "xu", "lsu")
GLOBAL = "_pipe_lsu_mem_global_op_"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
SHOWN = {
    "registers": "launch__registers_per_thread",
    "spilled": "opweave__spill_bytes_per_thread",
    "shared": "launch__shared_mem_per_block",
    "loads ahead": "opweave__loads_in_flight_per_thread",
    "bytes ahead": "opweave__bytes_in_flight_per_thread",
    "occupancy": "sm__maximum_warps_per_active_cycle_pct",
}
# What a change must not make more of, and what not less, by more than so much.
COSTS = ("instructions", *PIPES, "registers", "spilled", "shared", "conflicts")
GAINS = ("load", "store", "loads ahead", "bytes ahead", "occupancy")
MOST_WORSE = 1.02
SLACK = 0.05  # instructions an element that rounding may hide
COLUMNS = ("work", "kernel", "toggles", *GAINS, *COSTS)
HEAD = """\
# What kernels of each template ask of five architectures

Made by `python -m bench.tools.kernels`, by NVRTC {}; **nothing was measured.** *load* and *store*
are bytes of one access of a thread, on average; *ahead* are loads, and bytes, of a thread before
the first wait; instructions are those of a warp, for 32 elements, by pipe; *shared* are bytes of a
block; *conflicts* are turns more than without, for 32 elements. `tests/bench/test_kernel_table.py`
holds each row to within 2 %.
"""

Row = dict[str, Any]


def rows_of(work: Workload, device: str) -> list[Row]:
    """A row for each kernel of a workload."""
    args = work.arguments()
    fused = ow.fuse(work.function, fast=work.fast).with_toggles(USE_VENDOR=0)
    program = fused.lower(*args, target=device)
    report = ow.profile(program, *args, target=device)
    made = zip(program.lowered.kernels, report.kernels, strict=True)
    return [key_of(work, device) | row_of(kernel, profile) for kernel, profile in made]


def key_of(work: Workload, device: str) -> Row:
    """What tells the rows of a workload from others."""
    return {"work": f"{work.name}, {work.dtype}", "device": device}


def row_of(kernel: Any, profile: Any) -> Row:
    """What a kernel asks for."""
    found, turns = profile.counters, max(1, profile.facts.elements) / 32
    conflicts = sum(found[f"{CONFLICTS}{op}.sum"] for op in ("ld", "st", "atom"))
    each = {pipe: found[f"sm__inst_executed_pipe_{pipe}.sum"] / turns for pipe in PIPES}
    toggles = (f"{name}={value}" for name, value in kernel.toggles.items() if value)
    return {
        "kernel": kernel.name, "template": kernel.template, "target": kernel.target,
        "toggles": " ".join(toggles), "load": _width(found, "ld"), "store": _width(found, "st"),
        "instructions": round(found["smsp__inst_executed.sum"] / turns, 2),
        **{pipe: round(count, 2) for pipe, count in each.items()},
        "conflicts": round(conflicts / turns, 2),
        **{name: round(found[counter], 2) for name, counter in SHOWN.items()},
    }  # fmt: skip


def _width(found: Mapping[str, float], op: str) -> float:
    """Bytes of one access of a thread, on average."""
    asked = found[f"opweave__bytes_asked_mem_global_op_{op}.sum"]
    requests = found[f"l1tex__t_requests{GLOBAL}{op}.sum"]
    return round(asked / requests / 32, 2) if requests else 0.0


def worse(before: Row, now: Row) -> list[str]:
    """What got worse by more than 2 %, with both numbers."""
    more = [n for n in COSTS if now[n] > MOST_WORSE * before[n] + (n in PIPES) * SLACK]
    less = [n for n in GAINS if now[n] * MOST_WORSE < before[n]]
    return [f"{name}: {before[name]} before, {now[name]} now" for name in more + less]


def stored() -> Row:
    """The table as it was written."""
    found: Row = json.loads((FOLDER / "kernels.json").read_text())
    return found


def write(nvrtc: str, rows: Sequence[Row]) -> None:
    """The table for programs and for people."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    (FOLDER / "kernels.json").write_text(f'{{"nvrtc": "{nvrtc}", "rows": [\n{lines}\n]}}\n')
    parts = [HEAD.format(nvrtc), *(section(device, rows) for device in DEVICES)]
    (FOLDER / "kernels.md").write_text("\n".join(parts))


def section(device: str, rows: Iterable[Row]) -> str:
    """The rows of a device."""
    own = [row for row in rows if row["device"] == device]
    lines = [f"## {device} ({own[0]['target']})\n", "| " + " | ".join(COLUMNS) + " |"]
    lines += ["|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(f"{row[c]}" for c in COLUMNS) + " |" for row in own]
    return "\n".join(lines) + "\n"


def main() -> int:
    rows: list[Row] = []
    for device in DEVICES:
        assert device in described()
        for work in FORMS:
            rows += rows_of(work, device)
            print(device, rows[-1]["work"], rows[-1]["instructions"], flush=True)
    write(metadata.version("nvidia-cuda-nvrtc"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
