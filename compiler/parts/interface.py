"""What arrays, and stand-ins for calls, need of the tracer of a function in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from opweave.compiler.arrays.interface import Alias, TracerLike
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Value
from opweave.opcodes.cached import cached_property

# What is static of an array, by its name and itself.
Describe = Callable[[str, Any], Any]
# Why a line is not compiled; what makes the error where that is all that it says.
Refusal = Exception | Callable[[], Exception]


class Given:
    """A value that is computed already.

    Attributes:
        name: an argument's, or "".
        type: what is static of the array; asked for when it is an argument of a segment.
        array: the array.
        found: what the user gets for it: the array, or a NumPy number.
    """

    def __init__(self, value: Value, name: str, array: Any, found: Any, describe: Describe):
        self.value, self.name, self.array, self.found = value, name, array, found
        self._describe = describe

    @cached_property
    def type(self) -> Any:
        return self._describe(self.name, self.array)


class LazyTracerLike(TracerLike, Protocol):
    """A tracer that runs what it has noted as soon as a value is needed.

    Attributes:
        name: of the function.
        env: numbers by name.
        given: values that are computed already, by their ids.
        aliases: what each value is a view of to NumPy.
        hidden: views that stand for a dimension which a vector lost, or for an element.
        unboxed: values of which NumPy has a number.
        asking: NumPy's own functions that take an array and give back another.
        leaked: other code has an array itself, and may write to it unnoticed.
    """

    name: str
    env: dict[str, Any]
    given: dict[int, Given]
    aliases: dict[int, tuple[Value, Alias]]
    hidden: set[int]
    unboxed: set[int]
    asking: int
    leaked: bool

    def viewed(self, array: Any, made: Any, key: Any) -> None:
        """Let a part of an array that is there be NumPy's own view."""

    def begin(self) -> None:
        """The arrays that were taken until now are the arguments; they stay."""

    def settle(self) -> None:
        """Compute values that nobody asked for, where computing them may raise."""

    def flush(self) -> tuple[bool, int]:
        """Compute all arrays that the function still holds."""

    def taken(self, item: Any, name: str = "") -> Any:
        """What the function sees of an array, of a number, or of anything else."""

    def broken(self, what: str) -> None:
        """Compute all arrays for a line that no kernel can hold, and note the line."""

    def eagerly(
        self, what: str, error: Refusal, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """Call a function with arrays."""

    def seen_of(self, result: Any) -> Any:
        """A result with every array in it taken."""

    def told(self, made: Any) -> Any:
        """The result of an operation; computed at once if ``is True`` may be asked of it."""

    def reshaped(self, array: Any) -> None:
        """An array that has another shape or type from now on."""

    def boxed(self, graph: FunctionGraph, ids: Mapping[int, int]) -> frozenset[int]:
        """Outputs of a segment that NumPy returns as arrays without dimensions."""


class LazySightLike(Protocol):
    """What a function in parts sees of what is no array.

    Attributes:
        copy_of: of containers, by the identities of the originals.
        meant: stand-ins, and the values that they stand for.
        scopes: the globals of the user's functions, by those of their copies.
    """

    tracer: LazyTracerLike
    copy_of: dict[int, Any]
    meant: dict[int, Any]
    scopes: dict[int, dict[str, Any]]

    @property
    def functions(self) -> dict[int, Any]:
        """The user's functions, by the identities of their copies."""

    def real(self, item: Any) -> Any:
        """What the caller gets in the place of a value that the function sees."""

    def plain(self, value: Any) -> Any:
        """What the function sees of a module or an object."""

    def settled(self, value: Any) -> Any:
        """What the user's own code is given."""

    def crossed(self, is_outside: bool) -> None:
        """Tell each side, the function and code of others, what the other side has changed."""
