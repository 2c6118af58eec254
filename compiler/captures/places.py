"""Places: names outside of a function, whose values it reads at each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from opweave.compiler.captures.owners import Function


class Missing:
    """The value of a name that is not there."""


def are_same(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    """The very same names for the very same objects, in the same order: quick to tell."""
    return len(a) == len(b) and all(map(is_, a, b)) and all(map(is_, a.values(), b.values()))


@dataclass(frozen=True)
class Place:
    """A name outside of a function, which holds a value at each call.

    Attributes:
        name: as the function's source spells it.
        number: identity of the scope.
        scope: a module's or function's dict, the cell of a variable, a class, or a function whose
            defaults are meant.
        watched: the traced function sees what is there itself, no copy: arrays there are known by
            their identity.
        is_given: it holds the object of a bound method, which is an argument but for its name.
    """

    name: str
    number: int
    scope: Any = field(compare=False, repr=False)
    watched: bool = False
    is_given: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, name: str, scope: Any, watched: bool = False, is_given: bool = False) -> Place:
        return cls(name, id(scope), scope, watched, is_given)

    @property
    def label(self) -> str:
        """The name for a message."""
        is_attribute = isinstance(self.scope, type | Function)
        return f"{self.scope.__name__}.{self.name}" if is_attribute else self.name

    def read(self) -> Any:
        """The value now; ``Missing`` where there is none."""
        scope = self.scope
        if isinstance(scope, dict):
            return scope.get(self.name, Missing)
        if isinstance(scope, Function):
            return getattr(scope, self.name)
        if isinstance(scope, type):
            return vars(scope).get(self.name, Missing)
        try:
            return scope.cell_contents
        except ValueError:  # an empty cell
            return Missing

    def write(self, value: Any) -> None:
        """Put a value back."""
        if isinstance(self.scope, dict):
            self.scope[self.name] = value
        elif isinstance(self.scope, type | Function):
            setattr(self.scope, self.name, value)
        else:
            self.scope.cell_contents = value
