"""What containers, scopes and classes held when somebody last looked, and what is another now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import islice
from types import CellType
from typing import Any, NamedTuple

from opweave.compiler.captures.places import Missing, are_same
from opweave.compiler.captures.structure import has_attributes

# What a variable is called among its contents.
CONTENTS = ""


class Left(NamedTuple):
    """A value that a function has left in a container: its number, and the key there.

    ``name`` says where, in the user's terms; ``before`` is what was there.
    """

    container: int
    key: Any
    value: Any
    name: str
    before: Any


class Copied:
    """A copy and its original, and what was in them when they were last the same."""

    def __init__(self, copy: Any, original: Any):
        self.copy = copy
        self.original = original
        self._look()

    def _look(self) -> None:
        self.before, self.there = contents(self.copy), contents(self.original)

    def put_back(self, meant: Callable[[Any], Any]) -> None:
        """Give the original the contents of the copy."""
        if self._brought(self.before, self.copy, self.original, meant):
            self._look()

    def take_over(self, shown: Callable[[Any], Any]) -> None:
        """Give the copy the contents of the original."""
        if self._brought(self.there, self.original, self.copy, shown):
            self._look()

    def _brought(self, before: Any, source: Any, target: Any, meant: Callable[[Any], Any]) -> bool:
        """Bring what was changed in a source to a target; whether there was something."""
        after = contents(source)
        is_changed = _differ(before, after)
        if is_changed:
            _fill(target, before, after, meant)
        return is_changed


class CopiedNames(Copied):
    """The names of a module or function, or a variable of an enclosing function.

    Args:
        shown: what a message calls a name.
    """

    def __init__(self, copy: Any, original: Any, shown: Callable[[str], str]):
        super().__init__(copy, original)
        self.shown = shown

    def changed(self) -> list[tuple[str, Any]]:
        """Names that have another value in the copy, ``Missing`` where they have none any more."""
        return _names_changed(self.before, self.copy)

    def _brought(self, before: Any, source: Any, target: Any, meant: Callable[[Any], Any]) -> bool:
        found = _names_changed(before, source)
        for name, value in found:
            _assign(target, name, value, meant)
        return bool(found)


def contents(container: Any) -> Any:
    """A copy of what a container, a scope, a variable or an object holds: a dict or a list."""
    if isinstance(container, list):
        return list(container)
    if isinstance(container, CellType):
        try:
            return {CONTENTS: container.cell_contents}
        except ValueError:  # an empty one
            return {}
    return dict(container) if isinstance(container, dict) else _attributes(container)


def refill(container: Any, before: Any) -> None:
    """Let a container hold what ``contents`` found in it, and nothing else."""
    if isinstance(container, list):
        container[:] = before
    elif isinstance(container, dict) or has_attributes(container):
        names = container if isinstance(container, dict) else vars(container)
        names.clear()
        names.update(before)
    else:
        for name, value in before.items():
            object.__setattr__(container, name, value)


def named(container: Any, key: Any) -> str:
    """A place in a container, in the user's terms."""
    kind = type(container)
    name = getattr(kind, "__opweave_of__", kind).__name__
    return f"{name}[{key!r}]" if isinstance(container, list | dict) else f"{name}.{key}"


def set_anew(before: Any, after: Any) -> list[tuple[Any, Any, Any]] | None:
    """Keys, values that were set, and those before, where nothing else has changed; else None."""
    if isinstance(before, list):
        pairs = enumerate(zip(before, after, strict=False))
        set_there = [(n, new, old) for n, (old, new) in pairs if old is not new]
        return set_there if len(before) == len(after) else None
    if list(after)[: len(before)] != list(before):
        return None
    anew = [(name, new, old) for name, old, new in differences(before, after)]
    return anew if all(type(key) in (str, int) for key, *_ in anew) else None


def differences(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> list[tuple[Any, Any, Any]]:
    """Names with another value, that and the one before; ``Missing`` where there is none."""
    if are_same(before, now):
        return []
    names = dict.fromkeys((*before, *now))
    rows = ((n, before.get(n, Missing), now.get(n, Missing)) for n in names)
    return [(name, old, new) for name, old, new in rows if old is not new]


def _names_changed(before: Mapping[str, Any], scope: Any) -> list[tuple[str, Any]]:
    now = scope if isinstance(scope, dict) else contents(scope)
    return [(n, new) for n, _, new in differences(before, now) if not n.startswith("__")]


def _assign(scope: Any, name: str, value: Any, meant: Callable[[Any], Any]) -> None:
    """Give a name its value in a dict or cell; ``Missing`` takes it away."""
    if isinstance(scope, CellType):
        if value is Missing:
            del scope.cell_contents
        else:
            scope.cell_contents = meant(value)
    elif value is Missing:
        scope.pop(name, None)
    else:
        scope[name] = meant(value)


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
