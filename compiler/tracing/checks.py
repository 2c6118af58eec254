"""Checks: whether something is still as it was.

Each warm call asks many of them, and calling a function for each costs more than the answers.  So
those that are asked often are joined to one function.  To make it takes as long as some calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from opweave.compiler.tracing.owners import Function
from opweave.compiler.tracing.places import Missing, Place

# An expression with ``{}`` for each of some values, and these values.
Check = tuple[Any, ...]
# A name of a scope that is a dict: scope, name, value.
IN_SCOPE = "{}.get({}, Missing) is {}"
CODE, DEFAULTS, KEYWORDS = (
    "{}." + name + " is {}" for name in ("__code__", "__defaults__", "__kwdefaults__")
)
# A function of one argument: function, argument, value.
GIVES = "{}({}) is {}"
# A function without arguments, or a cell, and its value.
READS, IN_CELL = "{}() is {}", "{}.cell_contents is {}"
# What has a ``version`` in a ``field`` that is another where it was changed, see ``facts.py``.
STILL = "({0}.field[0] == {0}.version or {0}.still())"
SCOPE: dict[str, Any] = {"Missing": Missing}
# After so many times checks are joined.
OFTEN = 8


class Checked:
    """What holds while all of its checks do.

    Attributes:
        holds: the checks joined to one function; None as long as they are seldom asked.
    """

    holds: Callable[[], bool] | None = None
    _asked = 0

    @property
    def all(self) -> Sequence[Check]:
        """All checks."""
        raise NotImplementedError

    def hold(self) -> bool:
        """True where nothing has changed."""
        return (self.holds or self.ask)()

    def ask(self) -> bool:
        """The same, before the checks are joined."""
        self._asked += 1
        checks = self.all
        if self._asked >= OFTEN:
            self.holds = joined(checks)
        try:
            for form, *values in checks:
                if not _asking(form)(*values):
                    return False
        except ValueError:  # a cell is empty
            return False
        return True


@cache
def _asking(form: str) -> Callable[..., bool]:
    """The function of one check."""
    names = [f"v{number}" for number in range(max(form.count("{}"), 1))]
    return _made(f"lambda {', '.join(names)}: {form.format(*names)}", SCOPE)


def _made(text: str, names: dict[str, Any]) -> Callable[..., bool]:
    """What a text says: made of the forms above and of numbered names, never of a value."""
    found: Callable[..., bool] = eval(text, names)
    return found


def joined(checks: Sequence[Check]) -> Callable[[], bool]:
    """A function that tells whether all checks hold."""
    names: dict[str, Any] = dict(SCOPE)
    texts = ["True"]
    for form, *values in checks:
        called = [f"v{len(names) + number}" for number in range(len(values))]
        names.update(zip(called, values, strict=True))
        texts.append(form.format(*called))
    holds = _made(f"lambda: {' and '.join(texts)}", names)

    def hold() -> bool:
        try:
            return holds()
        except ValueError:  # a cell is empty
            return False

    return hold if any(form is IN_CELL for form, *_ in checks) else holds


def of_place(place: Place, value: Any) -> Check:
    """Whether a place still holds a value."""
    if isinstance(place.scope, dict):
        return IN_SCOPE, place.scope, place.name, value
    if isinstance(place.scope, type | Function) or value is Missing:
        return READS, place.read, value
    return IN_CELL, place.scope, value
