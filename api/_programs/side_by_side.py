"""Two kernels side by side: where they differ, in two columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from textwrap import wrap

# A page of documentation; a column that needs less takes less.
WIDTH = 100
CONTEXT = 2
GAP = 3  # the mark between the columns, with a blank on either side
Row = tuple[str, str, str]


def side_by_side(before: str, after: str) -> str:
    """Where two sources differ, each in a column, without their comments.

    The mark between them is "|" for a line that changed, "<" and ">" for one that stands on this
    side alone.  Lines that are the same but for their margin are left out, but for two around each
    change.
    """
    left, right = _code(before), _code(after)
    a, b = ([line.strip() for line in lines] for lines in (left, right))
    groups = SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT)
    blocks = [[row for op in group for row in _rows(left, right, *op)] for group in groups]
    if not blocks:
        return "(the same)"
    narrow = (WIDTH - GAP) // 2
    column = min(narrow, max(len(text) for rows in blocks for text, *_ in rows))
    printed = (
        "\n".join(line for row in rows for line in _printed(row, column)) for rows in blocks
    )
    return "\n...\n".join(printed)


def _code(source: str) -> list[str]:
    """The lines of code of a source, without comments, from its first line of code on."""
    lines = (re.sub(r"\s*//.*", "", line).rstrip() for line in source.splitlines())
    return [line for line in lines if line]


def _rows(
    left: list[str], right: list[str], tag: str, i: int, i_end: int, j: int, j_end: int
) -> Iterator[Row]:
    before, after = left[i:i_end], right[j:j_end]
    shift = _shift(before, after) if before and after else 0
    before, after = [""] * max(0, shift) + before, [""] * max(0, -shift) + after
    for a, b in zip_longest(before, after, fillvalue=""):
        yield a, " " if tag == "equal" else "|" if a and b else "<" if a else ">", b


def _shift(before: list[str], after: list[str]) -> int:
    """How many lines further down the first text stands beside what it is most like."""

    def likeness(shift: int) -> float:
        pairs = zip(before[max(0, -shift) :], after[max(0, shift) :], strict=False)
        return sum(SequenceMatcher(None, a, b).ratio() for a, b in pairs)

    surplus = len(after) - len(before)
    return max(range(min(0, surplus), max(0, surplus) + 1), key=likeness)


def _printed(row: Row, column: int) -> Iterator[str]:
    """The row, in as many lines as the longer text needs."""
    left, mark, right = row
    for a, b in zip_longest(_wrapped(left, column), _wrapped(right, WIDTH - column - GAP)):
        yield f"{a or '':{column}} {mark} {b or ''}".rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    margin = " " * (len(text) - len(text.lstrip()) + 4)
    return wrap(text, width, subsequent_indent=margin, break_on_hyphens=False) or [""]
