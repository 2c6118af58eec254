"""Op-code lists against the function in NumPy: the way to the source, and a warm call."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Expected, Runner
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import times, values

TITLE = "Op-code lists: to the source, and a warm call"
ABOUT = (
    "A chain of op-code lists of one operator each (multiply, add, tanh, subtract, exp, and "
    "again), which a fused function calls one after the other, and the same function in NumPy: "
    "function to source for sm_90a; nothing is compiled while the clock runs. A warm call of a "
    "list of multiply and exp, and of the same as a fused function, on 16 elements, in rounds "
    "that begin with one and with the other in turn; their ratio is the median of the rounds'."
)
FIGURES = (Figure("time", "lists", "milliseconds", "lists", xlog=2),)
DEVICES = ("host",)  # sources for a GPU are made without one
COUNTS, QUICK = (1, 10, 40), (1, 10)
TARGET = "sm_90a"
ROUNDS, CALLS = 41, 2000
QUICK_ROUNDS, QUICK_CALLS = 3, 50
LIMIT_MS, LIMIT_RATIO = 6, 1.03

o = ow.opcodes
CODES = (o.multiply(1.5), o.add(0.25), o.tanh, o.subtract(0.5), o.exp)
LINES = ("x * 1.5", "x + 0.25", "np.tanh(x)", "x - 0.5", "np.exp(x)")


def chain(count: int) -> Callable[[Any], Any]:
    """A function that calls so many lists."""
    lists = [
        ow.kernel([ow.load("x"), CODES[n % len(CODES)], ow.store("y")], name=f"k{n}")
        for n in range(count)
    ]

    def called(x: Any) -> Any:
        for k in lists:
            x = k(x)
        return x

    return called


def written(count: int) -> Callable[[Any], Any]:
    """The same function in NumPy, a line for each list."""
    lines = [f"    x = {LINES[n % len(LINES)]}" for n in range(count)]
    scope: dict[str, Any] = {"np": np}
    text = "\n".join(["def written(x):", *lines, "    return x"])
    exec(compile(text, "written.py", "exec"), scope)
    made: Callable[[Any], Any] = scope["written"]
    return made


def measure(record: Record) -> None:
    """The way to the source by the number of lists, then warm calls."""
    x = np.linspace(-1, 0, 6400, dtype=np.float32).reshape(64, 100)
    for count in record.sizes(COUNTS, QUICK, 1):
        plain = written(count)
        # a chosen bound: values stay below 3, and tanh shrinks what was wrong before
        wanted = Expected(plain(x.astype(np.float64)), absolute=1e-5 * count, depth=count)
        case = Case({"lists": count}, [(x,)], np.float32, wanted, 2 * x.nbytes)
        for name, function, role in (
            ("opweave", chain(count), "ours"), ("opweave, in NumPy", plain, "variant"),
        ):  # fmt: skip
            runner = Runner(name, ow.fuse(function), role=role)
            record.time(runner, case, partial(source, function, x))
    found = record.median("opweave", lists=10)
    record.limit("function to source, 10 lists", f"<= {LIMIT_MS}", found and 1e3 * found, "ms")
    warm(record)


def source(function: Callable[[Any], Any], x: np.ndarray) -> str:
    """A new fused function each time: nothing is remembered."""
    return str(ow.fuse(function).lower(x, target=TARGET).source)


def warm(record: Record) -> None:
    """Calls of a list and of a fused function in turn."""
    x = np.linspace(-1, 1, 16, dtype=np.float32)
    runs = {
        "a list": ow.kernel([ow.load("x"), o.multiply(np.float32(2)), o.exp, ow.store()]),
        "a fused function": ow.fuse(lambda x: np.exp(x * np.float32(2))),
    }
    is_quick = record.options.quick
    calls = QUICK_CALLS if is_quick else CALLS
    rounds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(QUICK_ROUNDS if is_quick else ROUNDS):
        for name in list(runs)[:: 1 if number % 2 else -1]:
            rounds[name].append(seconds(runs[name], x, calls))
    for name, samples in rounds.items():
        role = "ours" if name == "a list" else "variant"
        record.measured(name, {"lists": 1}, samples, role, "perf_counter around many calls")
    ratio = median(a / b for a, b in zip(*rounds.values(), strict=True))
    value = None if is_quick else ratio
    record.limit("a warm call of a list over a fused function's", f"<= {LIMIT_RATIO}", value, "x")


def seconds(run: Callable[[Any], Any], x: np.ndarray, calls: int) -> float:
    """The time of a warm call."""
    run(x)
    start = clock.perf_counter()
    for _ in range(calls):
        run(x)
    return (clock.perf_counter() - start) / calls


def reading(found: Mapping[str, Any]) -> str:
    """What a list costs on the way to the source, and at each call."""
    counts = [n for n in values(found, "lists") if n > 1]
    if not counts:
        return ""
    texts = []
    for count in counts:
        (ours,), (plain,) = (
            times(found, name, lists=count) for name in ("opweave", "opweave, in NumPy")
        )
        texts.append(f"{count} lists take {ours / 1e3:.2f} ms to the source, {plain / 1e3:.2f} ms "
                     "written in NumPy")  # fmt: skip
    (listed,), (fused,) = (times(found, name) for name in ("a list", "a fused function"))
    calls = f"A warm call takes {listed:.2f} us, a fused function's {fused:.2f}."
    return f"{'; '.join(texts)}. {calls}"
