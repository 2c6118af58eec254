"""What one experiment finds on one device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure.cases import Case, Options
from bench.measure.clock import Effort, Run, in_visits, sample_host, summary
from bench.measure.executors import Executor
from bench.measure.harness import Expected, Runner, WrongResult, check_run
from bench.report.document import DOCUMENT, FORMAT, LIMIT
from bench.report.figures import Figure

QUICK_SECONDS = 0.05
# Blocks from which glibc's malloc maps pages of their own, at most (M_MMAP_THRESHOLD, mallopt(3)).
MAPPED = 32 << 20


@dataclass
class Record:
    """Collects what an experiment finds.

    Attributes:
        changed: called after every case, to keep what was found so far.
        is_sized: somebody asked for sizes, so ``--sizes`` has a meaning here.
        earlier: visits of earlier rounds by runner and parameters, which those of this one join.
    """

    options: Options
    executor: Executor
    roofs: Mapping[str, float]
    absent: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    copy_rates: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    limits: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    log: Callable[[str], None] = print
    changed: Callable[[Record], None] = lambda record: None
    is_sized: bool = False
    earlier: dict[Any, list[Sequence[float]]] = field(default_factory=dict)

    @property
    def device(self) -> str:
        return self.executor.name

    @property
    def library(self) -> str:
        """The library whose arrays are computed with."""
        return "NumPy" if self.device == "host" else "CuPy"

    @property
    def effort(self) -> Effort:
        """How long to time a runner."""
        usual = self.executor.effort
        return replace(usual, seconds=QUICK_SECONDS) if self.options.quick else usual

    def sizes(
        self, usual: Sequence[int], quick: Sequence[int], bytes_each: float, power: int = 1
    ) -> list[int]:
        """The sizes to measure: those asked for, as far as the memory holds them.

        Args:
            bytes_each: memory that a unit of size takes, all copies and the judge's included; of
                a matrix, with ``power=2``, an element.
        """
        self.is_sized = True
        wanted = list(self.options.sizes or (quick if self.options.quick else usual))
        most = int((self.executor.memory_bytes / bytes_each) ** (1 / power))
        fit = [n for n in wanted if n <= most]
        for size in (n for n in wanted if n > most):
            smaller = 1 << max(0, most.bit_length() - 1)
            shrunk = smaller not in fit and not self.options.sizes
            fit += [smaller] if shrunk else []
            needs = size**power * bytes_each / 2**30
            self.note(f"size {size} needs {needs:.1f} GiB, more than there is"
                      + (f"; measured {smaller} in its place" if shrunk else ""))  # fmt: skip
        return sorted(fit)

    def note(self, text: str) -> None:
        """What a reader of the results must know."""
        if text not in self.notes:
            self.notes.append(text)
            self.log(f"note: {text}")

    def compare(self, runners: Sequence[Runner], case: Case, effort: Effort | None = None) -> None:
        """Check each runner, time those that are right, and note the others.

        ``effort``: in place of the usual one, such as for calls of a second.
        """
        errors = {r.name: self.checked(r, case) for r in runners}
        right = {r.name: r for r in runners if errors[r.name] is not None}
        visits = in_visits(
            right,
            lambda name, effort: self.executor.sample(right[name], case.sets, effort),
            effort or self.effort,
        )
        for name, runner in right.items():
            calls = self.executor.calls(runner.run, case.sets)
            self.add(self._row(runner, case, visits[name], errors[name], calls))
        self.executor.release()
        self.changed(self)

    def beside_library(
        self, ours: Run, theirs: Run, case: Case, effort: Effort | None = None, **of_both: Any
    ) -> None:
        """Compare a fused function with the same of the library; the rest is of both runners."""
        self.compare([
            Runner("opweave", ours, **of_both),
            Runner(self.library, theirs, role="peer", **of_both),
        ], case, effort)  # fmt: skip

    def checked(self, runner: Runner, case: Case) -> float | None:
        """Largest error in units of the bound; None where the runner is refused."""
        try:
            return check_run(self.executor.xp, runner, case.sets[0], case.dtype, case.expected)
        except Exception as error:  # a peer or a kernel that fails must not end the experiment
            self.refuse(runner.name, runner.role, case.parameters, error)
            return None

    def time(self, runner: Runner, case: Case, work: Callable[[], Any]) -> None:
        """Check a runner, then time other work that belongs to it, such as its compilation."""
        error = self.checked(runner, case)
        if error is not None:
            visits = [sample_host(work, [()], self.effort)]
            self.add(self._row(runner, replace(case, nbytes=0, flops=0), visits, error))
            self.changed(self)

    def measured(
        self, name: str, parameters: Mapping[str, Any], samples: Sequence[float],
        role: str = "ours", clock: str = "perf_counter around single calls",
    ) -> None:  # fmt: skip
        """Add times that the experiment took itself, of something that has no result to check."""
        case = Case(parameters, [()], "float32", Expected(None), 0)
        row = self._row(Runner(name, lambda: None, role=role), case, [samples], None)
        self.add(row | {"clock": clock})
        self.changed(self)

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self.log(_line(row))

    def refuse(
        self, runner: str, role: str, parameters: Mapping[str, Any], error: BaseException
    ) -> None:
        """Note a runner that is not timed, and why."""
        is_wrong = isinstance(error, WrongResult)
        why = without_folders(str(error) if is_wrong else f"{type(error).__name__}: {error}")
        self.refused.append({
            "runner": runner, "role": role, "parameters": dict(parameters), "reason": why[:2000],
            "wrong": is_wrong,
        })  # fmt: skip
        self.log(f"REFUSED {runner} {_shown(parameters)}: {why}")

    def line(
        self, figure: str, label: str, points: Sequence[tuple[float, float]], **panel: Any
    ) -> None:
        """Draw a line into a figure: a roof, a floor, a prediction; in the units of its axes."""
        made = [[float(x), float(f"{y:.6g}")] for x, y in points]
        self.lines.append({"figure": figure, "label": label, "points": made, "panel": panel})

    def mark(self, figure: str, label: str, x: float, **panel: Any) -> None:
        """Draw an upright line into a figure: where something changes."""
        self.marks.append({"figure": figure, "label": label, "x": float(x), "panel": panel})

    def limit(self, name: str, limit: str, value: float | None, unit: str) -> None:
        """Note a figure beside its limit, such as ">= 5"; no value was measured if None."""
        sign, bound = limit.split()
        met, why = None, "no such rows"
        if value is not None:
            met, why = (value >= float(bound) if sign == ">=" else value <= float(bound)), ""
            value = float(f"{value:.4g}")
        self.limits.append(dict(zip(LIMIT, (name, limit, value, unit, met, why), strict=True)))

    def ratio(self, over: str, under: str, **parameters: Any) -> float | None:
        """How many times longer one runner takes than another."""
        a, b = (self.median(r, **parameters) for r in (over, under))
        return a / b if a and b else None

    def median(self, runner: str, **parameters: Any) -> float | None:
        """Median in seconds of the row with these parameters; None if there is none."""
        for row in self.rows:
            same = row["runner"] == runner
            if same and all(row["parameters"].get(k) == v for k, v in parameters.items()):
                return float(row["median_us"]) / 1e6
        return None

    def _row(
        self,
        runner: Runner,
        case: Case,
        visits: Sequence[Sequence[float]],
        error: float | None,
        calls: Sequence[float] | None = None,
    ) -> dict[str, Any]:
        known = self.earlier.setdefault((runner.name, *case.parameters.items()), [])
        known += visits
        row = {
            "runner": runner.name,
            "role": runner.role,
            "parameters": dict(case.parameters),
            "bytes": case.nbytes,
            "bytes_moved": runner.moved,
            "flops": case.flops,
            "special": case.special,
            "unit": case.unit,
            "check": self._check(runner, case, error),
            "clock": self.executor.clock_of(runner),
            "sets": len(case.sets),
            **summary(known),
        }
        if calls and not runner.waits:
            row["call_us"] = [round(c * 1e6, 1) for c in calls]
        return row | ({"toggles": dict(runner.toggles)} if runner.toggles else {})

    def _check(self, runner: Runner, case: Case, error: float | None) -> dict[str, Any]:
        """What a result was held against; others' allocators do not give back what we freed."""
        value = case.expected.value
        nbytes = 0 if value is None else value.size * np.dtype(case.dtype).itemsize
        ours = runner.role != "peer"
        # NumPy gives large memory back to the system, which gives fresh pages
        kept = ours or self.device == "cuda" or nbytes < MAPPED
        freed = "freed blocks" if kept and (ours or runner.moved is not None) else "nothing"
        return {
            "against": "float64" if error is not None else "nothing",
            "poisoned": "out" if runner.out is not None else freed,
            "depth": case.expected.depth,
            "largest_error_of_bound": error,
        }


