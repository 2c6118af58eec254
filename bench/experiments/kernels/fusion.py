"""Chains of elementwise operators: one kernel against one per operator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import peers
from bench.measure.chains import CONSTANTS, FACTOR, TERM, chain, expression
from bench.measure.executors import copy_rates, sets_for
from bench.measure.harness import Expected, Runner, gamma
from bench.measure.problem import peers_of
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import quickest, regime, rows, times, values

TITLE = "Chains of elementwise operators, float32"
ABOUT = (
    "y = x, then alternately y * 1.001 and y + 0.5: one floating-point operation an element and "
    "operator. Fused, a chain of any length reads 4 and writes 4 bytes an element; with a pass "
    "per operator it moves 8 bytes an element and operator. bytes counts the former, bytes_moved "
    "what the runner's own passes move. opweave uses all cores of the host, NumPy one."
)
FIGURES = (
    Figure("time", "length", "time", "operators in the chain", panels=("elements",), xlog=2),
    Figure("bandwidth", "length", "bandwidth", "operators in the chain", panels=("elements",),
           xlog=2, ylog=False),
)  # fmt: skip
LENGTHS = (1, 2, 4, 8, 16, 32)
# Elements: far below the cache, around it, far beyond it.
SIZES = {"host": (1 << 12, 1 << 20, 1 << 24), "cuda": (1 << 16, 1 << 22, 1 << 28)}
QUICK = {"host": (1 << 12, 1 << 16), "cuda": (1 << 16, 1 << 22)}
# Bytes an element that a chain of 32 kernels may hold at a time, with its inputs and its judge.
MOST_BYTES = 4 * 32 + 64


def advance(x: Any, before: int, length: int) -> None:
    """Operators ``before`` to ``length`` of a chain, in place."""
    for number in range(before, length):
        if number % 2:
            np.add(x, TERM, out=x)
        else:
            np.multiply(x, FACTOR, out=x)


def chain_in_place(length: int, out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A chain by NumPy without temporaries: its best path."""
    np.multiply(x, FACTOR, out=out)
    advance(out, 1, length)
    return out


def measure(record: Record) -> None:
    """Time all chains."""
    sizes = record.sizes(SIZES[record.device], QUICK[record.device], MOST_BYTES)
    record.copy_rates += copy_rates(record.executor, [4 * n for n in sizes])
    for size in sizes:
        measure_size(record, size)
    judge(record, max(sizes))


def measure_size(record: Record, size: int) -> None:
    """All lengths at one size; the float64 chain grows along with them."""
    executor = record.executor
    xp = executor.xp
    x = np.random.default_rng(0).random(size, dtype=np.float32) + np.float32(0.5)
    sets = [(executor.put(x),) for _ in range(sets_for(executor, 8 * size))]
    wide = xp.asarray(x).astype(np.float64)
    for before, length in pairwise((0, *LENGTHS)):
        advance(wide, before, length)
        # All values are positive, so an error grows by further roundings only: one an operator,
        # and one of its constant.
        depth = 2 * length
        expected = Expected(wide, relative=gamma(depth, np.float32), depth=depth)
        parameters = {"length": length, "elements": size}
        case = Case(parameters, sets, np.float32, expected, 8 * size, length * size)
        record.compare(runners(record, length, case), case)
    floors(record, size)


def floors(record: Record, size: int) -> None:
    """What the copy rate allows, in both figures."""
    for rate in record.copy_rates:
        if rate["array_bytes"] == 4 * size:
            us = rate["median_us"]
            copied = [(n, 8 * size / us / 1e3) for n in LENGTHS]
            record.line("bandwidth", "measured copy rate", copied, elements=size)
            once, each = [(n, us) for n in LENGTHS], [(n, us * n) for n in LENGTHS]
            record.line("time", "floor, fused: one copy", once, elements=size)
            record.line("time", "floor, unfused: one each", each, elements=size)


def runners(record: Record, length: int, case: Case) -> list[Runner]:
    """Ours, fused and not, and the peers."""
    plain, (x,) = chain(length), case.sets[0]
    fused = ow.fuse(plain)
    once, passes = 2 * x.nbytes, 2 * x.nbytes * length
    out = record.executor.xp.empty_like(x)
    toggles = fused.lower(x).kernels[0].toggles
    found = [
        Runner("opweave", fused, once, toggles=toggles),
        Runner("opweave, out=", partial(fused, out=out), once, out, toggles=toggles),
        Runner("opweave unfused", fused.unfused(), passes, toggles=toggles, role="variant"),
    ]
    if record.device == "host":
        in_place = partial(chain_in_place, length, out)
        found.append(Runner("NumPy, out=", in_place, passes, out, role="peer"))
    slow = length == LENGTHS[-1]
    xp = record.executor.xp
    task = peers.Task(plain, case.sets, xp, expression(length), CONSTANTS, passes)
    return found + peers_of(record, task, case.parameters, slow=slow)


def judge(record: Record, size: int) -> None:
    """Fusing must pay at every length where memory binds."""
    for other in ("opweave unfused", "NumPy" if record.device == "host" else "CuPy"):
        ratios = [
            record.ratio(other, "opweave", length=length, elements=size) for length in LENGTHS[1:]
        ]
        name = f"{other} / opweave fused, worst of all lengths, {size} elements"
        record.limit(name, ">= 1", min(filter(None, ratios), default=None), "x")


def reading(found: Mapping[str, Any]) -> str:
    """How fused and unfused times grow with the chain, where memory binds."""
    size = max(values(found, "elements"), default=0)
    one, *_, many = times(found, "opweave", elements=size) or (0, 0)
    first, *_, last = times(found, "opweave unfused", elements=size) or (0, 0)
    if not (one and first):
        return ""
    ends = (next(rows(found, "opweave, out=", elements=size, length=n), None)
            for n in (LENGTHS[0], LENGTHS[-1]))  # fmt: skip
    binds = "; of the longest: ".join(regime(row, found["roofs"]) for row in ends if row)
    return (
        f"At {size:,} elements the fused chain of {LENGTHS[-1]} operators takes {many / one:.2f} "
        f"times as long as one operator, the unfused one, which makes a pass for each, "
        f"{last / first:.1f} times. Of the shortest, into memory that is there: {binds}. "
        f"Quickest there: {quickest(found, elements=size, length=LENGTHS[-1])}."
    )
