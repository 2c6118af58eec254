"""What the rounds of a loop are given besides their state, and what ends it before its time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave._rounds.carried import StepLike, is_leaf
from opweave.compiler.captures.structure import Tree
from opweave.compiler.ir.names import function_name
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.pipeline.specialise import Specialised
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
    until: StepLike | None = None
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

    def asking(self, step: StepLike, check: Callable[[Specialised], None]) -> StepLike | None:
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
        found: StepLike = type(step)(made, step.static, step.options, check)
        return found

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
