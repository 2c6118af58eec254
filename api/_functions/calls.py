"""Prepared calls of a function, found again by what the arguments are.

A call whose arguments are like those of an earlier one does no tracing, no binding of names and no
hashing of source: one look-up, pointers, launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from types import FunctionType
from typing import Any

import numpy as np

from opweave._functions.arguments import Signature
from opweave._functions.kept import Kept
from opweave._functions.layout import Call
from opweave._functions.ready import Plain, Ready
from opweave._functions.warm import counted
from opweave._functions.warm_arguments import NUMBERS
from opweave._interchange.quick import GivingBack, Other, by_c, giving_back, viewed
from opweave.compiler.captures.alike import ITEMS, OtherError, draws, looking
from opweave.compiler.captures.anew import MadeAnew
from opweave.compiler.captures.structure import Structure
from opweave.runtime.calls.arguments import argument_key
from opweave.runtime.host.warm_layout import UNKNOWN

MOST_PREPARED = 1024
# Structures of arguments of calls that are left to Python.
MOST_STRUCTURES = 4
# Prepared calls with the same arrays, which differ by what a guard asks of numbers.
MOST_SIDES = 16


# A prepared call, and the leaves that it takes.
Known = tuple[Ready | GivingBack, Sequence[Any]]
# Arguments by position and by name, and a call that gets them as they are given.
Args = Sequence[Any]
Kwargs = Mapping[str, Any]
NONE: Kwargs = {}
Given = tuple[Args, Kwargs]
Found = Known | tuple[Plain, Given] | None


class Calls:
    """The prepared calls of one function."""

    def __init__(self, signature: Signature):
        self.signature = signature
        self._known: dict[Any, tuple[Ready, ...]] = {}
        self._kinds: set[Any] = set()
        self._left: dict[Any, Plain] = {}  # to NumPy
        self._structured = Structured(signature)
        self._made_anew = MadeAnew(signature.fn)

    def key(self, call: Call, on_gpu: bool) -> Any:
        """What must be equal for a prepared call to serve another; see ``quickly``."""
        values, layout = call.values, call.layout
        return on_gpu, layout.structure, tuple(
            map(argument_key, values, layout.static, repeat(on_gpu))
        )  # fmt: skip

    def find(self, call: Call, on_gpu: bool) -> Ready | None:
        """The prepared call for these arguments, if there is one."""
        if not self._known:
            return None
        try:
            known = self._known.get(self.key(call, on_gpu))
        except (TypeError, ValueError):
            return None  # an unhashable static: reported by the guard
        return _serving(known, call.values) if known else None

    def by_c(self, args: Args, kwargs: Kwargs, out: Any = None) -> Any:
        """What a call returns that C knows; ``UNKNOWN`` for all others."""
        kept = (signature := self.signature).latest
        if kept is None or (warm := kept.warm) is None:
            return UNKNOWN
        if kwargs or len(args) != signature.count:
            if not kept.hold():  # its parameters may be others now
                return UNKNOWN
            args = signature.in_order(args, kwargs)
        if out is not None:
            return warm.into(out, *args)
        found = warm.call(*args)
        return by_c(warm.call, signature, args, kept.values) if found is UNKNOWN else found

    def quickly(self, args: Args, kwargs: Kwargs = NONE, left: Plain | None = None) -> Found:
        """The same, and the leaves of the call, for NumPy arrays, numbers and texts on the host.

        Every other call takes ``find``.  What is ``left`` to NumPy gets the arguments as given.
        """
        kept = (own := self.signature).kept
        if kept is None or own.is_variadic or not (kept.holds or kept.ask)():
            return None if left else self._by_structure(args, kwargs)
        values = args if not kwargs and len(args) == own.count else own.in_order(args, kwargs)
        keys: list[Any] = []
        others: list[Other] = []
        for v in values:
            kind = type(v)
            if kind is np.ndarray:
                keys.append((d := v.dtype, type(d), v.shape, v.strides, v.flags.aligned))
            elif kind in NUMBERS:
                keys.append(kind)
            elif kind is bool or kind is str:
                keys.append((kind, v))  # as ``static_key`` has it
            elif not viewed(others, v, kind, keys):
                return None if left else self._by_structure(args, kwargs)
        for place in own.selecting:
            keys[place] = argument_key(values[place], True, False)
        layout = kept.layout
        if kept.values:
            values = [*values, *kept.values]
            keys += map(argument_key, kept.values, layout.static[len(keys) :], repeat(False))
        structure = layout.structure if layout.same is None else layout.asked(values).structure
        known = self._known.get(key := (False, structure, tuple(keys)))
        ready = known[0] if known and not known[0].asks else _serving(known or (), values)
        if ready is None:
            return None if others else self._by_numpy(key, values, (args, kwargs), left)
        found = giving_back(ready, others, own, values) if others else (ready, values)
        return found and counted(own, kept, ready, found)

    def leave(self, given: Callable[..., Any], args: Any, kwargs: Any, exact: bool) -> None:
        """Leave all calls like this one to NumPy, if they are found quickly.

        ``exact``: those with the same numbers; else with integers of the same size.
        """
        self.quickly(args, kwargs, plain := Plain(given, exact))
        if not exact:
            self._structured.leave(plain, args, kwargs)

    def leave_many(self, given: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """The same of calls with more numbers than are taken apart."""
        self._structured.leave_many(Plain(given, exact=False), args, kwargs)

    def anew(self, args: Args, kwargs: Kwargs) -> Call | None:
        """A prepared call with functions that do the same in the place of those given.

        A lambda is another object at each call.  None where no such call is prepared.
        """
        if not self._known or FunctionType not in map(type, (*args, *kwargs.values())):
            return None
        own = self.signature
        if own.is_variadic or any(own.static):
            return None
        values = self._made_anew.alike(own.names, own.in_order(args, kwargs))
        call = None if values is None else own.bind(tuple(values), {})
        return call if call is not None and self.find(call, on_gpu=False) else None

    def _by_structure(self, args: Args, kwargs: Kwargs) -> tuple[Plain, Given] | None:
        """What runs a call with containers that is left to Python."""
        found = self._structured.find(args, kwargs)
        return None if found is None else (found, (args, kwargs))

    def _by_numpy(
        self, key: Any, values: Sequence[Any], given: Given, left: Plain | None
    ) -> tuple[Plain, Given] | None:
        """What runs a call that is left to NumPy; who runs it follows from its integers, too."""
        if left is None and not self._left:
            return None
        sizes = tuple(value.bit_length() for value in values if type(value) is int)
        found = self._left.get((key, sizes)) if left is None else None
        if found is None:
            numbers = tuple(argument_key(v, True, False) for v in values if type(v) in NUMBERS)
            exact = key, sizes, numbers
            if left is not None:
                if len(self._left) >= MOST_PREPARED:
                    self._left.clear()  # at once, whatever other threads do
                self._left[exact if left.exact else exact[:2]] = left
            found = self._left.get(exact)
        if found is None:
            return None
        if left is None:
            counted(self.signature, self.signature.kept, found, (found, values))
        return found, given

    def keep(self, call: Call, on_gpu: bool, prepare: Callable[[], Ready]) -> Ready:
        """Prepare a call, and know it from now on."""
        key = self.key(call, on_gpu)
        ready = prepare()
        self._kinds.add(call.kinds)
        if call.layout.same is None and not any(call.layout.trees):
            self._made_anew.note(self.signature.names, call.values)
        if key not in self._known and len(self._known) >= MOST_PREPARED:
            self._known.pop(next(iter(self._known)))
            self._kinds.clear()
        self._known[key] = (ready, *self._known.get(key, ())[: MOST_SIDES - 1])
        return ready

    def knows(self, call: Call) -> bool:
        """Whether a call of these types was prepared."""
        return call.kinds in self._kinds

    def wholes(self) -> list[Ready]:
        """The calls that are prepared."""
        return [ready for known in self._known.values() for ready in known]

    @property
    def is_known(self) -> bool:
        """Whether any call was prepared."""
        return bool(self._known)

    def clear(self) -> None:
        """Forget them."""
        self._known.clear()
        self._kinds.clear()
        self._left.clear()
        self._structured.clear()
        self._made_anew.clear()


class Structured:
    """The calls of one function with lists, dicts and objects, which Python runs.

    They are found again by what these hold: ``Calls.quickly`` looks at arguments alone.
    """

    def __init__(self, signature: Signature):
        self._signature = signature
        self._known: list[tuple[Kept, Any, dict[Any, Plain]]] = []

    def clear(self) -> None:
        """Forget them."""
        self._known = []

    def find(self, args: Args, kwargs: Kwargs) -> Plain | None:
        """What runs a call, if an earlier one of its kind is known."""
        if not self._known:
            return None
        values = self._signature.in_order(args, kwargs)
        for kept, look, known in self._known:
            try:
                found = known.get(look(values))
            except OtherError:
                continue
            if found is not None and (kept.holds or kept.ask)():
                return found
        return None

    def leave(self, plain: Plain, args: Args, kwargs: Kwargs) -> None:
        """Know a call that was just bound."""
        kept = self._signature.latest
        if kept is not None and kept.layout.same is None and kept.is_steady:
            trees = kept.layout.trees[: self._signature.size]
            kinds = {*map(type, args)}
            if any(trees) or FunctionType in kinds or any(map(draws, kinds)):
                self._add(kept, trees, plain, self._signature.in_order(args, kwargs))

    def leave_many(self, plain: Plain, args: Args, kwargs: Kwargs) -> None:
        """Know a call with lists that are too long to be bound."""
        if (kept := self._signature.kept_of_own()) is None:
            return
        values = self._signature.in_order(args, kwargs)
        kept = next((k for k, _, _ in self._known if k.layout is kept.layout), kept)
        self._add(kept, [ITEMS if type(v) is list else None for v in values], plain, values)

    def _add(
        self, kept: Kept, trees: Sequence[Structure | None], plain: Plain, values: Sequence[Any]
    ) -> None:
        look, own = looking(trees), self._signature
        if look is None or any(own.static):
            return
        found = next((known for k, _, known in self._known if k is kept), None)
        with suppress(OtherError):
            key = look(values)
            if found is None:
                newest = self._known[: MOST_STRUCTURES - 1]
                self._known = [(kept, look, found := {}), *newest]
            if len(found) >= MOST_PREPARED:
                found.clear()
            found[key] = plain


def _serving(known: Sequence[Ready], values: Sequence[Any]) -> Ready | None:
    for ready in known:
        if not ready.asks or ready.serves(values):
            return ready
    return None
