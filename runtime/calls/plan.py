"""What a call does, worked out once: where its arrays lie, and which slots it fills in.

The arrays of a call are numbered: arguments and constants, results, the word for faults, the arena
with the temporaries, and workspaces for which the executor is asked.  A plan is frozen, and so are
its steps.  An executor only starts it (``Start`` of interface.py); a call runs it once, a replay
again, and a loop many times.

A step is a row: a kernel, or what a library computes between kernels (by_numpy.py).  What else is
to run in a call becomes another kind of row, whose arrays and numbers are numbered alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opweave.opcodes.cached import cached_property
from opweave.runtime.calls.steps import scalar_value

if TYPE_CHECKING:
    from opweave.compiler.ir.values import Scalar
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.compiler.scheduling.memory import MemoryPlan
    from opweave.runtime.calls.steps import Step
    from opweave.runtime.calls.writes import Store


@dataclass(frozen=True)
class CallPlan:
    """How a call runs, whoever starts it and however often.

    Attributes:
        inputs: how many arrays are arguments or constants.
        makes: (value, function that makes its array) of those that have an array of their own.
        memory: where the others lie in the arena.
        steps: what is started, in order.
        scalars: the numbers of all steps, which are computed before the first starts.
        formats: how these are packed, each in eight bytes.
        workspaces: kernel of launches for which the executor gives memory, and bytes of partial
            results and of counters, which are the arrays behind the arena.
        outputs: the array in which each output lies; -1 for one that is computed of extents.
        straight: (value, argument): outputs that kernels write to the memory of an argument.
        stores: outputs that arguments hold when all is done, see writes.py.
    """

    inputs: int
    makes: tuple[tuple[int, Callable[[], Any]], ...]
    memory: MemoryPlan
    steps: tuple[Step, ...]
    scalars: tuple[Scalar, ...]
    formats: str
    workspaces: tuple[tuple[Kernel, int, int], ...]
    outputs: tuple[int, ...]
    straight: tuple[tuple[int, int], ...]
    stores: tuple[Store, ...]

    @cached_property
    def faults(self) -> int:
        """The array of the faults, behind arguments and results."""
        return self.inputs + len(self.makes)

    @property
    def arena(self) -> int:
        """The array with the temporaries."""
        return self.faults + 1

    @cached_property
    def notes_faults(self) -> bool:
        """Whether a kernel notes an index that has no element."""
        return any(array == self.faults for step in self.steps for _, array, _ in step.arrays)

    @cached_property
    def computes(self) -> bool:
        """Whether a library computes a step, or the host looks at one: no CUDA graph has it."""
        return any(step.compute or step.refused for step in self.steps)

    @property
    def only_step(self) -> Step | None:
        """The only step, if all its arrays are arguments and results."""
        own = all(array < self.faults for step in self.steps for _, array, _ in step.arrays)
        return self.steps[0] if len(self.steps) == 1 and own else None

    def made(self, given: Mapping[int, Any] = {}) -> list[Any]:
        """The arrays of results, some of which may be given by value."""
        if not given:
            return [make() for _, make in self.makes]
        return [given[value] if value in given else make() for value, make in self.makes]

    def numbers(self, env: Mapping[str, Any]) -> list[Any]:
        """The numbers of a call, given those of its arguments and its extents by name."""
        return [scalar_value(scalar, env) for scalar in self.scalars]
