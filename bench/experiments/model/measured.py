"""``bench/run.py model --device cuda``: the standing table's workloads, timed beside others.

Each runner's result is compared with float64 before it is timed.  Sets of arguments rotate until
they exceed the cache four times over, so that all come from memory.  Rows are written one by one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import opweave as ow
from bench.experiments.model.table import key_of, titled
from bench.experiments.model.workloads import NAMES, QUICK, WORKLOADS, Workload
from bench.measure.clock import Effort, in_visits, summary
from bench.measure.executors import Executor, find, measured_roofs
from bench.measure.harness import Runner
from bench.measure.machine import describe, place
from bench.measure.peers import rebound

Row = dict[str, Any]
ROTATE = 4  # times the cache
EFFORT = Effort(0.06, least=18)
# Norm of the difference over the norm in float64, at most.  Float32 by TF32 has 3e-4.
ALLOWED = {"f32": 1e-4, "f16": 5e-3, "bf16": 3e-2, "u8": 1e-2}
PEERS = ("CuPy", "PyTorch", "torch.compile", "Triton")
WORKERS = 12


def arguments(work: Workload, xp: Any) -> list[Any]:
    """Random arrays where they are computed with: normal numbers, or bytes."""
    rng = xp.random.default_rng(0)
    return [_random(rng, xp, dtype, shape) for dtype, shape in work.shapes]


def _random(rng: Any, xp: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "u8":
        return rng.integers(0, 256, shape).astype(np.uint8)
    made = rng.standard_normal(shape, dtype=np.float32)
    if dtype == "bf16":  # cut off its bits: not every library converts
        return (made.view(np.uint32) >> 16).astype(np.uint16).view(NAMES[dtype])
    return made.astype(NAMES[dtype])


def widened(xp: Any, array: Any) -> Any:
    """Floats in float64."""
    if array.dtype.name == "bfloat16":
        array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def error_of(xp: Any, found: Any, expected: Any) -> float:
    """Norm of the difference over the norm of what is expected; infinity where it is no number."""
    if tuple(found.shape) != tuple(expected.shape):
        return float("inf")
    wanted = expected.astype(np.float64)
    off = float(xp.linalg.norm((widened(xp, found).astype(np.float64) - wanted).ravel()))
    whole = float(xp.linalg.norm(wanted.ravel()))
    return off / whole if off == off else float("inf")


def runners(
    work: Workload, xp: Any, peers: Sequence[str]
) -> Iterator[tuple[str, Callable[[], Runner]]]:
    """Names, and what makes each; making it may fail."""
    fused = ow.fuse(work.function, fast=work.fast)
    yield "opweave", lambda: Runner("opweave", fused)
    if work.flops:
        own = fused.with_toggles(USE_VENDOR=0)
        yield "opweave, own kernels", lambda: Runner("", own, role="variant")
    makers = {"CuPy": _library, "PyTorch": _torch, "torch.compile": _compiled, "Triton": _triton}
    for name in peers:
        if name != "Triton" or xp is not np:
            yield name, lambda make=makers[name]: make(work, xp)


def _library(work: Workload, xp: Any) -> Runner:
    return Runner("", rebound(work.function, xp))


def _torch(work: Workload, xp: Any, change: Callable[[Any], Any] = lambda fn: fn) -> Runner:
    from bench.experiments.model import torch_rows

    torch_rows.plain()
    run, tensors = change(torch_rows.FUNCTIONS[work.function.__name__]), _Tensors()
    return Runner("", lambda *args: run(*map(tensors.of, args)),
                  read=lambda made: torch_rows.array(made, xp))  # fmt: skip


def _compiled(work: Workload, xp: Any) -> Runner:
    import torch

    # a code of its own: Dynamo keeps what it compiled, eight times at most, with the code
    return _torch(
        work, xp, lambda fn: torch.compile(rebound(fn, torch), dynamic=False, fullgraph=True)
    )


def _triton(work: Workload, xp: Any) -> Runner:
    import torch

    from bench.experiments.model import torch_rows, triton_rows

    launch, tensors = triton_rows.PEERS[work.function.__name__](work), _Tensors()
    dtype = getattr(torch, {"f32": "float32", "f16": "float16", "bf16": "bfloat16",
                            "u8": "uint8"}[work.dtype])  # fmt: skip

    def run(*args: Any) -> Any:
        out = torch.empty(launch.results, dtype=dtype, device="cuda")
        launch.kernel[launch.grid](*map(tensors.of, args), out, *launch.numbers.values(),
                                   **launch.constants, num_warps=launch.warps)  # fmt: skip
        return out

    def read(made: Any) -> Any:  # of reductions the first pass alone is timed
        name = work.function.__name__
        return torch_rows.array(made.sum(0) if name in ("total", "columns") else made, xp)

    return Runner("", run, read=read)


class _Tensors:
    """Arrays as tensors, each made once: the conversion is not timed."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}

    def of(self, array: Any) -> Any:
        if id(array) not in self.made:
            from bench.experiments.model.torch_rows import tensor

            self.made[id(array)] = tensor(array), array
        return self.made[id(array)][0]


