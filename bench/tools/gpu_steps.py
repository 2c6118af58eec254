"""The parts of ``gpu.sh`` that are easier in Python; each is one command.

needs                  what is missing of what the script needs; exit status 1 if anything is
layout SOURCE TARGET   the package laid out as an install does, where no install works
compile                compile one kernel for a GPU; with a device, run and check it
variants               compile every variant of the compiler, one process a core
interpret              run every variant's PTX in the interpreter, where there is no device
warm                   compile what the standing table needs, ours and its peers', on all cores
launch                 launch kernels of the standing table once, for a profiler
summary FOLDER         summary.json from steps.tsv and the benchmarks' files
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

# Modules of which one is needed -> the wheel that brings the first.
NEEDS = {
    ("numpy",): "numpy", ("jinja2",): "jinja2", ("markupsafe",): "markupsafe",
    ("ml_dtypes",): "ml_dtypes", ("pytest",): "pytest", ("matplotlib",): "matplotlib",
    ("cuda.bindings.nvrtc", "cupy_backends.cuda.libs.nvrtc"): "cuda_bindings",
}  # fmt: skip
CARRY = """\
without them opweave cannot compile, test or draw here (cuda_bindings needs cuda_pathfinder). On a
machine with a network, for the Python that runs here, fetch the wheels that are missing:
  python3 -m pip download --no-deps --only-binary=:all: --python-version 3.12 \\
      --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 -d wheels \\
      {wheels}
and run: WHEELS=wheels bench/gpu.sh all FOLDER"""


def missing() -> dict[tuple[str, ...], str]:
    """Modules that cannot be imported, and why."""
    found = {}
    for names in NEEDS:
        reasons = [_why_not(name) for name in names]
        if all(reasons):
            found[names] = "; ".join(reasons)
    return found


def _why_not(name: str) -> str:
    """Why a module cannot be imported; "" where it can."""
    try:
        importlib.import_module(name)
    except Exception as error:  # a broken install raises what it likes
        return f"{type(error).__name__}: {error}".split("\n")[0]
    return ""


def needs() -> int:
    """Print names of wheels to standard output, the reasons and what to do to standard error."""
    found = missing()
    for names, why in found.items():
        print(f"missing: {' or '.join(names)} ({why})", file=sys.stderr)
        print(NEEDS[names])
    if found:
        wheels = " ".join(NEEDS[names].replace("_", "-") for names in found)
        print(CARRY.format(wheels=wheels), file=sys.stderr)
    return int(bool(found))


def layout(source: str, target: str) -> int:
    """Copy folders to where ``pyproject.toml`` says that they install."""
    root = Path(source)
    mapping = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package, folder in sorted(mapping["package-dir"].items(), key=lambda p: p[0].count(".")):
        place = Path(target, *package.split("."))
        shutil.copytree(root / folder, place, dirs_exist_ok=True)
    return 0


def compile_one() -> int:
    """One kernel through NVRTC, and through the device where there is one."""
    import numpy as np

    import opweave as ow
    from opweave.runtime.cuda import executor

    x = np.linspace(0, 1, 1000, dtype=np.float32)
    fused = ow.fuse(lambda x: np.maximum(x * 2 - 1, 0))
    binary = fused.lower(x, target="sm_90a").kernels[0].binary
    print(f"opweave {ow.__version__}: {len(binary.payload)} bytes of cubin for sm_90a")
    try:
        cupy = executor.cupy()
    except ow.errors.NoDeviceError as error:
        print(error)
        return 0
    checked = fused.check(cupy.asarray(x))
    print(checked)
    return int(not checked.ok)


def variants() -> int:
    """Compile every variant of the compiler for the device, on all cores; name those that fail."""
    from opweave.compiler.ir.device import BY_ARCH
    from opweave.opcodes.errors import NoDeviceError
    from opweave.runtime.cuda import executor

    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.support.variants import VARIANTS

    names = range(len(VARIANTS))
    try:
        arch = executor.live_device(0).arch
    except NoDeviceError as error:
        print(f"{error}; for sm_90a instead")
        arch = "sm_90a"
    print(f"{len(VARIANTS)} variants for {arch}, like {BY_ARCH[arch].name}")
    with ProcessPoolExecutor() as workers:
        tried = list(workers.map(_compiled, names, [arch] * len(names)))
    return _told(tried, "all compile")


def _told(tried: list[str], good: str) -> int:
    """Print what failed; exit status 1 if anything did."""
    failed = [line for line in tried if line]
    print("\n".join(failed) or good)
    return int(bool(failed))


def _compiled(number: int, arch: str) -> str:
    """What keeps a variant from being compiled for an architecture; "" where nothing does."""

    def compiled(program: Any, arguments: Any) -> None:
        for kernel in program.kernels:
            if not kernel.data.by_numpy:
                assert kernel.binary.payload

    return _tried(number, arch, compiled)


def _tried(number: int, arch: str, act: Callable[[Any, Any], None]) -> str:
    """What happens to a variant's program that should not; "" where nothing does."""
    import opweave as ow
    from tests.support.variants import VARIANTS

    variant = VARIANTS[number]
    try:
        arguments = variant.arguments()
        act(ow.fuse(variant.function).lower(*arguments, target=arch), arguments)
    except Exception as error:  # whatever it is, the others are tried
        return f"{variant.name}: {type(error).__name__}: {error}".split("\n")[0]
    return ""


