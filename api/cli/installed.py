"""What is installed: packages, tools, compilers; and the command that adds what is missing."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

import opweave
from opweave.opcodes.errors import ArgumentError, NoCompilerError
from opweave.runtime.binaries import hostcc
from opweave.runtime.binaries.cache import DEFAULT_BYTES, DiskCache
from opweave.runtime.binaries.disassembly import tool
from opweave.runtime.process import environment

VARIABLES = ("OPWEAVE_CACHE_DIR", "OPWEAVE_CACHE_SIZE", "OPWEAVE_DEVICE", "OPWEAVE_LOGS")
CUPY = "pip install 'opweave[cuda13]' or 'opweave[cuda12]'"
# What is shown, the distributions that bring it, and the command that adds it.
PACKAGES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("numpy", ("numpy",), "pip install numpy"),
    ("jinja2", ("jinja2",), "pip install jinja2"),
    ("ml_dtypes", ("ml_dtypes",), "pip install ml_dtypes"),
    ("cupy", ("cupy-cuda13x", "cupy-cuda12x", "cupy"), CUPY),
    ("cuda-bindings", ("cuda-bindings",), "pip install 'opweave[nvrtc]'"),
    ("nvrtc", ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"), "pip install 'opweave[nvrtc]'"),
    ("torch", ("torch",), "pip install torch"),
    ("jax", ("jax",), "pip install jax"),
    ("pyarrow", ("pyarrow",), "pip install pyarrow"),
    ("dask", ("dask",), "pip install 'dask[array,distributed]'"),
    ("rich", ("rich",), "pip install 'opweave[cli]'"),
    ("pygments", ("pygments",), "pip install 'opweave[cli]'"),
    ("pillow", ("pillow",), "pip install 'opweave[demo]'"),
    ("matplotlib", ("matplotlib",), "pip install 'opweave[demo]'"),
)
TOOLS = ("nvdisasm", "cuobjdump")


@dataclass(frozen=True)
class Item:
    """One thing that may be there: its version or path, or the command that adds it."""

    name: str
    found: str
    add: str = ""


def parts() -> list[Item]:
    """Python, opweave, and every package and tool that opweave can use."""
    out = [
        Item("python", platform.python_version()),
        Item("opweave", opweave.__version__),
    ]
    for name, distributions, add in PACKAGES:
        found = next(filter(None, map(installed, distributions)), "")
        out.append(Item(name, found, "" if found else add))
        if name == "torch" and found:
            out.append(backend())
    for name in TOOLS:
        path = ""
        with suppress(NoCompilerError):
            path = tool(name)
        known = installed(f"nvidia-cuda-{name}") if "nvidia" in Path(path).parts else ""
        out.append(Item(name, known or path, "" if path else "pip install 'opweave[nvrtc]'"))
    return out


def backend() -> Item:
    """Whether torch knows us as a backend: it does where we were installed, or installed again."""
    points = entry_points(group="torch_dynamo_backends")
    known = "backend" if "opweave" in points.names else ""
    return Item("torch.compile", known, "" if known else "install opweave again")


def installed(distribution: str) -> str:
    """The version of a distribution, or ""."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def compilers() -> list[Item]:
    """Every host compiler that is there: what it calls itself, and where."""
    out = []
    for name in ("g++", "c++", "clang++"):
        path = shutil.which(name)
        if path:
            out.append(Item(name, f"{_first_line(path)} ({path})"))
    if importlib.util.find_spec("ziglang") is not None:
        out.append(Item("zig", f"ziglang {installed('ziglang')}, a wheel"))
    return out


def used_compiler() -> str:
    """The command that compiles host kernels, or ""."""
    with suppress(NoCompilerError):
        return " ".join(hostcc.host_compiler().command)
    return ""


def _first_line(path: str) -> str:
    with suppress(OSError, subprocess.SubprocessError, IndexError):
        ran = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
        return ran.stdout.splitlines()[0].strip()
    return "does not start"


def cache_state() -> dict[str, Any]:
    """Path, state and size of the cache folder; it is not made here."""
    root = environment.cache_folder()
    problem, cap = "", DEFAULT_BYTES
    try:
        cap = environment.cache_bytes(DEFAULT_BYTES)
    except ArgumentError as error:
        problem = str(error)
    cache = DiskCache(root, cap)
    problem = problem or cache.problem()
    entries = [] if problem else list(cache.entries())
    return {
        "folder": str(root),
        "exists": os.path.lexists(root),
        "usable": not problem,
        "problem": problem,
        "entries": len(entries),
        "bytes": sum(e.bytes for e in entries),
        "cap": cap,
    }


def variables(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What is set of opweave's environment variables."""
    return {n: given[n] for n in sorted(given) if n.startswith("OPWEAVE_")}


def variable_problems(given: Mapping[str, str] = os.environ) -> list[str]:
    """What is wrong with them: a name that is not read, a value that is none."""
    unknown = [
        f"{name} is not read: expected one of {', '.join(VARIABLES)}"
        for name in variables(given)
        if name not in VARIABLES
    ]
    try:
        environment.device()
    except ArgumentError as error:
        return [*unknown, str(error)]
    return unknown
