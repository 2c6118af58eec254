"""Calls that NumPy runs as a whole: why, and how they are told from others."""

from __future__ import annotations

from typing import Any

from opweave._functions.layout import Call
from opweave.compiler.ir.pace import IN_PARTS

# Kinds of calls of which it is remembered that NumPy runs them.
MOST_PLAIN = 256


class ByNumPy(Exception):
    """The plain function has to run; the text says why, and ``once`` for what it is told once."""

    def __init__(self, why: str, once: Any = None, rolled: Any = None):
        """``rolled``: the kinds of a call whose loops C may run; it is told of if none does."""
        super().__init__(why)
        self.once = why if once is None else once
        self.rolled = rolled


def why_numpy(error: Exception) -> str:
    """Why NumPy runs a loop that is too long, "" where it runs in parts: by a model of NumPy."""
    seconds = getattr(error, "mean_seconds", None)
    if seconds is None or seconds >= IN_PARTS:
        return ""
    return (
        f"{error}. In parts it would take longer: NumPy has an operation in some "
        f"{seconds * 1e6:.0f} us, by a model; fullgraph=True compiles all of it"
    )


def keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Remember something; where there is too much, forget what is oldest."""
    if len(known) >= MOST_PLAIN:
        known.pop(next(iter(known)))
    known[key] = value


def size_class(call: Call) -> tuple[int, ...]:
    """The size of each array, and each integer, by its power of two: loops have so many rounds."""
    sizes = [int(array.size) for array in call.arrays]
    return tuple(n.bit_length() for n in (*sizes, *(v for v in call.values if type(v) is int)))
