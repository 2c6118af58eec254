"""A call with arrays of other libraries: NumPy's in their place, and results in their kind.

Below this everything sees NumPy's arrays (or CuPy's) alone.  An argument that comes back as a
result is the caller's own array again.  A container that holds such arrays is a copy meanwhile;
what the function changes in it is changed in the caller's own afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from opweave._interchange.holders import Holder
from opweave._interchange.kinds import ArrayKind, NotTaken, kind_of
from opweave._interchange.memory import once_each
from opweave._interchange.mistakes import called, told_of
from opweave.compiler.captures.containers import is_container
from opweave.compiler.captures.structure import packed
from opweave.compiler.captures.tree import flatten, forget
from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.compiler.tracing.results import CONSTANTS
from opweave.opcodes.errors import ArgumentError, InterchangeError, OpweaveError

NONE: Mapping[str, Any] = {}
# What Python and NumPy raise for mistakes of a function about its arguments.
ASKING = (AttributeError, TypeError, ValueError)


class Path(str):
    """The place of a leaf in a container, as a user writes it."""


class CallNames(Protocol):
    """Names of a function and of its parameters."""

    name: str
    count: int

    def place(self, number: int) -> str:
        """How a user writes an argument by its position."""


def exchanged(
    names: CallNames, args: Sequence[Any], kwargs: Mapping[str, Any] = NONE
) -> Exchange | None:
    """What runs a call with arrays of other libraries; None where there are none."""
    made = Exchange(names)
    made.take(args, kwargs)
    return made if made.like is not None else None


def run_exchanged(
    function: Callable[..., Any], names: CallNames, args: Any, kwargs: Any, out: Any,
    later: Callable[[Exchange], Any] | None = None,
) -> Any:  # fmt: skip
    """The results of a function for arguments of which some are arrays of other libraries.

    Args:
        out: for the results; None for new ones.
        later: what makes results of arrays whose elements come later.
    """
    found = exchanged(names, args, kwargs if out is None else {**kwargs, "out": out})
    assert found is not None
    if later is None or not found.is_lazy:
        return found.run(function)
    try:
        returned = later(found)
    except AttributeError as error:
        if (told := found.told_of(error)) is None:
            raise
        raise told from error
    found.settle()
    return found.given_back(returned)


class Exchange:
    """The arrays of a call, in the place of those of another library.

    Attributes:
        args, kwargs: of the call, with arrays of NumPy's.
        like: the first of the caller's arrays; None where there is none.
    """

    def __init__(self, names: CallNames):
        self.names = names
        self.like: Any = None
        self.kind: ArrayKind | None = None
        self._place: Any = None  # of the first array whose kind results get
        self._numpys: Any = None  # place of the first array of NumPy's
        self._views: dict[int, Any] = {}  # by the identities of the caller's arrays
        self._given: dict[int, Any] = {}  # arrays of the caller's kind, by those of NumPy's
        self._kept: list[Any] = []  # whose identities stand there
        self._seen: dict[int, Any] = {}  # containers of the caller's
        self._made: list[Any] = []  # those that take their places
        self._holders: list[Holder] = []

    def take(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Take the arguments of a call.

        Raises:
            InterchangeError: an array cannot be taken, or two are of different kinds.
        """
        self.args = [self._taken(value, place) for place, value in enumerate(args)]
        self.kwargs = {name: self._taken(value, name) for name, value in kwargs.items()}
        if self._numpys is not None and self.kind is not None and not self.kind.is_lazy:
            raise self._mixed(self._numpys, "a NumPy array")

    @property
    def is_lazy(self) -> bool:
        """Whether elements of the caller's arrays come later."""
        return self.kind is not None and self.kind.is_lazy

    def given_for(self, value: Any) -> Any:
        """The caller's own array for one that took its place; any other value itself."""
        return self._given.get(id(value), value)

    def run(self, function: Callable[..., Any]) -> Any:
        """The results of a function for these arguments, in the kind of the caller's arrays."""
        return self.given_back(self.run_plainly(function))

    def run_plainly(self, function: Callable[..., Any]) -> Any:
        """What a function returns for these arguments, as it is.

        Raises:
            InterchangeError: their elements come later.
        """
        if self.is_lazy:
            raise self._later()
        try:
            returned = function(*self.args, **self.kwargs)
        except BaseException as error:
            with suppress(InterchangeError):  # the function's own error is the one to tell
                self.settle()
            told = self.told_of(error) if isinstance(error, ASKING) else None
            if told is None:
                raise
            raise told from error  # which knows the line of the function
        self.settle()
        return returned

    def settle(self) -> None:
        """Change the caller's containers as the function has changed their copies.

        Raises:
            InterchangeError: a value has no place in the caller's kind; there it is NumPy's.
        """
        refused: list[InterchangeError] = []

        def given(value: Any) -> Any:
            try:
                return self.given_back(value)
            except InterchangeError as error:
                refused.append(error)
                return value

        for holder in self._holders:
            holder.settle(given)
        if refused:
            raise refused[0]

    # Arguments

    def _taken(self, value: Any, place: Any) -> Any:
        kind = kind_of(type(value))
        if kind is not None:
            return self._view(value, kind, place)
        if is_array(value):
            if value.ndim and self._numpys is None:
                self._numpys = place
        elif value is not None and type(place) is not Path and is_container(value):
            return self._apart(value, place)
        return value

    def _view(self, value: Any, kind: ArrayKind, place: Any) -> Any:
        found = self._views.get(id(value))
        if found is not None:
            return found
        try:
            found = once_each(kind.view(value))
        except NotTaken as why:
            raise self._refused(place, why) from None
        self.hold(value, found, kind, place)
        return found

    def hold(self, value: Any, view: Any, kind: ArrayKind, place: Any) -> None:
        """Let a view stand for an array of the caller's.

        Raises:
            InterchangeError: others are of another kind.
        """
        if self.like is None:
            self.like = value
        if kind.give is not None:
            if self.kind is None:
                self.kind, self._place, self.like = kind, place, value
            elif kind.label != self.kind.label:
                raise self._mixed(place, kind.label)
        self._views[id(value)] = view
        self._given[id(view)] = value

    def _apart(self, value: Any, place: Any) -> Any:
        """A container; a copy, if there are arrays of other libraries in it."""
        try:
            leaves, tree = flatten(value, self._path(place), seen=self._seen)
        except ArgumentError:  # too large, or it holds itself: who takes the call refuses it
            forget(self._seen, len(self._made))
            return value
        views = [self._taken(leaf, Path(path)) for path, leaf in leaves]
        begun = len(self._made)
        if all(view is leaf for view, (_, leaf) in zip(views, leaves, strict=True)):
            self._made += [*self._seen.values()][begun:]
            return value
        assert tree is not None
        found = tree.built(iter(views), self._made)
        pairs = zip([*self._seen.values()][begun:], self._made[begun:], strict=True)
        self._holders += [Holder.of(original, made) for original, made in pairs]
        return found

    # Results

    def given_back(self, value: Any) -> Any:
        """A result in the kind of the caller's arrays."""
        found = self._given.get(id(value))
        if found is not None:
            return found
        if isinstance(value, np.ndarray | np.generic) or is_cupy(value):
            return self._give(value)
        if value is None or not is_container(value):
            return value
        seen = {id(made): made for made in self._made}
        leaves, tree = flatten(value, "the result", CONSTANTS, seen=seen)
        given = [self.given_back(leaf) for _, leaf in leaves]
        if not self._made and all(a is b for a, (_, b) in zip(given, leaves, strict=True)):
            return value
        return packed(tree, given, [*self._seen.values()])

    def _give(self, value: Any) -> Any:
        if self.kind is None or self.kind.give is None:
            return value
        array = value if is_cupy(value) else np.asarray(value)
        try:  # who else has a result is not known here
            made = self.kind.give(array.copy() if self.kind.is_immutable else array, self.like)
        except NotTaken as why:
            told = f"{self.names.name}: the result: expected one for {self.kind.label}, found "
            do = why.do.replace("{x}", self._path(self._place))
            raise InterchangeError(f"{told}{why.found}; pass {do}") from None
        self._given[id(value)] = made  # where it stands again, it is the same
        self._kept.append(value)
        return made

    # Errors

    def _path(self, place: Any) -> str:
        return self.names.place(place) if type(place) is int else str(place)

    def _refused(self, place: Any, why: NotTaken) -> InterchangeError:
        path = self._path(place)
        return InterchangeError(
            f"{self.names.name}: argument {path}: expected an array whose elements lie in memory "
            f"as NumPy's do, found {why.found}; pass {why.do.replace('{x}', path)}"
        )

    def _later(self) -> InterchangeError:
        path = self._path(self._place)
        return InterchangeError(
            f"{self.names.name}: argument {path}: expected an array whose elements are there, "
            f"found {called(type(self.like))}; pass {path}.compute(), or call a function of "
            "ow.fuse, which runs by blocks"
        )

    def _mixed(self, place: Any, found: str) -> InterchangeError:
        assert self.kind is not None
        path, first = self._path(place), self._path(self._place)
        do = self.kind.convert.replace("{x}", path)
        return InterchangeError(
            f"{self.names.name}: argument {path}: expected {self.kind.label} as argument {first} "
            f"is, found {found}; pass {do}, since results are of the arguments' kind"
        )

    def told_of(self, error: Exception) -> OpweaveError | None:
        """What to raise for an error of a function; None if it does not mistake its arguments."""
        return told_of(self.names.name, error, type(self.like), self._read_only)

    def _read_only(self) -> list[str]:
        """Kinds of arrays that nobody can write to, as their libraries call them."""
        held = [(self._given[id(view)], view) for view in self._views.values()]
        return [
            called(type(value))
            for value, view in held
            if isinstance(view, np.ndarray) and not view.flags.writeable
        ]
