"""Checks: whether something is still as it was; many of them joined to one function.

Each warm call asks all of them, and calling a function for each would cost more than the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
HOLDS = """
def holds():
    try:
        return {}
    except ValueError:  # a cell is empty
        return False
"""


def joined(checks: Iterable[Check]) -> Callable[[], bool]:
    """A function that tells whether all checks hold."""
    names: dict[str, Any] = {"Missing": Missing}
    texts = ["True"]
    for form, *values in checks:
        called = [f"v{len(names) + number}" for number in range(len(values))]
        names.update(zip(called, values, strict=True))
        texts.append(form.format(*called))
    exec(HOLDS.format(" and ".join(texts)), names)
    found: Callable[[], bool] = names["holds"]
    return found


def of_place(place: Place, value: Any) -> Check:
    """Whether a place still holds a value."""
    if isinstance(place.scope, dict):
        return IN_SCOPE, place.scope, place.name, value
    if isinstance(place.scope, type | Function) or value is Missing:
        return READS, place.read, value
    return IN_CELL, place.scope, value
