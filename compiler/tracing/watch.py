"""Watched values: a traced function sees them themselves, not copies, and must not change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from opweave.compiler.captures.containers import is_object
from opweave.compiler.captures.places import Missing, Place
from opweave.compiler.captures.structure import MAPPINGS, is_namespace
from opweave.compiler.captures.tree import DEEPEST
from opweave.compiler.tracing.shown_classes import ShownClasses


class Watch:
    """What lies in watched places before a run, to be put back where the run changes it.

    Args:
        places: those that are watched.
        classes: remembers what classes hold of which some of them are.
    """

    def __init__(self, places: Iterable[Place], classes: ShownClasses):
        self.names = [(place, place.read()) for place in places]
        self.contents: list[tuple[str, Any, Any]] = []
        for place, value in self.names:
            self._keep(place.label, value, 0)
            if isinstance(place.scope, type):
                classes.note(place.scope)

    def _keep(self, label: str, value: Any, depth: int) -> None:
        """Copy the contents of a value, and of what it holds."""
        inner = _inside(value)
        if isinstance(value, np.ndarray):
            self.contents.append((label, value, value.copy()))
        elif inner is not None and depth < DEEPEST:
            if not isinstance(value, tuple):
                self.contents.append((label, inner, inner.copy()))
            for item in list(inner.values() if isinstance(inner, dict) else inner):
                self._keep(label, item, depth + 1)

    def restored(self) -> str | None:
        """Put back what was changed; returns the first change."""
        changed = []
        for place, value in self.names:
            if place.read() is not value and value is not Missing:
                place.write(value)
                changed.append(place.label)
        for label, value, before in self.contents:
            if not _same(value, before):
                _fill(value, before)
                changed.append(label)
        return changed[0] if changed else None


def _inside(value: Any) -> Any:
    """The dict, list or tuple that holds what a container holds; None of anything else."""
    if type(value) in (list, *MAPPINGS) or isinstance(value, tuple):
        return value
    return vars(value) if is_object(value) or is_namespace(type(value)) else None


def _same(value: Any, before: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.tobytes() == before.tobytes())
    if len(value) != len(before):
        return False
    if isinstance(value, list):
        return all(a is b for a, b in zip(value, before, strict=True))
    return all(k in before and before[k] is v for k, v in value.items())


def _fill(value: Any, before: Any) -> None:
    if isinstance(value, dict):
        value.clear()
        value.update(before)
    else:
        value[slice(None) if isinstance(value, list) else ...] = before
