"""Toggles of reductions that go down columns: a host's bands, and those of a GPU's blocks."""

from __future__ import annotations

from opweave.compiler.toggles.facts import Facts, Toggle, power
from opweave.compiler.toggles.rows import PARTS

# Rows up to which a kernel of a host that goes down columns is compiled for just so many: sums of
# two rows of float32 take half of the time, of three 0.8.
MOST_FEW = 4


def _have_lanes(value: int, facts: Facts) -> str:
    return "there are more rows than running values" if value and not facts.own_lanes else ""


def _has_rows(value: int, facts: Facts) -> str:
    fits = value in (0, facts.few_rows)
    return "" if fits else "the matrix has other rows, or more of them than running values"


def _divides_columns(value: int, facts: Facts) -> str:
    most = facts.columns
    return f"threads have whole chunks of {most} columns at most" if value > most else ""


COLUMNS = (
    power("COLUMNS", "neighbouring columns that a block goes down together", lambda f: f.columns),
    Toggle(
        "USE_OWN_LANES", "each row has a running value of its own, which begins with it",
        lambda f: int(f.own_lanes), _have_lanes,
    ),
    Toggle(
        "ROWS", "the rows, where they are few: loops unroll by them; 0 for any number",
        lambda f: f.few_rows, _has_rows, (0, *range(1, MOST_FEW + 1)),
    ),
    Toggle(
        "ROWS_AHEAD", "rows below that memory is asked for; 0: what lies ahead in the row",
        lambda f: f.rows_ahead, values=(0, 1, 2, 4, 8, 16),
    ),
)  # fmt: skip
OUTER = (
    power("COLUMNS", "neighbouring columns of one thread", lambda f: f.columns, _divides_columns),
    power("ACROSS", "threads side by side, with columns of their own", lambda f: f.across),
    *PARTS,
)
