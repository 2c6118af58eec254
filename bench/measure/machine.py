"""The machine that a benchmark ran on, as data: no names of people, folders or hosts."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# Packages whose versions can move a figure.
PACKAGES = (
    "opweave", "numpy", "jinja2", "ml_dtypes", "matplotlib", "cupy-cuda13x", "cupy-cuda12x",
    "cuda-bindings", "nvidia-cuda-nvrtc", "torch", "triton", "jax", "numba",
    "numexpr",
)  # fmt: skip
# What nvidia-smi is asked for; it only reads.
GPU_STATE = ("driver_version", "clocks.sm", "clocks.mem", "temperature.gpu", "power.draw")
BENCH = Path(__file__).parents[1]


def describe(note: str = "", commit: str = "") -> dict[str, Any]:
    """Date, commit, processor, memory, GPU and versions."""
    from opweave.runtime.process.processor import processor  # what draws results has no opweave

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit or git_commit(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load": round(os.getloadavg()[0], 2),
        "pace_ms": [pace()],
        "versions": {name: installed(name) for name in PACKAGES},
        "gpu": gpu(),
        "note": note,
    }


def place(device: str, machine: dict[str, Any], *, quick: bool) -> str:
    """Folder of a device's results: "host", or the card's name as in "h200"."""
    name = device
    if device == "cuda" and machine["gpu"]:
        words = [w for w in machine["gpu"]["name"].lower().split() if w not in ("nvidia", "tesla")]
        name = "-".join("".join(c for c in w if c.isalnum()) for w in words[:2]) or device
    return f"{name}-quick" if quick else name


def pace() -> float:
    """Milliseconds of a fixed piece of Python, the best of five.

    A processor that others share, or that runs hot, has a slower pace; a file holds it from before
    and after the experiment.
    """
    times = []
    for _ in range(5):
        start = time.perf_counter()
        sum(number * number for number in range(200_000))
        times.append(time.perf_counter() - start)
    return round(min(times) * 1e3, 2)


def installed(name: str) -> str:
    """The version of a package, or "absent"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def read(command: list[str]) -> str:
    """What a command prints, or "" where it is missing or fails."""
    with suppress(OSError, subprocess.SubprocessError):
        ran = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return ran.stdout.strip()
    return ""


def git_commit() -> str:
    """The commit, with "+" after it where files differ from it; "unknown" outside a clone."""
    git = ["git", "-C", str(BENCH), "--no-optional-locks"]
    found = read([*git, "rev-parse", "HEAD"])
    if not found:
        return "unknown"
    # Results do not count: they are written by the very run that is described.
    changed = read([*git, "status", "--porcelain", "--", "..", ":!results"])
    return found + "+" * bool(changed)


def caches() -> dict[str, int]:
    """Bytes of the data caches of a core, by level."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        with suppress(OSError, ValueError):
            if (folder / "type").read_text().strip() != "Instruction":
                size = (folder / "size").read_text().strip()
                unit = {"K": 1 << 10, "M": 1 << 20}.get(size[-1], 1)
                found[f"L{(folder / 'level').read_text().strip()}"] = int(size[:-1]) * unit
    return found


def gpu() -> dict[str, Any] | None:
    """The current CUDA device as CuPy and nvidia-smi see it; None without either."""
    try:
        import cupy

        runtime = cupy.cuda.runtime
        props = runtime.getDeviceProperties(cupy.cuda.Device().id)
    except Exception:  # CuPy absent, no driver, no device: errors of several libraries
        return None
    name = props["name"]
    return {
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "compute_capability": f"{props['major']}.{props['minor']}",
        "multiprocessors": int(props["multiProcessorCount"]),
        "l2_bytes": int(props["l2CacheSize"]),
        "memory_bytes": int(props["totalGlobalMem"]),
        "cuda_driver": int(runtime.driverGetVersion()),
        "cuda_runtime": int(runtime.runtimeGetVersion()),
        "state": gpu_state(),
    }


def gpu_state() -> dict[str, str]:
    """Driver, clocks, temperature and power, with their units."""
    if shutil.which("nvidia-smi") is None:
        return {}
    query = f"--query-gpu={','.join(GPU_STATE)}"
    text = read(["nvidia-smi", query, "--format=csv,noheader"]).splitlines()
    return dict(zip(GPU_STATE, map(str.strip, text[0].split(",")), strict=False)) if text else {}
