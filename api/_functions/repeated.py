"""``ow.repeat``: a step run many times, its results the next one's arguments."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave._functions.calls import Ready
from opweave._functions.fused import Fused
from opweave._functions.named import by_name
from opweave._programs.program import Program
from opweave._tracebacks import fold, folded
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.codegen.repeats import written_out
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.names import function_name
from opweave.compiler.ir.values import TURNS, Value, extent_of
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Variant, lowered_for
from opweave.compiler.scheduling.profit import LONGEST
from opweave.compiler.tracing.structure import Leaf, Tree
from opweave.configuration import config
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.arrays import is_array, pointer
from opweave.runtime.calls.prepared import Prepared

# The most steps that are written out in one kernel, and the most operations (``Cost.slots``) of
# these.  By then nearly all memory traffic is saved, and the kernel compiles in half a second.
MOST_WRITTEN = 64
WRITTEN = ("map", "pixel")  # forms of kernels of elements
LONGEST_WRITTEN = LONGEST // 4
# Steps of a kernel's own loop, at most, and those of a block times its elements: by then a launch
# costs next to nothing, and the host can still be interrupted between two blocks.
MOST_TURNED = 1 << 12
LONGEST_TURNED = 1 << 22
MOST = 1 << 63  # turns of a C loop
MOST_PLANS = 64  # plans that are kept


def repeat(fn: Callable[..., Any], n: int, *, fast: bool = False) -> Repeated:
    """A function that runs a step ``n`` times without coming back to Python in between.

    ``repeat(step, 3)(x, w)`` is ``step(step(step(x, w), w), w)``: the results of the step, one
    array or a tuple, take the place of its first arguments; the others stay.

    Where a whole step is one kernel of elements, of rows, or of a product of the state with what
    stays (``x @ w``) whose rows a block holds, the loop is the kernel's own, for up to 4096 steps
    a launch: the state stays in registers, or in memory that only its block reads and writes.
    The rest of the loop is C's on the host, over two arrays that take turns, with the products of
    NumPy's BLAS (vectors and batches of matrices are asked of NumPy in Python), and on a GPU CUDA
    graphs of many steps each.

    Args:
        fn: a function of arrays and numbers, which could be fused.
        n: how often, at least 0.
        fast: relaxed arithmetic, as of ``fuse``.

    Raises:
        ArgumentError: no function, or no whole number; when it is called, a result that does not
            fit the argument that it would become.
    """
    if not callable(fn):
        raise ArgumentError(f"repeat: expected a function, found {type(fn).__name__}")
    if isinstance(n, bool) or not hasattr(n, "__index__") or not 0 <= operator.index(n) < MOST:
        raise ArgumentError(f"repeat: n={shown(n)}: expected a whole number, 0 or more")
    check_flag(fast, "fast")
    options = fn.options if isinstance(fn, Fused) else Options()
    static = fn.static if isinstance(fn, Fused) else ()
    wrapped = fn.given if isinstance(fn, Fused) else fn
    options = replace(options, fast=fast or options.fast, fullgraph=True, repeated=True)
    return Repeated(Fused(wrapped, static, options), operator.index(n))


class Repeated:
    """What ``repeat`` returns; call it with the arguments of the step, by position."""

    def __init__(self, step: Fused, n: int):
        self.n = n
        self.name = function_name(step.__wrapped__)
        self.step = step
        self.__opweave_function__ = step.__wrapped__
        self.__module__ = step.__module__
        self.__qualname__ = getattr(step, "__qualname__", "")
        self.given = step.given
        self._plans: dict[int, _Plan] = {}

    def __reduce__(self) -> Any:
        """Pickled by name, where it has one, as functions are."""
        return self.__qualname__ if by_name(self) is self else (type(self), (self.step, self.n))

    def __repr__(self) -> str:
        return f"<{self.name} repeated {self.n} times>"

    def __call__(self, *args: Any) -> Any:
        """The state after ``n`` steps, in new arrays.

        Raises:
            ArgumentError: a result does not fit the argument that it would become.
            OpweaveError: the step cannot be compiled; see ``fuse(fullgraph=True)``.
        """
        try:
            if any(map(is_traced, args)):
                return self.__opweave_with__(self.__opweave_function__)(*args)
            if config.device == "cuda" and any(isinstance(a, np.ndarray) for a in args):
                return self._through_gpu(args)
            ready, values = self.step.bound(args)
            plan = self._plan(ready, args, values)
            begun = tuple(map(_begun, args[: plan.count]))
            if any(a is not b for a, b in zip(begun, args, strict=False)):  # lies otherwise
                args = (*begun, *args[plan.count :])
                ready, values = self.step.bound(args)
                plan = self._plan(ready, args, values)
            if self.n == 0:
                state = [array.copy() for array in begun]
            elif plan.segments and config.errors == "ignore":
                state = plan([values[i] for i in ready.arrays], ready.numbers(values))
            else:
                state = self._step_by_step(args, ready)
            return state[0] if _is_leaf(ready.structure) else tuple(state)
        except Exception as error:
            fold(error)
            raise

    @folded
    def lower(
        self, *args: Any, target: str | Device | None = None, **kwargs: Any
    ) -> Program:  # fmt: skip
        """The kernels of one step, with their loop, if they have one; see ``Fused.lower``.

        A call of the program is one step.  On the host kernels hold up to 64 steps of it.
        """
        return self.step.lower(*args, target=target, **kwargs)

    def _plan(self, ready: Ready, args: Sequence[Any], values: Sequence[Any]) -> _Plan:
        found = self._plans.get(id(ready))
        if found is None or found.ready is not ready:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            like = [values[i] for i in ready.arrays]
            found = _Plan(ready, self._state(ready, args), like, self.step.options, self.n)
            self._plans[id(ready)] = found
        return found

    def _step_by_step(self, args: tuple[Any, ...], ready: Ready) -> list[Any]:
        """Run step by step, where a step returns an argument or a view, which no kernel writes."""
        found: list[Any] = []
        for _ in range(self.n):
            made = self.step(*args)
            found = [made] if _is_leaf(ready.structure) else list(made)
            # NumPy's scalars become arrays again: else a step would be traced for each value
            state = [np.asarray(a) if isinstance(a, np.generic) else a for a in found]
            args = (*state, *args[len(state) :])
        return [array.copy() for array in found]

    def __opweave_with__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function inside another fused one: each step is code of its own, as in a loop."""

        def repeated(*args: Any) -> Any:
            found: Any = args[0]
            for _ in range(self.n):
                found = function(*args)
                state = found if isinstance(found, tuple) else (found,)
                args = (*state, *args[len(state) :])
            return found

        return repeated

    def _through_gpu(self, args: Sequence[Any]) -> Any:
        """NumPy arrays on a GPU, because the user asked for it: copied there and back once."""
        from opweave.runtime.cuda import executor as cuda

        found = self(*map(cuda.copied_in, args))
        return (
            tuple(map(cuda.copied_out, found))
            if isinstance(found, tuple)
            else cuda.copied_out(found)
        )

    def _state(self, ready: Ready, args: Sequence[Any]) -> int:
        """The number of arguments that results take the place of.

        Raises:
            ArgumentError: names the first that does not fit.
        """
        prepared = ready.prepared
        outputs = prepared.graph.outputs
        structure = ready.structure
        if not _is_leaf(structure) and not _is_tuple(structure):
            raise ArgumentError(
                f"repeat: {self.name} returns neither an array nor a tuple of them"
            )
        if len(outputs) > len(args):
            raise ArgumentError(
                f"repeat: {self.name} has {len(outputs)} results and {len(args)} arguments"
            )
        names = [name for name, _ in self.step.parameters]
        for number, (output, given) in enumerate(zip(outputs, args, strict=False)):
            name = names[min(number, len(names) - 1)]
            found = "a number"
            if isinstance(output, Value):
                shape = tuple(extent_of(e, prepared.extents) for e in output.shape)
                found = f"{output.dtype.numpy}{list(shape)}"
                fits = is_array(given) and (given.shape, given.dtype) == (
                    shape,
                    output.dtype.numpy,
                )
                if fits:
                    continue
            kind = f"{given.dtype}{list(given.shape)}" if is_array(given) else type(given).__name__
            raise ArgumentError(
                f"repeat: result {number} of {self.name} is {found}, and argument {name!r}, which "
                f"it becomes, {kind}; return what the step begins with"
            )
        return len(outputs)


