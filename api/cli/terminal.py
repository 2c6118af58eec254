"""What is printed: colour where a terminal takes it, plain text everywhere else."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO


def takes_colour(stream: TextIO | None) -> bool:
    """True for a terminal that shows colour, unless the user asked for none (no-color.org)."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def highlighted(text: str, language: str) -> str:
    """Source in colour, if pygments is there and standard output takes it."""
    if not takes_colour(sys.stdout) or importlib.util.find_spec("pygments") is None:
        return text
    # By name, because pygments has no types.
    pygments, lexers, formatters = (
        importlib.import_module(f"pygments{part}") for part in ("", ".lexers", ".formatters")
    )
    try:
        lexer = lexers.get_lexer_by_name(language)
    except ValueError:  # pygments' ClassNotFound
        return text
    return str(pygments.highlight(text, lexer, formatters.TerminalFormatter()))


def heading(text: str) -> str:
    """A title, bold where the terminal can."""
    return f"\033[1m{text}\033[0m" if takes_colour(sys.stdout) else text


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], right: str = "") -> None:
    """Print aligned columns.

    Args:
        right: a letter per column, ``r`` for the ones that are aligned on the right.
    """
    cells = [list(map(str, row)) for row in rows]
    sides = right.ljust(len(columns), "l")
    if takes_colour(sys.stdout) and importlib.util.find_spec("rich") is not None:
        _print_rich(columns, cells, sides)
    else:
        print("\n".join(aligned([list(columns), *cells], sides)))


def aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Rows as lines of plain text.

    >>> aligned([["a", "n"], ["bcd", "10"]], "lr")
    ['a     n', 'bcd  10']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, sides, strict=False)
        ).rstrip()
        for row in rows
    ]


def _print_rich(columns: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # As wide as the plain table: two columns of space between, none at the edges.
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name, side in zip(columns, sides, strict=False):
        table.add_column(name, justify="right" if side == "r" else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # as text: a bracket in a cell is no markup
    Console().print(table)


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """A function that says what is done next: a bar on standard error, if that is a terminal."""
    if not takes_colour(sys.stderr) or importlib.util.find_spec("rich") is None:
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task, done = bar.add_task("", total=steps), itertools.count()

        def say(text: str) -> None:
            bar.update(task, description=text, completed=next(done))

        yield say


def print_json(data: Any) -> None:
    """Print JSON that every reader takes: a number that is none is null."""
    print(json.dumps(_finite(data), indent=1, allow_nan=False))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(k): _finite(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(v) for v in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def duration(seconds: float) -> str:
    """A span of time for people.

    >>> duration(0.00042), duration(1.5), duration(7300), duration(86400 * 12)
    ('420 us', '1.5 s', '2 h', '12 d')
    """
    if seconds < 1e-3:
        return f"{max(seconds, 0.0) * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    for most, unit, length in ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600)):
        if seconds < most:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds / 86400:.0f} d"
