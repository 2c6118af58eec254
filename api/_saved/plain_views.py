"""Views of arrays as JSON, and parts of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opweave.compiler.ir.parts import Index, Part, Span
from opweave.runtime.calls.views import ViewRecipe

# Keys of what a step stores to part of an argument.
SPAN, INDEX, ALL = "span", "index", "..."


def of_view(view: ViewRecipe | None) -> Any:
    if view is None:
        return None
    picked = [[s.start, s.stop, s.step] for s in view.picked]
    return [view.shape_of_base, picked, view.axes, view.shape]


def view_of(data: Any) -> ViewRecipe | None:
    if data is None:
        return None
    base, picked, axes, shape = data
    slices = tuple(slice(*ends) for ends in picked)
    return ViewRecipe(None if base is None else tuple(base), slices, tuple(axes), tuple(shape))


def of_part(part: Part) -> list[Any]:
    """An index of what is written, as data."""
    return [
        [SPAN, *item] if isinstance(item, Span)
        else [INDEX, item.output] if isinstance(item, Index)
        else ALL if item is ... else item
        for item in part
    ]  # fmt: skip


def part_of(data: Any) -> Part:
    kinds: Mapping[str, Callable[..., Any]] = {SPAN: Span, INDEX: Index}
    return tuple(
        kinds[item[0]](*item[1:]) if isinstance(item, list) else ... if item == ALL else item
        for item in data
    )
