"""What a refused trace says: whether other numbers may lead elsewhere, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from opweave.compiler.traced.lengths import Reached
from opweave.compiler.traced.tracer import Tracer
from opweave.opcodes.errors import OpweaveError, ShapeError

T = TypeVar("T")


@contextmanager
def telling(tracer: Tracer) -> Iterator[None]:
    """A refusal says whether other numbers and extents may lead elsewhere."""
    before = ShapeError.made
    try:
        yield
    except OpweaveError as error:
        builder = tracer.builder
        is_fixed = any(isinstance(builder.find(symbol), int) for symbol in builder.parent)
        has_caught = ShapeError.made != before
        error.asks = bool(tracer.static or builder.conditions or is_fixed or has_caught)
        error.reached = Reached.of(builder)
        raise


def again(traced: Callable[[bool], T], first: OpweaveError) -> T:
    """A second run, with the arrays that the function makes; of two refusals the truer one.

    A loop that is too long is one, whatever the first run met in it.
    """
    try:
        return traced(True)
    except OpweaveError as longer:
        raise (first if longer.mean_seconds is None else longer) from None
