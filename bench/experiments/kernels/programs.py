"""Programs as NumPy users write them, in place and in loops, beside NumPy itself."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from typing import Any

import numpy as np

import opweave as ow
from bench.experiments.calls.compile import Fresh
from bench.experiments.in_place.table import PROGRAMS as IN_PLACE
from bench.experiments.in_place.table import Program
from bench.experiments.rolled.table import PROGRAMS as ROLLED
from bench.measure import peers
from bench.measure.clock import VISITS, Effort
from bench.measure.record import Record
from bench.measure.states import State
from bench.measure.versions import Version, fastest
from bench.report.figures import Figure
from bench.report.reading import rows, values

TITLE = "Sixty programs, in place and in loops"
ABOUT = (
    "Programs as NumPy users write them. Thirty write in place: time steps of grids, particles, "
    "optimisers, filters with out=, rings, boundaries. Thirty are loops over rows, time and "
    "elements, and calls of NumPy's library between them: factorisations, recurrences, dynamic "
    "programming, clusters, small networks. Results, and what the arguments hold afterwards, are "
    "compared with NumPy's before anything is timed. Runners take turns, and before each call the "
    "arguments are made what they were, which is not timed. "
    "small: NumPy takes 1 to 10 ms; large: 0.1 to 1 s. breaks are lines of a program that NumPy "
    "runs between kernels; cold_seconds is a first call with an empty cache."
)
FIGURES = (Figure("time", "program", "time", kind="bars", panels=("size",)),)
DEVICES = ("host",)
SIZES, QUICK = ("small", "large"), ("tiny",)
PROGRAMS = IN_PLACE | ROLLED
# NumPy's time over ours: the least of any program, and the mean by group and size.
LEAST = ">= 0.9"
MEANS = (
    ("in place", IN_PLACE, {"small": ">= 3", "large": ">= 5"}),
    ("in loops", ROLLED, {"small": ">= 3.3", "large": ">= 3.3"}),
)
# Why compilers have no version of these programs.
WITHOUT = {"JAX": "arrays of JAX cannot be written to"}
Run = Callable[..., Any]
Make = Callable[[], list[Version]]
# What makes a program's versions for peers, by their names.
Makers = Callable[[Any], dict[str, Make]]


def measure(record: Record) -> None:
    """Each program at each size."""
    warnings.simplefilter("ignore", RuntimeWarning)
    sizes = QUICK if record.options.quick else SIZES
    for size in sizes:
        for program in PROGRAMS.values():
            one(record, program, size)
    for group, names, means in MEANS if sizes is SIZES else ():
        for size, mean in means.items():
            by_name = ratios({"rows": record.rows}, size)
            found = [ratio for name, ratio in by_name.items() if name in names]
            text, least = f"NumPy / opweave, {group}, {size}", min(found, default=None)
            record.limit(f"{text}, the least", LEAST, least, "x")
            middle = geometric_mean(found) if found else None
            record.limit(f"{text}, geometric mean", mean, middle, "x")


def by_numba(program: Program) -> dict[str, Make]:
    """The same function by numba, compiled once for all sizes."""
    return {"numba": lambda: [Version(jitted(peers.module("numba"), program.function))]}


@cache
def jitted(numba: Any, function: Run) -> Run:
    found: Run = numba.njit(parallel=True)(function)
    return found


def one(record: Record, program: Any, size: str, makers: Makers = by_numba) -> None:
    """A program: checked, then timed in turns with NumPy and with what compiles it."""
    args = program.arguments(getattr(program, size), np.random.default_rng(0))
    about = {"program": program.name, "size": size}
    versions: dict[str, Make] = {
        "opweave": lambda: [Version(ow.fuse(program.function))],
        "NumPy": lambda: [Version(program.function)],
        **asked_for(record, makers(program)),
    }
    expected = State(args)
    result = program.function(*expected.args)
    right: dict[str, Version] = {}
    for name, make in versions.items():
        try:
            right[name] = fastest(make(), args, (result, expected.args), program.tolerance)
        except peers.Absent as error:
            record.absent[name] = str(error)
        except Exception as error:  # a compiler raises what it likes
            record.refuse(name, role(name), about, error)
    del expected
    effort = record.effort
    times = in_turns({name: version.run for name, version in right.items()}, args, effort)
    for name, samples in times.items():
        record.measured(name, about, samples, role(name), "perf_counter, in turns")
        record.rows[-1]["check"] |= {"against": "NumPy", "poisoned": "arguments differ"}
        if right[name].name:
            record.rows[-1]["version"] = right[name].name
        if name == "opweave":
            record.rows[-1] |= described(record, program, args)
    record.changed(record)


def role(name: str) -> str:
    """Of a runner, as records have it."""
    return "ours" if name == "opweave" else "peer"


def in_turns(runs: Mapping[str, Run], args: tuple[Any, ...], effort: Effort) -> dict[str, Any]:
    """Seconds of single calls, run after run, each with arguments of its own."""
    states = {name: State(args) for name in runs}
    found: dict[str, list[float]] = {name: [] for name in runs}
    for name, run in runs.items():
        run(*states[name].args)
    stop = perf_counter() + effort.seconds * len(runs) * 2
    for turn in range(effort.most):
        if turn >= min(effort.least, 2 * VISITS) and perf_counter() > stop:
            break
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            states[name].restore()
            start = perf_counter()
            runs[name](*states[name].args)
            found[name].append(perf_counter() - start)
    return found


def asked_for(record: Record, makers: Mapping[str, Make]) -> dict[str, Make]:
    """What makes a program's versions, of the compilers that are asked for."""
    asked = peers.chosen("host", record.options.peers, quick=record.options.quick)
    found = {}
    for name in peers.PEERS["host"]:
        if name == "NumPy":
            continue
        if name not in makers:
            record.absent[name] = WITHOUT.get(name, "no code of it is written for this experiment")
        elif name not in asked:
            record.absent[name] = "not asked for, or compiles for seconds"
        else:
            found[name] = makers[name]
    return found


