"""Which arguments of a step its results take the place of, and whether they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from opweave.compiler.captures.structure import Leaf, Tree
from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.compiler.ir.values import Value, extent_of
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Specialised
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.prepared import Prepared


class ReadyLike(Protocol):
    """A prepared call; see ``api/_functions/ready.py``."""

    @property
    def prepared(self) -> Prepared: ...
    @property
    def found(self) -> Specialised: ...
    @property
    def arrays(self) -> list[int]: ...
    @property
    def scalars(self) -> list[int]: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def asks(self) -> bool: ...
    @property
    def structure(self) -> Any: ...
    def given(self, values: Sequence[Any]) -> list[Any]: ...
    def numbers(self, values: Sequence[Any]) -> dict[str, Any]: ...
    def __call__(self, values: Sequence[Any], containers: Sequence[Any] = ()) -> Any: ...


class StepLike(Protocol):
    """A fused function that is run many times; see ``api/_functions/fused.py``."""

    given: Any
    static: tuple[str, ...]
    options: Options
    signature: Any
    __wrapped__: Any
    __module__: str

    def __init__(self, fn: Any, static: Any, options: Any, check: Any = None): ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def parameters(self) -> list[tuple[str, Any]]: ...
    def bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any] = {}
    ) -> tuple[Any, Sequence[Any]]: ...
    def ready_for(self, call: Any) -> Any: ...
    def prepare(self, call: Any, or_parts: bool = False) -> Any: ...


@dataclass(frozen=True)
class Carried:
    """The results of a step as the first arguments of the next.

    Attributes:
        step: its name.
        names: the parameters that become results, in order.
        arrays: places of the results that are arrays; the others are numbers.
        is_tuple: the step returns a tuple.
    """

    step: str
    names: tuple[str, ...]
    arrays: tuple[int, ...]
    is_tuple: bool

    @property
    def count(self) -> int:
        """How many results there are."""
        return len(self.names)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The parameters that are numbers."""
        return tuple(n for place, n in enumerate(self.names) if place not in self.arrays)

    @classmethod
    def of(
        cls, step: StepLike, counter: str | None, ready: ReadyLike, args: Sequence[Any],
        asks: bool = False,
    ) -> Carried:  # fmt: skip
        """What a prepared call leaves to the next, given its arguments without the counter.

        Args:
            asks: the last result says whether it is enough, see ``Counting.asking``.

        Raises:
            ArgumentError: names the first result that does not fit.
        """
        name, structure = step.signature.name, ready.structure
        outputs = ready.prepared.graph.outputs
        if asks:
            assert isinstance(structure, Tree)
            structure, outputs = structure.children[0], outputs[:-1]
        if not is_leaf(structure) and not _is_tuple(structure):
            raise ArgumentError(f"repeat: {name} returns neither an array nor a tuple of them")
        if len(outputs) > len(args):
            raise ArgumentError(
                f"repeat: {name} has {len(outputs)} results and {len(args)} arguments"
            )
        parameters = [n for n, _ in step.parameters if n != counter]
        names = [parameters[min(n, len(parameters) - 1)] for n in range(len(outputs))]
        for number, (output, given) in enumerate(zip(outputs, args, strict=False)):
            if not _fits(output, given, ready.prepared.extents):
                extents = ready.prepared.extents
                raise _refused(name, number, names[number], output, given, extents)
        arrays = tuple(n for n, given in enumerate(args[: len(outputs)]) if is_array(given))
        return cls(name, tuple(names), arrays, not is_leaf(structure))

    def behind(self, args: Sequence[Any], made: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of the next round, given those of this one and its results.

        Raises:
            ArgumentError: a number has become one of another type.
        """
        state = [_like(new, old) for new, old in zip(made, args, strict=False)]
        for name, new, old in zip(self.names, state, args, strict=False):
            self.check_type(name, new, old)
        return (*state, *args[len(state) :])

    def check_type(self, name: str, new: Any, old: Any) -> None:
        """Refuse a number that has another type than the one whose place it takes.

        Raises:
            ArgumentError: names both.
        """
        if type(new) is not type(old) and not is_array(old):
            raise ArgumentError(
                f"repeat: {self.step} returns {_kind(new)} for argument {name!r}, which was "
                f"{_kind(old)}; begin with {_kind(new)}"
            )


def begun(given: Any) -> Any:
    """An argument to begin with; a copy of an array that lies otherwise than results of a step."""
    if not is_array(given):
        return given
    return given if given.flags.c_contiguous and pointer(given) % 16 == 0 else given.copy()


def is_leaf(structure: Any) -> bool:
    """Whether a function returns no container."""
    return structure is None or isinstance(structure, Leaf)


def _is_tuple(structure: Any) -> bool:
    plain = isinstance(structure, Tree) and structure.type is tuple
    return plain and all(map(is_leaf, structure.children))


def _fits(output: Any, given: Any, extents: Mapping[str, int]) -> bool:
    """Whether a result may take the place of an argument; types of numbers are known later."""
    if not isinstance(output, Value):
        return not is_array(given)
    made = _shape_and_dtype(output, extents)
    kind = is_array(given) or isinstance(given, np.generic)
    return kind and made == (given.shape, given.dtype)


def _shape_and_dtype(output: Value, extents: Mapping[str, int]) -> tuple[Any, Any]:
    return tuple(extent_of(e, extents) for e in output.shape), output.dtype.numpy


def _refused(
    step: str, number: int, name: str, output: Any, given: Any, extents: Mapping[str, int]
) -> ArgumentError:
    """The error of a result that does not fit."""
    found = "a number"
    if isinstance(output, Value):
        shape, dtype = _shape_and_dtype(output, extents)
        found = f"{dtype}{list(shape)}"
    kind = f"{given.dtype}{list(given.shape)}" if is_array(given) else type(given).__name__
    return ArgumentError(
        f"repeat: result {number} of {step} is {found}, and argument {name!r}, which it becomes, "
        f"{kind}; return what the step begins with"
    )


def _like(new: Any, old: Any) -> Any:
    """A result in the form of the argument whose place it takes: an array, or a number.

    NumPy's numbers become arrays again, where the argument was one: else a step would be traced
    for each value.
    """
    if is_array(old):
        return np.asarray(new) if isinstance(new, np.generic) else new
    if is_cupy(new):
        new = new.get()
    return new[()] if isinstance(new, np.ndarray) and not new.ndim else new


def _kind(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if is_array(value) else type(value).__name__
