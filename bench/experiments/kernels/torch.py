"""Models and functions of PyTorch's, compiled by us, by inductor, and not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean
from time import perf_counter
from typing import Any

from bench.measure import peers
from bench.measure.clock import in_visits, sample_host, summary
from bench.measure.harness import WrongResult
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import rows

TITLE = "Programs of PyTorch's, under torch.compile"
ABOUT = (
    "Models with random weights, and functions that run before and behind models, in float32 with "
    "fixed shapes, without gradients, on two threads of the host: as they are (eager), by "
    "torch.compile with its inductor in its default mode, and with our backend. Results are "
    "compared with those of the same program in float64 before anything is timed. kernels are "
    "ours; left are operators that stay PyTorch's; cold_seconds is a first call, binaries on the "
    "disk."
)
FIGURES = (Figure("time", "program", "time", kind="bars"),)
DEVICES = ("host",)
THREADS = 2
OURS, INDUCTOR, EAGER = "opweave", "PyTorch, inductor", "PyTorch, eager"
LEAST, MEAN = ">= 0.8", ">= 1.0"
ONLY: tuple[str, ...] | None = None  # programs of a test
Run = Callable[..., Any]


def measure(record: Record) -> None:
    """Each program: checked, then timed in turns."""
    try:
        torch = peers.module("torch")
    except peers.Absent as error:
        record.absent["PyTorch"] = str(error)
        return
    from bench.experiments.tensors.table import PROGRAMS

    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        for program in PROGRAMS.values():
            if ONLY is None or program.name in ONLY:
                one(record, torch, program)
    finally:
        torch.set_num_threads(before)
    found = list(ratios({"rows": record.rows}).values())
    record.limit("inductor / opweave, the least", LEAST, min(found, default=None), "x")
    middle = geometric_mean(found) if found else None
    record.limit("inductor / opweave, geometric mean", MEAN, middle, "x")


def one(record: Record, torch: Any, program: Any) -> None:
    """A program, by all that compile it."""
    torch.manual_seed(0)
    run, args = program.made(program.tiny if record.options.quick else program.size)
    about = {"program": program.name}
    with torch.no_grad():
        expected = wide(torch, program, run, args)
        right: dict[str, Run] = {}
        cold: dict[str, dict[str, Any]] = {}
        for name, compiled in compilers(torch, run, record).items():
            try:
                cold[name] = checked(torch, compiled, args, expected, program.tolerance)
                right[name] = compiled
            except Exception as error:  # a compiler raises what it likes
                record.refuse(name, "ours" if name == OURS else "peer", about, error)
        visits = in_visits(
            right, lambda name, effort: sample_host(right[name], [args], effort), record.effort
        )
    for name, samples in visits.items():
        flat = [sample for visit in samples for sample in visit]
        record.measured(name, about, flat, "ours" if name == OURS else "peer", "perf_counter")
        record.rows[-1] |= summary(samples) | cold[name]
        record.rows[-1]["check"] |= {"against": "float64"}
    record.changed(record)


def compilers(torch: Any, run: Run, record: Record) -> dict[str, Run]:
    """The program by each; inductor compiles for seconds."""
    torch._dynamo.reset()
    found = {OURS: torch.compile(run, backend="opweave"), EAGER: run}
    wanted = record.options.peers
    if record.options.quick if wanted is None else "PyTorch" not in wanted:
        record.absent[INDUCTOR] = "not asked for, or compiles for seconds"
    else:
        found[INDUCTOR] = torch.compile(run)
    return found


def wide(torch: Any, program: Any, run: Any, args: Sequence[Any]) -> list[Any]:
    """Results in float64."""
    doubled = [a.double() if a.is_floating_point() else a for a in args]
    if isinstance(run, torch.nn.Module):
        run.double()
        found = flat(run(*doubled))
        run.float()
        return found
    return flat(run(*doubled))


def checked(
    torch: Any, run: Run, args: Sequence[Any], expected: Sequence[Any], tolerance: float
) -> dict[str, Any]:
    """What a first call took, and what it became; raises ``WrongResult``."""
    from torch._dynamo.utils import counters

    counters["opweave"].clear()
    start = perf_counter()
    results = flat(run(*args))
    seconds = perf_counter() - start
    for number, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        error = (result.double() - wanted.double()).abs().max()
        scale = wanted.double().abs().max().clamp(min=1e-30)
        if result.shape != wanted.shape or not error <= tolerance * scale:
            raise WrongResult(f"result {number} is off by {float(error / scale):.2g}")
    made = dict(counters["opweave"])
    left = {k.partition(": ")[2]: n for k, n in made.items() if k.startswith("left")}
    return {"cold_seconds": round(seconds, 3), "kernels": made.get("kernels", 0), "left": left}


def flat(found: Any) -> list[Any]:
    """Results in a list."""
    if isinstance(found, tuple | list):
        return [leaf for each in found for leaf in flat(each)]
    return [found]


def ratios(found: Mapping[str, Any], over: str = INDUCTOR) -> dict[str, float]:
    """Another's time over ours, by program."""
    times: dict[str, dict[str, float]] = {}
    for row in rows(found):
        times.setdefault(row["parameters"]["program"], {})[row["runner"]] = row["median_us"]
    return {name: t[over] / t[OURS] for name, t in times.items() if {over, OURS} <= {*t}}


def reading(found: Mapping[str, Any]) -> str:
    """Ratios of times, and a row for each program."""
    text = []
    for other in (INDUCTOR, EAGER):
        by_name = ratios(found, other)
        if by_name:
            slowest = sorted(by_name, key=lambda name: by_name[name])[:3]
            shown = ", ".join(f"{name} {by_name[name]:.2f}" for name in slowest)
            mean = geometric_mean(by_name.values())
            text.append(f"{other} / opweave: {mean:.2f} (geometric mean); lowest: {shown}.")
    return "\n\n".join(filter(None, ("\n".join(table(found)), " ".join(text))))


def table(found: Mapping[str, Any]) -> list[str]:
    """A line a program, as a table of Markdown."""
    lines = [
        ["program", "eager us", "inductor us", "opweave us", "inductor / opweave", "kernels",
         "left to PyTorch"],
    ]  # fmt: skip
    for row in rows(found, OURS):
        about = row["parameters"]
        us = {r["runner"]: r["median_us"] for r in rows(found, **about)}
        ratio = us.get(INDUCTOR, 0) / us[OURS]
        left = ", ".join(
            name.removeprefix("aten.").removesuffix(".default")
            for name in row["left"] if not name.startswith("_operator")
        )  # fmt: skip
        lines.append([
            about["program"],
            *(f"{us[name]:.0f}" if name in us else "" for name in (EAGER, INDUCTOR, OURS)),
            f"{ratio:.2f}" if ratio else "", str(row["kernels"]), left,
        ])  # fmt: skip
    lines.insert(1, ["---"] * len(lines[0]))
    return [f"| {' | '.join(line)} |" for line in lines] if len(lines) > 2 else []
