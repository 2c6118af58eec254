"""Chains of elementwise operators: one kernel against one per operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from executors import Executor, copy_rates, sets_for
from harness import Expected, Runner, gamma
from record import Case, Record

import opweave as ow

TITLE = "Chains of elementwise operators, float32"
ABOUT = (
    "y = x, then alternately y * 1.001 and y + 0.5: one floating-point operation an element and "
    "operator. Fused, a chain of any length reads 4 and writes 4 bytes an element; with a pass "
    "per operator it moves 8 bytes an element and operator. bytes counts the former, bytes_moved "
    "what the runner's own passes move. opweave uses all cores of the host, NumPy one."
)
PEERS = {"host": ("NumPy",), "cuda": ("CuPy", "cupy.fuse")}
LENGTHS = (1, 2, 4, 8, 16, 32)
# Elements: far below the cache, around it, far beyond it.
SIZES = {"host": (1 << 12, 1 << 20, 1 << 24), "cuda": (1 << 16, 1 << 22, 1 << 28)}
QUICK = {"host": (1 << 12, 1 << 16), "cuda": (1 << 16, 1 << 22)}
# Bytes an element that a chain of 32 kernels may hold at a time, with its inputs and its judge.
MOST_BYTES = 4 * 32 + 64
FACTOR, TERM = 1.001, 0.5


def chain(length: int) -> Callable[[Any], Any]:
    """``length`` operators as a user writes them."""

    def run(x: Any) -> Any:
        for number in range(length):
            x = x + TERM if number % 2 else x * FACTOR
        return x

    run.__name__ = f"chain_{length}"
    return run


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
    """Time all chains on all executors."""
    for executor in record.executors(PEERS):
        chosen = record.options.sizes or (QUICK if record.options.quick else SIZES)[executor.name]
        sizes = [n for n in chosen if MOST_BYTES * n <= executor.memory_bytes] or chosen[:1]
        record.copy_rates += copy_rates(executor, [4 * n for n in sizes])
        for size in sizes:
            measure_size(record, executor, size)
        judge(record, executor.name, max(sizes))


def measure_size(record: Record, executor: Executor, size: int) -> None:
    """All lengths at one size; the float64 chain grows along with them."""
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
        record.compare(executor, runners(executor, length, sets[0][0]), case)


def runners(executor: Executor, length: int, x: Any) -> list[Runner]:
    """Ours, fused and not, and the peers that this executor has."""
    plain = chain(length)
    fused = ow.fuse(plain)
    once, passes = 2 * x.nbytes, 2 * x.nbytes * length
    out = executor.xp.empty_like(x)
    toggles = fused.lower(x).kernels[0].toggles
    found = [
        Runner("opweave fused", fused, once, toggles=toggles),
        Runner("opweave fused, out=", partial(fused, out=out), once, out, toggles=toggles),
        Runner("opweave unfused", fused.unfused(), passes, toggles=toggles),
    ]
    if executor.name == "host":
        in_place = partial(chain_in_place, length, out)
        found.append(Runner("NumPy", plain, passes))
        found.append(Runner("NumPy, out=", in_place, passes, out))
    else:
        found.append(Runner("CuPy", plain, passes))
        found.append(Runner("cupy.fuse", executor.xp.fuse(plain), once))
    return found


def judge(record: Record, executor: str, size: int) -> None:
    """Fusing must pay at every length where memory binds."""
    peer = "NumPy" if executor == "host" else "CuPy"
    for other in ("opweave unfused", peer):
        ratios = [
            record.ratio(executor, other, "opweave fused", length=length, elements=size)
            for length in LENGTHS[1:]
        ]
        name = f"{executor}: {other} / opweave fused, worst of all lengths, {size} elements"
        record.limit(name, ">= 1", min(filter(None, ratios), default=None), "x")
