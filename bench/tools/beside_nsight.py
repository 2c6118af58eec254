"""Counters of Nsight Compute beside ours: ``python bench/tools/beside_nsight.py CSV``.

The CSV is that of ``gpu_steps.py launch`` under ``ncu --csv --page raw`` (``gpu.sh counters``),
made at this commit; ours are made here, by NVRTC of any version, so a kernel may differ where
versions do.  Leaves ``README.md`` beside the CSV, and what it follows from in ``beside.json``.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from bench.experiments.model.workloads import WORKLOADS, Workload

# What is launched, once each, in this order: a row of each kind of kernel.
LAUNCHED = (
    ("cumsum of 2^26", "f32"), ("heat step of 8192^2", "f32"),
    ("softmax of 32768 columns", "f32"), ("softmax of 32768 columns", "bf16"),
    ("softmax of 8192 columns", "bf16"), ("layer norm of 4096", "f16"), ("pixels / 255", "u8"),
    ("softmax of 131072 columns", "f32"), ("cumsum down 4096^2", "f32"),
    ("sums of 64 columns of 65,536", "f32"), ("map of 8 operators", "bf16"),
    ("layer norm of 32768", "f32"),
)  # fmt: skip
COMPARED = {
    "instructions": "smsp__inst_executed.sum",
    "registers": "launch__registers_per_thread",
    "occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared loads": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared stores": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
MORE = (
    "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
)  # fmt: skip
MOVED, TIME, CACHE = "bytes moved", "us", "L2 busy"
HEAD = """\
# Counters of Nsight Compute beside ours, {device}

Made by `bench/gpu.sh counters` and `python bench/tools/beside_nsight.py`: each kernel was launched
once under Nsight Compute, and executed for control and addresses here, with no GPU. A cell is
ours over Nsight's ([docs/profile.md](../../../../docs/profile.md) has the names of the counters);
an equal sign stands for 1.00. *bytes moved* are those of memory: what lies in the level-2 cache
when a kernel ends has not been written back, so Nsight's are fewer. *us* is the model's time over
Nsight's. *L2 busy* is Nsight's `lts__throughput`, of which the model knows nothing.

"""


def launched() -> Iterator[Workload]:
    """The workloads, in the order of their launches."""
    table = {(w.name, w.dtype): w for w in WORKLOADS if not w.fast}
    return (table[key] for key in LAUNCHED)


def theirs(path: Path) -> list[dict[str, float | str]]:
    """By launch what Nsight has counted."""
    lines = path.read_text().splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith('"ID"'))
    wanted = {*COMPARED.values(), *MORE}
    return [
        {"kernel": row["Kernel Name"]}
        | {name: float(row[name].replace(",", "")) for name in wanted if row.get(name)}
        for row in [*csv.DictReader(lines[head:])][1:]  # the first says units
    ]


def ours(device: str) -> Iterator[dict[str, Any]]:
    """The same of ours: counters, bytes and the model's time of each kernel."""
    import opweave as ow

    for work in launched():
        args = work.arguments()
        program = ow.fuse(work.function).lower(*args, target=device)
        for kernel in ow.profile(program, *args, target=device).kernels:
            counted = {name: float(kernel.counters[name]) for name in COMPARED.values()}
            yield {"work": f"{work.name}, {work.dtype}", "kernel": kernel.name,
                   "us": kernel.model.us, "moved": kernel.facts.moved_bytes} | counted  # fmt: skip


def page(rows: Sequence[Mapping[str, Any]], device: str) -> str:
    """The table."""
    columns = ("work", "kernel", *COMPARED, MOVED, TIME, CACHE)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cells(row["ours"], row["nsight"])) + " |" for row in rows]
    return HEAD.format(device=device) + "\n".join(lines) + "\n"


def cells(own: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    pairs = [(own[name], other.get(name, 0.0)) for name in COMPARED.values()]
    pairs.append((own["moved"], other["dram__bytes_read.sum"] + other["dram__bytes_write.sum"]))
    pairs.append((own["us"], other["gpu__time_duration.sum"] / 1e3))
    busy = other["lts__throughput.avg.pct_of_peak_sustained_elapsed"]
    return [own["work"], f"`{own['kernel']}`", *map(over, pairs), f"{busy:.0f} %"]


def over(pair: tuple[float, float]) -> str:
    if pair[0] == pair[1]:
        return "=" if pair[0] else ""
    found = f"{pair[0] / pair[1]:.2f}" if pair[1] else "none of theirs"
    return "=" if found == "1.00" else found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", type=Path)
    parser.add_argument("--device", default="H200")
    options = parser.parse_args(arguments)
    pairs = zip(ours(options.device), theirs(options.csv), strict=True)
    rows = [{"ours": own, "nsight": other} for own, other in pairs]
    (options.csv.parent / "beside.json").write_text(json.dumps(rows, indent=1) + "\n")
    (options.csv.parent / "README.md").write_text(page(rows, options.device))
    return 0


if __name__ == "__main__":
    sys.exit(main())
