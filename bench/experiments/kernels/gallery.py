"""The gallery: small real programs as a NumPy user writes them, beside NumPy itself."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import peers
from bench.measure.harness import Expected
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import rows

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import gallery

TITLE = "The gallery: thirty programs, unmodified"
ABOUT = (
    "The programs of docs/gallery on arrays of about so many elements, most of them float32: "
    "the function itself by NumPy (on a GPU by CuPy), and the same function in ow.fuse. All "
    "results are compared with NumPy's. NumPy uses one core but for its products, opweave all."
)
FIGURES = (Figure("time", "program", "time", kind="bars", panels=("elements",)),)
SIZES = {"host": (10**6, 10**7), "cuda": (10**7,)}
QUICK = (10**5,)
# What the arrays of a program may take, all that lies between its lines in NumPy included.
BYTES_EACH = 400
# Programs whose work grows faster than their arrays, or whose lines are products or sorts.
SMALLER = {"n_body": 16}
VENDORS = ("transformer_block", "limiter")
# Rounding, in whatever order; sums of a million terms of float32 among it.
RELATIVE, ABSOLUTE = 2e-3, 2e-3


def flat(result: Any) -> Any:
    """All outputs as one array of float64."""
    outputs = result if isinstance(result, tuple) else (result,)
    flats = [np.asarray(o.get() if hasattr(o, "get") else o).reshape(-1) for o in outputs]
    return np.concatenate([f.astype(np.float64) for f in flats])


def measure(record: Record) -> None:
    """Each program at each size."""
    warnings.simplefilter("ignore", RuntimeWarning)
    for size in record.sizes(SIZES[record.device], QUICK, BYTES_EACH):
        for name, program in gallery.PROGRAMS.items():
            one(record, name, program, size)


def one(record: Record, name: str, program: Any, size: int) -> None:
    """A program, fused and as it is."""
    given = program.arguments(size // SMALLER.get(name, 1))
    expected = flat(program.function(*given))
    put = record.executor.put
    args = tuple(put(a) if isinstance(a, np.ndarray) else a for a in given)
    own = peers.rebound(program.function, record.executor.xp)
    fused = ow.fuse(program.function)
    moved = sum(a.nbytes for a in given if isinstance(a, np.ndarray))
    wanted = Expected(put(expected), RELATIVE, ABSOLUTE)
    case = Case({"program": name, "elements": size}, [args], np.float64, wanted, moved)

    def read(result: Any) -> Any:
        return put(flat(result))

    record.beside_library(fused, own, case, read=read)


def ratios(found: Mapping[str, Any], size: int) -> dict[str, float]:
    """NumPy's time over ours, by program."""
    times: dict[str, dict[str, float]] = {}
    for row in rows(found, elements=size):
        kind = "ours" if row["role"] == "ours" else "peer"
        times.setdefault(row["parameters"]["program"], {})[kind] = row["median_us"]
    return {n: t["peer"] / t["ours"] for n, t in times.items() if len(t) == 2}


def reading(found: Mapping[str, Any]) -> str:
    """How many times NumPy's speed, at each size; the slowest programs by name."""
    sizes = sorted({row["parameters"]["elements"] for row in found["rows"]})
    text = []
    for size in sizes:
        by_name = ratios(found, size)
        if not by_name:
            continue
        worst = sorted(by_name, key=lambda n: by_name[n])[:4]
        shown = ", ".join(f"{n} {by_name[n]:.2f}" for n in worst)
        text.append(
            f"At {size:,} elements the {len(by_name)} programs run at "
            f"{geometric_mean(by_name.values()):.1f} times the speed of the library they are "
            f"written for (geometric mean; median {median(by_name.values()):.1f}); slowest: "
            f"{shown}."
        )
    return " ".join(text)
