"""What loading a saved program takes, in fresh processes: ``python -m bench.tools.loading``.

Each process imports NumPy and opweave, loads a program for the host, calls it, loads a copy of it
and calls that.  The copy finds all modules imported and the scheduler loaded: what the first load
and call take more than it is mostly imports.  Times are wall-clock milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import opweave as ow

PROCESSES = 20
# What a process measures, in order, and the limit of a median or None.
LIMITS: Mapping[str, float | None] = {
    "import numpy": None,
    "import opweave": 25,
    "first load": 20,
    "first call": None,
    "second call": None,
    "load of a copy": None,
    "first call of the copy": None,
    "opweave, load and call": None,
    "the whole process": None,
}
WHOLE, SUM = "the whole process", "opweave, load and call"
PROGRAM = """
import json, sys
from time import perf_counter
times = [perf_counter()]
import numpy as np
times.append(perf_counter())
import opweave as ow
times.append(perf_counter())
loaded = ow.load_program(sys.argv[1])
times.append(perf_counter())
img = np.ones((54, 96, 3), np.float32)
loaded(img, 1.4)
times.append(perf_counter())
loaded(img, 1.4)
times.append(perf_counter())
loaded = ow.load_program(sys.argv[2])
times.append(perf_counter())
loaded(img, 1.4)
times.append(perf_counter())
print(json.dumps([1e3 * (end - start) for start, end in zip(times, times[1:])]))
"""


def tonemap(img: Any, exposure: Any, gamma: Any = 2.2) -> Any:
    """The program of docs/take_away.md."""
    x = img * exposure
    return (x / (1 + x)) ** (1 / gamma)


def measured(processes: int = PROCESSES) -> dict[str, list[float]]:
    """Milliseconds of each process, by what it measures; one more, before them, does not count."""
    with tempfile.TemporaryDirectory() as folder:
        places = [str(Path(folder) / name) for name in ("first", "copy")]
        img = np.ones((54, 96, 3), np.float32)
        ow.fuse(tonemap).lower(img, 1.4, target="host").save(places[0])
        shutil.copytree(*places)
        rows = [_of_process(places) for _ in range(processes + 1)][1:]
    return {name: [row[name] for row in rows] for name in LIMITS}


def _of_process(places: Sequence[str]) -> dict[str, float]:
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # as installed: compiled once
    timer = "import time, subprocess, sys; start = time.perf_counter(); "
    timer += "subprocess.run(sys.argv[1:], check=True); print(1e3 * (time.perf_counter() - start))"
    ran = subprocess.run(
        [sys.executable, "-c", timer, sys.executable, "-c", PROGRAM, *places],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    inner, whole = ran.stdout.split("\n")[:2]
    steps = [name for name in LIMITS if name not in (SUM, WHOLE)]
    found = dict(zip(steps, json.loads(inner), strict=True))
    found[SUM] = sum(found[name] for name in ("import opweave", "first load", "first call"))
    return found | {WHOLE: float(whole)}


def lines(found: Mapping[str, Sequence[float]]) -> list[str]:
    """A line for each step: minimum, median, and the limit of the median."""
    made = [f"{'ms':<26}{'minimum':>9}{'median':>9}  limit of the median"]
    for name, times in found.items():
        limit = LIMITS[name]
        shown = "" if limit is None else f"<= {limit:g}"
        made.append(
            f"{name:<26}{min(times):9.2f}{statistics.median(times):9.2f}  {shown}".rstrip()
        )
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    print("\n".join(lines(measured(parser.parse_args().processes))))


if __name__ == "__main__":
    main()
