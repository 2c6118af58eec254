"""The largest error that each result of a graph may have, against wide values.

The bound is a running first-order error analysis against the wide values.  Each float operator
adds its documented error in ULP.  It also carries over the errors of its operands, which are found
by moving the operands within their errors (error_propagation.py).  A sum adds gamma_n (n the depth
of its accumulation plan) times the sum of magnitudes (Higham, "Accuracy and Stability of Numerical
Algorithms", 2nd ed., section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.bounds.accumulated_bounds import accumulated, multiplied
from opweave.compiler.bounds.complex_bounds import expanded
from opweave.compiler.bounds.complex_parts import BoundedParts
from opweave.compiler.bounds.error_propagation import Bounded, carried_errors
from opweave.compiler.bounds.handwritten_bounds import by_meaning
from opweave.compiler.bounds.rounding import largest, spacing
from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.literals import converted
from opweave.compiler.ir.reference import numpy_attributes
from opweave.compiler.ir.values import Scalar, Value
from opweave.opcodes.dtypes import F32, F64, DType
from opweave.opcodes.ulps import UNSTATED

Array = np.ndarray[Any, Any]
# Monotone operators from floats to integers: an error of an operand moves results by whole steps.
STEPS = frozenset(("cast", "to_uint8"))
# Operators that ask for the next number of a type; their wide values are of that type, too.
OF_TYPE = frozenset(("nextafter", "spacing"))
# Operators whose result is little beside the terms that it is made of: the size of those, which
# its error refers to.  The logarithm of gamma is 0 at 1, at 2, and between the poles below.
TERMS: dict[str, Callable[[Array], Array]] = {"lgamma": lambda x: np.where(x > 0, 1.0, 16.0)}
# Where channels mix, a value on the way is at most so many times the largest channel times the
# largest amount: three channels, each with a coefficient of up to three terms (hue_rotation).
TERMS_OF_CHANNELS = 9


def run_bounded(
    graph: FunctionGraph,
    arrays: Mapping[int, Array],
    env: Mapping[str, Any],
    extents: Mapping[str, int],
    executor: str,
    known: Mapping[int, Array] = {},
) -> list[Any]:
    """Wide values with error bounds of every output; a scalar output is its plain value.

    ``executor`` is "cuda" or "host": whose ULP table counts.  The graph carries its plans.
    ``known``: what kernels that someone wrote took and made, by the value's id.
    """
    return _Bounds(graph, arrays, env, extents, executor, known).outputs()


class _Bounds:
    def __init__(
        self,
        graph: FunctionGraph,
        arrays: Mapping[int, Array],
        env: Mapping[str, Any],
        extents: Mapping[str, int],
        executor: str,
        known: Mapping[int, Array] = {},
    ):
        self.graph = graph
        self.known = known
        self.judged: dict[int, Any] = {}  # of kernels that someone wrote, by their meaning
        self.env = env
        self.extents = extents
        self.executor = executor
        values = [i.value for i in graph.inputs] + [r for n in graph.nodes for r in n.results]
        has_double = any(v.dtype.part is F64 for v in values)
        self.wide = np.dtype(np.longdouble if has_double else np.float64)
        self.held: dict[int, Any] = {}  # Bounded; for complex values Parts
        for item in graph.inputs:
            array, dtype = np.asarray(arrays[item.value.id]), item.value.dtype
            if dtype.is_complex:
                parts = (self._widened(p, dtype.part) for p in (array.real, array.imag))
                self.held[item.value.id] = BoundedParts(*(Bounded(p, _zero(p)) for p in parts))
            else:
                self.held[item.value.id] = Bounded(self._widened(array, dtype), _zero(array))

    def _widened(self, array: Any, dtype: DType) -> Array:
        """The wide value of floats, with NaN made quiet.

        hypot(NaN, inf) is inf only of a quiet NaN, and whether a conversion makes a NaN quiet
        depends on the processor.
        """
        if not dtype.is_float:
            return np.asarray(array)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.asarray(array).astype(self.wide) * 1)

    def outputs(self) -> list[Any]:
        with np.errstate(all="ignore"):
            for node in self.graph.nodes:
                for value, made in zip(node.results, self._node(node), strict=True):
                    self.held[value.id] = made
        return [
            self._whole(o) if isinstance(o, Value) else evaluate(o, self.env)
            for o in self.graph.outputs
        ]

    def _whole(self, value: Value) -> Bounded:
        held: Bounded | BoundedParts = self.judged.get(value.id) or self.held[value.id]
        return held.whole() if isinstance(held, BoundedParts) else held

    def _node(self, node: Node) -> list[Any]:
        if node.is_handwritten or node.is_library:
            return self._handwritten(node)
        if any(v.dtype.is_complex for v in (*node.operands, *node.results)):
            return expanded(self, node)
        return self.real_node(node)

    def real_node(self, node: Node) -> list[Bounded]:
        """Values and errors of the results of a node of real values."""
        operands = [self._operand(o) for o in node.operands]
        if node.operator.name == "to_uint8":
            operands = [_before_steps(operands[0], node.operands[0].dtype)]
        values = self._apply(node, [o.value for o in operands])
        if node.is_reduction or node.is_scan:
            return [accumulated(node, operands[0], values[0], self.extents)]
        if node.is_count:  # which of some bins an element has may be undecided
            lost = np.inf if np.any(operands[0].error > 0) else 0.0
            return [Bounded(values[0], np.full(np.shape(values[0]), lost))]
        if node.is_view:
            numbers = [o.value for o in operands[1:]]
            attrs = numpy_attributes(node, self.extents)
            error = node.operator.numpy(operands[0].error, *numbers, **attrs)
            return [Bounded(values[0], error)]
        if node.tables:
            return [self._gathered(node, operands, values[0])]
        if node.is_product:
            return [multiplied(node, operands[0], operands[1], values[0], self.extents)]
        return self._mapped(node, operands, values)

    def _handwritten(self, node: Node) -> list[Any]:
        places = self.held, self.known, self.env, self.extents
        found = by_meaning(node, *places, self._widened)
        for value, (expected, _) in zip(node.results, found, strict=True):
            self.judged[value.id] = expected
        return [made for _, made in found]

    def _mapped(self, node: Node, operands: list[Bounded], values: list[Array]) -> list[Bounded]:
        errors = carried_errors(node, operands, values, lambda moved: self._apply(node, moved))
        top = _top(node, operands)
        made = []
        for value, error, result in zip(values, errors, node.results, strict=True):
            made.append(Bounded(value, self._rounded(node, value, error, result.dtype, top)))
        unstated = UNSTATED.get((node.operator.name, self.executor))
        if unstated is None:
            return made
        low, high = unstated
        reach = (operands[0].value + operands[0].error, operands[0].value - operands[0].error)
        lost = (reach[0] > low) & (reach[1] < high)
        return [Bounded(b.value, np.where(lost, np.inf, b.error)) for b in made]

    def _gathered(self, node: Node, operands: list[Bounded], value: Array) -> Bounded:
        """The errors of the elements that are read; infinite where a place is undecided."""
        table, *places = operands
        errors = np.broadcast_to(table.error, np.shape(table.value))
        error = node.operator.numpy(errors, *(p.value for p in places))
        lost = reduce(np.logical_or, [p.error > 0 for p in places])
        return Bounded(value, np.where(lost, np.inf, error))

    def _operand(self, operand: Any) -> Bounded:
        if isinstance(operand, Value):
            found: Bounded = self.held[operand.id]
            return found
        assert isinstance(operand, Scalar)
        number = converted(evaluate(operand.expr, self.env), operand.dtype)
        return Bounded(self._widened(number, operand.dtype), np.zeros(()))

    def _apply(self, node: Node, operands: list[Any]) -> list[Array]:
        if node.operator.name == "cast":
            return [self._cast(operands[0], node.result.dtype)]
        attrs = numpy_attributes(node, self.extents)
        if node.operator.name in OF_TYPE:
            kinds = [o.dtype.numpy for o in node.operands]
            operands = [np.asarray(o).astype(k) for o, k in zip(operands, kinds, strict=True)]
        if node.result.dtype.is_float:
            attrs.pop("dtype", None)
        result = node.operator.numpy(*operands, **attrs)
        results = result if len(node.results) > 1 else (result,)
        return [
            np.asarray(r, self.wide if v.dtype.is_float else v.dtype.numpy)
            for r, v in zip(results, node.results, strict=True)
        ]

    def _cast(self, array: Any, dtype: DType) -> Array:
        return np.asarray(array).astype(self.wide if dtype.is_float else dtype.numpy)

    def _rounded(
        self, node: Node, value: Array, error: Array, dtype: DType, top: Array | None
    ) -> Array:
        """Add the operator's own error, and mark what may overflow.

        ``top`` is the largest channel, or term, which the error of the operator refers to.
        """
        if not dtype.is_float:
            # a rounding that goes the other way shows in the result's own unit
            return error if node.operator.name in STEPS else np.where(error > 0, np.inf, 0.0)
        # the unit is that of the value that is rounded, which may lie in the next binade
        reach = np.where(np.isfinite(error), np.abs(value) + error, value)
        if not node.operator.opcodes[-1].exact:
            ulp = node.operator.ulp.on(self.executor).of(dtype)
            scale = reach if top is None else np.maximum(reach, top)
            if dtype.round and len(node.operator.opcodes) > 1:  # named results are rounded, too
                error = error + ulp * spacing(scale, dtype)
            elif dtype.round:  # computed in float32, then rounded
                error = error + ulp * spacing(scale, F32) + 0.5 * spacing(reach, dtype)
            else:
                error = error + ulp * spacing(scale, dtype)
        elif node.operator.name == "cast" and not _widens(node):
            exact = (error == 0) & (value == value.astype(dtype.numpy))
            error = error + np.where(exact, 0.0, 0.5) * spacing(reach, dtype)
            if dtype.round:  # through float32, which may round to the middle between two numbers
                error = error + np.where(exact, 0.0, 0.5) * spacing(reach, F32)
        overflows = np.isfinite(value) & (np.abs(value) + error >= largest(dtype))
        if top is not None:
            loop = F32 if dtype.round else dtype
            overflows = overflows | (TERMS_OF_CHANNELS * top >= largest(loop))
        return np.where(overflows, np.inf, error)


def _top(node: Node, operands: list[Bounded]) -> Array | None:
    """The largest channel, or term, which the error of an operator refers to; see ``_rounded``."""
    if node.operator.name in TERMS:
        return TERMS[node.operator.name](operands[0].value)
    if node.operator.mixes is None:
        return None
    wide = _finite(np.abs(operands[0].value) + operands[0].error)
    # an infinite amount of a difference that rounds to nothing may be anything
    amounts = [np.abs(o.value) for o in operands[1:]]
    return np.asarray(np.max(wide, axis=-1, keepdims=True) * np.nanmax([1.0, *amounts]))


def _finite(sizes: Array) -> Array:
    return np.where(np.isfinite(sizes), sizes, 0.0)


def _zero(array: Any) -> Array:
    return np.zeros(np.shape(array))


def _before_steps(operand: Bounded, dtype: DType) -> Bounded:
    """An operand that is scaled and shifted before it is cut off; both roundings add an error."""
    loop = F32 if dtype.round else dtype
    own = spacing(operand.value, loop) + 0.5 * spacing(np.ones(()), loop)
    return Bounded(operand.value, operand.error + own)


def _widens(node: Node) -> bool:
    source, target = node.operands[0].dtype, node.result.dtype
    # float16 has more digits than bfloat16, and not its small numbers
    holds = target.digits >= source.digits and target.tiny_exponent <= source.tiny_exponent
    return (source.is_float and holds) or source.kind == "b"