def described(record: Record, program: Program, args: tuple[Any, ...]) -> dict[str, Any]:
    """Kernels, lines that NumPy runs between them, and what a first call takes."""
    told = ow.fuse(program.function).explain(*State(args).args)
    about = {
        "kernels": len(told.kernels),
        "loops": len(told.loops),
        "breaks": [f"line {b.where.line}: {b.what}" for b in told.breaks],
    }
    return about if record.options.quick else about | {"cold_seconds": cold(program, args)}


def cold(program: Program, args: tuple[Any, ...]) -> float:
    """Seconds of a first call that finds nothing in any cache."""
    from opweave.runtime.binaries.cache import DiskCache

    given, fused = State(args).args, ow.fuse(program.function)
    with tempfile.TemporaryDirectory() as folder, Fresh(DiskCache(Path(folder))):
        start = perf_counter()
        fused(*given)
        return round(perf_counter() - start, 3)


def ratios(found: Mapping[str, Any], size: str, peer: str = "NumPy") -> dict[str, float]:
    """A peer's time over ours, by program."""
    times: dict[str, dict[str, float]] = {}
    for row in rows(found, size=size):
        times.setdefault(row["parameters"]["program"], {})[row["runner"]] = row["median_us"]
    return {n: t[peer] / t["opweave"] for n, t in times.items() if {peer, "opweave"} <= {*t}}


def reading(found: Mapping[str, Any]) -> str:
    """How many times a peer's speed, at each size, and a row for each program."""
    others = [n for n in dict.fromkeys(row["runner"] for row in rows(found)) if n != "opweave"]
    text = [read for size in values(found, "size") for read in beside(found, size, others)]
    parted = dict.fromkeys(r["parameters"]["program"] for r in found["rows"] if r.get("breaks"))
    text += [f"In parts: {', '.join(parted)}."] if parted else []
    return "\n\n".join(filter(None, ("\n".join(table(found)), " ".join(text))))


def beside(found: Mapping[str, Any], size: str, others: Sequence[str]) -> Iterator[str]:
    """A sentence for each peer."""
    for peer in others:
        by_name = ratios(found, size, peer)
        if not by_name:
            continue
        slowest = sorted(by_name, key=lambda n: by_name[n])[:4]
        shown = ", ".join(f"{n} {by_name[n]:.2f}" for n in slowest)
        yield (
            f"{size}: {len(by_name)} programs at {geometric_mean(by_name.values()):.1f} times "
            f"{peer}'s speed (geometric mean); slowest: {shown}."
        )


def table(found: Mapping[str, Any]) -> list[str]:
    """A line a program and size, as a table of Markdown."""
    names = list(dict.fromkeys(row["runner"] for row in rows(found)))
    others = [name for name in names if name not in ("NumPy", "opweave")]
    head = [
        "program",
        "size",
        "NumPy ms",
        "opweave ms",
        "ratio",
        "kernels",
        "loops",
        "breaks",
        "cold s",
    ]
    lines = [[*head, *(f"{name} ms" for name in others)]]
    for row in rows(found, "opweave"):
        about = row["parameters"]
        ms = {r["runner"]: r["median_us"] / 1e3 for r in rows(found, **about)}
        if "NumPy" not in ms:
            continue
        lines.append([
            about["program"], about["size"], f"{ms['NumPy']:.2f}", f"{ms['opweave']:.2f}",
            f"{ms['NumPy'] / ms['opweave']:.2f}",
            str(row["kernels"]), str(row.get("loops", "")), str(len(row["breaks"])),
            str(row.get("cold_seconds", "")),
            *(f"{ms[name]:.2f}" if name in ms else "" for name in others),
        ])  # fmt: skip
    lines.insert(1, ["---"] * len(lines[0]))
    return [f"| {' | '.join(line)} |" for line in lines] if len(lines) > 2 else []
