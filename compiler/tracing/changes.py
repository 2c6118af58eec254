"""What a function has changed outside of itself while it ran on copies.

A trace runs once, so a change would be lost: it is refused, and the function runs in parts.  There
it runs at each call, and what it has done to the copies is done to what they were made from, also
where it ends with an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from opweave.compiler.captures.copied import Copied, Left, contents, named, refill, set_anew
from opweave.compiler.captures.tree import flatten
from opweave.compiler.tracing.substitute import Substituted
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
        self.scopes = substituted.pairs()
        self.pairs = [Copied(copy, of) for copy, of in both]
        able = enumerate(() if self.pairs else containers)
        self.copies = [(n, copy, contents(copy)) for n, copy in able if _can_change(copy)]

    def first(self) -> str | None:
        """The first change, named for a message; None where nothing was changed."""
        for scope in self.scopes:
            for name, _ in scope.changed():
                return f"assigns {scope.shown(name)}"
        for name, value, (old, tree) in self.held:
            new, other = _leaves(value, name)
            lost = [path for (path, a), (_, b) in zip(old, new, strict=False) if a is not b]
            if lost or tree != other:
                return f"changes {(lost or [name])[0]}"
        return None

    def left_in(self, count: int) -> list[Left]:
        """What was left in containers, each of which then holds what it held before.

        Nothing, and nothing is put right, where a list has become longer or shorter, something
        was taken away, a key is no plain one, or others than the first ``count`` have changed.
        """
        found: list[Left] = []
        for number, copy, before in self.copies:
            changed = set_anew(before, contents(copy))
            if changed is None or (changed and number >= count):
                return []
            found += [Left(number, key, new, named(copy, key), old) for key, new, old in changed]
        for number, copy, before in self.copies:
            if any(left.container == number for left in found):
                refill(copy, before)
        return found

    def originals(self) -> dict[int, Any]:
        """What copies were made from, by their identities."""
        found = {id(pair.copy): pair.original for pair in self.pairs}
        return found | self.functions()

    def functions(self) -> dict[int, Any]:
        """What copied functions were made from, by the identities of the copies."""
        return {id(copy): function for function, copy in self.substituted.functions}

    def put_back(self, meant: Callable[[Any], Any]) -> None:
        """Do to the originals what was done to the copies; ``meant`` gives the caller's values."""
        for pair in (*self.pairs, *self.scopes):
            pair.put_back(meant)

    def take_over(self, shown: Callable[[Any], Any]) -> None:
        """Do to the copies what was done to the originals; ``shown`` gives stand-ins."""
        for pair in (*self.pairs, *self.scopes):
            pair.take_over(shown)


def _leaves(value: Any, name: str) -> tuple[Sequence[Any], Any]:
    """What a value holds; nothing for one that was too large to be taken apart and copied."""
    try:
        return flatten(value, name)
    except ArgumentError:
        return (), None


def _can_change(container: Any) -> bool:
    return not isinstance(container, tuple | partial)
