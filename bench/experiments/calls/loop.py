"""A step many times: ``ow.repeat`` beside calls from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import peers
from bench.measure.harness import WALK, Expected, Runner, gamma
from bench.measure.problem import only
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import time, times, values

TITLE = "A step many times: ow.repeat, replays and calls"
ABOUT = (
    "float32: a step whose result is its next argument, n times. logistic: 2.5 x (1 - x), whose "
    "orbits meet, of so many elements; norm: x / sqrt(sum(x x)), a reduction and a map; product: "
    "tanh(x @ w) of square matrices. ow.repeat runs them without coming back to Python; the "
    "others are called n times: a graph's replay, the fused function, NumPy's operators. On a GPU "
    "the loop itself is fused, too. JAX has its own loop, fori_loop, compiled for n."
)
FIGURES = (Figure("time", "steps", "time", "steps n", panels=("step",), xlog=10),)
STEPS, QUICK = (1, 10, 100, 1000), (1, 10)
SMALL, LARGE, QUICK_LARGE = 1 << 12, 1 << 20, 1 << 14
WIDTHS, QUICK_WIDTHS = (8, 64, 128), (8,)
RATE = np.float32(2.5)
UNIT = float(np.finfo(np.float32).eps / 2)
# Steps of an element each from which one sample a visit must do.
LONG = 1 << 27


@dataclass(frozen=True)
class Recurrence:
    """A step, its arguments, and how an error of its first argument is carried through it."""

    name: str
    fn: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    carried: Callable[..., tuple[Any, Any]]


def logistic(x: Any) -> Any:
    return RATE * x * (1 - x)


def norm(x: Any) -> Any:
    return x / np.sqrt(np.sum(x * x))


def product(x: Any, w: Any) -> Any:
    return np.tanh(x @ w)


def logistic_loop(n: int, x: Any) -> Any:
    for _ in range(n):
        x = logistic(x)
    return x


def norm_loop(n: int, x: Any) -> Any:
    for _ in range(n):
        x = norm(x)
    return x


def product_loop(n: int, x: Any, w: Any) -> Any:
    for _ in range(n):
        x = product(x, w)
    return x


LOOPS = {logistic: logistic_loop, norm: norm_loop, product: product_loop}


def through_logistic(x: Any, error: Any) -> tuple[Any, Any]:
    made = 2.5 * x * (1 - x)
    return made, 2.5 * (abs(1 - 2 * x) + error) * error + gamma(3, np.float32) * abs(made)


def through_norm(x: Any, error: Any) -> tuple[Any, Any]:
    """A wrong norm scales all elements alike, and the next step divides that out."""
    made = x / np.sqrt((x * x).sum())
    relative = np.divide(error, abs(x), out=np.zeros_like(x), where=x != 0)
    # one sum is in there, the last; each step rounds its quotient, which the last norm adds up too
    first = 0.0 if error.any() else WALK * UNIT * x.size**0.5
    return made, abs(made) * (relative + first + gamma(4, np.float32))


def through_product(x: Any, error: Any, w: Any) -> tuple[Any, Any]:
    sums = x @ w
    off = error @ abs(w) + gamma(len(w), np.float32) * ((abs(x) + error) @ abs(w))
    # tanh is steepest at the end of the interval that lies nearest to 0
    slope = 1 - np.tanh(np.maximum(abs(sums) - off, 0)) ** 2
    made = np.tanh(sums)
    return made, slope * off + gamma(4, np.float32) * abs(made)


def steps(large: int, widths: Sequence[int]) -> Iterator[Recurrence]:
    """Each with arguments from which no orbit leaves the range, and none fades."""
    rng = np.random.default_rng(0)
    for size in (SMALL, large):
        x = rng.uniform(0.1, 0.9, size).astype(np.float32)
        yield Recurrence(f"logistic, {size}", logistic, (x,), through_logistic)
    x = rng.standard_normal(SMALL, np.float32)
    yield Recurrence(f"norm, {SMALL}", norm, (x,), through_norm)
    for width in widths:
        # about twice the identity: elements tend to 0.96 or to -0.96, where errors fade
        x = rng.choice([-1, 1], (width, width)) * rng.uniform(0.3, 1, (width, width))
        w = 2 * np.eye(width) + 0.4 / width * rng.standard_normal((width, width))
        arrays = (x.astype(np.float32), w.astype(np.float32))
        yield Recurrence(f"product, {width} x {width}", product, arrays, through_product)


def expected(step: Recurrence, count: int) -> Expected:
    """Float64, with the error of each step carried through the next."""
    value, *others = (a.astype(np.float64) for a in step.arrays)
    error = np.zeros_like(value)
    for _ in range(count):
        value, error = step.carried(value, error, *others)
    return Expected(value, absolute=error, depth=count)


def measure(record: Record) -> None:
    """Each step, by the number of times."""
    quick = record.options.quick
    only(record, "NumPy", "CuPy", "JAX")
    sizes = (QUICK_LARGE, QUICK_WIDTHS) if quick else (LARGE, WIDTHS)
    for step in steps(*sizes):
        for count in record.sizes(QUICK if quick else STEPS, QUICK, 1):
            one(record, step, count)
    asked = max(record.sizes(STEPS, QUICK, 1))
    found = [
        record.ratio("fused, called n times", "ow.repeat", steps=asked, step=name)
        for name in {row["parameters"]["step"] for row in record.rows}
    ]
    record.limit(
        f"fused function called {asked} times / ow.repeat, worst of all steps", ">= 1",
        min(filter(None, found), default=None), "x",
    )  # fmt: skip


def one(record: Record, step: Recurrence, count: int) -> None:
    """So many times by each of them."""
    put, parameters = record.executor.put, {"step": step.name, "steps": count}
    wanted = expected(step, count)
    wanted = replace(wanted, value=put(wanted.value), absolute=put(wanted.absolute))
    args = tuple(map(put, step.arrays))
    nbytes = sum(a.nbytes for a in step.arrays) + step.arrays[0].nbytes
    case = Case(parameters, [args], np.float32, wanted, nbytes)
    found = [
        Runner("ow.repeat", ow.repeat(step.fn, count)),
        Runner("fused, called n times", partial(called, ow.fuse(step.fn), count), role="variant"),
        Runner(record.library, partial(called, step.fn, count), role="peer"),
        *fused_whole(record, step, count),
        *replayed(record, step, count),
        *by_jax(record, step, count, args),
    ]
    is_long = count * step.arrays[0].size > LONG
    usual = record.effort
    record.compare(found, case, replace(usual, least=6, seconds=0.0) if is_long else usual)


def called(step: Callable[..., Any], count: int, x: Any, *others: Any) -> Any:
    """The loop as a user writes it."""
    for _ in range(count):
        x = step(x, *others)
    return x


def fused_whole(record: Record, step: Recurrence, count: int) -> Iterator[Runner]:
    """The loop within a fused function, whose rounds a GPU is given one after the other."""
    name = "fused with its loop"
    if record.device == "host":
        record.absent[name] = "on the host C runs loops, or they are written out"
        return
    yield Runner(name, partial(ow.fuse(LOOPS[step.fn]), count), role="variant")


def replayed(record: Record, step: Recurrence, count: int) -> Iterator[Runner]:
    """A graph of the step, whose result is passed as x again; it takes NumPy arrays only."""
    name = "replay, called n times"
    if record.device != "host":
        record.absent[name] = "a graph's arrays lie on the host: each step would copy them"
        return
    run = graph_of(step).runner("replay", device="host")

    def loop(x: Any, *others: Any) -> Any:
        found = run(x=x, **dict(zip("w", others, strict=False)))
        for _ in range(count - 1):
            found = run(x=found)
        return found

    yield Runner(name, loop, role="variant")


def graph_of(step: Recurrence) -> ow.Graph:
    """The step as a graph."""
    made = ow.Graph(step.fn.__name__)
    x, *others = (
        made.host_to_device(name, array.shape)
        for name, array in zip("xw", step.arrays, strict=False)
    )
    if step.fn is logistic:
        found = made.multiply(made.multiply(x, RATE), made.subtract(1.0, x))
    elif step.fn is norm:
        found = made.divide(x, made.sqrt(made.sum(made.multiply(x, x))))
    else:
        found = made.tanh(made.matmul(x, *others))
    made.device_to_host(found, name="y")
    return made


def by_jax(
    record: Record, step: Recurrence, count: int, args: tuple[Any, ...]
) -> Iterator[Runner]:  # fmt: skip
    """JAX's loop around its own step."""
    options = record.options
    if "JAX" not in peers.chosen(record.device, options.peers, quick=options.quick):
        record.absent["JAX"] = "not asked for, or left out of a quick run"
        return
    try:
        own = peers.rebound(step.fn, peers.module("jax.numpy"))
        loop = peers.module("jax").lax.fori_loop
        task = peers.Task(
            lambda x, *others: loop(0, count, lambda _, y: own(y, *others), x),
            [args], record.executor.xp,
        )  # fmt: skip
        yield replace(peers.jax(task), name="JAX", role="peer")
    except peers.Absent as error:
        record.absent["JAX"] = str(error)


def reading(found: Mapping[str, Any]) -> str:
    """What a step costs within a long loop."""
    counts = values(found, "steps")
    parts = []
    for name in values(found, "step") if len(counts) > 1 else ():
        costs = {}
        for runner in dict.fromkeys(row["runner"] for row in found["rows"]):
            by_count = [times(found, runner, step=name, steps=n) for n in counts[-2:]]
            if all(by_count):
                ((low, high),) = pairwise(t for (t,) in by_count)
                costs[runner] = max(0.0, (high - low) / (counts[-1] - counts[-2]))
        shown = ", ".join(f"{n} {time(us)}" for n, us in sorted(costs.items(), key=lambda i: i[1]))
        parts += [f"{name}: {shown}"] if costs else []
    return f"One step more costs, {'; '.join(parts)}." if parts else ""
