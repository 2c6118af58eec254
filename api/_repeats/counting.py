"""What the rounds of a loop are given besides their state, and what ends it before its time."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave._functions.fused import Fused
from opweave._functions.parameters import VARIADIC
from opweave._repeats.carried import is_leaf
from opweave.compiler.captures.structure import Tree
from opweave.compiler.ir.names import function_name
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.pipeline.specialise import Specialised
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError


@dataclass(frozen=True)
class Counting:
    """How the rounds of a loop are counted and ended; see ``repeat``.

    Attributes:
        counter: the parameter that gets a round's number.
        place: its position; -1 where it is given by name alone.
        until: what is asked behind rounds, and how many there are from question to question.
        returns_rounds: whether the number of rounds is a result.
    """

    counter: str | None = None
    place: int = -1
    until: Fused | None = None
    every: int = 1
    returns_rounds: bool = False

    @property
    def is_plain(self) -> bool:
        """Nothing but the state differs from round to round, and all rounds are run."""
        return self.counter is None and self.until is None

    def given(
        self, args: tuple[Any, ...], number: int
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """The arguments of a round, by position and by name."""
        if self.counter is None:
            return args, {}
        if 0 <= self.place <= len(args):
            return (*args[: self.place], number, *args[self.place :]), {}
        return args, {self.counter: number}

    def asking(self, step: Fused, check: Callable[[Specialised], None]) -> Fused | None:
        """A step that returns its results and whether they are enough; None if nobody asks.

        ``check`` is that of ``Fused``.
        """
        if (until := self.until) is None:
            return None

        def asked(*args: Any, **kwargs: Any) -> Any:
            found = step(*args, **kwargs)
            return found, until(*(found if isinstance(found, tuple) else (found,)))

        made: Any = asked
        made.__name__ = made.__qualname__ = step.signature.name
        made.__module__, made.__signature__ = step.__module__, step.signature.signature
        return Fused(made, step.static, step.options, check)

    def is_enough(self, found: Any) -> bool:
        """The answer of what is asked.

        Raises:
            ArgumentError: it is no bool.
        """
        kind = getattr(found, "dtype", None)
        if isinstance(found, bool) or (kind == np.bool_ and not found.shape):
            return bool(found)
        made = f"{kind}{list(found.shape)}" if is_array(found) else type(found).__name__
        raise self._no_answer(made)

    def is_over(self, state: tuple[Any, ...]) -> bool:
        """Whether a state is enough, as Python asks it."""
        assert self.until is not None
        return self.is_enough(self.until(*state))

    def check_answer(self, structure: Any) -> None:
        """Refuse an answer that is no leaf, given how what ``asking`` made packs its results.

        Raises:
            ArgumentError: it is a container, a text or nothing.
        """
        answer = structure.children[1]
        if not is_leaf(answer):
            kind = answer.type if isinstance(answer, Tree) else type(answer.value)
            raise self._no_answer(kind.__name__)

    def _no_answer(self, made: str) -> ArgumentError:
        assert self.until is not None
        return ArgumentError(
            f"repeat: until={function_name(self.until.__wrapped__)} returns {made}; expected one "
            "bool, as a comparison of numbers or np.all(...) gives"
        )

    def returned(self, state: Any, rounds: int) -> Any:
        """What a caller gets, of what the step returned last."""
        if not self.returns_rounds:
            return state
        return (*state, rounds) if isinstance(state, tuple) else (state, rounds)

    def inside(self, function: Callable[..., Any], n: int) -> Callable[..., Any]:
        """The loop inside a function that is traced: each round is code of its own."""

        def repeated(*args: Any) -> Any:
            found, rounds = args[0], 0
            while rounds < n:
                by_place, by_name = self.given(args, rounds)
                found = function(*by_place, **by_name)
                state = found if isinstance(found, tuple) else (found,)
                args, rounds = (*state, *args[len(state) :]), rounds + 1
                if self.until is not None and not rounds % self.every and self.is_over(state):
                    break
            return self.returned(found, rounds)

        return repeated


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
