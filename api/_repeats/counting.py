"""How the rounds of ``ow.repeat`` are counted and ended, as a user asks for it."""

from __future__ import annotations

import inspect
import operator
from typing import Any

from opweave._functions.fused import Fused
from opweave._functions.parameters import VARIADIC
from opweave._rounds.counting import Counting
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError

__all__ = ["Counting", "counting_of"]  # pickles of earlier versions have the class from here


def counting_of(step: Fused, counter: Any, until: Any, every: Any, return_rounds: Any) -> Counting:
    """How the rounds of a step are counted, as a user has asked for.

    Raises:
        ArgumentError: names the option that cannot be.
    """
    check_flag(return_rounds, "return_rounds")
    if until is not None and not callable(until):
        raise ArgumentError(f"repeat: until={shown(until)}: expected a function of the state")
    if isinstance(every, bool) or not hasattr(every, "__index__") or operator.index(every) < 1:
        raise ArgumentError(f"repeat: every={shown(every)}: expected a whole number, 1 or more")
    if until is None and operator.index(every) != 1:
        raise ArgumentError(f"repeat: every={shown(every)} says how often until= is asked")
    asked = until if until is None or isinstance(until, Fused) else Fused(until)
    place = -1 if counter is None else _place(step, counter)
    return Counting(counter, place, asked, operator.index(every), return_rounds)


def _place(step: Fused, counter: Any) -> int:
    """The position of a counter among the parameters; -1 where it is given by name alone.

    Raises:
        ArgumentError: the step has no such parameter, or one that cannot count.
    """
    parameters = step.signature.parameters
    kinds = {p.name: p.kind for p in parameters if p.kind not in VARIADIC}
    if not isinstance(counter, str) or counter not in kinds:
        takes = ", ".join(p.name for p in parameters) or "none"
        raise ArgumentError(
            f"repeat: counter={shown(counter)}: {step.signature.name} has no such parameter; it "
            f"takes {takes}"
        )
    if counter in step.static:
        raise ArgumentError(
            f"repeat: counter={shown(counter)} is static: each round would be compiled for itself"
        )
    if kinds[counter] is inspect.Parameter.KEYWORD_ONLY:
        return -1
    return [p.name for p in parameters].index(counter)
