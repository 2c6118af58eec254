"""What a notebook shows of an ``ow.Graph``."""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup

from opweave._html.code import highlighted
from opweave._html.markup import MarkedLine, folded, joined, listing, rendered, table
from opweave.opcodes.errors import OpweaveError


def graph(found: Any) -> Markup:
    """Its rows with their types, or why it has none; the function that it means."""
    try:
        types, why = found.check(), ""
    except OpweaveError as error:
        types, why = {}, _without_our_caller(str(error), found)
    dead = set() if why else set(found.dead)
    rows = [
        (name, str(entry), "no output needs it" if name in dead else str(types.get(name, "")),
         str(entry.where))
        for name, entry in found.entries.items()
    ]  # fmt: skip
    title, size = f"graph {found.name}", f"{len(rows)} rows"
    parts = [rendered("head", title=title, rest=[size])]
    if why:
        parts.append(Markup('<p class="ow-bad">{}</p>').format(why))
    parts.append(table(("name", "made by", "type", "where"), rows))
    if not why:
        lines = [MarkedLine(line) for line in highlighted(found.source, "python")]
        parts.append(folded("the function that it means", listing(lines)))
    return joined(parts)


def _without_our_caller(text: str, found: Any) -> str:
    """An error without the line that asked for the check, if no row was made there.

    It is a line of what shows objects, such as IPython, and says nothing to a user.
    """
    last = re.search(r" \(([^()]+:\d+)\)\Z", text)
    places = {str(entry.where) for entry in found.entries.values()}
    return text[: last.start()] if last and last[1] not in places else text
