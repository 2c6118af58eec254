"""Markup by templates: everything that is put in is escaped, unless it is markup already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from opweave._html.code import COLOURS

HERE = Path(__file__).resolve().parent
LINKED = re.compile(r'data-l="(\d+)"')
PLAIN = "without colours: pygments is not installed (pip install pygments)"


class MarkedLine(NamedTuple):
    """A line of a listing.

    Attributes:
        text: its markup, without the end of the line.
        line: of the user's function that it belongs to, 0 for none.
        off: the preprocessor leaves it out.
        margin: what stands in it, and ``heat``, its share of the largest.
        new: it was not there before, or was left out.
    """

    text: Markup
    line: int = 0
    off: bool = False
    margin: str = ""
    heat: float = 0.0
    new: bool = False


class Gauge(NamedTuple):
    """A bar of a chart, of which ``share`` is filled."""

    name: str
    value: str
    share: float
    says: str = ""


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(HERE)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        cache_size=-1,  # a dictionary: a lock may be held when the process forks
    )


def rendered(template: str, **values: Any) -> Markup:
    """A template of this folder with values."""
    return Markup(_environment().get_template(f"{template}.html.j2").render(**values))


def text_of(name: str) -> Markup:
    """The style or the script."""
    return Markup((HERE / name).read_text("utf-8"))


def joined(parts: Sequence[Markup]) -> Markup:
    return Markup("").join(parts)


def listing(rows: Sequence[MarkedLine], first: int = 1, label: str = "") -> Markup:
    """Lines of code with their numbers; ``label`` says what they are to who does not see them."""
    return rendered("listing", lines=map(marked, rows), first=first, label=label)


def function_listing(rows: Sequence[MarkedLine], label: str) -> Markup:
    """The same of the user's function: its lines can have the focus."""
    return rendered("listing", lines=[marked(r, focus=True) for r in rows], first=1, label=label)


def marked(row: MarkedLine, *, focus: bool = False) -> Markup:
    """A line of a listing; with ``focus`` the keyboard reaches it, if it belongs to a line."""
    kinds = "ow-l" + " ow-off" * row.off + " ow-new" * row.new
    linked = Markup(' data-l="{}"').format(row.line) if row.line else ""
    linked += Markup(' tabindex="0"') if row.line and focus else ""
    heat = Markup(' style="--h:{:.2f}"').format(row.heat) if row.heat else ""
    margin = Markup("<i>{} </i>").format(row.margin) if row.margin else ""
    line = '<span class="{}"{}{}>{}{}</span>\n'
    return Markup(line).format(kinds, linked, heat, margin, row.text)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], right: str = "") -> Markup:
    """A table; ``right`` has an ``r`` for each column of numbers."""
    return rendered("table", columns=columns, rows=rows, right=right.ljust(len(columns)))


def folded(summary: object, body: Markup, *, is_open: bool = False) -> Markup:
    """What is folded away behind a line."""
    return rendered("folded", summary=summary, body=body, is_open=is_open)


def gauges(rows: Sequence[Gauge]) -> Markup:
    return rendered("gauges", rows=rows)


def outline(text: str) -> Markup:
    """Text whose lines with further indented ones below fold them away."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines()]
    return rendered("outline", items=_nested([(n, t) for n, t in lines if t]))


def _nested(lines: Sequence[tuple[int, str]]) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = []
    at = 0
    while at < len(lines):
        margin, text = lines[at]
        end = at + 1
        while end < len(lines) and lines[end][0] > margin:
            end += 1
        found.append((text, _nested(lines[at + 1 : end])))
        at = end
    return found


def lit(body: str) -> Markup:
    """Style that lights a line of the user's function together with its lines of kernels."""
    lines = sorted({int(n) for n in LINKED.findall(body)})
    return rendered("lit", lines=lines, name=_name(body))


def _name(body: str) -> str:
    """A class for what is in a fragment alone: the same body has the same."""
    return f"ow-{sha256(body.encode()).hexdigest()[:8]}"


def fragment(body: Markup) -> str:
    """A piece of a page with its style, for a notebook."""
    note = "" if COLOURS.there() or "ow-l" not in body else PLAIN
    style, rules = text_of("style.css"), lit(body)
    made = rendered("fragment", body=body, name=_name(body), style=style, lit=rules, note=note)
    return str(made)


def page(title: str, body: Markup) -> str:
    """A whole page, which needs nothing else."""
    note = "" if COLOURS.there() else PLAIN
    made = rendered(
        "page", title=title, body=body, name=_name(body), lit=lit(body), note=note,
        style=text_of("style.css") + text_of("page.css"), script=text_of("page.js"),
    )  # fmt: skip
    return str(made)


def failed(what: object, error: BaseException) -> Markup:
    """What stands in the place of what cannot be shown."""
    return rendered("failed", kind=type(what).__name__, error=f"{type(error).__name__}: {error}")
