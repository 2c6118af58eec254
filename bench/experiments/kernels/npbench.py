"""NPBench: other people's programs as they are, beside NumPy."""

from __future__ import annotations

import copy
import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

from bench.experiments.kernels import programs
from bench.measure import peers
from bench.measure.record import Record
from bench.measure.versions import Version
from bench.report.figures import Figure

TITLE = "NPBench: 54 programs, unmodified"
COMMIT = "f2d7f27d87ba4881991e62c18a607aa6ba52b260"
PLACE = "OPWEAVE_NPBENCH"
ABOUT = (
    "The NumPy versions of spcl/npbench (Ziogas and others, ICS 2021), not a line changed, at the "
    f"presets S and M; fetched at commit {COMMIT[:12]}, and not part of this repository. Results "
    "and arguments afterwards are compared with NumPy's before anything is timed. Runners take "
    "turns. numba and JAX run what the suite has rewritten for them: of numba's versions the "
    "fastest, and JAX has its own arrays beforehand. breaks are lines that NumPy runs between "
    "kernels; a function that NumPy runs as a whole has no kernels."
)
FIGURES = (Figure("time", "program", "time", kind="bars", panels=("size",)),)
DEVICES = ("host",)
SIZES, QUICK = ("S", "M"), ("S",)
QUICK_NAMES = ("jacobi_2d", "lu", "arc_distance")
# The suite's versions for numba: compiled or in object mode, on all cores, with loops on them.
NUMBA = ("n", "np", "npr", "o", "op", "opr")
# Sums of thousands of terms, in another order.
TOLERANCE = 1e4
MEAN, LEAST = ">= 3.3", ">= 0.9"


@dataclass(frozen=True)
class Foreign:
    """A program of the suite, as ``programs.one`` takes it; its sizes are presets.

    Attributes:
        path: of its modules, without what tells whose version one has.
        written: places of the arguments that are results.
    """

    name: str
    function: Callable[..., Any]
    arguments: Callable[[str, Any], tuple[Any, ...]]
    path: str
    written: tuple[int, ...]
    S: str = "S"
    M: str = "M"
    tolerance: float = TOLERANCE


def folder() -> Path | None:
    """Where the suite lies: by the environment, or in ``outside/npbench`` of this repository."""
    usual = Path(__file__).parents[3] / "outside" / "npbench"
    found = Path(os.environ.get(PLACE) or usual)
    return found if (found / "bench_info").is_dir() else None


def suite(place: Path) -> list[Foreign]:
    """All of its programs, by name."""
    if str(place) not in sys.path:
        sys.path.append(str(place))
    return [loaded(json.loads(p.read_text())) for p in sorted(place.glob("bench_info/*.json"))]


def loaded(about: Mapping[str, Any]) -> Foreign:
    """A program by its description."""
    info = about["benchmark"]
    path = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"
    function = getattr(importlib.import_module(f"{path}_numpy"), info["func_name"])
    written = tuple(map(info["input_args"].index, info.get("output_args", ())))
    made = partial(arguments, info, path)
    return Foreign(info["module_name"], function, made, path, written)


def arguments(info: Mapping[str, Any], path: str, preset: str, _: Any) -> tuple[Any, ...]:
    """What a program is called with, made by its own function."""
    known = dict(info["parameters"][preset])
    if start := info.get("init"):
        made = getattr(importlib.import_module(path), start["func_name"])(
            *(known[name] for name in start["input_args"])
        )
        names = start["output_args"]
        known |= zip(names, made if isinstance(made, tuple) else (made,), strict=True)
    return tuple(copy.deepcopy(known[name]) for name in info["input_args"])


def rewritten(program: Foreign) -> dict[str, programs.Make]:
    """The suite's versions for others: those for numba, and JAX's."""
    return {"numba": partial(by_numba, program), "JAX": partial(by_jax, program)}


def by_numba(program: Foreign) -> list[Version]:
    """All versions for numba; their modules compile at the first call."""
    peers.module("numba")
    found = {name: _version(program, f"numba_{name}") for name in NUMBA}
    return [Version(run, name) for name, run in found.items() if run is not None]


def by_jax(program: Foreign) -> list[Version]:
    """JAX's version, with arrays that are its own before it is timed."""
    jax, jnp = peers.module("jax"), peers.module("jax.numpy")
    jax.config.update("jax_enable_x64", True)
    function = _version(program, "jax")
    if function is None:
        return []
    given: list[Any] = []

    def run(*args: Any) -> Any:
        if not given:  # all calls have the same arguments, which no function of JAX's writes
            given.extend(jnp.array(a) if isinstance(a, np.ndarray) else a for a in args)
        return jax.block_until_ready(function(*given))

    return [Version(run, written=program.written)]


def _version(program: Foreign, whose: str) -> Any:
    """A version's function; None where the suite has none."""
    try:
        module = importlib.import_module(f"{program.path}_{whose}")
    except ModuleNotFoundError:
        return None
    return getattr(module, program.function.__name__, None)


def measure(record: Record) -> None:
    """Each program at each preset."""
    warnings.simplefilter("ignore")
    place = folder()
    if place is None:
        record.note(
            f"NPBench is not here: git clone https://github.com/spcl/npbench outside/npbench, "
            f"git checkout {COMMIT}; or name its folder by {PLACE}"
        )
        return
    quick = record.options.quick
    for size in QUICK if quick else SIZES:
        for program in suite(place):
            if not quick or program.name in QUICK_NAMES:
                programs.one(record, program, size, rewritten)
    for size in () if quick else SIZES:
        found = list(programs.ratios({"rows": record.rows}, size).values())
        middle = geometric_mean(found) if found else None
        record.limit(f"NumPy / opweave, {size}, geometric mean", MEAN, middle, "x")
        record.limit(f"NumPy / opweave, {size}, the least", LEAST, min(found, default=None), "x")


reading = programs.reading
