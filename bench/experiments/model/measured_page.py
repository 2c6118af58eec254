"""The page of the standing table as it was measured on a device, beside others and the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.experiments.model.measured import PEERS
from bench.experiments.model.table import read, titled
from opweave.runtime.model.device import described

HEAD = """\
# The standing table, measured on {name}

`python bench/run.py model --device cuda`, {date}, commit {commit}: {gpu}, driver {driver}, CUDA
{runtime}, NVRTC {nvrtc}, CuPy {cupy}, PyTorch {torch}, Triton {triton}, Python {python}, NumPy
{numpy}. Times are the device's, by events around single calls that wait in the queue, medians of
six visits in turns; every result was compared with float64 before. Sets of arguments rotate, so
that all come from memory. *of the roof*: a launch ({launch} us) and the bytes of arguments and
results at the rate of a copy, {copy:.0f} GB/s, over our time. A peer's column says how many times
its time ours is quicker: below 1 it is ahead. *PyTorch* has functions of its own for these rows
(`bench/experiments/model/torch_rows.py`), CuPy runs the same NumPy code, Triton's are plain
kernels (`triton_rows.py`; of sums the first pass alone). *own*: products by our own kernels, where
a call goes to the vendor's library. *model*: what the model says of our kernel.

"""
COLUMNS = ("work", "us", "of the roof", *PEERS, "own", "model", "measured / model")


def write_page(path: Path) -> None:
    """``README.md`` beside the file of a device; rows get what the model says of them now."""
    found = json.loads(path.read_text())
    said = _modelled(path)
    for row in found["rows"]:
        if titled(row) in said:
            row.setdefault("model_us", said[titled(row)])
    path.write_text(json.dumps(found, indent=1) + "\n")
    (path.parent / "README.md").write_text(page(found))


def _modelled(path: Path) -> dict[str, float]:
    """Microseconds of each row by the model; {} where the device has no table."""
    try:
        rows = read(path.parents[2] / "model", path.parents[1].name)["rows"]
    except OSError:
        return {}
    return {titled(row): row["us"] for row in rows if "us" in row}


def page(found: Mapping[str, Any]) -> str:
    """The text, from the stored rows and from nothing else."""
    machine, versions = found["machine"], found["machine"]["versions"]
    gpu = machine["gpu"]
    name = gpu["name"].split()[-1]
    launch = described()[name].launch_us if name in described() else 0.0
    text = HEAD.format(
        name=name, date=machine["date"][:10], commit=machine["commit"], gpu=gpu["name"],
        driver=gpu["state"].get("driver_version", "?"), runtime=gpu["cuda_runtime"],
        nvrtc=versions["nvidia-cuda-nvrtc"], cupy=versions["cupy-cuda13x"],
        torch=versions["torch"], triton=versions["triton"], python=machine["python"],
        numpy=versions["numpy"], launch=launch, copy=found["roofs"]["copy"] / 1e9,
    )  # fmt: skip
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(cells(row, launch)) + " |" for row in found["rows"]]
    return text + "\n".join(lines) + f"\n\n{reading(found)}\n"


def times(row: Mapping[str, Any]) -> dict[str, float]:
    """Microseconds of those that were right."""
    runners = row.get("runners", {})
    return {name: r["median_us"] for name, r in runners.items() if "median_us" in r}


def cells(row: Mapping[str, Any], launch: float) -> list[str]:
    """A row's cells; products are judged by operations, not by the roof of bytes."""
    took = times(row)
    if "opweave" not in took:
        return [titled(row), "refused", *[""] * (len(COLUMNS) - 2)]
    ours, own = took["opweave"], took.get("opweave, own kernels")
    said = row.get("model_us")
    return [
        titled(row), f"{ours:.1f}",
        "" if row["flops"] else f"{(launch + row['roof_us']) / ours:.2f}",
        *(f"{took[p] / ours:.2f}" if p in took else "" for p in PEERS),
        f"{own:.1f}" if own else "",
        f"{said:.1f}" if said else "", f"{(own or ours) / said:.2f}" if said else "",
    ]  # fmt: skip


def reading(found: Mapping[str, Any]) -> str:
    """Geometric means over peers, and the median error of the model."""
    rows = [(row.get("model_us"), times(row)) for row in found["rows"]]
    means = []
    for peer in PEERS:
        ratios = [t[peer] / t["opweave"] for _, t in rows if peer in t and "opweave" in t]
        if ratios:
            means.append(f"{peer} {np.exp(np.mean(np.log(ratios))):.2f} ({len(ratios)} rows)")
    pairs = [
        (t.get("opweave, own kernels") or t["opweave"]) / said
        for said, t in rows if said and "opweave" in t
    ]  # fmt: skip
    text = f"Geometric means of a peer's time over ours: {', '.join(means)}."
    if pairs:
        off = np.median(np.abs(np.array(pairs) - 1))
        text += f" The model's median error is {100 * off:.0f} % of {len(pairs)} rows."
    return text
