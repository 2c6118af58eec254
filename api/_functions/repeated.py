"""``ow.repeat``: a step run many times, its results the next one's arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave._functions.calls import Ready
from opweave._functions.fused import Fused
from opweave._functions.loops import Repetition
from opweave._functions.named import by_name
from opweave._interchange.exchange import run_exchanged
from opweave._interchange.kinds import hold_foreign
from opweave._programs.program import Program
from opweave._tracebacks import fold, folded
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.captures.structure import Leaf, Tree
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.names import function_name
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Value, extent_of
from opweave.compiler.pipeline.driver import Options
from opweave.configuration import config
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError
from opweave.opcodes.structural import refuse_inside
from opweave.runtime.calls.arrays import pointer

MOST = 1 << 63  # of a C loop
MOST_PLANS = 64  # of prepared calls that are kept


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
    options = replace(
        options, fast=fast or options.fast, fullgraph=True, repeated=True, writes=False
    )
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
        self._repetitions: dict[int, Repetition] = {}

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
                refuse_inside(self.name, self.step.options.structure)
                return self.__opweave_with__(self.__opweave_function__)(*args)
            if hold_foreign(args):
                return run_exchanged(self, self.step.signature, args, {}, None)
            if config.device == "cuda" and any(isinstance(a, np.ndarray) for a in args):
                return self._through_gpu(args)
            ready, values = self.step.bound(args)
            plan = self._repetition(ready, args, values)
            begun = tuple(map(_begun, args[: plan.count]))
            if any(a is not b for a, b in zip(begun, args, strict=False)):  # lies otherwise
                args = (*begun, *args[plan.count :])
                ready, values = self.step.bound(args)
                plan = self._repetition(ready, args, values)
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

    def _repetition(self, ready: Ready, args: Sequence[Any], values: Sequence[Any]) -> Repetition:
        found = self._repetitions.get(id(ready))
        if found is None or found.ready is not ready:
            if len(self._repetitions) >= MOST_PLANS:
                self._repetitions.clear()
            like = [values[i] for i in ready.arrays]
            found = Repetition(ready, self._state(ready, args), like, self.step.options, self.n)
            self._repetitions[id(ready)] = found
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
        outputs, structure = ready.prepared.graph.outputs, ready.structure
        if not _is_leaf(structure) and not _is_tuple(structure):
            raise ArgumentError(
                f"repeat: {self.name} returns neither an array nor a tuple of them"
            )
        if len(outputs) > len(args):
            raise ArgumentError(
                f"repeat: {self.name} has {len(outputs)} results and {len(args)} arguments"
            )
        for number, (output, given) in enumerate(zip(outputs, args, strict=False)):
            made = _shape_and_dtype(output, ready.prepared.extents)
            if is_array(given) and made == (given.shape, given.dtype):
                continue
            found = "a number" if made is None else f"{made[1]}{list(made[0])}"
            kind = f"{given.dtype}{list(given.shape)}" if is_array(given) else type(given).__name__
            raise ArgumentError(
                f"repeat: result {number} of {self.name} is {found}, and argument "
                f"{self._named(number)!r}, which it becomes, {kind}; return what the step begins "
                "with"
            )
        return len(outputs)

    def _named(self, number: int) -> str:
        """The parameter of an argument; the last may take many."""
        names = [name for name, _ in self.step.parameters]
        return names[min(number, len(names) - 1)]


def _shape_and_dtype(output: Any, extents: Mapping[str, int]) -> tuple[Any, Any] | None:
    """Shape and dtype of a result; None for a number."""
    if not isinstance(output, Value):
        return None
    return tuple(extent_of(e, extents) for e in output.shape), output.dtype.numpy


def _begun(array: Any) -> Any:
    """The state to begin with; a copy, where it does not lie as results of a step do."""
    return array if array.flags.c_contiguous and pointer(array) % 16 == 0 else array.copy()


def _is_leaf(structure: Any) -> bool:
    return structure is None or isinstance(structure, Leaf)


def _is_tuple(structure: Any) -> bool:
    plain = isinstance(structure, Tree) and structure.type is tuple
    return plain and all(map(_is_leaf, structure.children))
