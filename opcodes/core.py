"""What an operation is: a list of op-codes, and the NumPy function that it must agree with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.allowed import check_attrs, check_name, plain_number
from opweave.opcodes.cached import cached_property
from opweave.opcodes.codes import OpCode, Phase, checks_begun
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import ArgumentError
from opweave.opcodes.shapes import BROADCAST, ShapeRule
from opweave.opcodes.ulps import Ulp

if TYPE_CHECKING:
    from opweave.opcodes.defines import Define


class Kind(Enum):
    """What an operator does to its iteration space; decides what it may fuse with."""

    MAP = "map"
    REDUCE = "reduce"
    SCAN = "scan"
    COUNT = "count"
    CONTRACT = "contract"
    MOVE = "move"
    CREATE = "create"
    COMPOSITE = "composite"
    HANDWRITTEN = "handwritten"  # a whole kernel that someone wrote
    LIBRARY = "library"  # a function of NumPy's that no kernel computes


@dataclass(frozen=True)
class Cost:
    """Operations per element: ``flops`` of arithmetic, ``special`` of special functions."""

    flops: int = 1
    special: int = 0

    @property
    def slots(self) -> int:
        """Instructions, roughly: a special-function unit has an eighth of the others' rate."""
        return self.flops + 8 * self.special


TypeRule = Callable[..., tuple[tuple[DType, ...], tuple[DType, ...]]]