class _Plan:
    """How a number of steps of one prepared call runs.

    Attributes:
        ready: the call of one step.
        count: how many arguments the results take the place of.
        segments: calls to run one after the other, each with turns of its kernel and launches;
            none where a step cannot be looped.
    """

    def __init__(self, ready: Ready, count: int, like: Sequence[Any], options: Options, n: int):
        """``like``: arrays that lie as those of the calls."""
        self.ready, self.count, self.options = ready, count, options
        self.segments: list[tuple[Prepared, int, int]] = []
        if n and ready.prepared.loop() is not None:
            most, prepared = self._together(min(n, MOST_WRITTEN), like)
            self._add(prepared, most, n // most)
            if n % most:
                rest = self._written(n % most, like)
                assert rest is not None  # fewer steps than were written out before
                self._add(rest, n % most, 1)

    def _add(self, prepared: Prepared, steps: int, times: int) -> None:
        """Add runs of ``prepared``, which takes so many steps at once."""
        turns = max(1, min(MOST_TURNED // steps, LONGEST_TURNED // _longest(prepared)))
        turns = turns if any(step.kernel.carried for step in prepared.steps) else 1
        launches = ((turns, times // turns), (times % turns, 1))
        self.segments += [(prepared, each, many) for each, many in launches if each and many]

    def __call__(self, arrays: Sequence[Any], numbers: Mapping[str, Any]) -> list[Any]:
        """The state after all steps, given the arguments; it must lie as results do."""
        for prepared, turns, launches in self.segments:
            given = {**numbers, TURNS: turns}
            loop = prepared.loop() if launches > 1 else None
            if loop is None:
                found = prepared(arrays, given)
            else:
                found = loop(arrays, {**prepared.extents, **given}, launches)
            arrays = [*found, *arrays[self.count :]]
        return list(arrays[: self.count])

    def _together(self, most: int, like: Sequence[Any]) -> tuple[int, Prepared]:
        """The most steps that one kernel can take and still compile in time; and that call."""
        one, lowered = self.ready.prepared, self.ready.found.lowered
        if len(lowered.kernels) != 1 or lowered.schedule.groups[0].form.kind not in WRITTEN:
            return 1, one
        if lowered.kernels[0].carried and not lowered.device.is_host:
            return 1, one  # its loop keeps the state in registers
        slots = sum(node.operator.cost.slots for node in lowered.graph.nodes)
        most = max(1, min(most, LONGEST_WRITTEN // max(1, slots)))
        made = self._written(most, like)
        fits = made is not None and len(made.steps) == 1 and made.loop() is not None
        return (most, made) if made is not None and fits else (1, one)

    def _written(self, steps: int, like: Sequence[Any]) -> Prepared | None:
        """So many steps as one call; None where they cannot be written as one."""
        found, one = self.ready.found, self.ready.prepared
        if steps == 1:
            return one
        graph = written_out(found.variant.graph, steps)
        if graph is None:
            return None
        variant = Variant(found.variant.trace, graph, found.variant.static)
        device = found.lowered.device
        lowered = lowered_for(variant, found.extents, found.spans, device, self.options)
        arrays = dict(zip(one.inputs, (*like, *one.constants), strict=True))
        return Prepared(lowered, one.executor, found.extents, arrays, one.constants)


def _longest(prepared: Prepared) -> int:
    """Elements that a block of a kernel takes, at most."""
    kernels, extents = [step.kernel for step in prepared.steps], prepared.extents
    return max(k.work(extents) // max(1, math.prod(k.grid(extents))) for k in kernels) or 1


def _begun(array: Any) -> Any:
    """The state to begin with; a copy, where it does not lie as results of a step do."""
    return array if array.flags.c_contiguous and pointer(array) % 16 == 0 else array.copy()


def _is_leaf(structure: Any) -> bool:
    return structure is None or isinstance(structure, Leaf)


def _is_tuple(structure: Any) -> bool:
    plain = isinstance(structure, Tree) and structure.type is tuple
    return plain and all(map(_is_leaf, structure.children))
