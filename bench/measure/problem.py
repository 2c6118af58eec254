"""A problem as plain NumPy code: ours, our variants and all peers from one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import peers
from bench.measure.executors import sets_for
from bench.measure.harness import Expected, Runner
from bench.measure.record import Case, Record

UNFUSED = "opweave, one kernel an operator"


@dataclass(frozen=True)
class Problem:
    """What to compute, on what, and how far a result may lie from it.

    Attributes:
        fn: plain code with the global name ``np``.
        arrays: NumPy arrays; every executor gets its own copies.
        relative, absolute: the largest error that rounding can make, in any order of operations;
            ``absolute`` may be an array, or a function of the executor's library and the wide
            arguments.
        depth: roundings in sequence, for people.
        nbytes: that any algorithm must move; 0 for inputs and output, once each.
        flops, special, unit: see ``record.Case``.
        expr: for numexpr and Triton; its ``constants`` are numbers that it names.
        dtype: of the result.
        place: arguments from the executor's copies of ``arrays``, such as views of one of them.
        rotate: several sets of arguments where one exceeds the cache.
        variants: name to what makes another fused function of ours.
        own: what some peers have functions of their own for, see ``peers.Task``.
    """

    fn: Any
    arrays: Sequence[np.ndarray]
    parameters: Mapping[str, Any]
    relative: float = 0.0
    absolute: Any = 0.0
    depth: int = 0
    nbytes: int = 0
    flops: int = 0
    special: int = 0
    unit: str = "fp32"
    expr: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)
    dtype: Any = np.float32
    place: Callable[..., tuple[Any, ...]] = lambda *arrays: arrays
    rotate: bool = True
    variants: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def solve(
    record: Record,
    problem: Problem,
    extra: Sequence[Runner] = (),
    *,
    with_ours: bool = True,
    with_peers: bool = True,
    slow: bool = True,
) -> None:
    """Time a problem: ours, with and without ``out=``, its variants, the peers, and others.

    ``slow``: peers that compile for seconds take part too; an experiment of many points lets them
    at a few.
    """
    try:
        case = case_of(record, problem)
    except Exception as error:  # the other cases are measured
        full = "OutOfMemory" in type(error).__name__ or isinstance(error, MemoryError)
        record.refuse("the case", "case" if full else "ours", problem.parameters, error)
        return
    found = [*(ours(record, problem, case) if with_ours else ()), *extra]
    if with_peers:
        unfused = next((r.moved for r in found if r.name == UNFUSED), None)
        task = peers.Task(
            problem.fn,
            case.sets,
            record.executor.xp,
            problem.expr,
            problem.constants,
            unfused,
            problem.own,
        )
        found += peers_of(record, task, problem.parameters, slow=slow)
    record.compare(found, case)


def peers_of(
    record: Record,
    task: peers.Task,
    parameters: Mapping[str, Any],
    *,
    slow: bool = True,
    without: Mapping[str, str] | None = None,
) -> list[Runner]:
    """The peers that are here and asked for; the others are noted as absent.

    ``without``: peers that cannot take part in this experiment, and why.
    """
    options = record.options
    names = peers.chosen(record.device, options.peers, quick=options.quick)
    for name in peers.PEERS[record.device]:
        if name not in names:
            is_quick = options.quick and options.peers is None
            why = "compiles for seconds: not in a quick run" if is_quick else "not asked for"
            record.absent[name] = why
    kept_out = {n: why for n, why in (without or {}).items() if n in names}
    record.absent |= kept_out
    names = tuple(n for n in names if n not in kept_out)
    if not slow:
        left_out = [n for n in names if n in peers.SLOW]
        if left_out:
            shown = ", ".join(left_out)
            record.note(f"at some points only, since they compile for seconds: {shown}")
        names = tuple(n for n in names if n not in peers.SLOW)
    return peers.runners(
        record.device, names, task, record.absent,
        lambda name, error: record.refuse(name, "peer", parameters, error),
    )  # fmt: skip


def only(record: Record, *names: str) -> None:
    """Name the peers as absent for which an experiment has no code."""
    for name in peers.PEERS[record.device]:
        if name not in names:
            record.absent[name] = "no code of it is written for this experiment"


def case_of(record: Record, problem: Problem) -> Case:
    """The problem on the executor's arrays, with its answer in float64."""
    executor = record.executor
    given = sum(a.nbytes for a in problem.arrays)
    one = problem.place(*map(executor.put, problem.arrays))
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in one]
    value = peers.rebound(problem.fn, executor.xp)(*wide)
    absolute = problem.absolute
    if callable(absolute):
        absolute = absolute(executor.xp, *wide)
    expected = Expected(value, problem.relative, absolute, problem.depth)
    nbytes = problem.nbytes or given + value.size * np.dtype(problem.dtype).itemsize
    count = sets_for(executor, nbytes) if problem.rotate else 1
    more = [problem.place(*map(executor.put, problem.arrays)) for _ in range(count - 1)]
    sets = [one, *more]
    return Case(
        problem.parameters, sets, problem.dtype, expected, nbytes, problem.flops,
        problem.special, problem.unit,
    )  # fmt: skip


def ours(record: Record, problem: Problem, case: Case) -> list[Runner]:
    """Our function as it is, into memory that is there, and changed as the problem asks for."""
    fused = ow.fuse(problem.fn)
    found = []
    try:
        program = fused.lower(*case.sets[0])
    except Exception as error:  # said in the file; the peers are timed all the same
        record.refuse("opweave", "ours", case.parameters, error)
        return []
    moved = program.explain(*case.sets[0]).bytes_moved
    toggles = program.kernels[0].toggles if program.kernels else None
    found.append(Runner("opweave", fused, moved, toggles=toggles))
    out = record.executor.xp.empty(case.expected.value.shape, case.dtype)
    found.append(Runner("opweave, out=", partial(fused, out=out), moved, out, toggles=toggles))
    made = (variant(record, n, change(fused), case) for n, change in problem.variants.items())
    return [*found, *(r for r in made if r is not None)]


def variant(record: Record, name: str, fused: Any, case: Case) -> Runner | None:
    """Another way of ours; None, with the reason noted, where its kernel cannot be."""
    try:
        program = fused.lower(*case.sets[0])
        moved = program.explain(*case.sets[0]).bytes_moved
    except ow.OpweaveError as error:
        record.absent[name] = str(error).split("\n")[0]
        return None
    kernel = program.kernels[0]
    if kernel.data.overridden:
        record.absent[name] = f"its kernel has no toggle {', '.join(kernel.data.overridden)}"
        return None
    return Runner(name, fused, moved, toggles=kernel.toggles, role="variant")
