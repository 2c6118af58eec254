"""What a prepared call makes and returns, and which of it are one array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opweave.compiler.ir.expr import Expr
from opweave.opcodes.cached import cached_property
from opweave.runtime.calls.views import ViewRecipe

# What NumPy returns besides numbers of its own: an array, or Python's bool.
BOXED, TRUTH = "boxed", "truth"


@dataclass(frozen=True)
class Returned:
    """What becomes of an output.

    Attributes:
        array: of the call, in which it lies; -1 for a number.
        view: of that array; None for all of it.
        is_array: it has dimensions.
        kind: what NumPy returns of one that has none, see ``kinds_of``.
        number: how it follows from extents and numbers.
    """

    array: int
    view: ViewRecipe | None
    is_array: bool
    kind: str | None = None
    number: Expr | None = None

    @cached_property
    def seen(self) -> Callable[[Any], Any] | None:
        """What makes the view of that array; None for all of it."""
        return None if self.view is None else self.view.viewing()


def begun(make: Callable[[], Any]) -> Callable[[], Any]:
    """The same function of arrays, which begin as zeros."""

    def zeros() -> Any:
        made = make()
        made[...] = 0
        return made

    return zeros