def interpret() -> int:
    """Run the PTX of every variant without a device, each against its bound; name what fails."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.support.variants import VARIANTS

    numbers = range(len(VARIANTS))
    with ProcessPoolExecutor() as workers:
        tried = list(workers.map(_interpreted, numbers, ["sm_90a"] * len(numbers)))
    return _told(tried, f"{len(VARIANTS)} variants are within their bounds in the interpreter")


def _interpreted(number: int, arch: str) -> str:
    """What is wrong with a variant's results in the interpreter; "" where nothing is."""

    def interpreted(program: Any, arguments: Any) -> None:
        checked = program.check(*arguments, executor="ptx")
        assert checked.ok, checked

    return _tried(number, arch, interpreted)


def warm() -> int:
    """Fill the caches of all compilers, so that the table's minutes are for its clock."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from bench.experiments.model.measured import warm

    return warm()


def launch() -> int:
    """Launch the kernels of ``beside_nsight.py``, once each; name those that fail."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    import cupy

    import opweave as ow
    from bench.experiments.model.measured import arguments
    from bench.tools.beside_nsight import launched

    failed = []
    for work in launched():
        try:
            ow.fuse(work.function)(*arguments(work, cupy))
            cupy.cuda.get_current_stream().synchronize()
        except Exception as error:
            failed.append(f"{work.name}: {type(error).__name__}: {error}")
        cupy.get_default_memory_pool().free_all_blocks()
    print("\n".join(failed))
    return int(bool(failed))


def summary(folder: str) -> int:
    """Write summary.json and print it as a table; exit status 1 if a step did not pass."""
    place = Path(folder)
    lines = (place / "steps.tsv").read_text().splitlines()
    steps = [dict(zip(("step", "status", "seconds"), s.split("\t"), strict=True)) for s in lines]
    files = {f"{p.parent.name}/{p.stem}": json.loads(p.read_text())
             for p in sorted(place.glob("*/*.json"))}  # fmt: skip
    limits = [{"file": name, **limit} for name, f in files.items() for limit in f["limits"]]
    refused = [{"file": name, **row} for name, f in files.items() for row in f["refused"]]
    absent = {name: f["absent"] for name, f in files.items()}
    good = all(step["status"] in ("passed", "skipped") for step in steps)
    found = {"ok": good, "steps": steps, "limits": limits, "refused": refused, "absent": absent}
    (place / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
    for row in refused:
        print(f"refused: {row['file']}: {row['runner']} {row['parameters']}: "
              f"{row['reason'].splitlines()[0][:160]}")  # fmt: skip
    for limit in limits:
        state = {True: "met", False: "MISSED", None: "not measured"}[limit["met"]]
        print(f"{state:<13}{limit['name']}: {limit['value']} {limit['unit']} ({limit['limit']})")
    for step in steps:
        print(f"{step['status']:<13}{step['step']}, {step['seconds']} s")
    return int(not good)


COMMANDS: dict[str, Callable[..., int]] = {
    "needs": needs, "layout": layout, "compile": compile_one, "variants": variants,
    "interpret": interpret, "warm": warm, "launch": launch, "summary": summary,
}  # fmt: skip

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
