"""Loops of Python in C: compiled, and started on what their names hold."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opweave.compiler.lines.left import (
    ITEMS_WORDS,
    place_of_steps,
    places_of,
    places_of_items,
    places_of_kept,
)
from opweave.compiler.lines.read_lists import ReadList
from opweave.compiler.loops.given import (
    ERRORS_OUTSIDE,
    LARGEST_GIVEN,
    LoweredLoop,
    Parameter,
    checked,
    computed_outside,
)
from opweave.opcodes.dtypes import DType
from opweave.runtime.binaries.build import builder
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.host.blas import product_library
from opweave.runtime.host.launcher import load_library, runtime_library
from opweave.runtime.host.lists import (
    NotServedError,
    flattened,
    packed,
    put_into,
    put_into_rows,
    unpacked,
)
from opweave.runtime.host.loop_errors import DONE, NO_ROUND, NOT_SERVED, error_of
from opweave.runtime.host.loop_results import free_memory, items_of, kept_of, readers_of
from opweave.runtime.process.locks import Once


class HostLoop:
    """A loop in C, ready to run.

    Attributes:
        lowered: what it is.
        holds: whether what it read of globals and modules is what it was.
        address: of the function.
        counts: calls that C itself began, and the steps of all.
        made_words: how many it leaves.
        is_plain: it leaves numbers and arrays, each to one name, and nothing in lists.
        others: forms of the loop for calls that it does not serve; ``is_alone``: there is no more.
    """

    def __init__(self, lowered: LoweredLoop):
        self.lowered = lowered
        binary = builder().build_loop(lowered.source)
        self._library = load_library(binary.payload)
        self.address = ctypes.cast(self._library.loop, ctypes.c_void_p).value
        self._start, self._pack = starter(), packer(lowered.parameters)
        self.holds = checked(lowered.asked)
        self._places = tuple(places_of(lowered.results, lowered.lists))
        self._kept = tuple(places_of_kept(lowered.results, lowered.lists, lowered.kept))
        behind = lowered.results, lowered.lists, lowered.kept, lowered.items
        self._items = tuple(places_of_items(*behind))
        self._last = place_of_steps(*behind)
        self.made_words = self._last + 1
        self._words = ctypes.c_longlong * self.made_words
        self._readers = tuple(readers_of(lowered.results))
        self._is_linked = bool(lowered.linked or lowered.new_lists or lowered.turns)
        self.is_plain = not (self._is_linked or self._places or self._kept or self._items)
        self.counts = (ctypes.c_longlong * 2)()
        self.items = 0
        self.others: list[HostLoop] = []
        self.is_alone = False

    def __call__(self, values: dict[str, Any]) -> tuple[Any, ...] | None:
        """Run it; what the names of its results hold afterwards, None where it had no round.

        Of names that are kept ``values`` has what they hold then, also where it raises.

        Raises:
            NotServedError: it was made for other values; nothing has happened.
            IndexError, ValueError, ZeroDivisionError, OverflowError: as the loop in Python.
        """
        made = self._words()
        if self._items:
            self._pack_items(values)
        given = self._pack(values)
        try:
            end = self._start(self.address, given, made)
        finally:  # a signal's handler may have raised
            for each, at in self._places:
                values[each.name].extend(items_of(each, *made[at : at + each.words]))
            for name, at in self._kept:
                if made[at]:
                    values[name.name] = kept_of(name, made[at : at + name.words])
            for items, at in self._items:
                self._leave_items(items, values, *made[at : at + ITEMS_WORDS])
        if end != DONE:
            if end == NO_ROUND:
                return None
            raise (
                NotServedError if end == NOT_SERVED else error_of(end, made, self.lowered.unbound)
            )
        self.counts[1] += made[self._last]
        results = self.lowered.results
        if not results:
            return ()
        # those that have several names are one
        arrays = {-1 - n: values[name] for n, name in enumerate(self.lowered.entered)}
        left = [read(made[begin:end], arrays) for read, begin, end in self._readers]
        return tuple(self._linked(values, left)) if self._is_linked else tuple(left)

    @property
    def steps(self) -> int:
        """Of all calls."""
        return self.counts[1]

    def _linked(self, values: Mapping[str, Any], left: Sequence[Any]) -> Iterator[Any]:
        """What names hold, of those that hold a list or its last item, too."""
        linked, lists, turns = self.lowered.linked, self.lowered.new_lists, self.lowered.turns
        for result, held in zip(self.lowered.results, left, strict=True):
            name = result.name
            if name in linked:
                yield values[linked[name]][-1]
            elif name in turns:
                yield next(values[n] for n in turns[name] if pointer(values[n]) == held)
            else:
                yield values[lists[name].name] if name in lists else held

    def _pack_items(self, values: dict[str, Any]) -> None:
        """Make words of the lists that C reads."""
        for owner, _ in self._items:
            if owner.is_read:
                items = values[owner.name]
                if owner.rows is not None:
                    items, values[f"{owner.name} starts"] = flattened(items, values)
                try:
                    words = packed(items, owner)
                except OverflowError:
                    raise NotServedError from None
                values[f"{owner.name} items"] = words
                if owner.is_changed:
                    values[f"{owner.name} before"] = words.copy()
                self.items += len(words)

    def _leave_items(
        self, owner: ReadList, values: dict[str, Any], at: int, count: int, changed: int
    ) -> None:
        """Put what C has made of a list into it, or into a new one."""
        if changed or owner.is_new:
            words: Any = values.get(f"{owner.name} items")
            if at:
                words = np.empty((count, owner.words), np.int64)
                ctypes.memmove(words.ctypes.data, at, words.nbytes)
            if owner.is_new:
                values[owner.name] = []
            kept = values[owner.name]
            if not owner.is_read:
                kept += unpacked(words[:count], owner) if count else []
            elif owner.rows is not None:
                starts, before = (values[f"{owner.name} {n}"] for n in ("starts", "before"))
                put_into_rows(kept, starts, words, before, owner)
            else:
                put_into(kept, words[:count], values[f"{owner.name} before"], owner)
        if at:
            free_memory()(at)


@Once
def starter() -> Callable[[Any, bytes, Any], int]:
    """``ow_loop``, called with the interpreter's lock held: it releases the lock itself."""
    address = ctypes.c_void_p
    kind = ctypes.PYFUNCTYPE(ctypes.c_int, address, ctypes.c_char_p, address)
    return kind(("ow_loop", runtime_library()))


