"""``ow.repeat``: a step run many times, its results the next one's arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.calls import Ready
from opweave.compiler.device import Device
from opweave.compiler.driver import Options
from opweave.compiler.fuse import LONGEST
from opweave.compiler.ir import TURNS, Value, extent_of
from opweave.compiler.names import function_name
from opweave.compiler.tree import Tree
from opweave.configuration import config
from opweave.fused import Fused
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError
from opweave.program import Program
from opweave.runtime.arrays import is_array, pointer

# Steps that are written out in one kernel, at most, and operations of them (``Cost.slots``): what
# they save in memory traffic is nearly all by then, and the kernel compiles in half a second.
MOST_WRITTEN = 64
LONGEST_WRITTEN = LONGEST // 4
# Steps of a kernel's own loop, at most: by then a launch costs next to nothing, and the host can
# still be interrupted.
MOST_TURNED = 1 << 12
MOST = 1 << 63  # of a C loop
MOST_PLANS = 64  # of prepared calls that are kept


def repeat(fn: Callable[..., Any], n: int, *, fast: bool = False) -> Repeated:
    """A function that runs a step ``n`` times without coming back to Python in between.

    ``repeat(step, 3)(x, w)`` is ``step(step(step(x, w), w), w)``: the results of the step, one
    array or a tuple, take the place of its first arguments; the others stay.

    Where a whole step is one kernel of elements, the loop is the kernel's own: the state stays in
    registers, for up to 4096 steps a launch.  The rest of the loop is C's on the host, over two
    arrays that take turns, with the products of NumPy's BLAS (vectors and batches of matrices are
    asked of NumPy in Python), and on a GPU CUDA graphs of many steps each.

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
    wrapped = fn.__wrapped__ if isinstance(fn, Fused) else fn
    options = replace(options, fast=fast or options.fast, fullgraph=True, repeated=True)
    return Repeated(Fused(wrapped, static, options), operator.index(n))


