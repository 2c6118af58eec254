"""Checks: whether something is still as it was.

Each warm call asks many of them, and calling a function for each costs more than the answers.  So
those that are asked often are joined to one function.  To compile its text takes as long as some
calls, and the text follows from the forms of the checks alone, so it is kept for all that have
the same forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from opweave.compiler.captures.owners import Function
from opweave.compiler.captures.places import Missing, Place

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
# What has a ``version`` in a ``field``; the version of what was changed is another, see
# ``assumptions.py``.
STILL = "({0}.field[0] == {0}.version or {0}.still())"
SCOPE: dict[str, Any] = {"Missing": Missing}
# What is asked of a leaf, ``{0}``, with a value ``{1}`` of an earlier call: whether it is an array
# of CuPy's, a number of a type, the same object, or, of integers and texts that select, equal.
ON_GPU, OF_TYPE, IS_SAME = "type({0}) is Array", "type({0}) is {1}", "{0} is {1}"
EQUAL = {kind: f"type({{0}}) is {kind.__name__} and {{0}} == {{1}}" for kind in (int, str)}
# How such an array lies, as ``argument_key`` has it.
LIES = "(d := {0}.dtype), type(d), {0}.shape, {0}.strides, {0}.device.id, {0}.data.ptr % 16, "
# After so many times checks are joined; at once where such a function is there already.
OFTEN = 8
# The compiled functions by the forms of the checks; begun anew where there are so many.
_COMPILED: dict[tuple[str, ...], Callable[..., bool]] = {}
MOST = 4096


class Checked:
    """What holds while all of its checks do.

    Attributes:
        holds: the checks joined to one function; None as long as they are seldom asked.
    """

    holds: Callable[[], bool] | None = None
    _asked = 0
    _apart: Sequence[tuple[Callable[..., bool], Sequence[Any]]] | None = None

    @property
    def all(self) -> Sequence[Check]:
        """All checks."""
        raise NotImplementedError

    def hold(self) -> bool:
        """True where nothing has changed."""
        return (self.holds or self.ask)()

    def join(self, compiling: bool = False) -> None:
        """Join the checks; unless it may compile, only where their text is compiled already."""
        checks = self.all
        if compiling or forms_of(checks) in _COMPILED:
            self.holds, self._apart = joined(checks), None
        else:
            self._apart = [(_function_of((form,)), values) for form, *values in checks]

    def joined(self) -> Callable[[], bool]:
        """The checks joined to one function."""
        if self.holds is None:
            self.join(compiling=True)
        assert self.holds is not None
        return self.holds

    def changed(self) -> None:
        """Ask other checks from now on."""
        self.holds = self._apart = None

    def ask(self) -> bool:
        """The same, before the checks are joined."""
        self._asked += 1
        if self._apart is None or self._asked >= OFTEN:
            self.join(compiling=self._asked >= OFTEN)
        if self.holds is not None:
            return self.holds()
        try:
            for holds, values in self._apart or ():
                if not holds(*values):
                    return False
        except ValueError:  # a cell is empty
            return False
        return True


def forms_of(checks: Sequence[Check]) -> tuple[str, ...]:
    """The expressions, which alone decide what the joined function's text is."""
    return tuple([check[0] for check in checks])


def joined(checks: Sequence[Check]) -> Callable[[], bool]:
    """A function that tells whether all checks hold."""
    holds = partial(_function_of(forms_of(checks)), *[v for _, *values in checks for v in values])

    def hold() -> bool:
        try:
            return holds()
        except ValueError:  # a cell is empty
            return False

    return hold if any(form is IN_CELL for form, *_ in checks) else holds


def _function_of(forms: tuple[str, ...]) -> Callable[..., bool]:
    """The function of the values of checks with these forms, compiled once."""
    if (found := _COMPILED.get(forms)) is None:
        if len(_COMPILED) >= MOST:
            _COMPILED.clear()
        _COMPILED[forms] = found = _made(forms)
    return found


def _made(forms: Sequence[str]) -> Callable[..., bool]:
    """What a text says: made of the forms above and of numbered names, never of a value."""
    names: list[str] = []
    texts = ["True"]
    for form in forms:
        mine = [f"v{len(names) + n}" for n in range(max(form.count("{}"), 1))]
        names += mine
        texts.append(form.format(*mine))
    found: Callable[..., bool] = eval(f"lambda {', '.join(names)}: {' and '.join(texts)}", SCOPE)
    return found


def of_place(place: Place, value: Any) -> Check:
    """Whether a place still holds a value."""
    if isinstance(place.scope, dict):
        return IN_SCOPE, place.scope, place.name, value
    if isinstance(place.scope, type | Function) or value is Missing:
        return READS, place.read, value
    return IN_CELL, place.scope, value


@lru_cache(maxsize=256)
def looking(forms: tuple[str, ...]) -> Callable[..., Callable[..., Any]]:
    """A function that makes one of leaves, for each of which there is a form.

    That asks the forms, and looks up how the arrays lie; None where leaves are others.  It is made
    of a function that looks a key up, one that asks whether all else holds, CuPy's class of
    arrays, and the values that leaves are compared with.
    """
    names = [(form, f"x{n}", f"v{n}") for n, form in enumerate(forms)]
    asked = " and ".join(form.format(name, value) for form, name, value in names)
    key = "".join(LIES.format(name) for form, name, _ in names if form is ON_GPU)
    made: Callable[..., Callable[..., Any]] = eval(
        f"lambda get, holds, Array, {', '.join(value for *_, value in names)}: "
        f"lambda {', '.join(name for _, name, _ in names)}: "
        f"get(({key})) if {asked} and holds() else None"
    )
    return made
