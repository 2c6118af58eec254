"""Transposes: row by row, straight, through shared memory, padded, and not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.executors import copy_rates
from bench.measure.harness import Runner
from bench.measure.problem import Problem, only, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import bandwidth, values

TITLE = "Transposes"
ABOUT = (
    "float32, n by n: x.T copied into rows. Naive reads along columns; the others pass tiles "
    "through shared memory, without and with a padded pitch, which keeps a column of the tile out "
    "of one bank. A stride swap is no kernel: the consumer reads what lies there, here a "
    "multiplication by 2 that follows."
)
FIGURES = (Figure("bandwidth", "", "bandwidth", kind="bars", panels=("n",), ylog=False),)
SIZES = {"host": (4096,), "cuda": (16384,)}
QUICK = (512,)
TOGGLES = {
    "opweave, no padding": {"USE_PADDED_TILE": 0},
    "opweave, naive": {"USE_SHARED_MEMORY": 0},
}


def turned(x: Any) -> Any:
    return np.transpose(x).copy()


def doubled(x: Any) -> Any:
    return np.transpose(x) * 2


def measure(record: Record) -> None:
    """One size of each device, against the rate of a copy."""
    xp = record.executor.xp
    for n in record.sizes(SIZES[record.device], QUICK, 4 * 10, 2):
        x = np.random.default_rng(0).random((n, n), dtype=np.float32)
        record.copy_rates += copy_rates(record.executor, [x.nbytes])
        made = {
            name: (lambda fused, t=toggles: fused.with_toggles(**t))
            for name, toggles in TOGGLES.items()
        }
        out = xp.empty((n, n), np.float32)

        def by_rows(x: Any, out: Any = out) -> Any:
            for row in range(x.shape[0]):
                out[:, row] = x[row]
            return out

        extra = [Runner("library's copy", lambda x: xp.ascontiguousarray(x.T), role="peer")]
        if record.device == "host":
            extra.append(Runner("a loop over rows", by_rows, out=out, role="variant"))
        else:
            record.absent["a loop over rows"] = "a launch a row takes the time of all others"
        only(record)
        solve(record, Problem(turned, [x], {"n": n}, variants=made), extra, with_peers=False)
        solve_swap(record, x, n)
        rate = record.copy_rates[-1]["bytes_per_second"] / 1e9
        record.line("bandwidth", "measured copy rate", [(0, rate)])


def solve_swap(record: Record, x: np.ndarray, n: int) -> None:
    """The consumer of a transpose, which reads it where it lies."""
    swap = Problem(lambda x: np.transpose(x) * 2, [x], {"n": n, "with": "consumer"}, 1e-7)
    fused = ow.fuse(doubled)
    extra = [Runner("opweave, stride swap: x.T * 2", fused)]
    solve(record, swap, extra, with_peers=False, with_ours=False)


def reading(found: Mapping[str, Any]) -> str:
    """Each way against the copy."""
    n = max(values(found, "n"), default=0)
    if not n:
        return ""
    copied = found["copy_rates"][-1]["bytes_per_second"] / 1e9
    names = dict.fromkeys(row["runner"] for row in found["rows"])
    shares = ", ".join(f"{name} {bandwidth(found, name, n=n) / copied:.0%}" for name in names)
    return f"Of the rate of a plain copy ({copied:.3g} GB/s): {shares}."