class Repeated:
    """What ``repeat`` returns; call it with the arguments of the step, by position."""

    def __init__(self, step: Fused, n: int):
        self.n = n
        self.name = function_name(step.__wrapped__)
        self.step = step
        self.__opweave_function__ = step.__wrapped__
        self._written: dict[Any, Fused] = {}
        self._plans: dict[int, tuple[Ready, int, int]] = {}

    def __repr__(self) -> str:
        return f"<{self.name} repeated {self.n} times>"

    def __call__(self, *args: Any) -> Any:
        """The state after ``n`` steps, in new arrays.

        Raises:
            ArgumentError: a result does not fit the argument that it would become.
            OpweaveError: the step cannot be compiled; see ``fuse(fullgraph=True)``.
        """
        if any(hasattr(a, "__opweave_apply__") for a in args):
            return self.__opweave_with__(self.__opweave_function__)(*args)
        if config.device == "cuda" and any(isinstance(a, np.ndarray) for a in args):
            return self._through_gpu(args)
        ready = self.step.prepared_for(args)
        count, steps = self._known(ready, args)
        single = ready.structure is None
        if self.n == 0:
            state = [array.copy() for array in args[:count]]
            return state[0] if single else tuple(state)
        state = [_begun(array) for array in args[:count]]
        for many, times in ((steps, self.n // steps), (self.n % steps, 1)):
            if many and times:
                fused = self._of(many, args, count, single)
                state = self._run(fused, (*state, *args[count:]), times, MOST_TURNED // many)
        return state[0] if single else tuple(state)

    def lower(self, *args: Any, target: str | Device | None = None) -> Program:
        """The kernels of one step, with their loop, if they have one; see ``Fused.lower``.

        A call of the program is one step.  On the host kernels hold up to 64 steps of it.
        """
        return self.step.lower(*args, target=target)

    def _known(self, ready: Ready, args: Sequence[Any]) -> tuple[int, int]:
        """How many arguments are the state, and how many steps one kernel takes."""
        found = self._plans.get(id(ready))
        if found is None or found[0] is not ready:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            found = self._plans[id(ready)] = (
                ready, self._state(ready, args), self._steps(ready, args)
            )  # fmt: skip
        return found[1:]

    def __opweave_with__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Inside another fused function: each step is code of its own, as of a Python loop."""

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
        from opweave.runtime import cuda

        found = self(*map(cuda.copied_in, args))
        return (
            tuple(map(cuda.copied_out, found))
            if isinstance(found, tuple)
            else cuda.copied_out(found)
        )

    def _state(self, ready: Ready, args: Sequence[Any]) -> int:
        """How many arguments results take the place of.

        Raises:
            ArgumentError: names the first that does not fit.
        """
        prepared = ready.prepared
        outputs = prepared.graph.outputs
        structure = ready.structure
        if structure is not None and not _is_tuple(structure):
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

    def _steps(self, ready: Ready, args: Sequence[Any]) -> int:
        """How many steps one kernel takes: as long as it is one, and compiles in time."""
        lowered = ready.found.lowered
        if len(lowered.kernels) != 1 or lowered.schedule.groups[0].form.kind not in (
            "map",
            "pixel",
        ):
            return 1
        if lowered.kernels[0].carried and not lowered.device.is_host:
            return 1  # registers hold the state as long as its loop lasts
        slots = sum(node.operator.cost.slots for node in lowered.graph.nodes)
        most = min(self.n, MOST_WRITTEN, LONGEST_WRITTEN // max(1, slots))
        if most < 2 or self.step.static:
            return 1
        count, single = len(ready.prepared.graph.outputs), ready.structure is None
        together = self._of(most, args, count, single).prepared_for(args)
        return most if len(together.found.lowered.kernels) == 1 else 1

    def _of(self, steps: int, args: Sequence[Any], count: int, single: bool) -> Fused:
        """So many steps as one function of these arguments, of which the first are the state."""
        key = steps, count, single
        if steps == 1:
            return self.step
        if key not in self._written:
            made = _written_out(self.step.__wrapped__, steps, count, single)
            self._written[key] = Fused(made, (), self.step.options)
        return self._written[key]

    def _run(self, fused: Fused, args: Sequence[Any], times: int, turns: int) -> list[Any]:
        """The state after so many calls, of which a kernel's own loop takes ``turns`` at most."""
        ready = fused.prepared_for(args)
        prepared = ready.prepared
        loop = prepared.loop()
        if loop is not None:
            values = fused.signature.bind(tuple(args), {}).values
            env = {**prepared.extents, **ready.numbers(values)}
            arrays = [values[i] for i in ready.arrays]
            inner = turns if any(k.carried for k in ready.found.lowered.kernels) else 1
            for each, launches in ((inner, times // inner), (times % inner, 1)):
                if not each or not launches:
                    continue
                found = loop(arrays, {**env, TURNS: each}, launches)
                arrays = [*found, *arrays[len(found) :]]
            return arrays[: len(prepared.graph.outputs)]
        for _ in range(times):
            found = fused(*args)
            found = [found] if ready.structure is None else list(found)
            # NumPy's scalars are arrays again, or the next step would be traced for their values
            state = [np.asarray(a) if isinstance(a, np.generic) else a for a in found]
            args = (*state, *args[len(state) :])
        # a step may return what it was given, or a view of it
        return [array.copy() for array in found]


def _begun(array: Any) -> Any:
    """A copy of the state to begin with where it does not lie as what a step makes."""
    return array if array.flags.c_contiguous and pointer(array) % 16 == 0 else array.copy()


def _is_tuple(structure: Any) -> bool:
    plain = isinstance(structure, Tree) and structure.type is tuple
    return plain and all(child is None for child in structure.children)


def _written_out(step: Callable[..., Any], steps: int, state: int, single: bool) -> Any:
    """A function of so many steps: a loop that is written out while it is traced."""

    def written(*args: Any) -> Any:
        found: Any = None
        for _ in range(steps):
            found = step(*args)
            args = ((found,) if single else found) + args[state:]
        return found

    written.__name__ = function_name(step)
    return written
