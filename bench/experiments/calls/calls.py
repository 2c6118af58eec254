"""What a warm call costs: by its number of arguments, and by the number of threads that call."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Expected, Runner, gamma
from bench.measure.problem import Problem, solve
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import rows, time, times, values

TITLE = "A warm call: by arguments and by threads"
ABOUT = (
    "float32: 1 + x0 + x1 + ... of so many arrays of 256 elements, one kernel. opweave is the "
    "fused function; replay is a graph's runner with nothing rebound, or with all arrays. By "
    "threads: four arrays, each thread its own, and all call at once; percentiles are of single "
    "calls, those of a round being a sample. Python lets one thread run at a time, for 5 ms, so "
    "that waiting for a turn lies beyond p99."
)
FIGURES = (
    Figure("arguments", "arguments", "time", "arrays added", xlog=2),
    Figure(
        "threads", "threads", "time", "threads that call at once", panels=("percentile",), xlog=2
    ),
)
COUNTS, QUICK = (1, 2, 4, 8, 16, 32, 64), (1, 4)
ELEMENTS = 256
# Where peers that compile for seconds take part; numba takes minutes at 64.
SLOW_AT = (1, 8)
THREADS, QUICK_THREADS = (1, 8, 32), (1, 4)
OF_THREADS = 4  # arguments
ROUNDS, CALLS, QUICK_CALLS = 5, 10_000, 50  # calls of a thread in a round
PERCENTILES = (50, 99)


def sum_of(count: int) -> Callable[..., Any]:
    """``sum_of(2)`` is: def added(x0, x1): return 1 + x0 + x1."""
    names = [f"x{n}" for n in range(count)]
    scope: dict[str, Any] = {"np": np}
    text = f"def added({', '.join(names)}): return 1 + {' + '.join(names)}"
    exec(compile(text, "added.py", "exec"), scope)
    made: Callable[..., Any] = scope["added"]
    return made


def graph_of(count: int) -> ow.Graph:
    """The same as a graph."""
    made = ow.Graph("added")
    held: Any = 1.0
    for number in range(count):
        held = made.add(held, made.host_to_device(f"x{number}", ELEMENTS))
    made.device_to_host(held, name="y")
    return made


def arrays_of(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(ELEMENTS, np.float32) for _ in range(count)]


def bound_of(arrays: list[np.ndarray]) -> np.ndarray:
    """What the roundings of a sum can make, in any order."""
    sizes = 1 + np.sum([abs(a.astype(np.float64)) for a in arrays], axis=0)
    found: np.ndarray = gamma(len(arrays), np.float32) * sizes
    return found


def measure(record: Record) -> None:
    """Each number of arguments, then each number of threads."""
    for count in record.sizes(COUNTS, QUICK, 1):
        arrays = arrays_of(count)
        bound = record.executor.put(bound_of(arrays))
        names = " + ".join(f"x{n}" for n in range(count))
        problem = Problem(
            sum_of(count), arrays, {"arguments": count}, absolute=bound, depth=count,
            flops=count * ELEMENTS, expr=f"1 + {names}",
        )  # fmt: skip
        solve(record, problem, [*replays(record, arrays)], slow=count in SLOW_AT)
    if record.device == "host":
        for threads in QUICK_THREADS if record.options.quick else THREADS:
            by_threads(record, threads)
    else:
        record.note("threads: not measured on a GPU, whose clock has one stream")


def replays(record: Record, arrays: list[np.ndarray]) -> Iterator[Runner]:
    """A graph's runner with nothing rebound, and with other arrays at each call."""
    names = ("replay", "replay, all rebound")
    if record.device != "host":
        record.absent |= dict.fromkeys(names, "see graphs: a call there is its two copies")
        return
    made = graph_of(len(arrays)).runner("replay", device="host")
    made(**named(arrays))
    yield Runner(names[0], lambda *_: made(), role="variant")
    other = graph_of(len(arrays)).runner("replay", device="host")
    turns = cycle([named(arrays), named([a.copy() for a in arrays])])
    yield Runner(names[1], lambda *_: other(**next(turns)), role="variant")


def named(arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"x{number}": array for number, array in enumerate(arrays)}


def by_threads(record: Record, threads: int) -> None:
    """Percentiles of single calls while so many threads call at once."""
    sets = [arrays_of(OF_THREADS) for _ in range(threads)]
    fused, plain = ow.fuse(sum_of(OF_THREADS)), sum_of(OF_THREADS)
    runners = {"opweave": [lambda a=a: fused(*a) for a in sets]}
    graph = graph_of(OF_THREADS)
    replays = [graph.runner("replay", device="host") for _ in sets]
    for run, arrays in zip(replays, sets, strict=True):
        run(**named(arrays))
    runners |= {"replay": list(replays), "NumPy": [lambda a=a: plain(*a) for a in sets]}
    value = plain(*(a.astype(np.float64) for a in sets[0]))
    wanted = Expected(value, absolute=bound_of(sets[0]), depth=OF_THREADS)
    case = Case({"threads": threads}, [()], np.float32, wanted, 0)
    calls = QUICK_CALLS if record.options.quick else CALLS
    for name, runs in runners.items():
        role = {"opweave": "ours", "NumPy": "peer"}.get(name, "variant")
        if record.checked(Runner(name, runs[0], role=role), case) is None:
            continue
        rounds = [all_at_once(runs, calls) for _ in range(ROUNDS)]
        for percent in PERCENTILES:
            samples = [float(np.percentile(r, percent)) for r in rounds]
            parameters = {"threads": threads, "percentile": f"p{percent}"}
            record.measured(name, parameters, samples, role)


def all_at_once(runs: list[Callable[[], Any]], calls: int) -> np.ndarray:
    """Times of single calls in seconds; each thread makes so many."""
    found = np.zeros((len(runs), calls))
    start = threading.Barrier(len(runs))

    def work(number: int, run: Callable[[], Any]) -> None:
        run()
        start.wait()
        for turn in range(calls):
            before = clock.perf_counter()
            run()
            found[number, turn] = clock.perf_counter() - before

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found.reshape(-1)


def reading(found: Mapping[str, Any]) -> str:
    """What one argument more costs, and the percentiles."""
    counts, parts = values(found, "arguments"), []
    if len(counts) > 1:
        costs = []
        for name in dict.fromkeys(r["runner"] for r in found["rows"]):
            ends = [times(found, name, arguments=n) for n in (counts[0], counts[-1])]
            if all(ends):
                ((low,), (high,)) = ends
                each = max(0.0, (high - low) / (counts[-1] - counts[0]))
                costs.append(f"{name} {time(low)} and {1e3 * each:.0f} ns")
        parts.append(f"A call with {counts[0]} array and each one more: {', '.join(costs)}.")
    for threads in values(found, "threads"):
        named = dict.fromkeys(row["runner"] for row in rows(found, threads=threads))
        shown = "; ".join(
            f"{name} {', '.join(map(time, times(found, name, threads=threads)))}" for name in named
        )
        parts.append(f"Threads {threads}, p50 and p99: {shown}.")
    return " ".join(parts)