def tried(
    work: Workload, xp: Any, peers: Sequence[str], args: Sequence[Any], expected: Any
) -> tuple[dict[str, Runner], dict[str, Row]]:
    """Those whose result is right, and what is said of each: an error, or why it is refused."""
    ready: dict[str, Runner] = {}
    told: dict[str, Row] = {}
    for name, make in runners(work, xp, peers):
        try:
            runner = make()
            error = error_of(xp, runner.read(runner.run(*args)), expected)
        except Exception as problem:  # a peer that fails is a finding
            told[name] = {"refused": f"{type(problem).__name__}: {problem}"[:600]}
            continue
        told[name] = {"error": error}
        if error > ALLOWED[work.dtype]:
            told[name]["refused"] = f"an error of {error:.3g}: {ALLOWED[work.dtype]} allowed"
        else:
            ready[name] = runner
    return ready, told


def measured_row(work: Workload, executor: Executor, peers: Sequence[str], copy: float) -> Row:
    """One workload by everybody."""
    xp = executor.xp
    args = arguments(work, xp)
    expected = rebound(work.function, xp)(*(widened(xp, a) for a in args))
    nbytes = sum(a.nbytes for a in args) + expected.size * np.dtype(NAMES[work.dtype]).itemsize
    count = max(1, min(32, -(-ROTATE * executor.cache_bytes // nbytes)))
    sets = [tuple(args), *(tuple(a.copy() for a in args) for _ in range(count - 1))]
    ready, told = tried(work, xp, peers, args, expected)
    del expected
    visits = in_visits(ready, lambda n, e: executor.sample(ready[n], sets, e), EFFORT)
    for name, found in visits.items():
        short = summary(found)
        told[name] |= {key: short[key] for key in ("median_us", "quartiles_us", "visits_us")}
        if executor.name == "cuda":
            told[name]["issue_us"] = 1e6 * min(
                executor.timer.issue(ready[name].run, args) for _ in range(5)
            )
    executor.release()
    return key_of(work) | {"bytes": nbytes, "roof_us": nbytes / copy * 1e6, "flops": work.flops,
                           "sets": count, "runners": told}  # fmt: skip


def line_of(row: Mapping[str, Any]) -> str:
    """A row on the terminal: microseconds, and the fraction of the rate of a copy."""
    if "refused" in row:
        return f"{titled(row):36} refused: {row['refused']}"
    cells = [
        f"{name} {found['median_us']:.1f} ({row['roof_us'] / found['median_us']:.2f})"
        if "median_us" in found else f"{name} {found['refused'][:90]}"
        for name, found in row["runners"].items()
    ]  # fmt: skip
    return f"{titled(row):36} {'; '.join(cells)}"


def warm(device: str = "cuda") -> int:
    """Compile what the rows need, on all cores; what fails here fails there, and is told."""
    works, peers = WORKLOADS, PEERS
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), mp_context=context) as pool:
        list(pool.map(_warmed, [device] * len(works), works, [peers] * len(works)))
    return 0


def _warmed(device: str, work: Workload, peers: Sequence[str]) -> None:
    try:
        executor = find(device)
        args = arguments(work, executor.xp)
        for _, make in runners(work, executor.xp, peers):
            try:
                make().run(*args)
            except Exception:  # told when it is measured
                continue
        executor.release()
    except Exception as error:
        print(f"{titled(key_of(work))}: {error}")


def run(
    results: Path, device: str, peers: Sequence[str] | None, *, quick: bool, commit: str
) -> int:
    """Measure, row by row; status 1 where a result of ours is refused."""
    works, executor = QUICK if quick else WORKLOADS, find(device)
    chosen = [p for p in PEERS if peers is None or p.lower() in {name.lower() for name in peers}]
    machine = describe(commit=commit)
    path = results / place(device, machine, quick=quick) / "standing" / "rows.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    roofs = measured_roofs(executor)
    print(json.dumps(roofs))
    made: Row = {"machine": machine, "roofs": roofs, "rows": []}
    for work in works:
        try:
            row = measured_row(work, executor, chosen, roofs["copy"])
        except Exception as error:  # the others are wanted all the same
            row = key_of(work) | {"refused": f"{type(error).__name__}: {error}"}
        made["rows"].append(row)
        print(line_of(row), flush=True)
        path.write_text(json.dumps(made, indent=1) + "\n")
    if device == "cuda":
        from bench.experiments.model.measured_page import write_page

        write_page(path)
    ours = [row.get("runners", {}).get("opweave", {"refused": ""}) for row in made["rows"]]
    return int(any("refused" in found for found in ours))
