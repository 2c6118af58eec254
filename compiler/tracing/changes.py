"""What a function has changed outside of itself while it ran on copies.

A trace runs once, so a change would be lost: it is refused, and the function runs in parts.  There
it runs at each call, and what it has done to the copies is done to what they were made from, also
where it ends with an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from itertools import islice
from typing import Any

from opweave.compiler.tracing.owners import has_attributes
from opweave.compiler.tracing.places import Missing
from opweave.compiler.tracing.substitute import Substituted
from opweave.compiler.tracing.tree import flatten
from opweave.opcodes.errors import ArgumentError


class Changes:
    """Remembers what there is before a function runs.

    Args:
        substituted: its copy.
        held: names and values of what it is given, and reads from outside; empty where nobody
            asks what was changed first.
        containers: copies of containers.
        originals: what they were made from, in the same order; empty where nothing is put back.
    """

    def __init__(
        self, substituted: Substituted, held: Sequence[tuple[str, Any]],
        containers: Sequence[Any], originals: Sequence[Any],
    ):  # fmt: skip
        self.substituted = substituted
        self.held = [(name, value, _leaves(value, name)) for name, value in held]
        both = [(copy, of) for copy, of in zip(containers, originals) if _can_change(copy)]  # noqa: B905
        self.pairs = [Pair(copy, of) for copy, of in both]
        substituted.begin()

    def first(self) -> str | None:
        """The first change, named for a message; None where nothing was changed."""
        assigned = self.substituted.assigned()
        if assigned is not None:
            return f"assigns {assigned}"
        for name, value, (old, tree) in self.held:
            new, other = _leaves(value, name)
            lost = [path for (path, a), (_, b) in zip(old, new, strict=False) if a is not b]
            if lost or tree != other:
                return f"changes {(lost or [name])[0]}"
        return None

    def originals(self) -> dict[int, Any]:
        """What copies were made from, by their identities."""
        found = {id(pair.copy): pair.original for pair in self.pairs}
        return found | self.functions()

    def functions(self) -> dict[int, Any]:
        """What copied functions were made from, by the identities of the copies."""
        return {id(copy): function for function, copy in self.substituted.functions}

    def put_back(self, meant: Callable[[Any], Any]) -> None:
        """Do to the originals what was done to the copies; ``meant`` gives the caller's values."""
        for pair in self.pairs:
            pair.put_back(meant)
        self.substituted.put_back(meant)

    def take_over(self, shown: Callable[[Any], Any]) -> None:
        """Do to the copies what was done to the originals; ``shown`` gives stand-ins."""
        for pair in self.pairs:
            pair.take_over(shown)
        self.substituted.take_over(shown)


class Pair:
    """A container that was copied: both, and what was in them when they were last the same."""

    def __init__(self, copy: Any, original: Any):
        self.copy = copy
        self.original = original
        self._look()

    def _look(self) -> None:
        self.before, self.there = _contents(self.copy), _contents(self.original)

    def put_back(self, meant: Callable[[Any], Any]) -> None:
        """Give the original the contents of the copy."""
        after = _contents(self.copy)
        if _differ(self.before, after):
            _fill(self.original, self.before, after, meant)
            self._look()

    def take_over(self, shown: Callable[[Any], Any]) -> None:
        """Give the copy the contents of the original."""
        after = _contents(self.original)
        if _differ(self.there, after):
            _fill(self.copy, self.there, after, shown)
            self._look()


def _leaves(value: Any, name: str) -> tuple[Sequence[Any], Any]:
    """What a value holds; nothing for one that was too large to be taken apart and copied."""
    try:
        return flatten(value, name)
    except ArgumentError:
        return (), None


def _can_change(container: Any) -> bool:
    return not isinstance(container, tuple | partial)


def _contents(container: Any) -> Any:
    """A copy of what a container holds: a dict or a list."""
    if isinstance(container, list):
        return list(container)
    return dict(container) if isinstance(container, dict) else _attributes(container)


def _attributes(value: Any) -> dict[str, Any]:
    """What an object holds, also of a dataclass with slots."""
    if has_attributes(value):
        return dict(vars(value))
    names = (field.name for field in fields(value))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _differ(before: Any, after: Any) -> bool:
    if len(before) != len(after):
        return True
    if isinstance(before, list):
        return any(a is not b for a, b in zip(before, after, strict=True))
    same_keys = all(a is b or a == b for a, b in zip(before, after, strict=True))
    return not same_keys or any(before[k] is not after[k] for k in before)


def _fill(original: Any, before: Any, after: Any, meant: Callable[[Any], Any]) -> None:
    """Put what is new in the copy of a container into the container; leave the rest alone."""
    if isinstance(after, list):
        _fill_list(original, before, after, meant)
        return
    if not isinstance(original, dict) and not has_attributes(original):
        for name, value in after.items():
            if before.get(name, Missing) is not value:
                object.__setattr__(original, name, meant(value))
        return
    names = original if isinstance(original, dict) else vars(original)
    if list(islice(after, len(before))) == list(before):  # in the order in which they came
        for name, value in after.items():
            if before.get(name, Missing) is not value:
                names[meant(name)] = meant(value)
        return
    made = {
        meant(k): names[k] if k in names and before.get(k, Missing) is v else meant(v)
        for k, v in after.items()
    }
    names.clear()
    names.update(made)


def _fill_list(original: Any, before: Any, after: Any, meant: Callable[[Any], Any]) -> None:
    """The same for a list; another thread may have added to it meanwhile."""
    kept = {id(v): o for v, o in zip(before, original)}  # noqa: B905
    made = [kept[id(v)] if id(v) in kept else meant(v) for v in after]
    if len(made) < len(before):
        original[:] = made
        return
    for index, (old, new) in enumerate(zip(before, after)):  # noqa: B905
        if old is not new:
            original[index] = made[index]
    original += made[len(before) :]