@dataclass(frozen=True)
class Operator:
    """A named operation: op-codes, NumPy meaning, type rule.

    Calling an operator binds operands to it for an op-code list, see ``bind``.

    Attributes:
        name: unique name, as in NumPy where NumPy has it.
        kind: what it does to its iteration space.
        opcodes: the op-codes, in the order of their phases.  A map has one or more: the last makes
            the result, each before it a named one.  A reduction or a scan has an accumulate and a
            reduce op-code, a product a load before them.  A composite has those of its parts, one
            part after the other.  A view has an index map, which is no fragment.
        numpy: the function that it must agree with.  A composite's is also its definition: traced
            values pass through it.
        type_rule: ``(operand types, attrs) -> (loop types of the operands, result types)``; weak
            operands come as the Python types int, float and complex.
        params: operand names.
        shape_rule: which extents of the operands must meet, and the shape of the results.
        mixes: channels that a map takes and makes, where its op-codes see each as an operand.
        cost: operations per element.
        ulp: largest error of one evaluation per executor and precision, with its source.
        accumulator: of reductions, scans and products, from a result dtype to the one to add in.
        finish: of a reduction, the device function that makes its result of a running value.
        needs_nonempty: a reduction of no elements is an error, as in NumPy.
        attrs: names and defaults of static attributes such as ``axis``.
        tables: how many leading operands are stored, and read at places that the others give.
        notes_faults: its fragment notes operands that have no result, see ``index_of``.
        slope: largest derivative of a function that is not monotone, for error bounds.
        parts, made_of: of a composite, the names of its parts in order, and what stands for them.
        base: of an edited composite, the one that it was.
        like: of an operator of a user's, the built-in one as whose its errors grow.
    """

    name: str
    kind: Kind
    opcodes: tuple[OpCode, ...]
    numpy: Callable[..., Any]
    type_rule: TypeRule
    params: tuple[str, ...] = ("x",)
    shape_rule: ShapeRule = field(default=BROADCAST, compare=False)
    mixes: tuple[int, int] | None = None
    cost: Cost = Cost()
    ulp: Ulp = Ulp()
    accumulator: Callable[[DType], DType] | None = None
    finish: str = ""
    needs_nonempty: bool = False
    attrs: tuple[tuple[str, Any], ...] = ()
    tables: int = 0
    notes_faults: bool = False
    slope: float | None = None
    parts: tuple[str, ...] = ()
    made_of: tuple[Operator, ...] = field(default=(), compare=False, repr=False)
    base: Operator | None = field(default=None, compare=False, repr=False)
    like: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "__name__", self.name)
        if checks_begun():
            self.check_list()

    def with_opcodes(
        self,
        opcodes: str | Mapping[str, str] | Sequence[str | Mapping[str, str] | OpCode | Define],
        ulp: float | None = None,
    ) -> Operator:
        """The same operator, made of other op-codes, under a name of its own.

        ``ow.opcodes.hypot.with_opcodes(["s = x * x + y * y", "sqrt(s)"], ulp=2)``
        ``ow.opcodes.sum.with_opcodes(["acc = 0", "min_nan(acc + x, (T)1)"])``

        What it means stays: ``check`` holds the new op-codes to it, by ``ulp`` or else the error
        of the old ones.  ``opcodes`` is a fragment or a list: for an elementwise operator as in
        ``ow.operator`` (one for a signed and an unsigned operand stays), for a reduction, scan or
        product as in ``ow.reduction`` and ``ow.product`` (a fragment begins with what the old one
        does).  Of a composite it is the list of its parts, or ``{"exp": edited}`` with operators.

        Raises:
            EditError: an operator of another kind; says why its list can only be read.
            FragmentError, NameRefusedError: the list breaks a rule.
        """
        from opweave.opcodes.edits import edited  # no import needs it

        return edited(self, opcodes, ulp)

    def check_list(self) -> None:
        """Hold the name and the list to the rules.

        Raises:
            FragmentError, NameRefusedError: a rule is broken.
            ToggleError: two op-codes declare a toggle differently.
        """
        from opweave.opcodes.lists import check_elementwise, check_order
        from opweave.opcodes.running import check_product, check_running

        check_name(self.name, "operator")
        if self.kind is not Kind.COMPOSITE:
            check_order(self.name, self.opcodes)
        if self.kind is Kind.MAP and not self.tables:
            operands = self.opcodes[-1].params if self.mixes else self.params
            check_elementwise(self.name, self.opcodes, operands)
        if self.kind in (Kind.REDUCE, Kind.SCAN):
            check_running(self.name, self.opcodes)
        if self.kind is Kind.CONTRACT:
            check_product(self.name, self.opcodes)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature, so that an operator is a function like any other for fuse and help()."""
        named = [inspect.Parameter(p, inspect.Parameter.POSITIONAL_ONLY) for p in self.params]
        return inspect.Signature(named)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{self.kind.value} operator {self.name}({', '.join(self.params)})>"

    def __str__(self) -> str:
        """The operator as a list: a line for each row of each op-code."""
        from opweave.opcodes.printing import printed  # no import needs it

        return printed(self)

    @cached_property
    def toggles(self) -> tuple[Define, ...]:
        """What its fragments test, see ``ow.toggle``."""
        return tuple(dict.fromkeys(t for code in self.opcodes for t in code.toggles))

    @property
    def text(self) -> str:
        """Its fragments of the first kind of dtypes in one line, or what kind it is."""
        codes = [code for code in self.opcodes if code.rows]
        if self.kind is Kind.COMPOSITE or not codes:
            return self.kind.value
        if self.kind is not Kind.MAP:
            return codes[0].text
        return "; ".join([*(f"{code.name} = {code.text}" for code in codes[:-1]), codes[-1].text])

    @property
    def law(self) -> str:
        """The built-in operator as whose the errors of this one grow."""
        return self.like or self.name

    @property
    def arity(self) -> int:
        return len(self.params)

    def plain_attrs(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes as plain values, see ``check_attrs``."""
        return check_attrs(self.name, [name for name, _ in self.attrs], attrs)

    def named_dtype(self, loop: Sequence[DType]) -> DType:
        """The type of named results: what the types of the operands are promoted to."""
        return dtypes.promote(*loop)

    def kinds(self, code: OpCode, loop: Sequence[DType]) -> str:
        """Kinds of the operands of one of its op-codes, for operands of these types."""
        if self.kind is not Kind.MAP or self.mixes:
            return loop[0].kind
        if code.params == self.params:  # as nearly always
            return "".join([dtype.kind for dtype in loop])
        known = dict(zip(self.params, loop, strict=True))
        named = self.named_dtype(loop) if len(self.opcodes) > 1 else loop[0]
        return "".join(known.get(param, named).kind for param in code.params) or named.kind

    def opcode(self, phase: Phase) -> OpCode:
        """The op-code of a phase, of which a reduction, scan or product has one."""
        return next(code for code in self.opcodes if code.phase is phase)

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        """Apply the operator, or bind it for an op-code list.

        With an array or a traced value among the operands it is applied: to arrays through its
        NumPy meaning, to traced values as a node of the graph.  With names and numbers only it is
        bound, see ``BoundOperator``.  Positional operands beyond the arity are attributes.
        """
        names = [name for name, _ in self.attrs]
        extra = operands[self.arity :]
        if len(extra) > len(names):
            raise ArgumentError(
                f"{self.name}: expected at most {self.arity} operands, found {len(operands)}"
            )
        attrs |= dict(zip(names, extra, strict=False))
        operands = operands[: self.arity]
        attrs = self.plain_attrs(attrs)
        for operand in operands:
            if hasattr(type(operand), "__opweave_apply__"):
                return operand.__opweave_apply__(self, operands, attrs)
        if any(not isinstance(o, str | int | float | complex | np.generic) for o in operands):
            if len(operands) < self.arity:
                raise ArgumentError(
                    f"{self.name}: expected {self.arity} operands ({', '.join(self.params)}), "
                    f"found {len(operands)}; bound op-codes take numbers and names only"
                )
            if self.mixes is not None:
                self._check_picture(operands[0])
            return self.numpy(*operands, **attrs)
        return BoundOperator(self).bind(*operands, **attrs)

    def _check_picture(self, picture: Any) -> None:
        """Check an array as traced arrays are checked."""
        self.shape_rule.result([np.shape(picture)], {})
        kind: Any = getattr(picture, "dtype", None) or type(picture)
        self.type_rule((dtypes.of(kind),), ())


@dataclass(frozen=True)
class BoundOperator:
    """An operator in an op-code list, with the operands that were given to it.

    An operand is a number, or the name of an argument or of an earlier result.  If there is one
    operand fewer than the operator takes, the running value is the first.
    """

    operator: Operator
    operands: tuple[Any, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        for operand in self.operands:
            if isinstance(operand, str):
                check_name(operand, f"{self.operator.name}: operand")
        plain = tuple(o if type(o) is str else plain_number(o) for o in self.operands)
        object.__setattr__(self, "operands", plain)
        if type(self.label) is not str or self.label:
            check_name(self.label, "label")

    def bind(self, *operands: Any, **attrs: Any) -> BoundOperator:
        plain = dict(self.operator.attrs) | self.operator.plain_attrs(attrs)
        return replace(self, operands=operands, attrs=tuple(sorted(plain.items())))

    def named(self, label: str) -> BoundOperator:
        """Name the result, so that later op-codes can refer to it."""
        check_name(label, "label")  # refuses the empty one, too, which means no label
        return replace(self, label=label)

    @property
    def name(self) -> str:
        return self.operator.name

    def __repr__(self) -> str:
        return f"<op-code {self.name}({', '.join(map(repr, self.operands))})>"
