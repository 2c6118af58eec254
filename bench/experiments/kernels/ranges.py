"""Every function on its special ranges: nothing may take longer there than elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import opweave as ow
from bench.experiments.kernels.functions import FLOATS
from bench.measure.harness import Expected
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import rows

TITLE = "Functions on their special ranges"
ABOUT = (
    "Each function of `functions`, and remainders, over arrays of one range: ordinary "
    "numbers, those of which exp is subnormal or ends, huge, subnormal and the smallest normal "
    "ones, zeros, infinities and NaN: by NumPy (on a GPU by CuPy), and fused. power, arctan2, "
    "fmod, remainder and // take an array between 0.5 and 3 as well. The ratio of the slowest "
    "range to the ordinary one says whether a special value is a slow one."
)
FIGURES = (Figure("time", "range", "time", kind="bars", panels=("dtype",)),)
MOST_SAMPLES = 36  # of a row: there are a thousand rows
SIZE, QUICK = 1 << 18, 1 << 12
BYTES_EACH = 24
NAMES = (*FLOATS, "fmod", "remainder", "floor_divide")
OF_TWO = ("power", "arctan2", "fmod", "remainder", "floor_divide")
QUICK_NAMES = ("exp", "log", "fmod")
ORDINARY = "ordinary"


def ranges(dtype: str, size: int) -> dict[str, Any]:
    """An array of each range."""
    kind = np.finfo(dtype)
    uniform = np.random.default_rng(0).uniform
    end, begin = np.log(float(kind.max)), np.log(float(kind.tiny))
    found = {
        ORDINARY: uniform(-20, 20, size),
        "beyond exp": uniform(-100, -1.2, size) * end,
        "exp is subnormal": uniform(1, 1.04, size) * begin,
        "huge": uniform(0.1, 0.9, size) * float(kind.max),
        "subnormal": uniform(0.01, 0.9, size) * float(kind.tiny),
        "smallest": uniform(1, 100, size) * float(kind.tiny),
        "zero": np.zeros(size),
        "infinity": np.full(size, np.inf),
        "-infinity": np.full(size, -np.inf),
        "nan": np.full(size, np.nan),
    }
    return {name: x.astype(dtype) for name, x in found.items()}


def measure(record: Record) -> None:
    """Each function of each dtype on each range."""
    warnings.simplefilter("ignore", RuntimeWarning)
    (size,) = record.sizes((SIZE,), (QUICK,), BYTES_EACH)
    for dtype in ("float32", "float64"):
        for name in NAMES if size > QUICK else QUICK_NAMES:
            fused = ow.fuse(lambda *arrays, of=getattr(np, name): of(*arrays))
            for title, x in ranges(dtype, size).items():
                one(record, fused, name, title, x)


def one(record: Record, fused: Any, name: str, title: str, x: Any) -> None:
    """A function on a range, fused and by the library."""
    executor, dtype = record.executor, x.dtype
    second = np.random.default_rng(1).uniform(0.5, 3, x.size).astype(dtype)
    given = (x, second) if name in OF_TWO else (x,)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*given)
    args = tuple(map(executor.put, given))
    least = 4 * float(np.finfo(dtype).smallest_subnormal)
    wanted = Expected(executor.put(_numbers(np, expected)), 8 * float(np.finfo(dtype).eps), least)
    about = {"function": name, "range": title, "dtype": str(dtype), "elements": x.size}
    case = Case(about, [args], str(dtype), wanted, expected.nbytes + sum(a.nbytes for a in given))
    read = partial(_numbers, executor.xp)
    effort = replace(record.effort, most=MOST_SAMPLES)
    record.beside_library(fused, getattr(executor.xp, name), case, effort, read=read)


def _numbers(xp: Any, x: Any) -> Any:
    """With numbers in the place of infinities and NaN, so that errors can be measured."""
    return xp.nan_to_num(x, nan=3.0, posinf=5.0, neginf=-5.0)


def reading(found: Mapping[str, Any]) -> str:
    """The slowest range against the ordinary one, ours and the library's; the lowest speed."""
    text = []
    for dtype in ("float32", "float64"):
        times: dict[str, dict[tuple[str, str], float]] = {"ours": {}, "peer": {}}
        for row in rows(found, dtype=dtype):
            of = row["parameters"]
            kind = "ours" if row["role"] == "ours" else "peer"
            times[kind][of["function"], of["range"]] = row["median_us"]
        if not times["ours"] or not times["peer"]:
            continue
        slowest = {kind: _slowest(of) for kind, of in times.items()}
        ratios = {
            of: times["peer"][of] / t for of, t in times["ours"].items() if of in times["peer"]
        }
        lowest = min(ratios, key=lambda of: ratios[of])
        text.append(
            f"{dtype}: a range takes {slowest['ours']} times the ordinary one's time at most, the "
            f"library's {slowest['peer']}; lowest speed over the library's: {ratios[lowest]:.2f} "
            f"({lowest[0]}, {lowest[1]})."
        )
    return " ".join(text)


def _slowest(times: Mapping[tuple[str, str], float]) -> str:
    """The largest ratio to the ordinary range, with its function and range."""
    worst = max(times, key=lambda of: times[of] / times[of[0], ORDINARY])
    return f"{times[worst] / times[worst[0], ORDINARY]:.1f} ({worst[0]}, {worst[1]})"
