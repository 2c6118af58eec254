"""The figures of the judge, in one command: ``python -m bench.tools.judge [--json FILE]``.

Verdicts of the SIMT checker on the table of right and wrong kernels, its time against plain verify
mode, what ``docs/mutants.md`` counts, and what a run of the fuzzer printed.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.machine import describe
from opweave.runtime.simt.executors import SanitizeExecutor
from tests.mutants.cases import CASES
from tests.support.sanitized import CORRECT, FAULTY

ROOT = Path(__file__).parents[2]
REPEATS = 3
PROGRESS = re.compile(r"graphs .*; failures \d+$")


def verdicts() -> dict[str, Any]:
    """Kernels by hand: misses and false alarms."""
    missed, alarms = [], []
    for case in (*CORRECT, *FAULTY):
        report = ow.sanitize_source(
            case.source, "k", case.grid, case.block, case.arguments(), case.shared
        )
        found = {f.kind for f in report.findings}
        missed += [case.name] if case.kinds - found else []
        alarms += [case.name] if found - case.kinds else []
    return {
        "correct": len(CORRECT), "faulty": len(FAULTY), "missed": missed, "false alarms": alarms,
    }  # fmt: skip


def slowdown() -> dict[str, Any]:
    """Time of a checked run over that of a run in verify mode, kernel by kernel, both warm."""
    ratios = {}
    for name, (function, arguments, toggles) in CASES.items():
        made = ow.fuse(function).with_toggles(**toggles).lower(*arguments, target="sm_80")
        plain = _median(partial(made.verify, *arguments))
        checked = _median(partial(_sanitized, made, arguments))
        ratios[name] = checked / plain
    values = list(ratios.values())
    return {
        "kernels": len(values), "median": statistics.median(values), "most": max(values),
        "slowest": max(ratios, key=lambda n: ratios[n]), "ratios": ratios,
    }  # fmt: skip


def _sanitized(program: ow.Program, arguments: list[Any]) -> None:
    program.run_by(SanitizeExecutor(), program.arguments(tuple(arguments), {}))


def _median(run: Any) -> float:
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def mutants() -> dict[str, int]:
    """What the last whole run of ``python -m tests.mutants`` counted."""
    page = (ROOT / "docs" / "mutants.md").read_text()
    found = re.search(r"(\d+) mutants that compile .*?(\d+) killed, (\d+) survive", page)
    assert found is not None
    return dict(zip(("made", "killed", "survive"), map(int, found.groups()), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--fuzz", type=Path, help="what python -m tests.fuzz printed")
    options = parser.parse_args()
    with np.errstate(all="ignore"):
        found = {
            "machine": describe(), "verdicts": verdicts(), "slowdown": slowdown(),
            "mutants": mutants(),
        }  # fmt: skip
    v, s, m = found["verdicts"], found["slowdown"], found["mutants"]
    print(f"verdicts: {v['correct']} correct and {v['faulty']} faulty kernels; "
          f"missed {len(v['missed'])}, false alarms {len(v['false alarms'])}")  # fmt: skip
    print(f"checker against verify mode: median {s['median']:.1f} times, at most {s['most']:.1f} "
          f"({s['slowest']}; {s['kernels']} kernels; limit 20)")  # fmt: skip
    print(f"mutants: {m['made']} made, {m['killed']} killed, {m['survive']} explained")
    if options.fuzz:
        found["fuzz"] = [
            line for line in options.fuzz.read_text().splitlines() if not PROGRESS.match(line)
        ]
        print(*found["fuzz"], sep="\n")
    else:
        print("fuzz: no log given; see --fuzz")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(bool(v["missed"] or v["false alarms"]))


if __name__ == "__main__":
    sys.exit(main())
