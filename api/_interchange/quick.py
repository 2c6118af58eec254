"""The quick way of a call with arrays of one other library: a call like it was prepared before.

``Calls.quickly`` looks at every value once; here is what it asks of a value of another library.
All that this does not know takes the way of exchange.py, which raises what there is to raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from opweave._interchange.exchange import ASKING, CallNames, Exchange
from opweave._interchange.kinds import ArrayKind, NotTaken, known
from opweave.runtime.host.warm_layout import UNKNOWN


class Runs(Protocol):
    """A prepared call."""

    def __call__(self, values: Sequence[Any]) -> Any:
        """Run with these leaves."""

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        """The same, with arrays for the outputs."""


# An array of another library: its place among a call's values, itself, NumPy's view, its kind.
Other = tuple[int, Any, Any, ArrayKind]


def viewed(others: list[Other], value: Any, cls: type, keys: list[Any]) -> bool:
    """Add a value to the others of a call, and its key; False where this way does not serve."""
    kind = known.get(cls)
    if kind is None or kind.give is None or kind.is_lazy:
        return False
    for other in others:
        if other[1] is value or other[3].label != kind.label:
            return False  # the same array twice is one view twice
    try:
        view = kind.view(value)
    except NotTaken:
        return False
    if type(view) is not np.ndarray:
        return False
    others.append((len(keys), value, view, kind))
    keys.append((d := view.dtype, type(d), view.shape, view.strides, view.flags.aligned))
    return True


def giving_back(
    ready: Runs, others: list[Other], names: CallNames, values: Sequence[Any]
) -> tuple[GivingBack, Sequence[Any]] | None:
    """A prepared call around another, and its values; None where some are arrays of NumPy's.

    Args:
        values: of the call, then those that the function reads from outside.
    """
    found = [*values]
    if len(others) < names.count:
        for value in found[: names.count]:
            if type(value) is np.ndarray and value.ndim:
                return None
    made = GivingBack(ready, others, names, values)
    for place, _, view, _ in others:
        found[place] = view
    return made, found


def by_c(
    call: Callable[..., Any], names: CallNames, args: Sequence[Any], outside: Sequence[Any]
) -> Any:
    """What a call of C gives for arrays of one other library; ``UNKNOWN`` where it cannot.

    Args:
        call: takes NumPy's arrays, see ``Calls.by_c``.
        outside: values like those that the function reads from outside.
    """
    others: list[Other] = []
    keys: list[Any] = []
    values = [*args]
    for place, value in enumerate(args):
        kind = type(value)
        if kind is np.ndarray:
            return UNKNOWN
        if known.get(kind) is None:
            keys.append(kind)
        elif viewed(others, value, kind, keys):
            values[place] = others[-1][2]
        else:
            return UNKNOWN
    if not others:
        return UNKNOWN
    found = call(*values)
    return found if found is UNKNOWN else OfOthers(others, names, outside).given(found)


class OfOthers:
    """A call with arrays of another library."""

    __slots__ = ("is_shared", "names", "others")

    def __init__(self, others: list[Other], names: CallNames, values: Sequence[Any]):
        """``values``: those of the call that are no arrays of others."""
        self.others, self.names = others, names
        is_immutable = others[0][3].is_immutable
        self.is_shared = is_immutable and any(type(value) is np.ndarray for value in values)

    def given(self, found: Any) -> Any:
        """The results of a call in the kind of the others."""
        try:
            if type(found) is not tuple:
                return self._given(found)
            if len({*map(id, found)}) == len(found):  # the same array twice is one result twice
                return tuple(map(self._given, found))
        except NotTaken:
            pass  # told below
        return self._exchange().given_back(found)

    def _given(self, found: Any) -> Any:
        """A result in the kind of the others.

        Raises:
            NotTaken: it may be no array of its own: a view has a base.
        """
        _, like, _, kind = self.others[0]
        assert kind.give is not None  # see ``viewed``
        if type(found) is not np.ndarray or found.base is not None or self.is_shared:
            raise NotTaken("a result that is no array of its own", "return a copy of it")
        return kind.give(found, like)

    def _exchange(self) -> Exchange:
        made = Exchange(self.names)
        for place, other, view, kind in self.others:
            made.hold(other, view, kind, place)
        return made


class GivingBack(OfOthers):
    """A prepared call that gives its results back in the kind of the others."""

    __slots__ = ("ready",)

    def __init__(self, ready: Runs, others: list[Other], names: CallNames, values: Sequence[Any]):
        super().__init__(others, names, values)
        self.ready = ready

    def __call__(self, values: Sequence[Any]) -> Any:
        """Run with these leaves."""
        try:
            found = self.ready(values)
        except ASKING as error:
            if (told := self._exchange().told_of(error)) is None:
                raise
            raise told from error
        return self.given(found)

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        """The same, with arrays for the outputs, which are of that kind, too."""
        exchange = self._exchange()
        exchange.take((), {"out": out})
        return exchange.run(lambda out: self.ready.into(out, values))
