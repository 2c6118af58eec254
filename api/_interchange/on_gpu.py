"""Prepared calls with CuPy's arrays, found again by what their arguments are, and run.

On the host C compares arguments with those of earlier calls, see ``api/_functions/warm.py``.
Kernels for a GPU are started by CuPy, so here Python does it, by one expression.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from opweave.compiler.captures.alike import PLAIN, taken_alike
from opweave.compiler.captures.checks import EQUAL, looking
from opweave.compiler.captures.structure import Structure
from opweave.runtime.calls.writes import Unwritten
from opweave.runtime.host.warm_layout import UNKNOWN

# Kinds of leaves, and layouts for one, that are kept; then the newest takes the place of all.
MOST_KINDS, MOST_LAYOUTS = 8, 1024


class RunsLeaves(Protocol):
    """A prepared call."""

    def __call__(self, values: Sequence[Any], containers: Sequence[Any] = ()) -> Any:
        """Run with these leaves, and the containers of the arguments."""

    def into(self, out: Any, values: Sequence[Any], containers: Sequence[Any] = ()) -> Any:
        """The same, with arrays for the outputs."""


# Prepared calls by how their arrays lie, and a function of leaves that tells how theirs do.
Known = tuple[dict[Any, RunsLeaves], Callable[..., Any]]
# A form of ``looking`` for each leaf, and what it is asked with.
Asked = Sequence[tuple[str, Any]]


class CallsOnGpu:
    """The calls with arguments of one structure that run on a GPU.

    Attributes:
        looks: functions of leaves that find them, each those of some kinds of leaves.
    """

    def __init__(
        self, trees: Sequence[Structure | None], outside: Sequence[Any],
        holds: Callable[[], bool],
    ):  # fmt: skip
        """
        Args:
            trees: structures of the arguments.
            outside: leaves that the function reads from outside, which follow theirs.
            holds: asks whether all else is as it was.
        """
        self._trees, self._outside, self._holds = trees, tuple(outside), holds
        self._array = sys.modules["cupy"].ndarray
        self._types = PLAIN | {self._array}
        self._are_leaves = all(tree is None for tree in trees)
        self._known: dict[Any, Known] = {}
        self.looks: tuple[Callable[..., RunsLeaves | None], ...] = ()

    def add(self, run: RunsLeaves, values: Sequence[Any], asked: Asked) -> None:
        """Know a prepared call from now on.

        Args:
            values: leaves like those of its calls.
            asked: of each of them.
        """
        kinds = tuple(
            (form, value if type(value) in EQUAL else id(value)) for form, value in asked
        )
        known, key_of = self._known.get(kinds) or self._new(kinds, asked)
        if len(known) >= MOST_LAYOUTS:
            known.clear()
        known[key_of(*values)] = run

    def _new(self, kinds: Any, asked: Asked) -> Known:
        """The calls with leaves of other kinds, of which there are none yet."""
        if len(self._known) >= MOST_KINDS:
            self._known, self.looks = {}, ()
        known: dict[Any, RunsLeaves] = {}
        make, held = looking(tuple(form for form, _ in asked)), [value for _, value in asked]
        made = self._known[kinds] = known, make(tuple, lambda: True, self._array, *held)
        self.looks = make(known.get, self._holds, self._array, *held), *self.looks
        return made

    def _found(
        self, args: Sequence[Any]
    ) -> tuple[RunsLeaves, Sequence[Any], Sequence[Any]] | None:
        """The prepared call for some arguments, their leaves and their containers."""
        values: Sequence[Any] = args
        containers: Sequence[Any] = ()
        if not self._are_leaves:
            if (taken := taken_alike(self._trees, args, self._types)) is None:
                return None
            values, containers = taken
        if self._outside:
            values = (*values, *self._outside)
        for look in self.looks:
            if (run := look(*values)) is not None:
                return run, values, containers
        return None

    def call(self, *args: Any) -> Any:
        """Run a call; ``UNKNOWN`` of one that is not known, or that kernels may not run."""
        if (found := self._found(args)) is None:
            return UNKNOWN
        run, values, containers = found
        try:
            return run(values, containers)
        except Unwritten:  # other ways are open
            return UNKNOWN

    def into(self, out: Any, *args: Any) -> Any:
        """The same with an array for the result, or several."""
        if (found := self._found(args)) is None:
            return UNKNOWN
        run, values, containers = found
        try:
            return run.into(out, values, containers)
        except Unwritten:
            return UNKNOWN
