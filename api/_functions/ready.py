"""Prepared calls: what runs for arguments of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave._programs.beside import together
from opweave.compiler.captures.structure import Changing, Structure, packed
from opweave.compiler.captures.tree import flatten
from opweave.compiler.pipeline.specialise import Specialised
from opweave.compiler.tracing.results import CONSTANTS
from opweave.opcodes.errors import BoundsError
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.targets import check_fitting, copied_into, into
from opweave.runtime.calls.writes import Unwritten, written


class Ready(NamedTuple):
    """A prepared call, its specialisation, and where arrays and numbers stand in the arguments.

    ``names`` are those of the numbers, ``asks`` tells whether the guard depends on their values.
    ``mixed``: NumPy's arrays lie beside CuPy's, and are copied at each call.
    """

    prepared: Prepared
    found: Specialised
    arrays: list[int]
    scalars: list[int]
    names: tuple[str, ...]
    asks: bool
    structure: Structure | None
    mixed: bool = False

    def __call__(self, values: Sequence[Any], containers: Sequence[Any] = ()) -> Any:
        """Run with these leaves; ``containers`` are those of the arguments."""
        numbers = self.numbers(values) if self.names else {}
        given = [values[i] for i in self.arrays]
        outputs = self.prepared(together(given) if self.mixed else given, numbers)
        structure = self.structure
        return outputs[0] if structure is None else packed(structure, outputs, containers)

    def given(self, values: Sequence[Any]) -> list[Any]:
        """The arrays among these leaves, all of them where the call runs."""
        given = [values[i] for i in self.arrays]
        return together(given) if self.mixed else given

    def packed(self, outputs: list[Any], containers: Sequence[Any] = ()) -> Any:
        """The outputs as the function returns them."""
        if self.structure is None:
            return outputs[0]
        return packed(self.structure, outputs, containers)

    def into(self, out: Any, values: Sequence[Any], containers: Sequence[Any] = ()) -> Any:
        """Run with these leaves, and write the outputs to given arrays; see ``targets.into``."""
        numbers = self.numbers(values) if self.names else {}
        outputs = into(out, self.prepared, self.given(values), numbers)
        return self.packed(outputs, containers)

    def outputs(self, values: Sequence[Any], count: int | None = None) -> list[Any]:
        """All outputs for these leaves; see ``writes.written`` for ``count``."""
        return self.prepared(self.given(values), self.numbers(values))

    @property
    def returned(self) -> int:
        """How many outputs a caller gets; others follow."""
        return self.found.variant.trace.graph.returned

    def numbers(self, values: Sequence[Any]) -> dict[str, Any]:
        """The numbers of a call by their names in the graph."""
        return dict(zip(self.names, [values[i] for i in self.scalars], strict=True))

    def serves(self, values: Sequence[Any]) -> bool:
        """True for arguments whose arrays are known to fit."""
        numbers = self.numbers(values)
        return self.found.variant.serves({**self.found.extents, **numbers})


class LeavingValues(Ready):
    """A prepared call that leaves values in its arguments, and to ``out=`` copies the others."""

    __slots__ = ()

    def __call__(self, values: Sequence[Any], containers: Sequence[Any] = ()) -> Any:
        return self.packed(self.outputs(values), containers)

    def outputs(self, values: Sequence[Any], count: int | None = None) -> list[Any]:
        """All outputs.

        Raises:
            Unwritten: a line raises; those before it leave what they leave.
        """
        try:
            return super().outputs(values, count)
        except (BoundsError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise Unwritten(str(error)) from None

    def into(self, out: Any, values: Sequence[Any], containers: Sequence[Any] = ()) -> Any:
        check_fitting(out, self.prepared, self.returned - left_by(self.structure))
        found = copied_to(out, self.outputs(values)[: self.returned], self.structure)
        return self.packed(found, containers)


class Writing(LeavingValues):
    """One that writes to arrays of its arguments, see ``runtime/calls/writes.py``."""

    __slots__ = ()

    def outputs(self, values: Sequence[Any], count: int | None = None) -> list[Any]:
        numbers = self.numbers(values) if self.names else {}
        return written(self.prepared, self.given(values), numbers, count)


def copied_to(out: Any, outputs: list[Any], structure: Structure | None) -> list[Any]:
    """Outputs, of which the arrays of the result are given, and copied to."""
    shown = len(outputs) - left_by(structure)
    return [*copied_into(out, outputs[:shown]), *outputs[shown:]]


def left_by(structure: Structure | None) -> int:
    """How many outputs are no part of the result: they are left in containers."""
    return structure.left if isinstance(structure, Changing) else 0


class Plain:
    """Calls that NumPy runs, in the place of a prepared one; see ``Calls.leave`` of calls.py."""

    def __init__(self, given: Callable[..., Any], exact: bool):
        self.given = given
        self.exact = exact

    def __call__(self, values: Any) -> Any:
        """Run the user's own function with arguments by position and by name."""
        args, kwargs = values
        return self.given(*args, **kwargs)

    def into(self, out: Any, values: Any) -> Any:
        """The same, its outputs copied into given arrays."""
        return packed_into(out, self(values))


def packed_into(out: Any, result: Any) -> Any:
    """A result that Python has made, its arrays copied into given ones."""
    leaves, tree = flatten(result, "the output", CONSTANTS)
    return packed(tree, copied_into(out, [leaf for _, leaf in leaves]))
