"""A call plan that is ready to run: of arguments it makes what the caller gets.

``Prepared`` makes one of what was lowered; a program that was saved has one as data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opweave.compiler.ir.expr import evaluate
from opweave.opcodes.cached import cached_property
from opweave.runtime.calls.outcomes import Indexed, fault, truth
from opweave.runtime.calls.results import BOXED, TRUTH, Returned

if TYPE_CHECKING:
    from opweave.runtime.calls.interface import Executor, Start
    from opweave.runtime.calls.layouts import Layouts
    from opweave.runtime.calls.plan import CallPlan
    from opweave.runtime.calls.steps import Started, Step
    from opweave.runtime.calls.writes import Writes


class PlannedCall:
    """A call for which only pointers and numbers are missing.

    Attributes:
        name: of the function.
        plan, executor: what is started, and by whom.
        constants: arrays behind those of the arguments.
        extents: by name.
        returned: what becomes of each output.
        shared: places of outputs that may be one array, of which NumPy makes a view.
        indexed: what kernels note.
        needs_env: numbers follow from extents, or from others.
        single: the only step, where its arrays are arguments and results as they are.
        replay: calls that come again may become a CUDA graph, see runtime/cuda/graphs.py.
        writes: the arguments that it writes to, if there are any.
        layouts: of the values; None where nobody asks for them again.
    """

    name: str
    plan: CallPlan
    executor: Executor
    constants: tuple[Any, ...]
    extents: Mapping[str, int]
    returned: tuple[Returned, ...]
    shared: tuple[tuple[int, int], ...]
    indexed: Indexed
    needs_env: bool
    single: Step | None = None
    replay: bool = False
    layouts: Layouts | None = None
    writes: Writes | None = None

    @cached_property
    def start(self) -> Start:
        """What starts the plan; two threads may make it, and one is kept."""
        return self.executor.start(self)

    @cached_property
    def _start_single(self) -> Started:
        found = None if self.single is None else self.executor.starting(self.single)
        return found or (lambda arrays, numbers: None)

    @cached_property
    def _is_direct(self) -> bool:
        """Whether outputs are arrays of the call as they are, with nothing to look at."""
        as_arrays = self.executor.as_arrays
        plain = all(
            (r.is_array or (as_arrays and r.kind != TRUTH)) and r.view is None and r.number is None
            for r in self.returned
        )
        return plain and not (self.shared or self.plan.notes_faults)

    def __call__(
        self, arrays: Sequence[Any], scalars: Mapping[str, Any], out: Mapping[int, Any] = {}
    ) -> list[Any]:
        """Run the kernels and return the outputs in order.

        ``out`` gives arrays for some outputs, by value id; they must not overlap an input.
        """
        env, plan = {**self.extents, **scalars} if self.needs_env else scalars, self.plan
        numbers = plan.numbers(env) if plan.scalars else ()
        if self.single is not None:
            # the quick way: from here Python starts the kernel, and what it wrote is returned
            own = [*arrays, *plan.made(out)]
            self._start_single(own, numbers)
            return [own[array] for array in plan.outputs]
        every = (*arrays, *self.constants, *plan.made(out), self.new_faults())
        known = self.known(env)  # before a kernel writes anything, since one may be an error
        self.start(every, numbers)
        if self._is_direct:
            return [every[array] for array in plan.outputs]
        return self.outputs_in(every, env, known)

    def outputs_in(
        self, every: Sequence[Any], env: Mapping[str, Any] = {}, known: Sequence[Any] = ()
    ) -> list[Any]:
        """The outputs, as ``results`` has them, of which no two are the same object."""
        found = self.results(every, env, known)
        return self._apart(found) if self.shared else found

    def new_faults(self) -> Any:
        """A word for faults; None where no kernel notes any."""
        return self.executor.faults() if self.plan.notes_faults else None

    def _apart(self, results: list[Any]) -> list[Any]:
        """Results of which no two are the same object: a view replaces the second one."""
        for place, first in self.shared:
            if results[place] is results[first]:
                results[place] = results[place][...]
        return results

    def known(self, env: Mapping[str, Any]) -> list[Any]:
        """The outputs that are numbers, and follow from others."""
        return [evaluate(each.number, env) for each in self.returned if each.number is not None]

    def results(
        self, every: Sequence[Any], env: Mapping[str, Any], known: Sequence[Any] | None = None
    ) -> list[Any]:
        """The outputs, given arguments, results, faults and the outputs that are numbers.

        Raises:
            BoundsError: a kernel noted an index that has no element.
        """
        self.check(every[self.plan.faults], env)
        numbers = iter(self.known(env) if known is None else known)
        return [
            next(numbers) if each.number is not None else self._result(each, every)
            for each in self.returned
        ]

    def check(self, faults: Any, env: Mapping[str, Any]) -> None:
        """Raise what kernels noted.

        Raises:
            BoundsError: an index has no element.
        """
        if faults is not None and (word := self.executor.noted(faults)):
            raise fault(self.indexed, word, {**self.extents, **env})

    def _result(self, made: Returned, every: Sequence[Any]) -> Any:
        found = every[made.array] if made.seen is None else made.seen(every[made.array])
        if made.is_array:
            return found
        found = self.executor.result(found, made.kind == BOXED)
        return truth(found) if made.kind == TRUTH else found
