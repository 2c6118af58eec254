"""Shrink a failing program: greedy steps, each to a smaller program that fails in the same way.

A candidate that NumPy refuses is no program; so nothing here knows about shapes or types.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from . import arrays
from .program import Array, Number, Program, Step, resized, swapped
from .validity import ERRORS, is_valid

Fails = Callable[[Any], bool]
SIMPLE_DTYPES = ("float32", "int32", "float64", "int64")
# Argument values are written out, and made simpler one by one, up to so many.
MOST_VALUES = 64


def shrink(
    program: Any,
    fails: Fails,
    seconds: float = 90.0,
    *,
    smaller: Any = None,
    valid: Any = is_valid,
) -> Any:
    """The smallest program found in the time; fails as the given one does.

    ``smaller`` gives candidates of another kind of program than graphs, ``valid`` judges them.
    """
    smaller = smaller or candidates
    end = time.monotonic() + seconds
    seen = {repr(program)}
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for candidate in smaller(program):
            text = repr(candidate)
            if text in seen or not valid(candidate):
                continue
            seen.add(text)
            if fails(candidate):
                program, changed = candidate, True
                break
            if time.monotonic() > end:
                break
    return program


def candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, the boldest changes first."""
    for change in (
        _without_toggles, _one_output, _fewer_steps, _cut_steps, _smaller_extents, _plain_layouts,
        _plain_fills, _simple_numbers, _simple_dtypes, _written_values,
    ):  # fmt: skip
        for candidate in change(program):
            yield candidate.pruned()


def _without_toggles(program: Program) -> Iterator[Program]:
    if program.toggles:
        yield replace(program, toggles=())
        for one in program.toggles:
            yield replace(program, toggles=(one,))


def _one_output(program: Program) -> Iterator[Program]:
    if len(program.outputs) > 1:
        for n, name in enumerate(program.outputs):
            yield replace(program, outputs=(name,))
            rest = (*program.outputs[:n], *program.outputs[n + 1 :])
            yield replace(program, outputs=rest)
    for step in reversed(program.steps[:-1]):  # what failed may have been made earlier
        yield replace(program, outputs=(step.results[0],))


def _fewer_steps(program: Program) -> Iterator[Program]:
    """A step's result becomes one of its operands."""
    for n, step in reversed(list(enumerate(program.steps))):
        for name in step.names:
            renamed = dict.fromkeys(step.results, name)
            rest = [_with_names(s, renamed) for s in program.steps[n + 1 :]]
            outputs = tuple(renamed.get(o, o) for o in program.outputs)
            yield replace(program, steps=(*program.steps[:n], *rest), outputs=outputs)


def _with_names(step: Step, renamed: dict[str, str]) -> Step:
    operands = tuple(renamed.get(o, o) if isinstance(o, str) else o for o in step.operands)
    return replace(step, operands=operands)


def _cut_steps(program: Program) -> Iterator[Program]:
    """A step's result becomes an argument that holds its values."""
    for n, step in enumerate(program.steps[:-1]):
        if len(step.results) > 1:
            continue
        try:
            value = program.evaluate()[step.results[0]]
        except ERRORS:
            return
        if np.size(value) > 100_000:
            continue
        found = np.asarray(value)
        made = Array(
            step.results[0], found.dtype.name, found.shape, fill="given", values=_plain(found)
        )
        steps = (*program.steps[:n], *program.steps[n + 1 :])
        yield replace(program, steps=steps, arguments=(*program.arguments, made))


def _plain(values: Any) -> tuple[Any, ...]:
    """Values as Python numbers; exact."""
    found = np.ravel(values)
    if found.dtype.name in ("bfloat16", "float16"):
        found = found.astype(np.float32)
    return tuple(found.tolist())


