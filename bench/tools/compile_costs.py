"""Constants of what kernels cost to compile: ``python -m bench.tools.compile_costs``.

Compiles kernels of every form, each by itself on one core, with more and more operations and
operands, and prints what fits: rows of ``SECONDS`` in compiler/scheduling/compile_costs.py.  Each
time is the least of some, since others use the machine.  ``--operators`` looks for those that
compile for longer than their slots say.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import opweave as ow
from opweave.compiler.scheduling.compile_costs import (
    SECONDS,
    Constants,
    KernelSize,
    kind_of,
    size_of,
)
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind
from opweave.runtime.binaries.build import build_kernel

Function = Callable[..., Any]
SHAPE = (64, 64)


class Sample(NamedTuple):
    """A kernel that was compiled."""

    form: str
    size: KernelSize
    seconds: float


def maps(step: Function, length: int, operands: int, outputs: int) -> Function:
    """Some steps, which take operands in turn; results of the last ones leave."""

    def function(*arrays: Any) -> Any:
        found = [arrays[0]]
        for number in range(length):
            found.append(step(found[-1], arrays[number % operands]))
        return tuple(found[-outputs:])

    return function


def rows(reduce: Function, length: int, operands: int) -> Function:
    """Steps of a row: maps of operands, a reduction, a map of its result."""

    def function(*arrays: Any) -> Any:
        x = arrays[0]
        for number in range(length):
            x = reduce(x * arrays[number % operands])
        return x

    return function


def behind(length: int, axis: int) -> Function:
    """A reduction, and a chain that only the last walk along the row computes."""

    def function(x: Any) -> Any:
        x = x - x.max(axis, keepdims=True)
        for _ in range(length):
            x = np.exp(x) * 0.5
        return x

    return function


STEPS: dict[str, Function] = {
    "plain": lambda x, y: x * 0.5 + y,
    "exp": lambda x, y: np.exp(x - y),
    "divide": lambda x, y: x / (y + 2.0),
}
REDUCES: dict[str, Function] = {
    "softmax": lambda x: np.exp(x - x.max(-1, keepdims=True)),
    "centre": lambda x: x - x.mean(-1, keepdims=True),
    "columns": lambda x: x - x.sum(0, keepdims=True),
}
SCANS: dict[str, Function] = {"cumsum": lambda x: np.cumsum(x, -1)}


def programs() -> Iterator[tuple[Function, int, Any]]:
    """Functions, the arrays that they take, and a dtype."""
    for step in STEPS.values():
        for length in (1, 40, 160):
            for operands, outputs in ((1, 1), (8, 1), (8, 8), (20, 20), (30, 30)):
                if max(operands, outputs) <= length:
                    yield maps(step, length, operands, outputs), operands, np.float32
    for length in (40, 160):
        yield maps(STEPS["exp"], length, 4, 1), 4, np.float64
    for axis in (0, -1):
        for length in (4, 16):
            yield behind(length, axis), 1, np.float32
    for reduce in (*REDUCES.values(), *SCANS.values()):
        for length, operands in ((1, 1), (4, 1), (4, 4), (8, 8), (16, 8)):
            yield rows(reduce, length, operands), operands, np.float32


def measured(rounds: int) -> list[Sample]:
    """Every kernel of the programs, compiled anew."""
    found: dict[tuple[str, KernelSize], float] = {}
    for function, count, dtype in programs():
        arrays = [np.ones(SHAPE, dtype) for _ in range(count)]
        program = ow.fuse(function).lower(*arrays, target="host")
        for view in program.kernels:
            if view.data.by_numpy:
                continue
            group = program.lowered.schedule.groups[view.data.group]
            operands = len(group.inputs) + len(group.outputs)
            size = size_of(program.lowered.graph, group.form, group.nodes, operands)
            key = kind_of(group.form), size
            for _ in range(rounds):
                start = time.perf_counter()
                build_kernel(view.data, view.source, cached=False)
                found[key] = min(found.get(key, np.inf), time.perf_counter() - start)
    return [Sample(*key, took) for key, took in found.items()]


def fitted(form: str, samples: list[Sample]) -> Constants:
    """The constants that have the least relative errors; none is below zero.

    Those of a form that are zero stay zero: the others describe it.
    """
    terms = np.array([s.size.terms for s in samples], float)
    took = np.array([s.seconds for s in samples])
    kept = [number for number, constant in enumerate(SECONDS[form]) if constant]
    while True:
        found, *_ = np.linalg.lstsq(terms[:, kept] / took[:, None], np.ones(len(took)), rcond=None)
        if min(found) >= 0:
            break
        kept.pop(int(np.argmin(found)))
    constants = np.zeros(terms.shape[1])
    constants[kept] = found
    return Constants(*map(float, constants))


def long_operators(length: int = 16) -> Iterator[tuple[str, str, float]]:
    """Ufuncs that compile for twice as long as their slots say, dtypes, and how many times."""
    for name, row in OPERATORS.items():
        ufunc = getattr(np, name, None)
        if row.kind is not Kind.MAP or not isinstance(ufunc, np.ufunc):
            continue
        for dtype in (np.float16, np.float32, np.float64, np.int32):

            def chain(x: Any, ufunc: Any = ufunc) -> Any:
                for _ in range(length):
                    x = ufunc(x, x * 3) if ufunc.nin == 2 else ufunc(x)
                return x

            with suppress(ow.errors.OpweaveError):
                program = ow.fuse(chain, fullgraph=True).lower(
                    np.ones(SHAPE, dtype), target="host"
                )
                view, group = program.kernels[0], program.lowered.schedule.groups[0]
                nodes = [program.lowered.graph.nodes[n] for n in group.nodes]
                least = SECONDS["map"]
                slots = sum(node.operator.cost.slots for node in nodes)
                start = time.perf_counter()
                build_kernel(view.data, view.source, cached=False)
                over = time.perf_counter() - start - least.kernel
                if slots and over > 0.15 and over > 2 * least.slot * slots:
                    yield name, np.dtype(dtype).name, over / (least.slot * slots)


def main() -> None:
    """Print the constants of each form, and how far they are off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--operators", action="store_true", help="rows of TIMES, instead")
    chosen = parser.parse_args()
    if chosen.operators:
        for name, dtype, times in long_operators():
            print(f"    {name!r}: {times:.1f},  # {dtype}", flush=True)
        return
    samples = measured(chosen.rounds)
    for form in dict.fromkeys(s.form for s in samples):
        print_form(form, sorted((s for s in samples if s.form == form), key=lambda s: s.seconds))


def print_form(form: str, samples: list[Sample]) -> None:
    """The constants that fit a form, and what they say of each of its kernels."""
    made = fitted(form, samples)
    print(f'    "{form}": Constants({", ".join(f"{constant:.5f}" for constant in made)}),')
    for s in samples:
        told, kept = made.seconds(s.size), SECONDS[form].seconds(s.size)
        print(f"    # {s.seconds:5.2f} s, fitted {told:5.2f}, kept {kept:5.2f}: {s.size}")


if __name__ == "__main__":
    main()
