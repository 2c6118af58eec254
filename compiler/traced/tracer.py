"""The tracer: collects the graph of one trace, and what became static."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from opweave.compiler.arrays.complexes import defined
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import extent_of_item, number_of, symbol_of
from opweave.compiler.ir.builder import GraphBuilder, scalar_type
from opweave.compiler.ir.expr import Expr, evaluate, literal
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Extent, Value, Where
from opweave.compiler.traced import refused
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.choices import resolved
from opweave.compiler.traced.composed import composed
from opweave.compiler.traced.exponents import with_known_exponent
from opweave.compiler.traced.handwritten import launched
from opweave.compiler.traced.lengths import LONG_NUMBER, MOST_TERMS, Length, Limits
from opweave.compiler.traced.made import Made, contents_of, is_boxed, users_line
from opweave.compiler.traced.numbers import TracedScalar, scalar_apply
from opweave.compiler.traced.selection import MaskSelection
from opweave.compiler.traced.shared_memory import SharedMemory
from opweave.compiler.traced.unwatched import unwatched
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import OpweaveError, SubclassError, TraceError, UnsupportedError


class Tracer(SharedMemory):
    """One trace: the builder, the scalar arguments' example values, and what became static.

    Attributes:
        selects: what data select is traced, by a mask (``selection.py``) or by a place.
        asks_truth: it may ask whether something ``is True``: comparisons of numbers are guarded.
        catches, catches_index: it may catch errors of empty reductions, or of places in arrays.
        calls_library: calls of NumPy's library are nodes (``compiler/library``).
        counts: counts of elements are, with so many bins at most.
        edits, counted: operators while an edited composite is traced, numbers of ``ow.repeat``.
    """

    selects = True
    edits: Mapping[str, Operator] = {}
    counted: frozenset[str] = frozenset()
    asks_truth = catches = catches_index = calls_library = raises_at_lines = False
    counts = 0

    def __init__(
        self,
        builder: GraphBuilder,
        env: dict[str, Any],
        first_line: int = 0,
        describe: Callable[[str, Any], Any] | None = None,
        limits: Limits = Limits(),
    ):
        super().__init__(builder)
        self.length, self.lends = Length(limits), limits.writes
        self.env = env
        self.static: set[str] = set()
        self.first_line = first_line
        self.describe = describe
        self.constants: list[Made] = []
        self.refused: OpweaveError | None = None  # the first refusal, see ``trace``
        self.may_warn = False  # refuse what NumPy warns of, for the extents of the call
        self.watches = False  # look for errors in what NumPy computes while tracing
        self.has_faulted = False  # there was such an error
        self.numbers: list[Expr] = []  # numbers that were computed from others
        self.raising: list[tuple[Expr, Expr, bool]] = []  # numbers that may raise, and if not so
        self.suspects: list[Value] = []  # values for which NumPy warns where they are not finite
        self.sets_errors = False  # the function itself changes NumPy's settings of errors
        self.asks_identity = False  # the function asks whether two objects are the same
        self.unboxed: set[int] = set()  # inputs without dimensions that are numbers
        self.holds_made = False  # arrays that NumPy would make are traced, see ``trace``
        self.made = False  # the function made such an array

    def errors(self) -> Any:
        """NumPy's settings while tracing: it warns of nothing, as kernels do not."""
        kind: Any = "call" if self.watches else "ignore"
        return np.errstate(
            divide=kind, over=kind, invalid=kind, under="ignore", call=self.has_heard
        )

    def has_heard(self, kind: str, flag: int) -> None:
        """Note that NumPy has found an error."""
        self.has_faulted = True

    @unwatched
    def where(self) -> Where:
        """The user's line: the innermost frame that is neither ours nor NumPy's."""
        return users_line(self.first_line)

    @unwatched
    def apply(self, operator: Operator, operands: Sequence[Any], attrs: Any = None) -> Any:
        """Apply an operator to traced values and numbers."""
        operator = self.edits.get(operator.name, operator)
        where, operands = self.where(), resolved(operator, operands)
        operands = with_known_exponent(self, operator, operands)
        is_kernel = operator.kind is Kind.HANDWRITTEN
        if not (is_kernel or any(isinstance(o, TracedArray) for o in operands)):
            return self._apply_to_scalars(operator, operands, attrs or {})
        if operator.kind is Kind.COMPOSITE:
            return composed(self, operator, operands, attrs or {})
        self.check_length(where)
        if operator.law in refused.COMPARED:
            self.check_truth(operator, operands)
        refused.check_operands(self, operator, operands, attrs)
        typed = [self._operand(operator, o, where) for o in operands]
        if (found := defined(operator, operands, typed)) is not None:
            self.suspects += [o for o in typed if isinstance(o, Value)]
            return found
        if is_kernel:
            return launched(self, operator, operands, typed, where)
        values = self.builder.apply(operator, typed, attrs, where)
        refused.check_fits(self, values, operands)
        wrapped = tuple(map(self.wrapped, values))
        if operator.kind is Kind.MOVE:
            if self.is_number(operands[0].value):
                return self.apart(wrapped[0])
            self.relate(operands[0], wrapped[0])
        return wrapped[0] if len(wrapped) == 1 else wrapped

    @unwatched
    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call what calls NumPy, and nothing of the user's; the profile function sees no call."""
        return function(*args)

    def apart(self, view: TracedArray) -> TracedArray:
        """A number of NumPy's as a value of its own: no view of the array that it is read from."""
        if not view.value.shape:
            return view
        return cast("TracedArray", self.apply(OPERATORS["copy"], [view]))

    def check_truth(self, operator: Operator, operands: Sequence[Any]) -> None:
        """Check that a comparison gives NumPy's bool, whichever side Python asks.

        Raises:
            UnsupportedError: a number of NumPy's meets one whose class answers itself.
        """
        refused.check_order(self, operator, operands)

    def check_length(self, where: Where) -> None:
        """Refuse a function whose loops are written out to more than a compiler takes.

        Raises:
            TraceError: names the line that would be one operator too many.
            RoundsError: C may run the loops.
        """
        if (error := self.length.passed(self, where)) is not None:
            raise self.noted(error)

    def noted(self, error: OpweaveError) -> OpweaveError:
        """Note a refusal: it holds even if the function catches it, since NumPy raises none."""
        if isinstance(error, UnsupportedError | TraceError) and self.refused is None:
            self.refused = error
        return error

    def is_number(self, value: Value) -> bool:
        """True where NumPy has a number, no array: ``s += 1`` gives the name s a new one."""
        if value.shape:
            return False
        return not is_boxed(value, self.builder.nodes.makers, self.hidden, self.unboxed)

    def class_of(self, value: Value) -> type:
        """The class of an array, as the user's function may ask.

        Raises:
            SubclassError: the array is made of an np.memmap; NumPy gives that class to some of
                these.
        """
        if value.id in self.mapped:
            return np.memmap
        if self.mapped and value.id not in self.inputs:
            raise self.noted(SubclassError(
                f"the class of what is made of a np.memmap ({self.where()}); pass "
                "np.asarray(x) where the elements alone are meant"
            ))  # fmt: skip
        return self.array_class

    def hidden_view(self, array: TracedArray, axes: tuple[int | None, ...]) -> TracedArray:
        """A view that nobody can write through, since it has no name of its own."""
        (found,) = self.builder.apply(
            OPERATORS["view"], [array.value], {"axes": axes}, self.where()
        )
        self.hide(made := self.wrapped(found))
        return made

    def computed(self, expr: Expr, example: Any) -> Any:
        """A number that follows from others; a TraceError where a loop computes it of itself."""
        if expr.size > MOST_TERMS:
            raise self.noted(self.of_rounds(TraceError(f"{LONG_NUMBER} ({self.where()})")))
        return TracedScalar(self, expr, example)

    def scalar(self, expr: Expr) -> Any:
        """A number that follows from extents."""
        return self.computed(expr, evaluate(expr, self.builder.extents))

    def extent(self, extent: Extent) -> Any:
        """An extent as the user has it in ``x.shape``."""
        found = self.builder.find(extent)
        return found if isinstance(found, int) else self.scalar(self.builder.extent_expr(found))

    def extent_of(self, item: Any) -> Extent:
        """A number that a user gives for an extent."""
        return symbol_of(self, extent_of_item(self, item))

    def steps(self, start: Any, stop: Any, step: int) -> Extent:
        """How many steps there are between two numbers that a user gives."""
        ends = (number_of(self, item) for item in (start, stop))
        return symbol_of(self, Expr("steps", (*ends, literal(step))))

    def _operand(self, operator: Operator, item: Any, where: Where) -> Any:
        if isinstance(item, TracedArray):
            if item.tracer is not self:
                raise TraceError(f"{operator.name}: a value of another trace was used ({where})")
            return item.value
        if isinstance(item, TracedScalar):
            return item.expr, scalar_type(item.example)
        if isinstance(item, MaskSelection):
            item.refuse()
        if isinstance(item, list | tuple | range):
            return lifted(self, item).value
        if type(item) is np.ndarray and item.ndim == 0:
            item = item[()]
        if self.describe is not None and is_array(item):
            return self.constant(item)
        if isinstance(item, bool | int | float | complex | np.generic):
            if type(item) not in (bool, int, float, complex) and not isinstance(item, np.generic):
                item = np.asarray(item)[()]  # a number of a user's class is not weak to NumPy
            return self.literal(item), scalar_type(item)
        raise refused.refusal_of(self, operator, item, where)

    def literal(self, item: Any) -> Expr:
        """A number of the function's own."""
        return literal(item)

    def wrapped(self, value: Value) -> TracedArray:
        """A value as the user's function sees it."""
        return TracedArray(self, value)

    def truth(self, array: TracedArray, what: str) -> Any:
        """A bool of Python's, from an array without dimensions; ``what`` gives it.

        Raises:
            UnsupportedError: the function may ask whether it is ``True`` itself.
        """
        from opweave.compiler.traced.truths import Truth

        if self.asks_identity:
            raise UnsupportedError(f"{what}: a bool beside a comparison by 'is'; use == or 'if'")
        return Truth(self, array.value)

    def copied(self, array: Any) -> TracedArray:
        """A copy of an array that is no argument."""
        if array.ndim:
            made: TracedArray = self.apply(OPERATORS["copy"], [self.wrapped(self.constant(array))])
            return made
        dtype = dtypes.of(array.dtype)
        return self.wrapped(self.builder.created(literal(array[()]), dtype, (), self.where()))

    def indices(self, places: Any) -> Value:
        """Indices that the function made, as a value."""
        if is_array(places) and not isinstance(places, np.ndarray):
            return self.constant(places)
        return self.constant(np.ascontiguousarray(places))

    def constant(self, array: Any) -> Value:
        """An array that is no argument: made while tracing, or found in some object."""
        for made in self.constants:
            if made.array is array:
                made.check()
                return made.value
        if self.describe is None:
            raise TraceError("an array that is no argument: pass it as an argument")
        name = f"constant{len(self.constants)}"
        kind = self.describe(name, array)
        value = self.builder.new_value(kind.dtype, kind.shape)
        self.constants.append(Made(value, name, kind, array, contents_of(array)))
        return value

    def _apply_to_scalars(self, operator: Operator, operands: Sequence[Any], attrs: Any) -> Any:
        has_traced = any(isinstance(o, TracedScalar) for o in operands)
        if getattr(np, operator.name, None) is not operator.numpy or attrs or not has_traced:
            values = [self.concrete(o) for o in operands]
            return operator.numpy(*values, **attrs)
        return scalar_apply(f"np.{operator.name}", operands)

    def decide(self, condition: Expr, value: bool) -> bool:
        """The truth of a number, which becomes part of the guard."""
        return self.builder.decide(condition, value)

    def concrete(self, item: Any) -> Any:
        """The number behind a traced scalar, which becomes static."""
        if not isinstance(item, TracedScalar):
            return item
        self.static |= {str(leaf.args[0]) for leaf in item.expr.leaves() if leaf.op != "literal"}
        return item.example
