"""From function to source: what a deep network costs before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Expected, Runner, gamma
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import times, values

TITLE = "From function to source: layers of Linear and ReLU"
ABOUT = (
    "trace, simplify, plan, fuse, toggles and assembly of a network whose layers each have a "
    "weight matrix and a bias of their own; nothing is compiled or run while the clock runs. The "
    "network is run once on the host before, and checked."
)
FIGURES = (Figure("time", "layers", "milliseconds", "layers", panels=("target",), xlog=2),)
DEVICES = ("host",)  # sources for a GPU are made without one
LAYERS = (1, 4, 16, 64)
WIDTH, BATCH = 64, 16
TARGETS = ("host", "sm_90a")
LIMIT_MS = 150


def network(layers: int) -> Callable[..., Any]:
    """``network(2)`` is: def network(x, w0, b0, w1, b1): two lines like the one below."""
    names = ", ".join(f"w{i}, b{i}" for i in range(layers))
    lines = [f"    x = np.maximum(x @ w{i} + b{i}, 0)" for i in range(layers)]
    text = "\n".join([f"def network(x, {names}):", *lines, "    return x"])
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, "network.py", "exec"), scope)
    made: Callable[..., Any] = scope["network"]
    return made


def arguments(layers: int) -> list[np.ndarray]:
    """Signed weights, scaled so that activations keep their magnitude."""
    rng = np.random.default_rng(0)
    scale = np.float32((2 / WIDTH) ** 0.5)
    found = [rng.standard_normal((BATCH, WIDTH), np.float32)]
    for _ in range(layers):
        found.append(rng.standard_normal((WIDTH, WIDTH), np.float32) * scale)
        found.append(rng.standard_normal(WIDTH, np.float32) * np.float32(0.1))
    return found


def expected(layers: int, given: list[np.ndarray]) -> Expected:
    """Float64, with the error of each layer carried through the next one's magnitudes."""
    value = given[0].astype(np.float64)
    error = np.zeros_like(value)
    depth = WIDTH + 1
    for w, b in zip(given[1::2], given[2::2], strict=True):
        wide = w.astype(np.float64)
        size = (abs(value) + error) @ abs(wide) + abs(b)
        error = error @ abs(wide) + gamma(depth, np.float32) * size
        value = np.maximum(value @ wide + b, 0)
    return Expected(value, absolute=error, depth=depth * layers)


def measure(record: Record) -> None:
    """Time the way to the source, for the host and for a GPU that need not be there."""
    for layers in record.sizes(LAYERS, (1, 4), 1 << 16):
        plain, given = network(layers), arguments(layers)
        wanted = expected(layers, given)
        for target in TARGETS:
            case = Case(
                {"layers": layers, "target": target}, [tuple(given)], np.float32, wanted,
                sum(a.nbytes for a in given) + wanted.value.nbytes // 2,
                2 * layers * BATCH * WIDTH * WIDTH,
            )  # fmt: skip
            work = partial(source, plain, given, target)
            record.time(Runner("opweave", ow.fuse(plain)), case, work)
    for target in TARGETS:
        found = record.median("opweave", layers=64, target=target)
        value = None if found is None else 1e3 * found
        record.limit(f"function to source, 64 layers, {target}", f"<= {LIMIT_MS}", value, "ms")
        record.line("time", f"limit at 64 layers, {LIMIT_MS} ms",
                    [(n, LIMIT_MS) for n in (1, 64)], target=target)  # fmt: skip


def source(plain: Callable[..., Any], given: list[np.ndarray], target: str) -> str:
    """A new fused function each time: nothing is remembered."""
    return str(ow.fuse(plain).lower(*given, target=target).source)


def reading(found: Mapping[str, Any]) -> str:
    """Whether the way to the source is linear in the depth."""
    depths = values(found, "layers")
    if len(depths) < 2:
        return ""
    first, *_, last = times(found, "opweave", target="sm_90a")
    return (
        f"{depths[-1]} layers take {last / 1e3:.0f} ms to the source for sm_90a, "
        f"{last / depths[-1] / 1e3:.2f} ms a layer, against {first / depths[0] / 1e3:.2f} ms for "
        f"{depths[0]}. It is work of the processor alone."
    )
