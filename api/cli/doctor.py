"""``opweave doctor``: what is there, whether it works, and what to do about the rest."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Set
from dataclasses import asdict
from typing import Any

from opweave._programs.units import size
from opweave.cli import installed
from opweave.cli.caching import counted
from opweave.cli.probes import Probed, probe
from opweave.cli.terminal import duration, heading, print_json, print_table, progress

NO_COMPILER = "pip install 'opweave[host]' (or install g++ or clang++)"
LABELS = {"host": "host kernel", "nvrtc": "NVRTC kernel", "gpu": "GPU kernel"}
# What is tried, and the packages of which one is needed.
ANY_OF: dict[str, Set[str]] = {"host": set(), "nvrtc": {"cuda-bindings", "cupy"}, "gpu": {"cupy"}}


def doctor(options: Namespace) -> int:
    """Look, try, and report; exit status 0 if kernels run on the host or on a GPU."""
    found = examined()
    if options.json:
        print_json(found)
    else:
        _print(found)
    return 0 if found["ok"] else 1


def examined() -> dict[str, Any]:
    """Everything that the doctor finds, as JSON has it."""
    with progress(4) as say:
        say("looking at what is installed")
        parts = installed.parts()
        have = {p.name for p in parts if p.found}
        tried = []
        for name, needs in ANY_OF.items():
            say(f"trying: {LABELS[name]}")
            tried.append(probe(name) if not needs or needs & have else _absent(name))
    gpu = tried[-1].facts
    return {
        "ok": tried[0].ok or tried[2].ok,
        "versions": {p.name: p.found or None for p in parts},
        "missing": {p.name: p.add for p in parts if p.add},
        "compilers": {p.name: p.found for p in installed.compilers()},
        "compiler": installed.used_compiler(),
        "gpus": gpu.get("gpus", []),
        "driver": gpu.get("driver"),
        "tried": [{k: v for k, v in asdict(t).items() if k != "facts"} for t in tried],
        "cache": installed.cache_state(),
        "environment": installed.variables(),
        "problems": installed.variable_problems(),
    }


def _absent(name: str) -> Probed:
    missing = {
        "nvrtc": "neither cuda-bindings nor CuPy is installed", "gpu": "CuPy is not installed",
    }  # fmt: skip
    return Probed(name, False, 0.0, f"not tried: {missing[name]}")


def _print(found: dict[str, Any]) -> None:
    missing = found["missing"]
    rows = [(n, v or "missing", missing.get(n, "")) for n, v in found["versions"].items()]
    print_table(("package", "version", "to add it"), rows)
    print("\n" + heading("compilers"))
    for name, version in found["compilers"].items():
        print(f"  {name}: {version}")
    print(f"  used for host kernels: {found['compiler'] or 'none; ' + NO_COMPILER}")
    print("\n" + heading("GPUs"))
    for gpu in found["gpus"]:
        memory, capability = size(gpu["bytes"]), gpu["compute_capability"]
        print(f"  {gpu['name']}: compute capability {capability}, {memory}, {gpu['sms']} SMs")
    if not found["gpus"]:
        print("  none that CuPy can use; kernels can be read and verified without one")
    print("\n" + heading("tried"))
    for tried in found["tried"]:
        state = "works" if tried["ok"] else "-" if _untried(tried) else "FAILS"
        took = f" in {duration(tried['seconds'])}" if tried["ok"] else ""
        print(f"  {LABELS[tried['name']]}: {state}: {tried['detail']}{took}")
    _print_rest(found)


def _untried(tried: dict[str, Any]) -> bool:
    return str(tried["detail"]).startswith("not tried")


def _print_rest(found: dict[str, Any]) -> None:
    cache = found["cache"]
    print("\n" + heading("cache"))
    state = "usable" if cache["exists"] else "made at the first compilation"
    print(f"  {cache['folder']}: {state if cache['usable'] else cache['problem']}")
    if cache["usable"]:
        print(f"  {counted(cache['entries'])}, {size(cache['bytes'])} of {size(cache['cap'])}")
    print("\n" + heading("environment"))
    for name, value in found["environment"].items():
        print(f"  {name}={value}")
    for problem in found["problems"]:
        print(f"  {problem}")
    if not found["environment"]:
        print("  no OPWEAVE_ variable is set")
    verdict = "kernels run here" if found["ok"] else "kernels do NOT run here"
    print("\n" + heading(verdict))
