"""``ow.repeat``: a step run many times, its results the next one's arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from opweave._functions.fused import Fused
from opweave._functions.named import by_name
from opweave._functions.ready import Ready
from opweave._interchange.exchange import run_exchanged
from opweave._interchange.kinds import hold_foreign
from opweave._programs.program import Program
from opweave._repeats.counting import counting_of
from opweave._rounds.carried import Carried, begun, is_leaf
from opweave._rounds.counting import Counting
from opweave._rounds.looping import Repetition
from opweave._rounds.rounds import CountedRounds
from opweave._tracebacks import fold, folded
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.names import function_name
from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.compiler.ir.values import Value
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Specialised
from opweave.configuration import config
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError
from opweave.opcodes.structural import refuse_inside

MOST = 1 << 63  # of a C loop
MOST_PLANS = 64  # of prepared calls that are kept


class NumbersCarried(Exception):
    """A step returns numbers: those of each round differ.

    Attributes:
        places: of the results that have no dimensions.
    """

    def __init__(self, places: Sequence[int]):
        super().__init__(places)
        self.places = places


def repeat(
    fn: Callable[..., Any],
    n: int,
    *,
    counter: str | None = None,
    until: Callable[..., Any] | None = None,
    every: int = 1,
    return_rounds: bool = False,
    fast: bool = False,
) -> Repeated:
    """A function that runs a step ``n`` times without coming back to Python in between.

    ``repeat(step, 3)(x, w)`` is ``step(step(step(x, w), w), w)``: the results of the step, arrays
    and numbers, take the place of its first arguments; the others stay.  With a counter and a
    condition ``repeat(step, n, counter="i", until=is_enough)(x, w)`` is::

        for i in range(n):
            x = step(x, w, i)
            if is_enough(x):
                break

    Where a whole step is one kernel of elements, of rows, or of a product of the state with what
    stays (``x @ w``) whose rows a block holds, the loop is the kernel's own, for up to 4096 steps
    a launch: the state stays in registers, or in memory that only its block reads and writes.
    The rest of the loop is C's on the host, over two arrays that take turns, with the products of
    NumPy's BLAS (called by C, too), and on a GPU CUDA
    graphs of many steps each.  A step with a counter, or that returns numbers, is compiled once
    for all of them, and launched once a round.

    Args:
        fn: a function of arrays and numbers, which could be fused.
        n: how often, at least 0; with ``until``, at most.
        counter: the parameter of the step that gets the round's number, 0 to ``n - 1``.  Callers
            leave it out.  An array that is read by it (``f[i]``) is read where it lies.
        until: a function of the state that says whether it is enough, asked behind a round; it is
            compiled with the step where that is possible.
        every: how many rounds there are from question to question.
        return_rounds: whether the number of rounds is one more result.
        fast: relaxed arithmetic, as of ``fuse``.

    Raises:
        ArgumentError: no function, no whole number, or no such parameter; when it is called, a
            result that does not fit the argument that it would become, or ``until`` gives no bool.
    """
    if not callable(fn):
        raise ArgumentError(f"repeat: expected a function, found {type(fn).__name__}")
    if isinstance(n, bool) or not hasattr(n, "__index__") or not 0 <= operator.index(n) < MOST:
        raise ArgumentError(f"repeat: n={shown(n)}: expected a whole number, 0 or more")
    check_flag(fast, "fast")
    options = fn.options if isinstance(fn, Fused) else Options()
    static = fn.static if isinstance(fn, Fused) else ()
    wrapped = fn.given if isinstance(fn, Fused) else fn
    options = replace(
        options, fast=fast or options.fast, fullgraph=True, repeated=True, writes=False
    )
    step = Fused(wrapped, static, options)
    counting = counting_of(step, counter, until, every, return_rounds)
    return Repeated(step, operator.index(n), counting)


class Repeated:
    """What ``repeat`` returns; call it with the arguments of the step, by position."""

    def __init__(self, step: Fused, n: int, counting: Counting = Counting()):
        self.n, self.counting = n, counting
        self.name = function_name(step.__wrapped__)
        self.__opweave_function__ = step.__wrapped__
        self.__module__ = step.__module__
        self.__qualname__ = getattr(step, "__qualname__", "")
        self.given = step.given
        self._repetitions: dict[int, Repetition] = {}
        self._rounds: CountedRounds | None = None
        self._step = Fused(step.given, step.static, step.options, check_arrays)
        if step.options.counted or not counting.is_plain:
            self._count(counting.counter)

    def _count(self, *numbers: str | None) -> CountedRounds:
        """From now on run round by round, by a step that is compiled for numbers that differ."""
        step, names = self.step, dict.fromkeys([*self.step.options.counted, *numbers])
        options = replace(step.options, counted=tuple(n for n in names if n is not None))
        step = Fused(step.given, step.static, options)
        self._rounds = rounds = CountedRounds(step, self.n, self.counting)
        return rounds

    @property
    def step(self) -> Fused:
        """The step, compiled for the rounds."""
        return self._step if self._rounds is None else cast("Fused", self._rounds.step)

    def __reduce__(self) -> Any:
        """Pickled by name, where it has one, as functions are."""
        rest = self.step, self.n, self.counting
        return self.__qualname__ if by_name(self) is self else (type(self), rest)

    def __repr__(self) -> str:
        most = "" if self.counting.until is None else "up to "
        return f"<{self.name} repeated {most}{self.n} times>"

    def __call__(self, *args: Any) -> Any:
        """The state after ``n`` steps, in new arrays.

        Raises:
            ArgumentError: a result does not fit the argument that it would become.
            OpweaveError: the step cannot be compiled; see ``fuse(fullgraph=True)``.
        """
        try:
            if any(map(is_traced, args)):
                refuse_inside(self.name, self.step.options.structure)
                return self.__opweave_with__(self.__opweave_function__)(*args)
            if hold_foreign(args):
                return run_exchanged(self, self.step.signature, args, {}, None)
            if config.device == "cuda" and any(is_array(a) and not is_cupy(a) for a in args):
                return self._through_gpu(args)
            if (rounds := self._rounds) is None:
                try:
                    return self.counting.returned(self._looped(args), self.n)
                except NumbersCarried as found:
                    names = [name for name, _ in self.step.parameters]
                    rounds = self._count(*(names[n] for n in found.places if n < len(names)))
            return rounds(args)
        except Exception as error:
            fold(error)
            raise

    @folded
    def lower(
        self, *args: Any, target: str | Device | None = None, **kwargs: Any
    ) -> Program:  # fmt: skip
        """The kernels of one step, with their loop, if they have one; see ``Fused.lower``.

        A call of the program is one step, with the counter among its arguments.  On the host
        kernels hold up to 64 steps of it, 16 with numbers that differ.
        """
        by_place, by_name = self.counting.given(args, 0)
        program: Program = self.step.lower(*by_place, target=target, **{**kwargs, **by_name})
        return program

    def _looped(self, args: tuple[Any, ...]) -> Any:
        """The state after the steps of a loop of arrays alone.

        Raises:
            NumbersCarried: the step returns numbers, too.
        """
        ready, values = self.step.bound(args)
        plan = self._repetition(ready, args, values)
        start = tuple(map(begun, args[: plan.count]))
        if any(a is not b for a, b in zip(start, args, strict=False)):  # lies otherwise
            args = (*start, *args[plan.count :])
            ready, values = self.step.bound(args)
            plan = self._repetition(ready, args, values)
        if self.n == 0:
            state = [array.copy() for array in start]
        elif plan.segments and config.errors == "ignore":
            state = plan(ready.given(values), ready.numbers(values))
        else:
            state = self._step_by_step(args, ready)
        return state[0] if is_leaf(ready.structure) else tuple(state)

    def _repetition(self, ready: Ready, args: Sequence[Any], values: Sequence[Any]) -> Repetition:
        found = self._repetitions.get(id(ready))
        if found is None or found.ready is not ready:
            if len(self._repetitions) >= MOST_PLANS:
                self._repetitions.clear()
            like = ready.given(values)
            count = Carried.of(self.step, None, ready, args).count
            found = Repetition(ready, count, like, self.step.options, self.n)
            self._repetitions[id(ready)] = found
        return found

    def _step_by_step(self, args: tuple[Any, ...], ready: Ready) -> list[Any]:
        """Run step by step, where a step returns an argument or a view, which no kernel writes."""
        found: list[Any] = []
        for _ in range(self.n):
            made = self.step(*args)
            found = [made] if is_leaf(ready.structure) else list(made)
            # NumPy's scalars become arrays again: else a step would be traced for each value
            state = [np.asarray(a) if isinstance(a, np.generic) else a for a in found]
            args = (*state, *args[len(state) :])
        return [array.copy() for array in found]

    def __opweave_with__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function inside another fused one: each step is code of its own, as in a loop."""
        return self.counting.inside(function, self.n)

    def _through_gpu(self, args: Sequence[Any]) -> Any:
        """NumPy arrays on a GPU, because the user asked for it: copied there and back once."""
        from opweave.runtime.cuda import executor as cuda

        found = self(*map(cuda.copied_in, args))
        return (
            tuple(map(cuda.copied_out, found))
            if isinstance(found, tuple)
            else cuda.copied_out(found)
        )


def check_arrays(found: Specialised) -> None:
    """Refuse a step that returns numbers, before it is compiled.

    Raises:
        NumbersCarried: it does.
    """
    outputs = enumerate(found.variant.trace.graph.outputs)
    if places := [n for n, o in outputs if not isinstance(o, Value) or not o.shape]:
        raise NumbersCarried(places)
