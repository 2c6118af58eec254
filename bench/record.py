"""What an experiment finds, and the JSON file that holds it.

The file is the only thing that plots and reports are made from:

    {"format": 1, "experiment": "fusion", "title": ..., "about": ..., "machine": {...},
     "options": {...}, "absent": {"cupy": "ModuleNotFoundError: ..."},
     "copy_rates": [...], "rows": [...], "refused": [...], "limits": [...]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from executors import Executor, find
from harness import (
    Effort,
    Expected,
    Runner,
    Sets,
    WrongResult,
    check_run,
    in_two_visits,
    sample_host,
    summary,
)

FORMAT = 1
# Keys that every file, row and limit has; a reader may rely on them.
DOCUMENT = (
    "format", "experiment", "title", "about", "machine", "options", "absent", "copy_rates",
    "rows", "refused", "limits",
)  # fmt: skip
ROW = (
    "executor", "runner", "parameters", "bytes", "bytes_moved", "flops", "check", "clock",
    "samples_us", "median_us", "quartiles_us", "spread", "visits_us", "bytes_per_second",
    "flops_per_second", "sets",
)  # fmt: skip
REFUSED = ("executor", "runner", "parameters", "reason")
LIMIT = ("name", "limit", "value", "unit", "met", "why")
MACHINE = (
    "date", "commit", "system", "python", "processor", "cores", "caches", "memory_bytes", "load",
    "pace_ms", "versions", "gpu", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What a user asked for.

    Attributes:
        executors: names; None for all that are there.
        sizes: in place of an experiment's own; their meaning is the experiment's.
        quick: smaller sizes and fewer samples, to see that all works.
    """

    executors: tuple[str, ...] | None = None
    sizes: tuple[int, ...] | None = None
    quick: bool = False
    note: str = ""
    commit: str = ""


@dataclass(frozen=True)
class Case:
    """One problem that several runners solve.

    Attributes:
        parameters: what tells this case from others, such as ``{"length": 8}``.
        sets: arguments; several sets of equal values where the cache must not serve them.
        dtype: of the result.
        nbytes: bytes that any algorithm must read and write: inputs and outputs, once each.
        flops: operations that any algorithm must do.
    """

    parameters: Mapping[str, Any]
    sets: Sets
    dtype: Any
    expected: Expected
    nbytes: int
    flops: int = 0


@dataclass
class Record:
    """Collects what one experiment finds."""

    options: Options
    absent: dict[str, str] = field(default_factory=dict)
    copy_rates: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    limits: list[dict[str, Any]] = field(default_factory=list)
    log: Any = print

    def executors(self, peers: Mapping[str, Sequence[str]]) -> list[Executor]:
        """The executors that are there; absent ones are named, and their peers with them.

        Args:
            peers: names of the runners beside ours, by executor.
        """
        found, absent = find(self.options.executors)
        for name, why in absent.items():
            self.absent |= dict.fromkeys((name, *peers.get(name, ())), why)
        return found

    def effort(self, executor: Executor) -> Effort:
        """How long to time a runner."""
        return replace(executor.effort, seconds=0.05) if self.options.quick else executor.effort

    def compare(self, executor: Executor, runners: Sequence[Runner], case: Case) -> None:
        """Check each runner, time those that are right, and note the others."""
        errors = {r.name: self.checked(executor, r, case) for r in runners}
        right = {r.name: r for r in runners if errors[r.name] is not None}
        samples = in_two_visits(
            right,
            lambda name, effort: executor.sample(right[name].run, case.sets, effort),
            self.effort(executor),
        )
        for name, runner in right.items():
            calls = executor.calls(runner.run, case.sets)
            self.add(_row(executor, runner, case, samples[name], errors[name], calls))

    def checked(self, executor: Executor, runner: Runner, case: Case) -> float | None:
        """Largest error in units of the bound; None where the runner is refused."""
        try:
            return check_run(executor.xp, runner, case.sets[0], case.dtype, case.expected)
        except Exception as error:  # a peer or a kernel that fails must not end the experiment
            self.refuse(executor.name, runner.name, case.parameters, error)
            return None

    def time(
        self, executor: Executor, runner: Runner, case: Case, work: Callable[[], Any]
    ) -> None:
        """Check a runner, then time other work that belongs to it, such as its compilation."""
        error = self.checked(executor, runner, case)
        if error is None:
            return
        row = _row(executor, runner, case, sample_host(work, [()], self.effort(executor)), error)
        self.add(row | {"bytes_per_second": None, "flops_per_second": None})  # it ran no kernel

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self.log(_line(row))

    def refuse(
        self, executor: str, runner: str, parameters: Mapping[str, Any], error: Exception
    ) -> None:
        """Note a runner that is not timed, and why."""
        why = str(error) if isinstance(error, WrongResult) else f"{type(error).__name__}: {error}"
        row = dict(zip(REFUSED, (executor, runner, dict(parameters), why[:2000]), strict=True))
        self.refused.append(row | {"wrong": isinstance(error, WrongResult)})
        self.log(f"REFUSED {executor} {runner} {_shown(parameters)}: {why}")

    def limit(self, name: str, limit: str, value: float | None, unit: str) -> None:
        """Note a figure beside its limit, such as ">= 5"; no value was measured if None."""
        sign, bound = limit.split()
        met, why = None, "no such rows"
        if value is not None:
            met, why = (value >= float(bound) if sign == ">=" else value <= float(bound)), ""
            value = float(f"{value:.4g}")
        self.limits.append(dict(zip(LIMIT, (name, limit, value, unit, met, why), strict=True)))

    def ratio(self, executor: str, over: str, under: str, **parameters: Any) -> float | None:
        """How many times longer one runner takes than another."""
        a, b = (self.median(executor, r, **parameters) for r in (over, under))
        return a / b if a and b else None

    def median(self, executor: str, runner: str, **parameters: Any) -> float | None:
        """Median in seconds of the row with these parameters; None if there is none."""
        for row in self.rows:
            same = (row["executor"], row["runner"]) == (executor, runner)
            if same and all(row["parameters"].get(k) == v for k, v in parameters.items()):
                return float(row["median_us"]) / 1e6
        return None


