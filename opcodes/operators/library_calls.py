"""Calls of NumPy's library as operators: what no kernel computes, and NumPy does between kernels.

An operator is a function with the parameters that operands are for; a pickle names it by module
and name.  All else that a call says is an attribute of its node, so two calls that say the same
are one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from opweave.opcodes.cached import cached_property
from opweave.opcodes.core import Cost, Kind, Operator
from opweave.opcodes.dtypes import DType
from opweave.opcodes.operators.unnamed_calls import assigned, reduced_at

MOST_KEPT = 1024
# What a sort, a transform or a decomposition takes for an element, roughly; others pass it once.
COST, COSTS = Cost(flops=50), dict.fromkeys((assigned, reduced_at), Cost(flops=2))


@dataclass(frozen=True)
class LibraryArg:
    """What an operand is for.

    Attributes:
        parameter: of the function.
        is_item: it is an item of a sequence that the parameter takes.
        is_weak: it is a number of Python's.
    """

    parameter: str
    is_item: bool = False
    is_weak: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class LibraryCall(Operator):
    """A function of NumPy's library, for operands of some kinds.

    Attributes:
        called: the function itself.
        given: what each operand is for.
        by_position: parameters that go by position, in order.
        made: dtypes of the results.
        fills: how it computes into memory that is there, see ``runtime/calls/library.py``: with
            ``out=``, as a ``method`` of the result, or not at all.
    """

    called: Callable[..., Any]
    given: tuple[LibraryArg, ...]
    by_position: tuple[str, ...]
    made: tuple[DType, ...]
    fills: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "numpy", self.by_numpy)  # one for each call

    def check_list(self) -> None:
        """It has no op-codes, and its name never enters generated code."""

    def __reduce__(self) -> Any:
        """The function is pickled by its name, and one operator stands for all calls of a kind."""
        return library_call, (self.called, self.given, self.by_position, self.made, self.fills)

    @cached_property
    def is_plain(self) -> bool:
        """The operands are the first arguments, as they are."""
        return tuple(map(LibraryArg, self.by_position)) == self.given

    def arguments(
        self, operands: Sequence[Any], attrs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments of the call, by position and by name."""
        if self.is_plain:
            return operands, attrs
        named = dict(attrs)
        for given, operand in zip(self.given, operands, strict=True):
            item = operand.item() if given.is_weak else operand
            if given.is_item:
                named[given.parameter] = (*named.get(given.parameter, ()), item)
            else:
                named[given.parameter] = item
        return [named.pop(name) for name in self.by_position if name in named], named

    def tolerance(self, dtype: DType) -> tuple[float, float]:
        """How far a result may be from NumPy's: it has the same bits."""
        return 0.0, 0.0

    def by_numpy(self, *operands: Any, **attrs: Any) -> Any:
        """What the function gives: an array, or a tuple of them."""
        args, kwargs = self.arguments(operands, attrs)
        found = self.called(*args, **kwargs)
        return tuple(found) if isinstance(found, tuple | list) else found


def name_of(called: Callable[..., Any]) -> str:
    """A function as users write it: ``np.fft.rfft``; one of ours by its own name."""
    module, _, _ = called.__module__.partition(".")
    if module == "opweave":
        return called.__name__
    return f"{called.__module__}.{called.__name__}".replace("numpy", "np", 1)


@lru_cache(MOST_KEPT)
def library_call(
    called: Callable[..., Any],
    given: tuple[LibraryArg, ...],
    by_position: tuple[str, ...],
    made: tuple[DType, ...],
    fills: str = "",
) -> LibraryCall:
    """The operator of a function of NumPy's: the same one for the same arguments."""

    def types(operands: tuple[Any, ...], attrs: Any) -> tuple[tuple[Any, ...], tuple[DType, ...]]:
        return operands, made

    names = tuple(f"{g.parameter}{n if g.is_item else ''}" for n, g in enumerate(given))
    return LibraryCall(
        name=name_of(called), kind=Kind.LIBRARY, opcodes=(),
        numpy=tuple, type_rule=types, params=names, called=called,
        given=given, by_position=by_position, made=made, fills=fills, cost=COSTS.get(called, COST),
    )  # fmt: skip
