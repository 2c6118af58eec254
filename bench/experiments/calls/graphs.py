"""Random graphs by size and by depth: every mode of a graph's runner, beside NumPy and others."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import networks, peers
from bench.measure.harness import Runner
from bench.measure.networks import Network
from bench.measure.problem import peers_of
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import time, times, values
from opweave._graphs.runner import MODES

TITLE = "Random graphs: immediate, graph and replay"
ABOUT = (
    "float32: x of n x n goes to the device, through a random graph and back. A graph of depth d "
    "has d times a Linear, x @ w + b with b a full matrix, and behind each by a seeded coin a "
    "ReLU; a ReLU at the end; a Softmax over the whole tensor. By the rule of the text instead it "
    "has d - 2 operators, each a Linear or a ReLU by the coin. Weights are signed and scaled, so "
    "that no layer fades or grows. immediate: each kernel by itself, between transfers of its "
    "own; graph: one transfer each way; replay: prepared once, on a GPU as a loop that stays on "
    "the device. plain: every operator a kernel; cold: traced and compiled at every call. Peers "
    "on a GPU read arrays that are there already."
)
FIGURES = (
    Figure("sizes", "size", "time", "size n, depth 64", panels=("rule",), xlog=2),
    Figure("speedup", "size", "speedup", "size n, depth 64", panels=("rule",), xlog=2, ylog=False),
    Figure("depths", "depth", "time", "depth, size 256", xlog=2),
    Figure("deeper", "depth", "speedup", "depth, size 256", xlog=2, ylog=False),
    Figure(
        "cold", "cold", "milliseconds", "depth, size 8, compiled at each call", xlog=2, ylog=False
    ),
)
SIZES, DEPTH = tuple(1 << n for n in range(2, 13)), 64
DEPTHS, SIZE = (4, 8, 16, 32, 64, 128), 256
TEXT_SIZES = (4, 8, 16, 32, 64, 128, 256)
COLD, COLD_SIZE, COLD_SAMPLES = (1, 2, 4), 8, 3
QUICK, QUICK_DEPTH = (4, 16), 8
# Where peers that compile for seconds take part.
SLOW_AT = ((8, 64), (64, 64), (256, 4), (256, 64))
LIBRARY = {"host": "NumPy", "cuda": "CuPy"}
TOO_SLOW = {"numba": "compiles a network of 64 layers for minutes"}
# Copies of an element of every weight: ours, a peer's, and the judge's.
BYTES_EACH = 2 * DEPTH * 9
# Seconds: longer calls are sampled once a visit, and the longest not at all.
LONG, LONGEST = 0.2, 2.0
SMALL, LEAST_SPEEDUP, NOT_SLOWER_TO, MOST_BUFFERS = (4, 8), 3, 256, 3


def measure(record: Record) -> None:
    """Sizes by both rules, depths, and calls that compile."""
    quick, sized = record.options.quick, record.options.sizes
    depth = QUICK_DEPTH if quick else DEPTH
    sizes = record.sizes(SIZES, QUICK, BYTES_EACH, 2)
    by_text = [n for n in sizes if sized or n in (QUICK[:1] if quick else TEXT_SIZES)]
    for rule, some in zip(networks.RULES, (sizes, by_text), strict=True):
        for size in some:
            solve(record, networks.drawn(depth, size, rule), {"size": size, "rule": rule})
    for depth in () if sized else DEPTHS[:2] if quick else DEPTHS:
        solve(record, networks.drawn(depth, QUICK[-1] if quick else SIZE), {"depth": depth})
    if quick or sized:
        record.note("no calls that compile in a quick run, or at sizes that were asked for")
    else:
        for depth in COLD:
            cold(record, networks.drawn(depth, COLD_SIZE), {"cold": depth})
    if record.device == "host":
        limits(record, sizes, quick=quick)


def solve(record: Record, network: Network, parameters: Mapping[str, Any]) -> None:
    """All runners on one network."""
    expects = network.flops / record.roofs["matrix"]
    if expects > LONGEST and not record.options.sizes:
        record.note(
            f"size {network.size}, depth {network.linears}: a call would take {expects:.0f} s at "
            f"the measured roof: left out; --sizes {network.size} measures it"
        )
        return
    given = networks.arguments(network)
    case = case_of(record, network, given, parameters)
    found = list(ours(record, network, given, parameters))
    task = peers.Task(networks.plain(network), case.sets, record.executor.xp)
    slow = (network.size, parameters.get("depth", DEPTH)) in SLOW_AT
    slow &= parameters.get("rule") != "text"
    found += peers_of(record, task, parameters, slow=slow, without=TOO_SLOW)
    usual = record.effort
    effort = replace(usual, least=6, seconds=0.0) if expects > LONG else usual
    at = len(record.rows)
    record.compare(found, case, effort)
    library = record.median(LIBRARY[record.device], **parameters)
    for row in record.rows[at:] if library else ():
        row["library_us"] = round(1e6 * library, 3)


def case_of(
    record: Record, network: Network, given: Mapping[str, np.ndarray],
    parameters: Mapping[str, Any],
) -> Case:  # fmt: skip
    """The network's answer, and its arguments for peers, where the executor computes."""
    arrays = [*given.values()]
    wanted, put = networks.expected(network, arrays), record.executor.put
    on_device = record.device != "host"
    if on_device:
        wanted = replace(wanted, value=put(wanted.value), absolute=put(wanted.absolute))
    return Case(
        parameters, [tuple(map(put, arrays)) if on_device else tuple(arrays)], np.float32, wanted,
        sum(a.nbytes for a in arrays) + arrays[0].nbytes, network.flops, network.size**2, "matrix",
    )  # fmt: skip


