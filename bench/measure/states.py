"""What a call may change: arrays and numbers of its arguments, to compare and to restore."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

# Of the largest magnitude of an array: roundings in whatever order, sums of a million terms too.
RELATIVE = {"float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Arrays and numbers in containers and attributes, with the way to each."""
    if isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]")
    elif isinstance(value, np.ndarray | np.generic | int | float | complex) or value is None:
        yield path, value
    else:
        for name, item in vars(value).items():
            yield from leaves(item, f"{path}.{name}")


class State:
    """Arguments of a program, and what their arrays held at first."""

    def __init__(self, args: tuple[Any, ...]):
        self.args = copy.deepcopy(args)
        arrays = [a for _, a in leaves(self.args) if isinstance(a, np.ndarray)]
        self.pairs = [(array, array.copy()) for array in arrays]

    def restore(self) -> None:
        """Arrays as they were; numbers stay, so that a ring goes on to its next place."""
        for array, first in self.pairs:
            np.copyto(array, first)


def difference(found: Any, expected: Any, factor: float = 1.0) -> str:
    """The first leaf that is not what it must be; "" if all are.

    Args:
        factor: how many times ``RELATIVE`` a value may be off.
    """
    ours, theirs = list(leaves(found)), list(leaves(expected))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        return f"holds {[p for p, _ in ours]}, expected {[p for p, _ in theirs]}"
    for (path, a), (_, b) in zip(ours, theirs, strict=True):
        if text := _differs(a, b, factor):
            return f"{path}: {text}"
    return ""


def _differs(a: Any, b: Any, factor: float) -> str:
    if type(a) is not type(b):
        return f"{type(a).__name__}, expected {type(b).__name__}"
    if a is None:
        return ""
    a, b = np.asarray(a), np.asarray(b)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"{a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
    scale = np.abs(b[np.isfinite(b)]).max(initial=0.0) if b.dtype.kind in "fc" else 0.0
    allowed = factor * RELATIVE.get(b.dtype.name, 0.0) * scale
    wrong = ~(
        (a == b)
        | (np.abs(np.subtract(a, b, dtype=np.result_type(b, float))) <= allowed)
        | (a != a) & (b != b)
    )
    if not wrong.any():
        return ""
    at = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return f"{int(wrong.sum())} elements, the first at {at}: {a[at]}, expected {b[at]}"