def _row(
    executor: Executor,
    runner: Runner,
    case: Case,
    samples: list[float],
    error: float | None,
    calls: list[float] | None = None,
) -> dict[str, Any]:
    found = summary(samples)
    seconds = found["median_us"] / 1e6
    row = {
        "executor": executor.name,
        "runner": runner.name,
        "parameters": dict(case.parameters),
        "bytes": case.nbytes,
        "bytes_moved": runner.moved or case.nbytes,
        "flops": case.flops,
        "check": _check(runner, case, error),
        "clock": executor.clock,
        "sets": len(case.sets),
        **found,
        "bytes_per_second": round(case.nbytes / seconds),
        "flops_per_second": round(case.flops / seconds),
    }
    if calls:
        row["call_us"] = [round(c * 1e6, 1) for c in calls]
    return row | ({"toggles": dict(runner.toggles)} if runner.toggles else {})


def _check(runner: Runner, case: Case, error: float | None) -> dict[str, Any]:
    return {
        "against": "float64",
        "poisoned": "out" if runner.out is not None else "freed blocks",
        "depth": case.expected.depth,
        "largest_error_of_bound": error,
    }


def _shown(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in parameters.items())


def _line(row: Mapping[str, Any]) -> str:
    rate, unit = row["bytes_per_second"], "GB/s"
    if row["flops"] > 8 * row["bytes"]:
        rate, unit = row["flops_per_second"], "GFLOP/s"
    shown = "" if rate is None else f"{rate / 1e9:9.1f} {unit}"
    return (
        f"{row['executor']:<5} {row['runner']:<28} {_shown(row['parameters']):<36} "
        f"{row['median_us']:12.1f} us {shown}  spread {100 * row['spread']:.0f} %"
    )


def document(
    name: str, title: str, about: str, machine: Mapping[str, Any], record: Record
) -> dict[str, Any]:
    """Everything that was found, as it goes to the file."""
    options = asdict(record.options)
    found = (
        FORMAT, name, title, about, dict(machine), options, record.absent, record.copy_rates,
        record.rows, record.refused, record.limits,
    )  # fmt: skip
    return dict(zip(DOCUMENT, found, strict=True))


def missing_keys(found: Mapping[str, Any]) -> list[str]:
    """Keys that a document lacks, as paths; [] if it is complete."""
    lacks = [k for k in DOCUMENT if k not in found]
    lacks += [f"machine.{k}" for k in MACHINE if k not in found.get("machine", {})]
    for part, keys in (("rows", ROW), ("refused", REFUSED), ("limits", LIMIT)):
        for number, row in enumerate(found.get(part, [])):
            lacks += [f"{part}[{number}].{k}" for k in keys if k not in row]
    return lacks


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a document, a row per line, in the place of an older one only when complete.

    Raises:
        ValueError: keys are missing, or a figure is not finite.
    """
    lacks = missing_keys(found)
    if lacks:
        raise ValueError(f"the document lacks {', '.join(lacks)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(_text(found))
    os.replace(beside, path)


def _text(found: Mapping[str, Any]) -> str:
    parts = []
    for key, value in found.items():
        if isinstance(value, list) and value:
            lines = ",\n  ".join(json.dumps(v, allow_nan=False) for v in value)
            parts.append(f" {json.dumps(key)}: [\n  {lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        ValueError: not a document of this format, or incomplete.
    """
    found = json.loads(path.read_text())
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"{path.name}: expected a benchmark of format {FORMAT}")
    lacks = missing_keys(found)
    if lacks:
        raise ValueError(f"{path.name}: lacks {', '.join(lacks)}")
    return found
