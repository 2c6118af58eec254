"""The arguments of a program, and protocols of what holds, explains and judges programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from opweave.compiler.ir.graph import FunctionGraph, Written
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.ir.values import Extents
from opweave.compiler.pipeline.driver import Lowered, Options
from opweave.compiler.pipeline.specialise import Specialised, Variant
from opweave.compiler.scheduling.schedule import Schedule
from opweave.opcodes.structural import Placed
from opweave.runtime.calls.graph_results import stores_of
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.writes import Unwritten, store


class FusedLike(Protocol):
    """A fused function.

    Attributes:
        options: as it was made.
        signature: binds arguments.
    """

    options: Options
    signature: Any

    def found_for(
        self, call: Any, device: Any, libraries: Sequence[str] | None = None
    ) -> Specialised:
        """The compilation for a call of this kind, made now if there is none.

        ``libraries``: whose its arrays are taken for; None as they are.
        """


class ProgramLike(Protocol):
    """A lowered function.

    Attributes:
        fused: what it was lowered from.
        found, variant: its specialisation, and what was traced for it.
        lowered: its kernels.
    """

    fused: Any
    found: Specialised
    variant: Variant
    lowered: Lowered

    @property
    def target(self) -> str: ...
    @property
    def kernels(self) -> Sequence[Any]: ...
    @property
    def graph(self) -> FunctionGraph: ...
    def executor(self, call: Any) -> Any: ...
    def check(self, *args: Any, **kwargs: Any) -> Any: ...
    def reference(self, *args: Any, **kwargs: Any) -> Any: ...
    def rescheduled(self, schedule: Schedule, placed: Sequence[Placed] = ()) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


@dataclass(frozen=True)
class Arguments:
    """A call's arguments by their places in the graph, and the containers that held them."""

    arrays: dict[int, Any]
    env: dict[str, Any]
    extents: Mapping[str, int]
    containers: Sequence[Any] = ()

    @property
    def kind(self) -> str:
        """Whose errors count: those of "cuda" or of the "host"."""
        return "cuda" if any(map(is_cupy, self.arrays.values())) else "host"

    @property
    def known(self) -> dict[str, Any]:
        """All numbers and extents by name."""
        return {**self.extents, **self.env}

    @property
    def on_host(self) -> dict[int, np.ndarray[Any, Any]]:
        """The arrays as NumPy's."""
        return {i: a.get() if is_cupy(a) else a for i, a in self.arrays.items()}

    def hold(self, outputs: Sequence[Any], written: Sequence[Written]) -> None:
        """Let arrays that are written to, which are copies, hold what was computed for them."""
        store(outputs, list(self.arrays.values()), stores_of(written))

    def run(self, lowered: Lowered, executor: Any) -> list[Any]:
        """The outputs of some kernels for these arguments.

        Raises:
            Exception: what a call of NumPy's library between them raised.
        """
        arrays = list(self.arrays.values())
        try:
            return Prepared(lowered, executor, self.extents, arrays)(arrays, self.env)
        except Unwritten as why:
            if why.raised is None:
                raise
            raised = why.raised
        raise raised


class RanLike(Protocol):
    """What a run in parts did: the lines between its segments, and the calls of these."""

    @property
    def breaks(self) -> tuple[Any, ...]: ...
    @property
    def segments(self) -> tuple[Any, ...]: ...


# Kernels, and the extents that they ran for.
Run = tuple[Lowered, Extents]


class RolledLike(Protocol):
    """A function of which C runs loops, or kernels lines.

    Attributes:
        in_c: the line of each loop, and its source; ``left`` to Python: the line, and why.
        called_fused: of calls that are fused themselves the line, the function, and its loops.
        by_kernels: the first and the last of lines, and what they were lowered to.
    """

    left: list[tuple[int, str]]

    @property
    def in_c(self) -> list[tuple[int, str]]: ...

    @property
    def called_fused(self) -> list[tuple[int, str, list[str]]]: ...

    @property
    def by_kernels(self) -> list[tuple[int, int, Run]]: ...
