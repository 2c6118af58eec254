"""What an operation is: op-codes and operators, as data.

An op-code is a fragment of CUDA C that maps registers to registers.  It never touches memory;
that is why the same ReLU fits into an elementwise loop, behind a row reduction, and between a
matrix product and its store.  An operator is a name, its op-codes, and the NumPy function that it
must agree with.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.allowed import check_attrs, check_name, plain_number
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import ArgumentError, FragmentError
from opweave.opcodes.fragments import check_fragment
from opweave.opcodes.shapes import BROADCAST, ShapeRule
from opweave.opcodes.tokens import tokens
from opweave.opcodes.ulps import Ulp


class Phase(Enum):
    """The phases of a kernel, in the order in which a kernel is written."""

    SIGNATURE = "signature"
    INDEX = "index"
    GUARD = "guard"
    LOAD = "load"
    REPEAT = "repeat"
    PROLOGUE = "prologue"
    ACCUMULATE = "accumulate"
    REDUCE = "reduce"
    EPILOGUE = "epilogue"
    STORE = "store"
    CLOSE = "close"


COMPUTING = (Phase.PROLOGUE, Phase.ACCUMULATE, Phase.REDUCE, Phase.EPILOGUE)


class Kind(Enum):
    """What an operator does to its iteration space; decides what it may fuse with."""

    MAP = "map"
    REDUCE = "reduce"
    SCAN = "scan"
    CONTRACT = "contract"
    MOVE = "move"
    CREATE = "create"
    COMPOSITE = "composite"


# A test holds the rows of our own tables to the rules, so that no import has to.
_checks = False


def begin_checks() -> None:
    """Hold op-codes and operators to the rules as they are made, from now on."""
    global _checks
    _checks = True


@dataclass(frozen=True)
class OpCode:
    """One fragment of CUDA C with named slots.

    Attributes:
        name: what the generated kernel's comment says.
        phase: where it stands in a kernel; a map's op-code moves to the prologue when it is
            placed before a reduction.
        fragment: an expression over ``params``, or statements that ``return`` the result.  The
            slot ``T`` stands for the result's register type, ``S`` for its type in memory.
        params: names of the operands in the fragment.
        dtypes: the kinds of the first operand (``f``, ``c``, ``i``, ``u``, ``b``) it is for; ``m``
            marks the one for a signed and an unsigned 64-bit operand together.
        toggles: names of the ``#define`` toggles that the fragment tests.
        results: number of results; more than one only for statements that assign ``r0``, ``r1``...
        exact: the result is representable in its dtype, so float16 needs no rounding after it.
    """

    name: str
    phase: Phase
    fragment: str
    params: tuple[str, ...]
    dtypes: str = "fiub"
    toggles: tuple[str, ...] = ()
    results: int = 1
    exact: bool = False

    def __post_init__(self) -> None:
        if _checks:
            self.check()

    def check(self) -> None:
        """Hold the fragment to the rules.

        Raises:
            FragmentError, NameRefusedError: a rule is broken.
        """
        check_name(self.name, "op-code")
        check_fragment(self.name, self.fragment, self.params, self.results)

    @property
    def is_statement(self) -> bool:
        """True when the fragment is statements, which become a small ``__device__`` function."""
        return ";" in tokens(self.fragment)

    def __str__(self) -> str:
        return f"{self.phase.value:<10} {self.name:<14} {self.fragment}"


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
        opcodes: the op-codes; for a map one per kind of dtype, for a reduction or a scan an
            accumulate and a reduce op-code, for a product an accumulate op-code.  Empty for a
            composite and for a view.
        numpy: the function that it must agree with.  A composite's is also its definition: traced
            values pass through it.
        type_rule: ``(operand types, attrs) -> (loop types of the operands, result types)``; weak
            operands come as the Python types int, float and complex.
        params: operand names.
        shape_rule: which extents of the operands must meet, and the shape of the results.
        mixes: channels of the last axis that it takes and makes, for a map whose op-codes see
            each channel of the first operand as an operand of its own.
        cost: operations per element.
        ulp: largest error of one evaluation per executor and precision, with its source.
        identity: for reductions, scans and products, the C expression of the empty one per dtype
            kind.
        accumulator: for reductions, scans and products, the dtype to accumulate in for a result
            dtype.
        needs_nonempty: a reduction of no elements is an error, as in NumPy.
        attrs: names and defaults of static attributes such as ``axis``.
        tables: number of leading operands that are read at places given by the other operands, and
            are therefore stored.
        notes_faults: its fragment notes operands that have no result, see ``index_of``.
        slope: largest derivative of a function that is not monotone, for error bounds.
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
    identity: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
    accumulator: Callable[[DType], DType] | None = None
    needs_nonempty: bool = False
    attrs: tuple[tuple[str, Any], ...] = ()
    tables: int = 0
    notes_faults: bool = False
    slope: float | None = None

    def __post_init__(self) -> None:
        if _checks:
            check_name(self.name, "operator")
        object.__setattr__(self, "__name__", self.name)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature, so that an operator is a function like any other for fuse and help()."""
        named = [inspect.Parameter(p, inspect.Parameter.POSITIONAL_ONLY) for p in self.params]
        return inspect.Signature(named)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{self.kind.value} operator {self.name}({', '.join(self.params)})>"

    @property
    def arity(self) -> int:
        return len(self.params)

    def plain_attrs(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes as plain values, see ``check_attrs``."""
        return check_attrs(self.name, [name for name, _ in self.attrs], attrs)

    def opcode_for(self, kinds: str, phase: Phase | None = None) -> OpCode:
        """Return the op-code for operands of these dtype kinds.

        Raises:
            FragmentError: no row covers them.
        """
        key = "m" if kinds in ("iu", "ui") else kinds[:1]
        for wanted in (key, kinds[:1]):
            for code in self.opcodes:
                if wanted in code.dtypes and (phase is None or code.phase is phase):
                    return code
        raise FragmentError(f"{self.name}: no op-code for operands of kind {kinds!r}")

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