def _smaller_extents(program: Program) -> Iterator[Program]:
    """An extent that several arguments share shrinks in all of them, or in one."""
    owned = [a for a in program.arguments if isinstance(a, Array)]
    extents = sorted({e for a in owned for e in a.shape if e > 1}, reverse=True)
    for extent in extents:
        for smaller in dict.fromkeys((1, 2, 3, extent // 2, extent * 3 // 4, extent - 1)):
            if not 0 < smaller < extent:
                continue
            yield resized(program, lambda a, e=extent, s=smaller: swapped(a.shape, e, s))
    for item in owned:  # without a leading dimension, or of one element
        if item.shape:
            name = item.name
            yield resized(program, lambda a, n=name: a.shape[1:] if a.name == n else a.shape)
    if owned:
        yield resized(program, lambda a: a.shape[1:])


def _with_argument(program: Program, n: int, item: Array | Number) -> Program:
    return replace(program, arguments=(*program.arguments[:n], item, *program.arguments[n + 1 :]))


def _plain_layouts(program: Program) -> Iterator[Program]:
    for n, item in enumerate(program.arguments):
        if isinstance(item, Array) and item.layout != "C":
            yield _with_argument(program, n, replace(item, layout="C", of=""))
            if item.layout not in ("Fortran", "steps") and not item.of:
                yield _with_argument(program, n, replace(item, layout="steps"))


def _plain_fills(program: Program) -> Iterator[Program]:
    for n, item in enumerate(program.arguments):
        if isinstance(item, Array) and item.fill not in ("ones", "given"):
            for fill in ("ones", "unit", "normal"):
                if fill != item.fill:
                    yield _with_argument(program, n, replace(item, fill=fill, of=item.of))


def _simple_numbers(program: Program) -> Iterator[Program]:
    for n, item in enumerate(program.arguments):
        if isinstance(item, Number):
            for simple in _simpler(item.value):
                yield _with_argument(program, n, replace(item, value=simple))
            steps = tuple(
                replace(s, operands=tuple(item.value if o == item.name else o for o in s.operands))
                for s in program.steps
            )
            yield replace(program, steps=steps)
    for n, step in enumerate(program.steps):
        for k, operand in enumerate(step.operands):
            if isinstance(operand, str):
                continue
            for simple in _simpler(operand):
                operands = (*step.operands[:k], simple, *step.operands[k + 1 :])
                changed = replace(step, operands=operands)
                yield replace(
                    program, steps=(*program.steps[:n], changed, *program.steps[n + 1 :])
                )


def _simpler(value: Any) -> tuple[Any, ...]:
    simple = (1.0, 2.0) if isinstance(value, float) else (1, 2)
    return () if value in simple or isinstance(value, bool) else simple


def _simple_dtypes(program: Program) -> Iterator[Program]:
    for n, item in enumerate(program.arguments):
        if not isinstance(item, Array) or item.of:
            continue
        place = SIMPLE_DTYPES.index(item.dtype) if item.dtype in SIMPLE_DTYPES else 99
        for dtype in SIMPLE_DTYPES[:place]:
            changed = replace(item, dtype=dtype)
            yield _with_argument(program, n, changed)
            every = tuple(
                replace(a, dtype=dtype) if isinstance(a, Array) and a.dtype == item.dtype else a
                for a in program.arguments
            )
            yield replace(program, arguments=every)


def _written_values(program: Program) -> Iterator[Program]:
    """Values written out, then made 1 or 0: all but one half, then one by one."""
    for n, item in enumerate(program.arguments):
        size = int(np.prod(item.shape)) if isinstance(item, Array) else 0
        if not isinstance(item, Array) or item.of or not 0 < size <= MOST_VALUES:
            continue
        if item.fill == "ones":
            continue
        values = item.values if item.fill == "given" else _plain(arrays.logical(item))
        given = replace(item, fill="given", values=values)
        one = 1.0 if isinstance(values[0], float) else type(values[0])(1)
        for length in (size, (size + 1) // 2, (size + 3) // 4, 1):
            for start in range(0, size, length):
                part = slice(start, start + length)
                if all(v == one for v in values[part]):
                    continue
                changed = list(values)
                changed[part] = [one] * len(changed[part])
                yield _with_argument(program, n, replace(given, values=tuple(changed)))
