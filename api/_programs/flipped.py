"""A program with each toggle at another value: its kernels then, or why the value cannot hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.toggles.choose import rows_of
from opweave.compiler.toggles.facts import Toggle
from opweave.opcodes.errors import OpweaveError

# A toggle of so few values is shown at all of them, others at the next ones.
FEW = 4


@dataclass(frozen=True)
class Flip:
    """A toggle at another value than the compiler's.

    Attributes:
        name, value: of the toggle.
        lowered: the kernels of the function with it; None where it cannot hold.
        reason: why not.
    """

    name: str
    value: int
    lowered: Lowered | None
    reason: str = ""


def others(toggle: Toggle, chosen: int) -> list[int]:
    """Values of a toggle that are shown beside the chosen one.

    >>> from opweave.compiler.toggles.facts import power
    >>> others(power("LANES", "running values", lambda facts: 4), 4)
    [2, 8]
    """
    if len(toggle.values) <= FEW:
        return [v for v in toggle.values if v != chosen]
    below = [v for v in toggle.values if v < chosen][-1:]
    return below + [v for v in toggle.values if v > chosen][:1]


def switches(kernel: Kernel) -> Iterator[tuple[Toggle, int, list[int]]]:
    """The toggles of a kernel: each with its value, and others."""
    for toggle in rows_of(kernel.template, kernel.declared):
        chosen = kernel.toggles.get(toggle.name)
        if chosen is not None and (values := others(toggle, chosen)):
            yield toggle, chosen, values


def flips(program: Any, arguments: Sequence[Any]) -> dict[tuple[str, int], Flip]:
    """Every toggle of a program's kernels at other values, for the function as a whole."""
    asked = {
        (toggle.name, value): None
        for kernel in program.lowered.kernels
        for toggle, _, values in switches(kernel)
        for value in values
    }
    return {pair: _flipped(program, arguments, *pair) for pair in asked}


def _flipped(program: Any, arguments: Sequence[Any], name: str, value: int) -> Flip:
    device = program.lowered.device
    try:
        made = program.fused.with_toggles(**{name: value}).lower(*arguments, target=device)
    except OpweaveError as error:
        return Flip(name, value, None, str(error))
    return Flip(name, value, made.lowered)


def counterpart(flip: Flip, lowered: Lowered, number: int) -> tuple[Kernel, str] | str:
    """The kernel of that number with a toggle flipped and its source, or why there is none."""
    if flip.lowered is None:
        return flip.reason
    before, after = ([k.name for k in low.kernels] for low in (lowered, flip.lowered))
    if before != after:
        return f"the function has other kernels then: {', '.join(after)}"
    return flip.lowered.kernels[number], flip.lowered.sources[number]
