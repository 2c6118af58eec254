"""A program as a list of launches: what it takes, gives, and starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.captures.structure import Structure
from opweave.compiler.ir.expr import Expr
from opweave.compiler.kernels.kernel import Kernel
from opweave.opcodes.dtypes import DType


@dataclass(frozen=True)
class MemoryPlace:
    """Where memory begins: an argument, a result or a constant by its name, or the arena."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class LaunchSlot:
    """An argument of a kernel.

    Attributes:
        value: a place, a number of the call, or one that is always the same.
        ctype: its C type; "" of a place.
        dtype: of the elements at a place.
    """

    value: MemoryPlace | Expr | Any
    ctype: str
    dtype: DType | None = None


@dataclass(frozen=True)
class KernelLaunch:
    """One kernel with its launch; ``cleared`` are bytes that are zero before."""

    kernel: Kernel
    number: int
    source: str
    grid: tuple[int, int, int]
    shared: int
    slots: tuple[LaunchSlot, ...]
    cleared: tuple[tuple[MemoryPlace, int], ...]


@dataclass(frozen=True)
class ExportedArgument:
    """An argument or a result: an array of a shape, or a number of a type of Python's.

    ``default``: what the function takes where the number is left out; None where it asks for it.
    """

    name: str
    dtype: DType | None
    shape: tuple[int, ...] = ()
    kind: str = ""
    written: bool = False
    default: int | float | None = None


@dataclass(frozen=True)
class Exported:
    """A program as a list of launches.

    Attributes:
        name: of the function.
        arguments, results: in the order of the function.
        constants: arrays that it has in it, by their names.
        arena: bytes of the temporaries.
        launches: in order.
        copies: what is copied when all kernels are done: from, to, bytes.
        cleared: results that begin as zeros, and their bytes.
        target: the architecture.
        fast: relaxed arithmetic.
        structure: how results are packed.
    """

    name: str
    arguments: tuple[ExportedArgument, ...]
    results: tuple[ExportedArgument, ...]
    constants: dict[str, np.ndarray[Any, Any]]
    arena: int
    launches: tuple[KernelLaunch, ...]
    copies: tuple[tuple[MemoryPlace, MemoryPlace, int], ...]
    cleared: tuple[tuple[MemoryPlace, int], ...]
    target: str
    fast: bool
    structure: Structure | None

    @property
    def line(self) -> str:
        """What it takes and gives, such as ``x: f32[3, 4], s: float -> out: f32[3, 4]``."""
        taken, made = (", ".join(map(_shown, each)) for each in (self.arguments, self.results))
        return f"{taken} -> {made or 'nothing'}"


def _shown(argument: ExportedArgument) -> str:
    kind = f"{argument.dtype}{list(argument.shape)}" if argument.dtype else argument.kind
    return f"{argument.name}: {kind}"


ARENA = "arena"
