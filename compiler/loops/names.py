"""Names of a loop: variables of C that hold numbers, views and new arrays; and assignments."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.applied import bases_of, dense_strides
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.eithers import settled
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.picking import Picked
from opweave.compiler.lines.storing import is_truncated
from opweave.compiler.lines.values import (
    Array,
    Elements,
    Generated,
    Held,
    ItemPlace,
    ItemRow,
    Items,
    Number,
    Several,
    Size,
    Strided,
    Unchanging,
    check_made,
)
from opweave.compiler.loops.keeping import Keeping
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import F64, I64

Env = dict[str, Held]
Place = Strided | Picked | ItemPlace | ItemRow


class LoopNames(Keeping):
    """Binds names.

    Attributes:
        given: names of C that have a value when the loop begins.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.given: set[str] = set()

    def is_fixed(self, size: Size) -> bool:
        """True for a sum of what the call gives."""
        return all(name in self.given for name, _ in size.terms)

    def bind(self, name: str, held: Held) -> None:
        """Let a name hold something, in a variable of C where it is computed."""
        self.check_kept(name, held)
        is_locked = isinstance(held, Strided) and held.is_locked
        if isinstance(held, Strided) and held.base in self.temporary:
            owners = {base for other in self.env.values() for base in bases_of(other)}
            held = held if held.base in owners else self.copied(held)
        bound = self._bound(name, held)
        if is_locked:
            assert isinstance(bound, Strided)
            bound = replace(bound, is_locked=True)
        self.env[name] = bound
        self.note_kept(name, bound)

    def _bound(self, name: str, held: Held) -> Held:
        """What a name holds then."""
        if isinstance(held, Strided):
            is_owned = held.base in self.held_by or held.base in self.given
            if not is_owned or not self.is_known("copies", name):
                return self.view_of(name, held)
            if self.is_left(held):
                return self._array_in(name, self.copied(held))
            return self.copy_of(name, held)
        if isinstance(held, Number):
            return self.number_in(name, held)
        if isinstance(held, Elements):
            return self._array_in(name, held)
        if isinstance(held, ItemRow):
            start, count = (self.variable(name, f"{held.owner}_{w}", "int64") for w in ("at", "n"))
            self._write({start: held.start, count: held.count})
            return replace(held, start=start, count=count)
        if isinstance(held, Unchanging) and not self.is_known("perhaps", name):
            return held
        if isinstance(held, Several) and held.is_list and not self.is_known("perhaps", name):
            return self.item_lists.new(name, self.prefix, held.items)
        if isinstance(held, Generated) and isinstance(held.node, ast.ListComp):
            return self.listed(name, held)
        raise NoLoopError("a name for a tuple, or another one for a list")

    def copy_of(self, name: str, held: Strided, place: str | None = None) -> Strided:
        """A copy that a name holds of an array that has another name; see ``_array_in``."""
        made = self._array_in(name, self.copied(held), place)
        return self.one_of_two(name, held, made, place)

    def listed(self, name: str, held: Generated) -> Items:
        """A list that a comprehension makes, for a name."""
        raise NotImplementedError

    def view_of(self, name: str, view: Strided) -> Strided:
        """A name for a part of an array: its place, extents and strides are variables."""
        kind = f"{view.base}_{view.rank}"
        pointer = self.variable(name, kind, f"{view.dtype.storage}*")
        writes, sizes, strides = {pointer: view.pointer}, list[Size](), list[str]()
        for axis, (size, stride) in enumerate(zip(view.sizes, view.strides, strict=True)):
            if not self.is_fixed(size):
                kept = self.variable(f"{name} n{axis}", kind, "int64")
                writes[kept], size = size.text, Size.of(kept)
            sizes.append(size)
            if stride not in ("0", "1") and not self.is_known("turns", name):
                kept = self.variable(f"{name} s{axis}", kind, "int64")
                writes[kept], stride = stride, kept
            strides.append(stride)
        self._write(writes)
        return replace(
            view,
            pointer=pointer,
            sizes=tuple(sizes),
            strides=tuple(strides),
            where=None,
            is_whole=False,
        )

    def _write(self, writes: Mapping[str, str]) -> None:
        """Give variables their values, all at once: one may be computed from another."""
        values = [self.text.named("auto", text) for text in writes.values()]
        for variable, value in zip(writes, values, strict=True):
            self.text.add(f"{variable} = {value};")

    def _array_in(self, name: str, value: Elements, place: str | None = None) -> Strided:
        """A name for a new array: in memory of the name, two in turn where one reads the other.

        ``place``: where it lies already, as an array of the call does that it is one with.
        """
        kind = f"{value.dtype}x{value.rank}"
        first, second = (self.variable(name, f"{kind}{n}", "LoopRoom") for n in ("", "_next"))
        holder = self.variable(name, kind + "_at", f"{value.dtype.storage}*")
        others = (n for n, h in self.env.items() if getattr(h, "base", None) == holder)
        if (other := next((n for n in others if n != name), None)) is not None:
            raise AgainError("copies", self.prefix_of(other) + other)
        for env in self.callers:
            if any(n != name and getattr(h, "base", None) == holder for n, h in env.items()):
                raise NoLoopError(f"{name}, which a method makes anew while it has another name")
        if value.rank == 0:
            raise NoLoopError("an array without dimensions")
        if place is None:
            place, room = self.made_in(second, value)
            self.text.add(f"exchange({first}, {room});")
        writes, sizes = {holder: place}, list[Size]()
        for axis, size in enumerate(value.sizes):
            if not self.is_fixed(size) or self.is_known("sizes", name):
                kept = self.variable(f"{name} n{axis}", kind, "int64")
                writes[kept], size = size.text, Size.of(kept)
            sizes.append(size)
        self._write(writes)
        self.held_by[holder] = first
        self.lies_as(holder, value)
        self.note_new(name, kind, holder)
        return Strided(holder, value.dtype, holder, tuple(sizes), dense_strides(sizes))

    def assign_all(self, targets: Sequence[ast.expr], held: Held) -> None:
        """Assign one thing to several targets."""
        self.assigned(held, len(targets))
        for target in targets:
            self.assign(target, held)

    def assign(self, target: ast.expr, held: Held) -> None:
        """Assign to a name, to a part of an array, or to several of them."""
        if isinstance(target, ast.Name):
            self.bind(target.id, held)
        elif isinstance(target, ast.Subscript):
            self.put(self.target(target), held)
        elif isinstance(target, ast.Tuple | ast.List):
            items = self._unpacked(held, len(target.elts))
            for part, item in zip(target.elts, items, strict=True):
                self.assign(part, item)
        else:
            raise NoLoopError(f"an assignment to {type(target).__name__}")

    def unpack(self, target: ast.expr, held: Held) -> None:
        """Assign what a loop gets in a turn; its parts are apart from each other."""
        if isinstance(held, Several) and isinstance(target, ast.Tuple | ast.List):
            if len(held.items) != len(target.elts):
                raise NoLoopError("an assignment of several values at once that are no tuple")
            for part, item in zip(target.elts, held.items, strict=True):
                self.unpack(part, item)
        else:
            self.assign(target, held)

    def _unpacked(self, held: Held, count: int) -> list[Held]:
        if isinstance(held, Strided | Elements) and held.rank:
            rows = self.apart(held) if isinstance(held, Elements) else held
            if self.served.is_equal(rows.sizes[0], count):  # as many rows, or elements
                each = (self.indexing.index(rows, [literal(n)]) for n in range(count))
                return [self.pinned(self.loaded(row)) for row in each]
        if not isinstance(held, Several) or len(held.items) != count:
            raise NoLoopError("an assignment of several values at once that are no tuple")
        found = [self.pinned(item) for item in held.items]
        made = (f for h, f in zip(held.items, found, strict=True) if isinstance(h, Elements))
        self.lone |= {f.base for f in made if isinstance(f, Strided)}
        return found

    def pinned(self, held: Held) -> Held:
        """What something is now, whatever is assigned to the names that it was computed from."""
        if isinstance(held, Number) and held.known is None:
            maybe = self.text.named("bool", held.maybe) if held.maybe else ""
            text = self.text.named(held.c_type, held.text)
            size = None if held.size is None else self.pinned_size(held.size)
            whole = self.text.named("bool", held.whole) if held.whole else ""
            return replace(held, text=text, size=size, maybe=maybe, whole=whole)
        if isinstance(held, Strided):
            sizes = tuple(map(self.pinned_size, held.sizes))
            pointer = self._pinned_text(f"{held.dtype.storage}* const", held.pointer)
            strides = tuple(self._pinned_text("const int64", s) for s in held.strides)
            return replace(held, pointer=pointer, sizes=sizes, strides=strides)
        if isinstance(held, ItemRow):
            start, count = (self._pinned_text("const int64", t) for t in (held.start, held.count))
            return replace(held, start=start, count=count)
        if isinstance(held, Several):
            return replace(held, items=tuple(map(self.pinned, held.items)))
        check_made(held)
        if isinstance(held, Elements):  # the extents first, which a later name may change
            return self.apart(replace(held, sizes=tuple(map(self.pinned_size, held.sizes))))
        return held

    def pinned_size(self, size: Size) -> Size:
        """A sum of names that do not change."""
        if any(name in self.text.declared for name, _ in size.terms):
            return Size.of(self.text.named("int64", size.text))
        return size

    def _pinned_text(self, c_type: str, text: str) -> str:
        """A constant where a text has variables; arrays of a call and numbers stay as they are."""
        words = set(re.findall(r"\w+", text))
        if words.isdisjoint(self.text.declared):
            return text
        name = self.text.fresh("v")
        self.text.add(f"{c_type} {name} = {text};")
        return name

    def target(self, node: ast.Subscript, is_read: bool = False) -> Place:
        """The part of an array that is assigned to, or the item of a list."""
        array = self.kept_beside(self.value(node.value), node.slice)
        if isinstance(array, ItemRow) and array.is_part and not is_read:
            raise NoLoopError("an assignment to an item of a slice of a list")
        if isinstance(array, Items | ItemRow):
            return self.item_lists.place(array, self.number(node.slice), not is_read)
        if not isinstance(array, Strided):
            raise NoLoopError("an assignment to an item of what is no array")
        return self.part(array, self.items(node.slice, array.rank))

    def put(self, target: Place, held: Held) -> None:
        """Assign to the elements of a part of an array, or to an item of a list."""
        if isinstance(target, ItemRow):
            raise NoLoopError("an assignment to a list in a list")
        if isinstance(target, ItemPlace):
            self.item_lists.put(target, held)
            return
        value = self.array_of(held) if isinstance(held, Several) else as_computed(held)
        whole = target.rest if isinstance(target, Picked) else target
        if whole.is_locked:
            raise NoLoopError("an assignment to what nobody may write to")
        if isinstance(target, Picked) or not is_truncated(value, whole.dtype):
            self.check_kind(value, whole.dtype)
        self.written(whole)
        if isinstance(target, Picked):
            self.put_picked(target, settled(value))
        else:
            self.store(target, settled(value))

    def array_of(self, held: Held) -> Array:
        """The array that NumPy makes of a tuple or a list."""
        raise NotImplementedError

    def written(self, target: Strided) -> None:
        """Note that an array is written to."""

    def check_kind(self, value: Number | Strided | Elements, target: dtypes.DType) -> None:
        """Hold an assignment to numbers of the target's kind, whatever they are rounded to."""
        held = value.type if isinstance(value, Number) else value.dtype
        if getattr(value, "maybe", "") and held is I64 and target not in (I64, F64):
            raise NoLoopError(f"an integer of Python or of NumPy to elements of {target}")
        source = np.dtype(held) if isinstance(held, type) else held.numpy
        if isinstance(held, type) and held is int and target.kind in "iufc":
            return
        if isinstance(held, type) and held is float and target.kind in "fc":
            return
        if not np.can_cast(source, target.numpy, "same_kind"):
            raise NoLoopError(f"an assignment of {source} to elements of {target.numpy_name}")
