"""What all judges of lists share: calls of lists, and results bit for bit the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..oracles import Fault, bits_of
from .program import Lists


def calls(program: Lists) -> list[tuple[Any, list[Any]]]:
    """The lists that the function calls, each with its arguments; with numbers alone, none is."""
    held = program.evaluate()
    held |= {n: np.asarray(v) for n, v in held.items() if isinstance(v, np.generic)}
    return [
        (program.scope[s.op], [held[o] if isinstance(o, str) else o for o in s.operands])
        for s in program.steps
        if s.op in program.known.lists
    ]


def several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple | list) else (value,)


def agree(oracle: str, one: Any, other: Any, what: str) -> None:
    """Results bit for bit the same; every NaN counts as the same."""
    for n, (a, b) in enumerate(zip(several(one), several(other), strict=True)):
        x, y = np.asarray(a), np.asarray(b)
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            raise Fault(oracle, f"result {n} of {what}: {x.dtype}{x.shape}, {y.dtype}{y.shape}")
        differ = np.flatnonzero(bits_of(x) != bits_of(y))
        if differ.size:
            at = int(differ[0]) * x.size // bits_of(x).size
            raise Fault(
                oracle,
                f"result {n} of {what}: {differ.size} of {x.size} elements differ, the first "
                f"at {at}: {x.reshape(-1)[at]!r} against {y.reshape(-1)[at]!r}",
            )
