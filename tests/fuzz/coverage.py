"""What was covered: operators by dtypes, with the special values that they met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from opweave.opcodes import OPERATORS, dtypes

from . import arrays, forms
from .lists.forms import TABLES as LISTS
from .program import Program
from .python.forms import TABLES as PYTHON
from .scripts.forms import TABLES

LETTERS = {
    "n": "NaN", "i": "infinity", "m": "minus zero", "s": "subnormal",
    "x": "the largest number, or an integer's extreme", "z": "integer zero", "e": "no elements",
}  # fmt: skip
KINDS = LISTS | TABLES | PYTHON  # forms of what is drawn, by kind
DTYPES = tuple(d.numpy_name for d in dtypes.ALL)


@dataclass
class Coverage:
    """Counts by (operator, dtype of its first array operand), and letters seen there."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    letters: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    layouts: Counter[str] = field(default_factory=Counter)
    forms: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(
        self,
        cells: list[tuple[str, str, str]],
        layouts: list[str],
        forms: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.forms.update(forms)
        for op, dtype, letters in cells:
            self.counts[op, dtype] += 1
            self.letters.setdefault((op, dtype), set()).update(letters)
        self.layouts.update(layouts)

    def markdown(self) -> str:
        """The table; a cell has how often, and the letters of the special values met."""
        head = ["operator", *DTYPES]
        rows = [head, ["---"] * len(head)]
        for op in sorted({*OPERATORS, *forms.CALLED, *(o for o, _ in self.counts)}):
            rows.append([op, *(self._cell(op, d) for d in DTYPES)])
        legend = ", ".join(f"{k} {v}" for k, v in LETTERS.items())
        layouts = ", ".join(f"{n} {c}" for n, c in sorted(self.layouts.items()))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([*lines, "", f"Letters: {legend}.", "", f"Layouts: {layouts}.", ""])

    def _cell(self, op: str, dtype: str) -> str:
        count = self.counts[op, dtype]
        letters = "".join(sorted(self.letters.get((op, dtype), ())))
        return f"{count} {letters}".strip() if count else ""

    def forms_markdown(self) -> str:
        """How often each form of a statement was met, by kind."""
        lines = ["| kind | form | met |", "|---|---|--:|"]
        for kind, table in KINDS.items():
            for form in table:
                shown = form.replace("|", "\\|").replace("\n", "; ").replace("{{", "{")
                lines.append(
                    f"| {kind} | `{shown.replace('}}', '}')}` | {self.forms[kind, form]} |"
                )
        return "\n".join([*lines, ""])

    def summary(self) -> str:
        """One line: how much of the table is filled."""
        ops = {*OPERATORS, *forms.CALLED}
        met = {op for op, _ in self.counts}
        cells = sum(self.counts[c] > 0 for c in self.counts)
        special = sum(len(v) for v in self.letters.values())
        missing = ", ".join(sorted(ops - met)) or "none"
        forms_met = sum(self.forms[kind, form] > 0 for kind in KINDS for form in KINDS[kind])
        known = f"forms met: {forms_met} of {sum(map(len, KINDS.values()))}"
        if not met:
            return known
        return (
            f"{known}; operators met: {len(met & ops)} of {len(ops)} (missing: {missing}); operators by "
            f"dtypes: {cells}; with kinds of special values: {special}"
        )


def cells(program: Program) -> list[tuple[str, str, str]]:
    """(operator, dtype, letters) of each step."""
    held = program.evaluate()
    found = []
    for step in program.steps:
        values = [held[n] for n in step.names if isinstance(held[n], np.ndarray | np.generic)]
        if values:
            letters = "".join(arrays.kinds(v) for v in values)
            found.append((step.op, np.asarray(values[0]).dtype.name, letters))
    return found
