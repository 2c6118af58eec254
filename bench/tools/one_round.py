"""One short process of ``run.py --against``: our own rows of some experiments, by one build.

``python -m bench.tools.one_round FILE``: reads what to measure, writes what it found beside it.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.experiments import load
from bench.measure.executors import Executor, find
from bench.measure.record import Options, Record
from bench.report.document import ROOFS

OURS = ("ours", "variant")
# Rates of no machine: an experiment predicts with them, and no prediction is compared.
NOMINAL = dict.fromkeys(ROOFS, 1e11) | {"launch": 1e-6}
BENCH = Path(__file__).resolve().parents[1]


def measured(name: str, executor: Executor, sizes: Sequence[int] | None) -> dict[str, Any]:
    """Times of our rows in microseconds, by what tells a row from others; what was refused.

    A row's time is its least sample: others on the machine make a sample longer, by half or more
    for seconds, and never shorter.
    """
    module = load(name)
    if executor.name not in getattr(module, "DEVICES", ("host", "cuda")):
        return {"rows": [], "refused": [], "skipped": f"not on {executor.name}"}
    options = Options(quick=True, sizes=tuple(sizes) if sizes else None, peers=())
    record = Record(options, executor, NOMINAL, log=lambda text: None)
    module.measure(record)
    rows = [
        {"row": label(name, row), "us": min(row["samples_us"])}
        for row in record.rows
        if row["role"] in OURS
    ]
    refused = [
        {"row": label(name, row), "why": row["reason"]}
        for row in record.refused
        if row["role"] in OURS
    ]
    return {"rows": rows, "refused": refused, "skipped": ""}


def label(experiment: str, row: dict[str, Any]) -> str:
    shown = ", ".join(f"{k}={v}" for k, v in row["parameters"].items())
    return f"{experiment}: {row['runner']}" + f", {shown}" * bool(shown)


def is_lacking(error: BaseException) -> bool:
    """True where code of this folder imports, names or passes what the build does not have."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    asking = [code for code in codes if code.co_name != "__getattr__"][-1]  # which only answers
    asked_here = Path(asking.co_filename).resolve().is_relative_to(BENCH)
    passed = isinstance(error, TypeError) and "unexpected keyword argument" in str(error)
    return asked_here and (passed or isinstance(error, ImportError | AttributeError))


def main(arguments: list[str]) -> int:
    path = Path(arguments[0])
    asked = json.loads(path.read_text())
    found: dict[str, Any] = {"experiments": {}, "lacks": ""}
    try:
        import opweave

        found["build"] = opweave.__file__
        executor = find(asked["device"])
        for name in asked["experiments"]:
            found["experiments"][name] = measured(name, executor, asked["sizes"])
    except (ImportError, AttributeError, TypeError) as error:
        if not is_lacking(error):
            raise
        found["lacks"] = f"{type(error).__name__}: {error}"
    path.with_suffix(".found").write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