def ours(
    record: Record, network: Network, given: Mapping[str, np.ndarray],
    parameters: Mapping[str, Any], *, cached: bool = True,
) -> Iterator[Runner]:  # fmt: skip
    """Every mode of the graph's runner; x is passed at each call, the weights stay bound."""
    graph = networks.graph_of(network)
    for mode in MODES:
        for fused in (True, False):
            name = f"{mode}, {'fused' if fused else 'plain'}{'' if cached else ', cold'}"
            role = "ours" if fused and cached else "variant"
            try:
                run = graph.runner(mode, fused=fused, cached=cached, device=record.device)
                run(**given)
            except ow.errors.UnsupportedError as error:
                record.absent[name] = str(error).split("\n")[0]
            except Exception as error:  # said in the file; the others are timed all the same
                record.refuse(name, role, parameters, error)
            else:
                call = partial(called, run, given["x"])
                yield Runner(name, call, role=role, read=record.executor.put, waits=True)


def called(run: Any, x: np.ndarray, *_: Any) -> Any:
    """A call with what changes from call to call."""
    return run(x=x)


def cold(record: Record, network: Network, parameters: Mapping[str, Any]) -> None:
    """Calls that trace and compile all again, a few of them."""
    given = networks.arguments(network)
    case = case_of(record, network, given, parameters)
    for runner in ours(record, network, given, parameters, cached=False):
        if record.checked(runner, case) is None:
            continue
        samples = []
        for _ in range(COLD_SAMPLES):
            start = clock.perf_counter()
            runner.run()
            samples.append(clock.perf_counter() - start)
        record.measured(runner.name, parameters, samples, runner.role)


def limits(record: Record, sizes: list[int], *, quick: bool) -> None:
    """Against NumPy by size, and the memory of the deepest chain."""
    by_size = {n: speedup(record, n) for n in sizes if n <= NOT_SLOWER_TO}
    known = {n: ratio for n, ratio in by_size.items() if ratio is not None and not quick}
    small = [known[n] for n in SMALL if n in known]
    record.limit(
        f"times NumPy's speed at sizes 4 and 8, depth {DEPTH}", f">= {LEAST_SPEEDUP}",
        min(small, default=None), "x",
    )  # fmt: skip
    record.limit(
        f"times NumPy's speed at any size to {NOT_SLOWER_TO}, depth {DEPTH}", ">= 1",
        min(known.values(), default=None), "x",
    )  # fmt: skip
    network = networks.drawn(QUICK_DEPTH if quick else DEPTH, QUICK[-1] if quick else SIZE)
    found = networks.planned_for(network, networks.arguments(network))
    record.limit(
        f"planned memory of {network.linears} layers, arena and result", f"<= {MOST_BUFFERS}",
        found.peak / found.result, "buffers",
    )  # fmt: skip


def crossover(found: Mapping[str, Any], sizes: Sequence[int]) -> list[str]:
    """Up to which size a layer is overhead: what it costs at the smallest size, a product at the
    measured roof takes as long at n = (overhead x roof / 2) ^ (1/3)."""
    roof, library = found["roofs"].get("matrix"), LIBRARY.get(found["device"], "NumPy")
    costs = {}
    for runner in (library, "graph, fused", "replay, fused"):
        least = times(found, runner, size=sizes[0], rule="program") if sizes else []
        costs |= {runner: least[0] / DEPTH} if least else {}
    if not roof or library not in costs or len(costs) < 2:
        return []
    shown = ", ".join(f"{name} {time(cost)}" for name, cost in costs.items())
    ends = {name: (cost * 1e-6 * roof / 2) ** (1 / 3) for name, cost in costs.items()}
    ours = min(end for name, end in ends.items() if name != library)
    last = speedups(found, library, sizes[-1])
    return [
        f"A layer of {sizes[0]} x {sizes[0]} is overhead alone: {shown}. At the measured roof a "
        f"product takes as long as that at n = {ends[library]:.0f} for {library} and "
        f"n = {ours:.0f} for ours: below, calls and launches decide, and fusing, planning and "
        "replaying them is the gain; above, the product's arithmetic does, which fusion does not "
        f"change, and at n = {sizes[-1]} the ratio is {last:.2f}."
    ]


def speedups(found: Mapping[str, Any], library: str, size: int) -> float:
    """The library's time over that of the quicker of graph and replay, fused."""
    ours = [
        t
        for mode in ("graph", "replay")
        for t in times(found, f"{mode}, fused", size=size, rule="program")
    ]
    theirs = times(found, library, size=size, rule="program")
    return theirs[0] / min(ours) if ours and theirs else float("nan")


def speedup(record: Record, size: int) -> float | None:
    """NumPy's time over that of the quicker of our two modes without transfers in between."""
    found = [
        record.ratio("NumPy", f"{mode}, fused", size=size, rule="program")
        for mode in ("graph", "replay")
    ]
    return max((ratio for ratio in found if ratio is not None), default=None)


def reading(found: Mapping[str, Any]) -> str:
    """The smallest and the largest size, where overhead ends, and what a cold call costs."""
    sizes = values(found, "size")
    parts = []
    for size in (sizes[0], sizes[-1]) if sizes else ():
        rows = {
            r["runner"]: r["median_us"]
            for r in found["rows"]
            if r["parameters"] == {"size": size, "rule": "program"}
        }
        order = sorted(rows, key=lambda name: rows[name])
        shown = ", ".join(f"{name} {time(rows[name])}" for name in order)
        parts += [f"At size {size}: {shown}."] if rows else []
    parts += crossover(found, sizes)
    depths = values(found, "cold")
    if depths:
        taken = times(found, "graph, fused, cold", cold=depths[-1])
        parts += [f"Compiled anew, depth {depths[-1]} takes {time(t)} a call." for t in taken]
    return " ".join(parts)