def packer(parameters: Sequence[Parameter]) -> Callable[[Mapping[str, Any]], bytes]:
    """A function that packs what C gets, a word each: made as text, so that it takes no time."""
    known: dict[str, Any] = {"integer": _integer, "outside": _outside, "pointer": pointer}
    if any(p.part == "library" for p in parameters):
        known["library"] = product_library()
    kinds, parts = [], []
    for n, p in enumerate(parameters):
        known |= {f"code{n}": p.code, f"type{n}": p.type}
        text = WORDS[p.part].format(name=f"values[{p.name!r}]", axis=p.axis, n=n)
        kinds.append("d" if p.c_type == "double" and p.type is float else "q")
        if p.part == "number" and isinstance(p.type, DType):
            kinds[-1], text = "8s", f"{text}.tobytes()"
        elif p.part in ("number", "outside") and p.type is int:
            text = f"integer({text})"
        parts.append(text)
    known["pack"] = struct.Struct(f"<{''.join(kinds)}").pack
    text = f"lambda values: pack({', '.join(parts)})"
    made: Callable[[Mapping[str, Any]], bytes] = eval(text, known)
    return made


# How Python finds a word.
WORDS = {
    "pointer": "pointer({name})",
    "size": "{name}.shape[{axis}]",
    "stride": "{name}.strides[{axis}] // {name}.itemsize",
    "number": "{name}",
    "real": "{name}.real",
    "imag": "{name}.imag",
    "outside": "outside(values, code{n}, type{n})",
    "library": "library",
}


def _integer(value: int) -> int:
    if -LARGEST_GIVEN <= value <= LARGEST_GIVEN:
        return value
    raise NotServedError


def _outside(values: Mapping[str, Any], code: Any, kind: type) -> Any:
    """What Python computes before the loop."""
    try:
        value = computed_outside(code, values)
    except ERRORS_OUTSIDE:
        raise NotServedError from None
    if type(value) is not kind:
        raise NotServedError
    return value
