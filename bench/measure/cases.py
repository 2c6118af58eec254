"""What is measured: what a user asked for, and the problems that runners solve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.measure.clock import Sets
from bench.measure.harness import Expected


@dataclass(frozen=True)
class Options:
    """What a user asked for.

    Attributes:
        quick: smaller sizes and fewer samples, to see that all works.
        sizes: in place of an experiment's own; their meaning is the experiment's.
        peers: names; None for all that are there.
        rounds: how often all was measured, minutes apart.
    """

    quick: bool = False
    sizes: tuple[int, ...] | None = None
    peers: tuple[str, ...] | None = None
    note: str = ""
    commit: str = ""
    rounds: int = 1


@dataclass(frozen=True)
class Case:
    """One problem that several runners solve.

    Attributes:
        parameters: what tells this case from others, such as ``{"length": 8}``.
        sets: arguments; several sets of equal values where the cache must not serve them.
        dtype: of the result.
        nbytes: bytes that any algorithm must read and write: inputs and outputs, once each.
        flops: operations that any algorithm must do.
        special: special functions among them.
        unit: "fp32" or "matrix": which roof the operations lie under.
    """

    parameters: Mapping[str, Any]
    sets: Sets
    dtype: Any
    expected: Expected
    nbytes: int
    flops: int = 0
    special: int = 0
    unit: str = "fp32"
