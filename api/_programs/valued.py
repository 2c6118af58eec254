"""``check``: a program with each value of the toggles that its operators declare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opweave._programs.report import Report, compare
from opweave.bounds import Bound
from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.toggles.facts import Declared
from opweave.opcodes.errors import CheckError
from opweave.runtime.calls.arrays import is_cupy

# Runs kernels: bounds of the outputs, and what they are.
Judge = Callable[[Lowered], tuple[Sequence[Bound], list[Any]]]


@dataclass(frozen=True)
class _Flipped:
    """A program with one other value of a toggle."""

    toggle: Declared
    value: int
    lowered: Lowered

    def __str__(self) -> str:
        return f"{self.toggle.name}={self.value}"


def checked(lowered: Lowered, judge: Judge, relaxed: bool) -> Report:
    """The report of a program, run with its values of toggles and then with each other one.

    Raises:
        CheckError: a result lies outside its bound, or differs where all values are declared to
            give the same bits.
    """
    bounds, outputs = judge(lowered)
    report = compare(bounds, outputs, relaxed=relaxed)
    others = []
    for found in _others(lowered):
        made_bounds, made = judge(found.lowered)
        try:
            other = compare(made_bounds, made, relaxed=relaxed)
        except CheckError as error:
            raise CheckError(f"with {found}: {error}") from None
        differs = _difference(bounds, outputs, made)
        if differs and found.toggle.toggle.same_bits and not relaxed:
            raise CheckError(
                f"{found} gives other bits than {found.toggle.name}={found.toggle.value}: "
                f"{differs}; declare it with same_bits=False if they may differ"
            )
        others.append((str(found), other if differs else None))
    return replace(report, others=tuple(others))


def _others(lowered: Lowered) -> Iterator[_Flipped]:
    """The same kernels with each other value that can hold in all that have the toggle."""
    found: dict[str, list[Declared]] = {}
    for declared in (d for kernel in lowered.kernels for d in kernel.declared):
        found.setdefault(declared.name, []).append(declared)
    for name, those in found.items():
        for value in those[0].toggle.values:
            now = {kernel.toggles[name] for kernel in lowered.kernels if name in kernel.toggles}
            if now != {value} and all(value in declared.holding for declared in those):
                yield _Flipped(those[0], value, _with_value(lowered, name, value))


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
