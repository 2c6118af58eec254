"""Protocols of fused functions, programs and runs in parts, for what explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from opweave.compiler.ir.graph import Graph
from opweave.compiler.pipeline.driver import Lowered, Options
from opweave.compiler.pipeline.specialise import Specialised, Variant
from opweave.compiler.scheduling.schedule import Schedule


class FusedLike(Protocol):
    """A fused function.

    Attributes:
        options: as it was made.
        signature: binds arguments.
    """

    options: Options
    signature: Any

    def found_for(self, call: Any, device: Any) -> Specialised:
        """The compilation for a call of this kind, made now if there is none."""


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
    def graph(self) -> Graph: ...
    def executor(self, call: Any) -> Any: ...
    def check(self, *args: Any, **kwargs: Any) -> Any: ...
    def reference(self, *args: Any, **kwargs: Any) -> Any: ...
    def rescheduled(self, schedule: Schedule) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class ArgumentsLike(Protocol):
    """A call's arguments by their places in the graph."""

    @property
    def arrays(self) -> dict[int, Any]: ...
    @property
    def env(self) -> dict[str, Any]: ...
    @property
    def extents(self) -> Mapping[str, int]: ...


class RanLike(Protocol):
    """What a run in parts did: the lines between its segments, and the calls of these."""

    @property
    def breaks(self) -> tuple[Any, ...]: ...
    @property
    def segments(self) -> tuple[Any, ...]: ...
