"""Versions of one program for a runner: of those that are right the fastest takes part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from bench.measure.harness import WrongResult
from bench.measure.states import State, difference, leaves

Run = Callable[..., Any]
Args = tuple[Any, ...]
TRIES = 3


class Version(NamedTuple):
    """A program as somebody wrote it.

    Attributes:
        run: takes the program's arguments.
        name: tells it from others of the same runner.
        written: where the arrays cannot be written to, the places of the arguments that NumPy's
            program writes; ``run`` returns them behind its results.
    """

    run: Run
    name: str = ""
    written: tuple[int, ...] | None = None

    def check(self, args: Args, expected: tuple[Any, Args], tolerance: float) -> None:
        """Compare a call with NumPy's result and with what NumPy's arguments hold afterwards.

        Raises:
            WrongResult: a value is not NumPy's.
        """
        own = State(args)
        found: Any = (self.run(*own.args), own.args)
        if self.written is not None:
            found, expected = _together(found[0], expected, self.written)
        if wrong := difference(found, expected, tolerance):
            raise WrongResult(wrong)


def _together(found: Any, expected: tuple[Any, Args], written: Sequence[int]) -> tuple[Any, Any]:
    """What is returned, and what NumPy returns and writes, as arrays one behind the other."""
    result, args = expected
    theirs = [value for _, value in leaves(result) if value is not None]
    theirs += [args[place] for place in written]
    ours = list(found) if isinstance(found, list | tuple) else [found]
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True)]
    return [a.astype(b.dtype) for a, b in pairs], [b for _, b in pairs]


def fastest(
    versions: Sequence[Version], args: Args, expected: tuple[Any, Args], tolerance: float
) -> Version:
    """The version whose best of a few calls takes least; one alone is only checked.

    Raises:
        LookupError: there is none.
        Exception: what the last of them raised, where none is right.
    """
    if not versions:
        raise LookupError("no version of it is written")
    right: list[Version] = []
    error: Exception | None = None
    for version in versions:
        try:
            version.check(args, expected, tolerance)
            right.append(version)
        except Exception as raised:  # a compiler raises what it likes
            error = raised
    if error is not None and not right:
        raise error
    return right[0] if len(right) == 1 else min(right, key=lambda v: _seconds(v.run, args))


def _seconds(run: Run, args: Args) -> float:
    state, found = State(args), list[float]()
    for _ in range(TRIES):
        state.restore()
        start = perf_counter()
        run(*state.args)
        found.append(perf_counter() - start)
    return min(found)
