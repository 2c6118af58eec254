"""``check``: a program with each value of the toggles that its operators declare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from opweave._programs.report import Report, compare
from opweave.bounds import Bound
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.toggles.facts import Declared
from opweave.opcodes.errors import CheckError

# Runs kernels: bounds of the outputs, and what they are.
Judge = Callable[[Lowered], tuple[Sequence[Bound], list[Any]]]


# Up to so many values of all toggles together each is run; of more, those of each toggle alone.
MOST_TOGETHER = 16


def checked(lowered: Lowered, judge: Judge, relaxed: bool) -> Report:
    """The report of a program, run with its values of toggles and then with all others.

    Raises:
        CheckError: a result lies outside its bound, or differs where all values are declared to
            give the same bits.
    """
    bounds, outputs = judge(lowered)
    report = compare(bounds, outputs, relaxed=relaxed)
    declared = _declared(lowered)
    free = [name for name, those in declared.items() if not those[0].toggle.same_bits]
    now = {name: _now(lowered, name) for name in declared}
    # by the values of toggles that bits may depend on, what has the bits that others are held to
    first = {tuple(now[name] for name in free): ("", outputs)}
    others = []
    for values in _others(declared):
        changed = {name: value for name, value in values.items() if now[name] != value}
        if not changed:
            continue
        label = _named(changed)
        made_bounds, made = judge(_with_values(lowered, changed))
        try:
            other = compare(made_bounds, made, relaxed=relaxed)
        except CheckError as error:
            raise CheckError(f"with {label}: {error}") from None
        key = tuple((now | values)[name] for name in free)
        than, expected = first.setdefault(key, (label, made))
        differs = _difference(bounds, expected, made)
        if differs and not relaxed:
            than = than or _named({name: now[name] for name in changed})
            raise CheckError(
                f"{label} gives other bits than {than}: {differs}; declare it with "
                "same_bits=False if they may differ"
            )
        others.append((label, other if _difference(bounds, outputs, made) else None))
    return replace(report, others=tuple(others))


def _declared(lowered: Lowered) -> dict[str, list[Declared]]:
    """The toggles of the user's operators, as each kernel has them."""
    found: dict[str, list[Declared]] = {}
    for declared in (d for kernel in lowered.kernels for d in kernel.declared):
        found.setdefault(declared.name, []).append(declared)
    return found


def _now(lowered: Lowered, name: str) -> Any:
    """The value that all kernels have; else a text that says so."""
    found = {kernel.toggles[name] for kernel in lowered.kernels if name in kernel.toggles}
    return found.pop() if len(found) == 1 else "as chosen"


def _others(declared: Mapping[str, Sequence[Declared]]) -> Iterator[dict[str, int]]:
    """Values that can hold in all kernels."""
    holding = {
        name: [v for v in those[0].toggle.values if all(v in d.holding for d in those)]
        for name, those in declared.items()
    }
    holding = {name: values for name, values in holding.items() if values}
    if prod(map(len, holding.values())) > MOST_TOGETHER:
        yield from ({name: v} for name, values in holding.items() for v in values)
        return
    for values in product(*holding.values()):
        yield dict(zip(holding, values, strict=True))


def _named(values: Mapping[str, Any]) -> str:
    return " and ".join(f"{name}={value}" for name, value in values.items())


def _with_values(lowered: Lowered, values: Mapping[str, int]) -> Lowered:
    for name, value in values.items():
        lowered = _with_value(lowered, name, value)
    return lowered


def _with_value(lowered: Lowered, name: str, value: int) -> Lowered:
    """The same sources, also where a user has edited them, with another number in a #define."""
    pattern = re.compile(rf"^([ \t]*#[ \t]*define[ \t]+{name}[ \t]+)(\d+ *)", re.MULTILINE)

    def changed(kernel: Kernel) -> Kernel:
        has = name in kernel.toggles
        return replace(kernel, toggles=kernel.toggles | {name: value}) if has else kernel

    sources = (
        pattern.sub(lambda m: f"{m[1]}{value:<{len(m[2])}}", source) for source in lowered.sources
    )
    kernels = tuple(map(changed, lowered.kernels))
    return replace(lowered, kernels=kernels, sources=tuple(sources))


def _difference(bounds: Sequence[Bound], first: Sequence[Any], second: Sequence[Any]) -> str:
    """Where outputs have other bits, "" where none has."""
    for bound, a, b in zip(bounds, map(_on_host, first), map(_on_host, second), strict=True):
        if a.tobytes() == b.tobytes():
            continue
        where = tuple(np.argwhere(_bytes(a) != _bytes(b))[0, :-1])
        at = f"[{', '.join(map(str, where))}]" if where else ""
        return f"{bound.name}{at} is {b[where]!r}, and was {a[where]!r}"
    return ""


def _bytes(array: Any) -> Any:
    """The bytes of each element."""
    return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.itemsize)


def _on_host(output: Any) -> Any:
    return np.asarray(output.get() if is_cupy(output) else output)
