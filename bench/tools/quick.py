"""The figures of the core, in one command: ``python -m bench.tools.quick [--json FILE]``.

Times are medians; what needs NVRTC or a GPU and finds none says so.  Fresh processes measure what
a first use costs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import opweave as ow
from bench.tools.loading import LIMITS, measured
from opweave.runtime.binaries.build import builder


def median_seconds(run: Callable[[], Any], repeats: int = 15) -> float:
    """Median time of one run after a warm-up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def in_fresh_process(code: str, repeats: int = 5, **environment: str) -> float:
    """Median of the number that a fresh Python prints, in seconds."""
    found = []
    environment.setdefault("PYTHONDONTWRITEBYTECODE", "")  # as installed: compiled once
    for _ in range(repeats + 1):
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.append(float(ran.stdout.strip().split("\n")[-1]))
    return statistics.median(found[1:] if repeats > 1 else found[:1])


IMPORT = """
import time, numpy
start = time.perf_counter(); import opweave; print(time.perf_counter() - start)
"""
LOWER = """
import numpy as np, opweave as ow
x = np.ones((64, 100), np.float32)
k = ow.fuse(lambda x: x * 2 + 1).lower(x, target="sm_80").kernels[0]
"""
FIRST_NVRTC = (
    LOWER
    + """
import time
start = time.perf_counter(); k.binary; print(time.perf_counter() - start)
"""
)
DISK_HIT = (
    LOWER
    + """
import sys, time
from opweave.runtime.binaries.build import builder
builder(); start = time.perf_counter(); b = k.binary; print(time.perf_counter() - start)
assert b.origin == "disk" and "cuda.bindings" not in sys.modules
"""
)


def twenty(x: Any, y: Any) -> Any:
    """Twenty operators."""
    for _ in range(5):
        x = np.tanh(x * 1.5 + y) - 0.25
    return x


def eight(x: Any) -> Any:
    """Eight arithmetic operators."""
    for _ in range(4):
        x = x * np.float32(1.01) + np.float32(0.5)
    return x


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def figure(name: str, value: float, unit: str, limit: str) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "limit": limit}


def compile_figures() -> list[dict[str, Any]]:
    x = np.ones((64, 100), np.float32)
    out = [
        figure("import opweave, on top of numpy", 1e3 * in_fresh_process(IMPORT), "ms", "<= 25"),
        figure(
            "function to source, 20 operators",
            1e3 * median_seconds(lambda: ow.fuse(twenty).lower(x, x, target="sm_80").source),
            "ms", "<= 20",
        ),
    ]  # fmt: skip
    try:
        import cuda.bindings  # noqa: F401
    except ImportError:
        return [*out, figure("NVRTC: not installed, not measured", float("nan"), "", "")]
    with tempfile.TemporaryDirectory() as folder:
        first = in_fresh_process(FIRST_NVRTC, 1, OPWEAVE_CACHE_DIR=folder)
        hit = in_fresh_process(DISK_HIT, 5, OPWEAVE_CACHE_DIR=folder)
    small = statistics.median(compile_seconds()[1:])
    return [
        *out,
        figure("NVRTC, small kernel, once loaded", 1e3 * small, "ms", "<= 60"),
        figure("NVRTC, first kernel of a process", 1e3 * first, "ms", "<= 800"),
        figure("disk hit in a fresh process", 1e3 * hit, "ms", "<= 5"),
    ]


def compile_seconds() -> list[float]:
    """What NVRTC takes for small kernels, one after the other."""
    x = np.ones((64, 100), np.float32)
    kernels = [
        ow.fuse(lambda x, n=n: x * n + 1).lower(x, target="sm_80").kernels[0] for n in range(2, 12)
    ]
    build = builder()
    times = []
    for kernel in kernels:
        start = time.perf_counter()
        build._compile(kernel.source, "sm_80", fast=False, mode="run")
        times.append(time.perf_counter() - start)
    return times


def saved_figures() -> list[dict[str, Any]]:
    found = {name: statistics.median(times) for name, times in measured(5).items()}
    rows = "first load", "load of a copy"
    return [figure(f"saved program: {n}", found[n], "ms", f"<= {LIMITS[n]:g}") for n in rows]


def run_figures() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    x = rng.random(1 << 24, dtype=np.float32)
    fused = ow.fuse(eight)
    ours, numpys = median_seconds(lambda: fused(x)), median_seconds(lambda: eight(x), 5)
    rows = rng.standard_normal((16384, 1000)).astype(np.float32)
    fused_rows = ow.fuse(softmax)
    our_rows = median_seconds(lambda: fused_rows(rows))
    numpy_rows = median_seconds(lambda: softmax(rows), 5)
    small = x[:16].copy()
    fused(small)
    calls = 20000

    def warm() -> None:
        for _ in range(calls):
            fused(small)

    return [
        figure("8 arithmetic operators, 16 Mi float32, ours", 1e3 * ours, "ms", ""),
        figure("8 arithmetic operators, 16 Mi float32, NumPy / ours", numpys / ours, "x", ">= 3"),
        figure("softmax, 16384 x 1000 float32, ours", 1e3 * our_rows, "ms", ""),
        figure("softmax, 16384 x 1000 float32, NumPy / ours", numpy_rows / our_rows, "x", ">= 1"),
        figure("warm call, 16 elements", 1e6 * median_seconds(warm, 5) / calls, "us", "<= 25"),
    ]


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    figures = compile_figures() + saved_figures() + run_figures()
    for row in figures:
        print(f"{row['name']:<55} {row['value']:10.2f} {row['unit']:<3} {row['limit']}")
    print("GPU: not measured by this script")
    if options.json:
        about = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
            **{
                n: installed(n) for n in ("opweave", "numpy", "cuda-bindings", "nvidia-cuda-nvrtc")
            },
        }
        with open(options.json, "w") as file:
            json.dump({"about": about, "figures": figures}, file, indent=1)


if __name__ == "__main__":
    main()
