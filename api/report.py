"""The report of a check: errors in ULP and in units of the derived bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.bounds import Bounded
from opweave.compiler.driver import Lowered
from opweave.compiler.ir import Value
from opweave.compiler.rounding import spacing
from opweave.opcodes.errors import CheckError


@dataclass(frozen=True)
class Row:
    """One output: largest error in ULP of its dtype and in units of the bound.

    ``undecided`` counts elements that no bound decides: a comparison on the edge, an overflow.
    """

    name: str
    elements: int
    ulp: float
    bounds: float
    wrong: int
    undecided: int
    worst: tuple[int, ...]

    def __str__(self) -> str:
        verdict = "agrees" if self.wrong == 0 else f"{self.wrong} elements WRONG at {self.worst}"
        rest = f", {self.undecided} undecided" if self.undecided else ""
        return (
            f"{self.name}: {self.elements} elements, {verdict}; largest error {self.ulp:.3g} ULP, "
            f"{self.bounds:.3g} of the bound{rest}"
        )


@dataclass(frozen=True)
class Report:
    """What a check found, a row per output."""

    rows: tuple[Row, ...]
    relaxed: bool = False

    @property
    def ok(self) -> bool:
        return all(row.wrong == 0 for row in self.rows)

    @property
    def max_ulp(self) -> float:
        return max((row.ulp for row in self.rows), default=0.0)

    @property
    def max_bounds(self) -> float:
        """Largest error in units of the derived bound."""
        return max((row.bounds for row in self.rows), default=0.0)

    def __str__(self) -> str:
        note = ["fast arithmetic: the strict bound is for information"] if self.relaxed else []
        return "\n".join([*map(str, self.rows), *note])


def compare(
    lowered: Lowered, outputs: Sequence[Any], bounds: Sequence[Any], *, relaxed: bool
) -> Report:
    """Compare outputs with their wide values.

    Raises:
        CheckError: an element lies outside its bound (strict arithmetic only).
    """
    rows = []
    for number, (output, bound) in enumerate(zip(outputs, bounds, strict=True)):
        value = lowered.graph.outputs[number]
        name = "out" if len(outputs) == 1 else f"out{number}"
        if isinstance(value, Value):
            array = output.get() if hasattr(output, "get") else np.asarray(output)
            rows.append(_row(name, array, bound, value))
        else:
            same = output == bound or (output != output and bound != bound)
            rows.append(Row(name, 1, 0.0, 0.0, int(not same), 0, ()))
    report = Report(tuple(rows), relaxed)
    if not report.ok and not relaxed:
        raise CheckError(f"a result lies outside its derived bound\n{report}")
    return report


def _row(name: str, array: Any, bound: Bounded, value: Value) -> Row:
    expected, allowed = bound.value, np.broadcast_to(bound.error, np.shape(array))
    with np.errstate(all="ignore"):
        if value.dtype.is_float:
            found = array.astype(expected.dtype)
            error = np.abs(found - expected)
            same = (found == expected) | (np.isnan(found) & np.isnan(expected))
            error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
            ulp = spacing(expected, value.dtype)
        else:
            far = np.abs(np.subtract(array, expected, dtype=np.longdouble)).astype(np.float64)
            error = np.where(array == expected, 0.0, np.maximum(far, 1.0))
            ulp = np.ones(np.shape(array))
        decided = np.isfinite(allowed)
        wrong = decided & (error > allowed)
        in_ulp = np.where(decided & (error > 0), error / np.where(ulp > 0, ulp, np.inf), 0.0)
        ratio = error / np.where(allowed > 0, allowed, np.inf)
        in_bounds = np.where(decided & (error > 0), np.where(allowed > 0, ratio, np.inf), 0.0)
    size = int(np.size(array))
    worst = np.unravel_index(int(np.argmax(in_bounds)), np.shape(array)) if size else ()
    return Row(
        name,
        size,
        float(np.max(in_ulp, initial=0.0)),
        float(np.max(in_bounds, initial=0.0)),
        int(np.count_nonzero(wrong)),
        int(np.count_nonzero(~decided)),
        tuple(int(i) for i in worst),
    )
