"""What a prepared call gives back, in shapes that C builds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from opweave._functions.ready import Ready
from opweave._functions.warm_arguments import NotForC
from opweave.compiler.captures.structure import (
    NOTHING,
    Again,
    Changing,
    Constant,
    Leaf,
    Structure,
    Tree,
)
from opweave.compiler.ir.expr import Expr, scalar_function
from opweave.compiler.ir.values import Scalar
from opweave.runtime.calls.results import BOXED, TRUTH, Returned
from opweave.runtime.calls.views import ViewStep
from opweave.runtime.host.copies import FROM_BYTES
from opweave.runtime.host.warm import Make, is_plain
from opweave.runtime.host.warm_arguments import Lies
from opweave.runtime.host.warm_layout import (
    AS_IT_IS,
    BY_TYPE,
    DEEPEST_EXPRESSION,
    FORMS,
    LEAF,
    MOST_NUMBERS,
    MOST_OPERANDS,
    READS,
    SCALAR,
)
from opweave.runtime.host.warm_layout import TRUTH as OF_PYTHON
from opweave.runtime.host.warm_results import (
    NEW,
    WarmConstant,
    WarmGiven,
    WarmLeft,
    WarmNew,
    WarmPart,
    WarmResult,
    WarmShape,
    WarmStep,
    WarmStore,
)

# The steps of a view of all elements.
WHOLE: tuple[ViewStep, ...] = ((None, ...),)


class CallNumbers:
    """CallNumbers of a call: leaves, and those that follow from them, which become leaves as well.

    Attributes:
        expressions: of the latter.
    """

    def __init__(self, ready: Ready, values: Sequence[Any]):
        """``values`` are leaves like those of the calls."""
        self._values = values
        self._places = dict(zip(ready.names, ready.scalars, strict=True))
        self._extents: Mapping[str, Any] = ready.prepared.extents
        self._known: dict[tuple[Any, ...], int] = {}
        self.expressions: list[tuple[WarmStep, ...]] = []

    def packed(self, scalar: Scalar) -> tuple[int, int, int]:
        """The leaf of a number that kernels take, how it is packed, and how it is read.

        Raises:
            NotForC: C does not pack it.
        """
        dtype = scalar.dtype.numpy_name
        leaf = self.leaf(scalar.expr)
        is_given = leaf < len(self._values)
        read = READS.get(type(self._values[leaf])) if is_given else BY_TYPE
        if dtype not in FORMS or read is None:
            raise NotForC
        return leaf, FORMS[dtype], read

    def leaf(self, expr: Expr) -> int:
        """The leaf of a number.

        Raises:
            NotForC: C does not compute it.
        """
        if expr.op == "argument" and expr.args[0] in self._places:
            return self._places[expr.args[0]]
        return len(self._values) + self.number(expr)

    def number(self, expr: Expr) -> int:
        """Which expression a number follows from, likewise."""
        key = expr, *(type(leaf.args[0]) for leaf in expr.leaves())  # True is equal to 1
        if key not in self._known:
            steps = tuple(self._steps(expr, 1))
            self._known[key] = len(self.expressions)
            self.expressions.append(steps)
        return self._known[key]

    def _steps(self, expr: Expr, depth: int) -> Iterator[WarmStep]:
        if expr.op == "literal":
            yield WarmStep(expr.args[0])
        elif expr.op == "argument" and expr.args[0] in self._places:
            yield WarmStep(None, self._places[expr.args[0]])
        elif expr.op in ("argument", "extent") and expr.args[0] in self._extents:
            yield WarmStep(self._extents[expr.args[0]])
        else:
            count = len(expr.args)
            if expr.op == "raises" or not 0 < count <= MOST_OPERANDS:
                raise NotForC
            if depth + count > DEEPEST_EXPRESSION or expr.op in ("argument", "extent"):
                raise NotForC
            for place, arg in enumerate(expr.args):
                yield from self._steps(arg, depth + place)
            apply = scalar_function(expr.op)
            if type(apply) is FunctionType:  # Python's code may handle a signal
                raise NotForC
            yield WarmStep(apply, operands=count)


class Shapes:
    """What a call returns, and leaves in containers of its arguments."""

    def __init__(self, ready: Ready, numbers: CallNumbers, told: Sequence[type]):
        """``told`` are the types of the containers of the arguments."""
        self._ready, self._numbers, self._told = ready, numbers, told
        outputs: Sequence[Any] = ready.found.variant.graph.outputs
        self._outputs = iter(zip(ready.prepared.returned, outputs, strict=True))

    def all(self) -> tuple[WarmShape, tuple[WarmLeft, ...]]:
        """The result, and what is left.

        Raises:
            NotForC: Python makes it.
        """
        structure = self._ready.structure
        if self._ready.prepared.shared:
            raise NotForC
        if not isinstance(structure, Changing):
            return self._shape(structure), ()
        result, values = structure.tree.children
        assert isinstance(values, Tree)
        shape = self._shape(result)
        pairs = zip(structure.places, values.children, strict=False)
        return shape, tuple(self._left(*place, child) for place, child in pairs)

    def _left(self, container: int, key: Any, structure: Structure | None) -> WarmLeft:
        kind = self._told[container]
        is_attribute = kind not in (list, dict)
        if is_attribute and not kind.__dictoffset__:
            raise NotForC
        return WarmLeft(container, key, is_attribute, self._shape(structure))

    def _shape(self, structure: Structure | None) -> WarmShape:
        if structure is None or isinstance(structure, Leaf):
            found = self._leaf()
            return found if structure is None or not structure.is_view else _view_of(found)
        if structure == NOTHING:
            return WarmConstant(None)
        if isinstance(structure, Constant):
            return WarmConstant(structure.value)
        if isinstance(structure, Again) and structure.number < len(self._told):
            return WarmGiven(structure.number)
        if not isinstance(structure, Tree) or structure.type not in NEW:
            raise NotForC
        keys = structure.keys if structure.type is dict else ()
        return WarmNew(structure.type, keys, tuple(map(self._shape, structure.children)))

    def _leaf(self) -> WarmResult | WarmPart:
        return result_of(*next(self._outputs), self._numbers)


def _view_of(found: WarmResult | WarmPart) -> WarmPart:
    """An object of its own on the memory of an array.

    Raises:
        NotForC: it is a number.
    """
    if isinstance(found, WarmPart):
        return found if found.steps else found._replace(steps=WHOLE)
    if found.form != AS_IT_IS:
        raise NotForC
    return WarmPart(found.at, WHOLE)


def result_of(returned: Returned, output: Any, numbers: CallNumbers) -> WarmResult | WarmPart:
    """What becomes of an output of the graph.

    Raises:
        NotForC: Python makes it.
    """
    if returned.number is not None:
        return WarmResult(LEAF, numbers.leaf(returned.number))
    if returned.view is not None:
        steps = returned.view.steps
        if steps is None or (not returned.is_array and returned.kind != BOXED):
            raise NotForC
        return WarmPart(returned.array, steps)
    if returned.is_array or returned.kind == BOXED:
        return WarmResult(AS_IT_IS, returned.array)
    form = OF_PYTHON if returned.kind == TRUTH else SCALAR
    return WarmResult(form, returned.array, output.dtype.numpy)


def results_in(shape: WarmShape) -> Iterator[WarmResult | WarmPart]:
    """The results of a shape, in their order."""
    if isinstance(shape, WarmNew):
        for value in shape.values:
            yield from results_in(value)
    elif isinstance(shape, WarmResult | WarmPart):
        yield shape


def stores_of(ready: Ready, values: Sequence[Any], numbers: CallNumbers) -> tuple[WarmStore, ...]:
    """What C stores in arguments when kernels are done.

    Raises:
        NotForC: it does not know how.
    """
    prepared, plan = ready.prepared, ready.prepared.plan
    straight = dict(plan.straight)
    lies = {plan.inputs + n: straight.get(value) for n, (value, _) in enumerate(plan.makes)}
    outputs = ready.found.variant.graph.outputs
    found = []
    for output, place, key, by in plan.stores:
        if key is ... and not by and lies.get(plan.outputs[output]) == place:
            continue  # a kernel has written there
        # whole ones that are large are copied by many threads
        is_large = key is ... and values[ready.arrays[place]].nbytes >= FROM_BYTES
        if by or callable(key) or is_large:
            raise NotForC
        shape = result_of(prepared.returned[output], outputs[output], numbers)
        found.append(WarmStore(place, key, shape))
    return tuple(found)


def makes_of(ready: Ready, shown: Sequence[WarmResult | WarmPart]) -> tuple[Make, ...]:
    """How the results of a call are made; numbers of which C does all lie in its memory."""
    plan = ready.prepared.plan
    straight = dict(plan.straight)
    makes: list[Make] = [straight.get(value, make) for value, make in plan.makes]
    numbers = {
        each.at - plan.inputs: each.dtype
        for each in shown
        if isinstance(each, WarmResult)
        and each.form in (SCALAR, OF_PYTHON)
        and each.at >= plan.inputs  # not one that the call gives
    }
    for each in shown:  # what is shown as an array, too, is one of Python's
        if isinstance(each, WarmPart) or each.form == AS_IT_IS:
            at = each.word if isinstance(each, WarmPart) else each.at
            numbers.pop(at - plan.inputs, None)
    # one that begins as zero has a function of its own
    for n in [n for n in numbers if is_plain(makes[n])][:MOST_NUMBERS]:
        makes[n] = numbers[n]
    return tuple(makes)


def target_of(ready: Ready, shape: WarmShape) -> tuple[Lies, int] | None:
    """What ``out=`` must be like to be written straight, and the result that it is given for."""
    prepared = ready.prepared
    if ready.structure is not None or prepared.writes is not None or prepared.added:
        return None
    if not isinstance(shape, WarmResult):
        return None
    made = shape.at - prepared.plan.inputs
    if shape.form != AS_IT_IS or not 0 <= made < len(prepared.plan.makes):
        return None
    extents, dtype = prepared.fitting[prepared.outputs[0]]
    return Lies.of(np.empty(extents, dtype)), made
