"""What the parts of this room are to each other: what a function sees, and what it has changed."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Set
from typing import Any, Protocol

from opweave.compiler.tracing.capture import Place
from opweave.compiler.tracing.leaving import Departure
from opweave.compiler.tracing.owners import is_own_class
from opweave.compiler.tracing.shown_classes import ShownClasses


class ChangesLike(Protocol):
    """What a function has changed outside of itself while it runs, see ``changes.py``."""

    substituted: Any

    def first(self) -> str | None:
        """The first that is found, in the user's terms."""

    def originals(self) -> dict[int, Any]:
        """What copies were made from, by the identities of the copies."""

    def functions(self) -> dict[int, Any]:
        """The user's functions, by the identities of their copies."""

    def put_back(self, meant: Callable[[Any], Any]) -> None:
        """Do to the originals what was done to the copies."""

    def take_over(self, shown: Callable[[Any], Any]) -> None:
        """Do to the copies what was done to the originals."""


class Sight(Protocol):
    """What a function sees of what is no traced value.

    Attributes:
        seen: what was shown so far.
        puts_back: changes outside of the function are done to the originals, not refused.
        changes: what it has changed outside so far, while it runs.
    """

    seen: Seen
    puts_back: bool
    changes: ChangesLike | None

    def plain(self, value: Any) -> Any:
        """What stands for a value of the guard."""

    def unread(self, name: str, value: Any) -> Any:
        """What stands for a value that no guard knows."""

    def stands_for(self, value: Any, made: Any) -> None:
        """From now on this is what ``plain`` gives for a value."""

    def attribute(self, module: types.ModuleType, name: str) -> Any:
        """What stands for a part of a module that has a stand-in, see ``libraries.py``."""

    def assign(self, module: types.ModuleType, name: str, value: Any) -> None:
        """The function assigns a part of such a module."""

    def left(self, departure: Departure) -> None:
        """The function calls what is not known to be pure, see ``leaving.py``."""

    def begun(self, changes: ChangesLike) -> None:
        """The function begins; its changes outside of itself are noted there."""

    def crossed(self, is_outside: bool) -> None:
        """Code begins that is no copy, or copied code goes on, see ``leaving.py``."""

    def classes(self) -> Set[type]:
        """The user's classes that the function has been shown."""

    def copies(self, code: types.CodeType) -> None:
        """Code of which the function runs a copy."""

    def changed(self, changes: ChangesLike, name: str) -> None:
        """The function is done; what it may have changed outside of itself, see ``changes.py``."""

    def errors(self) -> Any:
        """NumPy's settings of floating-point errors while the function runs."""

    def check(self, captured: Mapping[Place, Any], names: Set[str]) -> None:
        """Refuse watched places that are asked for by their names, and that no guard knows."""


class Seen:
    """What was shown of each value: always the same for the same, so that ``is`` holds.

    Attributes:
        shown_classes: the user's own among the classes that were shown.
        changes: of classes that were shown.
    """

    def __init__(self) -> None:
        self.made: dict[Any, Any] = {}
        self.shown_classes: set[type] = set()
        self.changes = ShownClasses()

    def once(self, key: Any, found: Any, make: Callable[[], Any]) -> Any:
        """What was made for a key; ``found`` is held, so that nothing else gets its number."""
        if key not in self.made:
            self.made[key] = found, make()
        return self.made[key][1]

    def clear(self) -> None:
        """Let go of all, when the function is done: stand-ins hold the sight that made them."""
        self.made.clear()

    def note(self, found: Any) -> None:
        """Remember a class of the user's that the function sees, or may make objects of."""
        kind = found.__self__ if type(found) is types.MethodType else found
        if isinstance(kind, type):
            self.changes.note(kind)
            if is_own_class(kind):
                self.shown_classes.add(kind)