def without_folders(text: str) -> str:
    """A message without the folders of the machine that it came from."""
    folders = {str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix, str(Path.home())}
    for folder in sorted(folders, key=len, reverse=True):  # an environment may lie in the clone
        text = text.replace(f"{folder}/", "")
    return text


def _shown(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in parameters.items())


def _line(row: Mapping[str, Any]) -> str:
    amount, unit = row["bytes"], "GB/s"
    if row["flops"] > 8 * row["bytes"]:
        amount, unit = row["flops"], "GFLOP/s"
    shown = f"{amount / row['median_us'] / 1e3:9.1f} {unit}" if amount else ""
    return (
        f"{row['runner']:<28} {_shown(row['parameters']):<36} "
        f"{row['median_us']:12.1f} us {shown}  spread {100 * row['spread']:.0f} %"
    )


def document(
    name: str, module: Any, machine: Mapping[str, Any], record: Record, *, complete: bool
) -> dict[str, Any]:
    """Everything that was found, as it goes to the file."""
    figures: Sequence[Figure] = module.FIGURES
    found = (
        FORMAT, name, module.TITLE, module.ABOUT, record.device, complete, dict(machine),
        asdict(record.options), dict(record.roofs), record.notes, record.absent,
        record.copy_rates, record.rows, record.refused, record.limits,
        [asdict(f) for f in figures], record.lines, record.marks,
    )  # fmt: skip
    return dict(zip(DOCUMENT, found, strict=True))
