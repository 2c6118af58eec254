"""The report of a check: errors in ULP and in units of the derived bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.bounds import Bound, Judgement, judge
from opweave.compiler.ir.values import Value
from opweave.opcodes.errors import CheckError


@dataclass(frozen=True)
class Report:
    """What a check found, a row per output."""

    rows: tuple[Judgement, ...]
    relaxed: bool = False

    @property
    def ok(self) -> bool:
        """Every output keeps its bound."""
        return all(row.ok for row in self.rows)

    @property
    def max_ulp(self) -> float:
        """Largest error in units in the last place."""
        return max((row.ulp for row in self.rows), default=0.0)

    @property
    def max_bounds(self) -> float:
        """Largest error in units of the derived bound."""
        return max((row.bounds for row in self.rows), default=0.0)

    @property
    def tight(self) -> tuple[Judgement, ...]:
        """Outputs with results over half of the bound: no fault, but worth a look.

        Results within half a ULP never count.
        """
        return tuple(row for row in self.rows if row.tight)

    def __str__(self) -> str:
        lines = list(map(str, self.rows))
        if self.tight and self.ok:
            shown = ", ".join(
                f"{row.tight} of {row.elements} elements of {row.name} (up to {row.bounds:.3g})"
                for row in self.tight
            )
            lines.append(f"over half of the bound: {shown}")
        if self.relaxed:
            lines.append("fast arithmetic: the strict bound is for information")
        return "\n".join(lines)


def compare(bounds: Sequence[Bound], outputs: Sequence[Any], *, relaxed: bool) -> Report:
    """Judge outputs by their bounds.

    Raises:
        CheckError: an element lies outside its bound (strict arithmetic only).
    """
    rows = tuple(judge(b, o) for b, o in zip(bounds, outputs, strict=True))
    report = Report(rows, relaxed)
    if not report.ok and not relaxed:
        raise CheckError(f"a result lies outside its derived bound\n{report}")
    return report


def bound_of(name: str, output: Any, found: Any) -> Bound:
    """The bound of a graph's output: of a value, or of a number that the host computes."""
    if isinstance(output, Value):
        return Bound(name, output.dtype.numpy, found.value, found.error)
    return Bound(name, None, found, np.zeros(()))
