"""Launch: arguments bound, buffers made, kernels started.

``Prepared`` does what needs to be done only once for exact shapes, strides and types: grids,
extents, strides, packing formats.  A prepared call then only packs pointers and scalars, and
launches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.ir.expr import Expr, evaluate
from opweave.compiler.ir.graph import Graph
from opweave.compiler.ir.values import TURNS, Extents, Value, extent_of
from opweave.compiler.pipeline.driver import Lowered
from opweave.opcodes.dtypes import DType
from opweave.runtime.binaries.compilers import at_once
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.outcomes import check_nonempty, fault, truth
from opweave.runtime.calls.steps import Launch, Step, by_library, scalar_value, step_of

# Kinds of outputs without dimensions that are no NumPy numbers: an array, or Python's bool.
BOXED, TRUTH = "boxed", "truth"
# (arrays, numbers, given outputs, faults) -> arrays by value: the kernels of a call
Plan = Callable[[Sequence[Any], Mapping[str, Any], Mapping[int, Any], Any], dict[int, Any]]
# (arrays, numbers, how often) -> the results of the last call, in new arrays
Loop = Callable[[Sequence[Any], Mapping[str, Any], int], list[Any]]


class Executor(Protocol):
    """Protocol of an executor, as far as launching needs it."""

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        """A function that makes arrays for an output or a temporary."""

    def arena(self, nbytes: int) -> Callable[[], Any]:
        """A function that makes memory for the temporaries of a call, see ``plan``."""

    def workspace(self, kernel: Kernel, rows: int) -> tuple[Any, Any]:
        """Memory for partial results and zeroed counters of a reduce kernel."""

    def faults(self) -> Any:
        """A zeroed 64-bit word, in which kernels note an index that has no element."""

    def noted(self, faults: Any) -> int:
        """What kernels noted; 0 for nothing, and for executors that do not look."""

    def build(self, kernel: Kernel, source: str) -> Any:
        """The binary of a kernel; may be called from several threads."""

    def launcher(self, kernel: Kernel, source: str, extents: Extents) -> Launch:
        """A function of packed arguments and the arrays behind their pointers."""

    def packer(self, kernel: Kernel, formats: Sequence[str]) -> Callable[..., Any]:
        """A function that packs the values of slots for ``launcher``."""

    def address(self, array: Any, offset: int = 0) -> Any:
        """What a slot holds for an array, or for so many bytes behind its first element."""

    def plan(self, prepared: Prepared) -> Plan | None:
        """A function that runs all steps at once; None: they run one after the other."""

    def loop(self, prepared: Prepared) -> Loop | None:
        """A function that runs a call many times, its results as arguments; None: impossible."""

    def result(self, array: Any, boxed: bool) -> Any:
        """What a caller gets for an array."""


class Single(NamedTuple):
    """A call of one kernel: its results, and places among arguments and results.

    Attributes:
        makes: each result with a function that makes it.
        pointers: slot, place and offset in bytes of each array that the kernel takes.
        returned: places of the outputs.
    """

    step: Step
    makes: tuple[tuple[int, Callable[[], Any]], ...]
    pointers: tuple[tuple[int, int, int], ...]
    returned: tuple[int, ...]


class Prepared:
    """A call for which only pointers and scalars are missing."""

    def __init__(
        self,
        lowered: Lowered,
        executor: Executor,
        extents: Mapping[str, int],
        arrays: Mapping[int, Any],
        constants: Sequence[Any] = (),
        replay: bool = False,
    ):
        """``arrays`` maps inputs to arrays like theirs; the last of them may be constants.

        ``replay``: calls that come again may become a CUDA graph, see runtime/cuda/call_graphs.py.
        """
        self.replay = replay
        self.constants = tuple(constants)
        self.graph: Graph = lowered.graph
        self.schedule = lowered.schedule
        self.executor = executor
        loops = any(kernel.carried for kernel in lowered.kernels)
        self.extents = {**extents, **({TURNS: 1} if loops else {})}
        check_nonempty(self.graph, extents)
        self.layouts = Layouts(lowered.schedule, extents, arrays)
        self.shapes = self.layouts.shapes
        self.inputs = tuple(i.value.id for i in self.graph.inputs)
        # shape and dtype of every output that arrays can be given for
        self.fitting = {
            o.id: (tuple(extent_of(e, extents) for e in o.shape), o.dtype.numpy)
            for o in self.graph.outputs
            if isinstance(o, Value) and self.graph.base(o).id in self.shapes
        }
        self.outputs = tuple(o.id if isinstance(o, Value) else -1 for o in self.graph.outputs)
        # kinds of outputs without dimensions
        self.kinds = tuple(
            BOXED if n in self.graph.boxed else TRUTH if n in self.graph.truths else None
            for n in range(len(self.outputs))
        )
        # places of outputs that may be the same array; NumPy returns a view for the second one
        self.shared = self._shared()
        # arrays of the last call with ``out=``, and which of them kernels write to directly
        self.last_targets: tuple[tuple[Any, ...], tuple[tuple[int, int], ...]] = ((), ())
        self.needs_env = (
            loops
            or any(isinstance(o, Expr) for o in self.graph.outputs)
            or any(s.expr.op != "argument" for k in lowered.kernels for s in k.scalars())
        )
        self._build(lowered)
        self.steps = tuple(
            step_of(kernel, self._launcher(kernel, source), self.layouts, executor.packer)
            for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
        )
        self.makes = tuple(
            tuple((v.id, executor.allocator(*self.shapes[v.id])) for v in group.outputs)
            for group in lowered.schedule.groups
        )
        self.drops = self._last_uses()
        self.notes_faults = any(step.faults >= 0 for step in self.steps)
        self.single = self._single()
        self._loop: Loop | None = None
        self.plan = executor.plan(self) if self.single is None else None

    def _single(self) -> Single | None:
        """How to call the only kernel, if its results are what it writes; else None."""
        if len(self.steps) != 1 or self.constants or self.shared:
            return None
        ((step,), (makes,)) = self.steps, self.makes
        if step.partials >= 0 or step.faults >= 0 or step.launch is None:
            return None
        places = {value: n for n, value in enumerate((*self.inputs, *(m[0] for m in makes)))}
        plain = all(isinstance(o, Value) and o.shape for o in self.graph.outputs)
        written = {value for value, *_ in makes}
        if not plain or not written.issuperset(self.outputs):
            return None
        pointers = tuple((slot, places[value], offset) for slot, value, offset in step.pointers)
        return Single(step, makes, pointers, tuple(places[o] for o in self.outputs))

    def _last_uses(self) -> tuple[tuple[int, ...], ...]:
        """After each step, the temporaries that no later one reads: their memory serves again."""
        outputs = {self.graph.base(o).id for o in self.graph.outputs if isinstance(o, Value)}
        last: dict[int, int] = {}
        for number, (step, makes) in enumerate(zip(self.steps, self.makes, strict=True)):
            ids = [*(value for _, value, _ in step.pointers), *(value for value, *_ in makes)]
            last |= dict.fromkeys(ids, number)
        kept = {*outputs, *self.inputs}
        return tuple(
            tuple(v for v, at in last.items() if at == number and v not in kept)
            for number in range(len(self.steps))
        )

    def _build(self, lowered: Lowered) -> None:
        """Compile several kernels on several threads, since compilers are processes."""
        pairs = [
            (kernel, source)
            for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
            if kernel.template != "vendor" and not kernel.is_empty(self.extents)
        ]
        if len(pairs) > 1:
            at_once(self.executor.build, pairs)

    def _launcher(self, kernel: Kernel, source: str) -> Launch | None:
        if kernel.is_empty(self.extents):
            return None
        if kernel.template == "vendor":
            return by_library(kernel, self.layouts)
        return self.executor.launcher(kernel, source, self.extents)

    def __call__(
        self, arrays: Sequence[Any], scalars: Mapping[str, Any], out: Mapping[int, Any] = {}
    ) -> list[Any]:
        """Run the kernels and return the outputs in order.

        ``out`` gives arrays for some outputs, by value id; they must not overlap an input.
        """
        if self.single is not None:
            return self._call_single(self.single, arrays, scalars, out)
        if self.constants:
            arrays = (*arrays, *self.constants)
        env = {**self.extents, **scalars} if self.needs_env else scalars
        faults = self.executor.faults() if self.notes_faults else None
        run = self._run_apart if self.plan is None else self.plan
        found = self.results(run(arrays, env, out, faults), env, faults)
        return self._apart(found) if self.shared and not out else found

    def _shared(self) -> tuple[tuple[int, int], ...]:
        """Places of outputs and of earlier ones that may be the same array.

        Arguments do not count: they may be returned themselves, and the caller knows their views.
        """
        places: dict[int, int] = {}
        found = []
        for place, output in enumerate(self.graph.outputs):
            if isinstance(output, Value) and output.shape:
                base = self.graph.base(output).id
                first = places.setdefault(base, place)
                found += [(place, first)] if first != place and base not in self.inputs else []
        return tuple(found)

    def _apart(self, results: list[Any]) -> list[Any]:
        """Results of which no two are the same object: a view replaces the second one."""
        for place, first in self.shared:
            if results[place] is results[first]:
                results[place] = results[place][...]
        return results

    def results(self, held: Mapping[int, Any], env: Mapping[str, Any], faults: Any) -> list[Any]:
        """The outputs, given the arrays by value.

        Raises:
            BoundsError: a kernel noted an index that has no element.
        """
        if faults is not None and (word := self.executor.noted(faults)):
            raise fault(self.graph, word, {**self.extents, **env})
        return [self._output(i, o, held, env) for i, o in enumerate(self.graph.outputs)]

    def loop(self) -> Loop | None:
        """A function that runs it many times, its results as arguments; None: impossible."""
        if self._loop is None and self._is_closed():
            self._loop = self.executor.loop(self)  # two threads may make it, and one is kept
        return self._loop

    def _is_closed(self) -> bool:
        """True where the results are arrays of their own, each written by a kernel."""
        made = [value for makes in self.makes for value, _ in makes]
        shaped = all(isinstance(o, Value) and o.shape for o in self.graph.outputs)
        apart = len(set(self.outputs)) == len(self.outputs)
        return shaped and apart and set(self.outputs) <= set(made)

    def _run_apart(
        self, arrays: Sequence[Any], env: Mapping[str, Any], out: Mapping[int, Any], faults: Any
    ) -> dict[int, Any]:
        """One launch after the other, each value in an array of its own."""
        held: dict[int, Any] = dict(zip(self.inputs, arrays, strict=True))
        for number, drops in enumerate(self.drops):
            self.run_step(number, held, env, out, faults)
            for value_id in drops:
                del held[value_id]
        return held

    def run_step(
        self,
        number: int,
        held: dict[int, Any],
        env: Mapping[str, Any],
        out: Mapping[int, Any] = {},
        faults: Any = None,
    ) -> None:
        """One launch, on the arrays in ``held``; its results are added there."""
        step = self.steps[number]
        for value_id, make in self.makes[number]:
            given = out.get(value_id)
            held[value_id] = make() if given is None else given
        slots = list(step.fixed)
        passed = []
        for slot, value_id, offset in step.pointers:
            array = held[value_id]
            passed.append(array)
            slots[slot] = self.executor.address(array, offset)
        for slot, scalar in step.scalars:
            slots[slot] = scalar_value(scalar, env)
        if step.partials >= 0:
            partials, counter = self.executor.workspace(step.kernel, step.rows)
            slots[step.partials], slots[step.counter] = map(
                self.executor.address, (partials, counter)
            )
            passed += [partials, counter]
        if step.faults >= 0:
            slots[step.faults] = self.executor.address(faults)
            passed.append(faults)
        if step.launch is not None:
            step.launch(step.pack(*slots), passed)

    def _call_single(
        self,
        single: Single,
        arrays: Sequence[Any],
        scalars: Mapping[str, Any],
        out: Mapping[int, Any],
    ) -> list[Any]:
        step, makes, pointers, returned = single
        if out:
            every = [*arrays, *[out[v] if v in out else make() for v, make in makes]]
        else:
            every = [*arrays, *[make() for _, make in makes]]
        slots, address = list(step.fixed), self.executor.address
        for slot, place, offset in pointers:
            slots[slot] = address(every[place], offset)
        if step.scalars:
            env = {**self.extents, **scalars} if self.needs_env else scalars
            for slot, scalar in step.scalars:
                slots[slot] = scalar_value(scalar, env)
        assert step.launch is not None
        step.launch(step.pack(*slots), [every[place] for _, place, _ in pointers])
        return [every[place] for place in returned]

    def _output(self, index: int, output: Any, held: Mapping[int, Any], env: Any) -> Any:
        if isinstance(output, Value):
            array = held[self.graph.base(output).id]
            array = self.layouts.viewed(array, output.id)
            if output.shape == ():
                found = self.executor.result(array, self.kinds[index] is BOXED)
                return found if self.kinds[index] is not TRUTH else truth(found)
            return array
        return evaluate(output, env)
