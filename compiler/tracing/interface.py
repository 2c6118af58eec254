"""What a function sees, and the protocol of what it has changed."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol

from opweave.compiler.captures.bytecode import asks_truth, catches, catches_index
from opweave.compiler.captures.owners import is_own_class
from opweave.compiler.captures.places import Place
from opweave.compiler.captures.structure import Identity
from opweave.compiler.tracing.leaving import Departure
from opweave.compiler.tracing.shown_classes import ShownClasses


class ChangesLike(Protocol):
    """What a function has changed outside of itself while it runs, see ``changes.py``."""

    substituted: Any

    def first(self) -> str | None:
        """The first change that is found, in the user's terms."""

    def left_in(self, count: int) -> Sequence[Any]:
        """What was left in the first containers, each of which then holds what it held before."""

    def originals(self) -> dict[int, Any]:
        """What copies were made from, by the identities of the copies."""

    def functions(self) -> dict[int, Any]:
        """The user's functions, by the identities of their copies."""

    def put_back(self, meant: Callable[[Any], Any]) -> None:
        """Do to the originals what was done to the copies."""

    def take_over(self, shown: Callable[[Any], Any]) -> None:
        """Do to the copies what was done to the originals."""


class Sight:
    """What a function sees of values that are not traced.

    Attributes:
        tracer: has the arrays and numbers.
        seen: what was shown so far.
        puts_back: changes outside of the function are done to the originals, not refused.
        changes: what it has changed outside so far, while it runs.
    """

    puts_back = False

    def __init__(self, tracer: Any):
        self.tracer = tracer
        self.seen = Seen()
        self.changes: ChangesLike | None = None

    def plain(self, value: Any) -> Any:
        """What stands for a value; always the same for one."""
        found = value.value if isinstance(value, Identity) else value
        self.seen.note(found)
        return self.seen.once(
            id(found), found, lambda: self._seen(found, isinstance(value, Identity))
        )

    def _seen(self, found: Any, is_unknown: bool) -> Any:
        """What stands for a value; ``is_unknown`` for one that no guard knows."""
        raise NotImplementedError

    def unread(self, name: str, value: Any) -> Any:
        """What stands for a value that no guard knows."""
        raise NotImplementedError

    def stands_for(self, value: Any, made: Any) -> None:
        """Make ``plain`` return this for a value from now on."""
        self.seen.made[id(value)] = value, made

    def attribute(self, module: types.ModuleType, name: str) -> Any:
        """What stands for a part of a module that has a stand-in, see ``libraries.py``."""
        raise NotImplementedError

    def assign(self, module: types.ModuleType, name: str, value: Any) -> None:
        """The function assigns a part of such a module."""
        raise NotImplementedError

    def left(self, departure: Departure) -> None:
        """The function calls what is not known to be pure, see ``leaving.py``."""
        raise NotImplementedError

    def begun(self, changes: ChangesLike) -> None:
        """The function begins; its changes outside of itself are noted there."""
        self.changes = changes

    def crossed(self, is_outside: bool) -> None:
        """Uncopied code begins, or copied code goes on, see ``leaving.py``."""

    def classes(self) -> Set[type]:
        """The user's classes that the function has been shown."""
        return self.seen.shown_classes

    def copies(self, code: types.CodeType) -> None:
        """Note that the function runs a copy of this code."""
        self.tracer.catches |= catches(code)
        self.tracer.catches_index |= catches_index(code)
        self.tracer.asks_truth |= asks_truth(code)

    def changed(self, changes: ChangesLike, name: str) -> None:
        """The function is done; what it may have changed outside of itself, see ``changes.py``."""
        raise NotImplementedError

    def failed(self, changes: ChangesLike, name: str) -> None:
        """The same where it ends by an exception."""
        self.changed(changes, name)

    def errors(self) -> Any:
        """NumPy's settings of floating-point errors while the function runs."""
        return self.tracer.errors()

    def check(self, captured: Mapping[Place, Any], names: Set[str]) -> None:
        """Refuse names in the code that are watched places which no guard knows."""


class Seen:
    """The stand-in of each value, always the same one, so that ``is`` gives Python's answer.

    Attributes:
        shown_classes: the user's own among the classes that were shown.
        changes: of classes that were shown.
    """

    def __init__(self) -> None:
        self.made: dict[Any, Any] = {}
        self.shown_classes: set[type] = set()
        self.changes = ShownClasses()
        self._looked_up: dict[tuple[int, str], tuple[Any, str, bool]] = {}

    def look_up(self, module: types.ModuleType, name: str, is_steady: bool) -> None:
        """Remember a name that is looked up in a module; ``is_steady`` for one of others."""
        self._looked_up[id(module), name] = vars(module), name, is_steady

    @property
    def looked_up(self) -> tuple[tuple[Any, str, bool], ...]:
        """Names that were looked up in modules."""
        return tuple(self._looked_up.values())

    def once(self, key: Any, found: Any, make: Callable[[], Any]) -> Any:
        """What was made for a key; ``found`` is held, so that no other object gets its id."""
        if key not in self.made:
            self.made[key] = found, make()
        return self.made[key][1]

    def clear(self) -> None:
        """Drop all of it when the function is done: stand-ins hold the sight that made them."""
        self.made.clear()

    def note(self, found: Any) -> None:
        """Remember a class of the user's that the function sees, or may make objects of."""
        kind = found.__self__ if type(found) is types.MethodType else found
        if isinstance(kind, type):
            self.changes.note(kind)
            if is_own_class(kind):
                self.shown_classes.add(kind)
