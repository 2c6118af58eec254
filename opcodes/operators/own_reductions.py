"""Reductions and scans of a user's own, as lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opweave.opcodes import rules
from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import OpCode
from opweave.opcodes.core import BoundOperator, Cost, Kind, Operator, TypeRule
from opweave.opcodes.defines import Define, without_toggles
from opweave.opcodes.errors import FragmentError
from opweave.opcodes.identities import is_read
from opweave.opcodes.operators.asked import Asked
from opweave.opcodes.operators.folds import Folded, Scanned
from opweave.opcodes.operators.registry import (
    OPERATORS,
    check_free,
    named_rule,
    positional_parameters,
)
from opweave.opcodes.running import Text, running_list
from opweave.opcodes.shapes import REDUCED, SCANNED
from opweave.opcodes.ulps import stated

RULES: dict[str, TypeRule] = {
    "same": rules.same, "float": rules.floating, "bool": rules.truth, "sum": rules.summation,
}  # fmt: skip
ATTRS: dict[Kind, tuple[tuple[str, Any], ...]] = {
    Kind.REDUCE: (("axis", None), ("keepdims", False)), Kind.SCAN: (("axis", -1),),
}  # fmt: skip
Item = Text | OpCode | Operator | BoundOperator | Define


def reduction(
    name: str,
    opcodes: Text | Sequence[Item],
    type_rule: str | TypeRule,
    numpy: Callable[..., Any],
    *,
    like: str | None = None,
    flops: int = 1,
    ulp: float = 0.5,
    replace: bool = False,
) -> Operator:
    """Add a reduction; it fuses, keeps its bits and is checked like a built-in one.

    parity = ow.reduction("parity", ["acc = 0", "acc ^ x"], "same", np.bitwise_xor)
    o = ow.opcodes
    norm = ow.reduction("norm", [o.square, "acc = 0", "acc + x", o.sqrt], "float", np.add)

    Args:
        name: unique name; letters, digits, underscores.
        opcodes: what a running value begins with, ``"acc = 0"``, and how two values are joined,
            an expression of ``acc`` and ``x``.  Each for all kinds of real numbers, or by kinds,
            ``{"iu": "acc ^ x"}``.  Or an accumulate and a reduce op-code, as in
            ``ow.opcodes.max.opcodes``.
            Elementwise operators may stand before, applied to each element, and behind, applied
            to the result: then the operator is a composite of these parts.  Toggles in the list,
            see ``ow.toggle``, are what the texts may test.
        type_rule: ``"same"``, ``"float"`` (promoted to a float type), ``"sum"`` (small integers
            widened, as by ``np.sum``), ``"bool"``, or a callable as in opweave.opcodes.rules.
            float16 and bfloat16 are accumulated in float32.
        numpy: what joining two values means: a ufunc, or a function of two arrays, element by
            element.  It is asked for a few values whether it is associative and commutative, and
            what the list begins with changes none of them.  Kinds of dtypes for which it raises
            TypeError get no row.
        like: as whose its errors grow, ``"sum"`` (a rounding for each step, of at most the sum of
            magnitudes), ``"prod"`` or ``"max"`` (no step rounds); found where it is left out.
        flops: operations per element.
        ulp: largest error of one step in units in the last place.
        replace: overwrite a user's operator of that name.

    Returns:
        The operator: ``op(x, axis=None, keepdims=False)``, on arrays, inside fused functions, or
        in an op-code list.

    Raises:
        NameRefusedError: the name cannot stand in source or is taken.
        FragmentError: the list breaks a rule, or its meaning is no reduction's.
        ToggleError: nothing tests a toggle.
        DTypeError: an unknown type rule; where it is used, a dtype that the list has no row for,
            or that does not hold what it begins with.
        ArgumentError: ``like`` is none of these.
    """
    own = _Own(name, type_rule, numpy, like, Cost(flops), ulp, replace)
    return own.added(opcodes, Kind.REDUCE)


def scan(
    name: str,
    opcodes: Text | Sequence[Item],
    type_rule: str | TypeRule,
    numpy: Callable[..., Any],
    *,
    like: str | None = None,
    flops: int = 1,
    ulp: float = 0.5,
    replace: bool = False,
) -> Operator:
    """Add a scan, a reduction of every beginning of a row: ``op(x, axis=-1)``.

    running = ow.scan("cumxor", ["acc = 0", "acc ^ x"], "same", np.bitwise_xor)

    Arguments and errors are those of ``reduction``, but for two: the elements stay in order, so
    ``numpy`` need not be commutative; and what the list begins with leaves all bits of a value as
    they are, so a sum begins with ``-0.0f``.

    Raises:
        NameRefusedError, FragmentError, ToggleError, DTypeError, ArgumentError: as ``reduction``.
    """
    own = _Own(name, type_rule, numpy, like, Cost(flops), ulp, replace)
    return own.added(opcodes, Kind.SCAN)


class _Own(NamedTuple):
    """What ``reduction`` and ``scan`` take."""

    name: str
    type_rule: str | TypeRule
    numpy: Callable[..., Any]
    like: str | None
    cost: Cost
    ulp: float
    replace: bool

    def added(self, opcodes: Text | Sequence[Item], kind: Kind) -> Operator:
        """The operator, in the table of all; so is that which it has between others."""
        check_free(self.name, self.replace)
        before, core, after = _apart(self.name, opcodes)
        if not before and not after:
            made = [self.row(self.name, core, kind, ())]
        else:
            check_free(f"{self.name}_acc", self.replace)
            inner = self.row(f"{self.name}_acc", core, kind, before)
            made = [inner, _composite(self.name, before, inner, after)]
        OPERATORS.update((row.name, row) for row in made)
        return made[-1]

    def row(
        self, name: str, core: Sequence[Any], kind: Kind, before: Sequence[BoundOperator]
    ) -> Operator:
        """The reduction or scan itself."""
        rule, is_scan = named_rule(self.name, self.type_rule, RULES), kind is Kind.SCAN
        if len(positional_parameters(self.name, self.numpy)) != 2:
            raise FragmentError(f"{self.name}: expected a NumPy meaning of two values, acc and x")
        asked = Asked(self.name, self.numpy, rule, lambda x: _through(before, x), is_scan)
        whole = running_list(name, core)
        kinds = asked.kinds(whole[0].rows)
        codes = tuple(code.of_kinds(kinds) for code in whole)
        started = codes[0].rows
        dtype = (("dtype", None),) if rule is rules.summation else ()
        return Operator(
            name, kind, codes,
            Scanned(self.numpy, rule) if is_scan else Folded(self.numpy, rule, started),
            rule, shape_rule=SCANNED if is_scan else REDUCED, cost=self.cost,
            ulp=stated(self.ulp), accumulator=rules.wide_float,
            needs_nonempty=not is_scan and not all(is_read(row.start) for row in started),
            attrs=(*ATTRS[kind], *dtype), like=asked.law(self.like, kinds),
        )  # fmt: skip


def _apart(name: str, opcodes: Any) -> tuple[list[BoundOperator], list[Any], list[BoundOperator]]:
    """Operators before, the list of the reduction itself, and operators behind.

    Raises:
        FragmentError: an operator in the middle, or one that is not elementwise.
    """
    items, declared = without_toggles(opcodes)
    own = [n for n, item in enumerate(items) if not isinstance(item, Operator | BoundOperator)]
    if not own:
        raise FragmentError(f"{name}: expected how two values are joined, 'acc + x'; found none")
    first, last = own[0], own[-1] + 1
    if len(own) != last - first:
        raise FragmentError(
            f"{name}: op-code {first + 2} of {len(items)}: expected operators before what the "
            "running value begins with, or behind how two are joined; found one between them"
        )
    before, after = ([_elementwise(name, item) for item in part]
                     for part in (items[:first], items[last:]))  # fmt: skip
    return before, [*declared, *items[first:last]], after


def _elementwise(name: str, item: Operator | BoundOperator) -> BoundOperator:
    """An operator of the list, which takes the running value.

    Raises:
        FragmentError: it is not elementwise, or takes another number of operands.
    """
    code = item if isinstance(item, BoundOperator) else BoundOperator(item)
    row = code.operator
    if row.kind is not Kind.MAP or row.tables or row.mixes or row.opcodes[-1].results > 1:
        raise FragmentError(
            f"{name}: expected an elementwise operator of one result, found {row.name}, of kind "
            f"{row.kind.value}: apply it in the function"
        )
    if any(type(o) is str for o in code.operands) or len(code.operands) != row.arity - 1:
        raise FragmentError(
            f"{name}: {row.name} takes {row.arity} operands: expected numbers for all but the "
            f"first, found {shown(code.operands)}"
        )
    return code


def _through(codes: Sequence[BoundOperator], x: Any) -> Any:
    for code in codes:
        x = code.operator(x, *code.operands)
    return x


def _composite(
    name: str, before: Sequence[BoundOperator], row: Operator, after: Sequence[BoundOperator]
) -> Operator:
    """Elementwise operators, a reduction or scan, and elementwise operators."""
    steps = [(code.operator, code.operands) for code in (*before, BoundOperator(row), *after)]
    parts = [part for part, _ in steps]

    def whole(x: Any, **attrs: Any) -> Any:
        return _through(after, row(_through(before, x), **attrs))

    def rule(types: tuple[Any, ...], attrs: Any = ()) -> Any:
        found = types[0]
        for part, operands in steps:
            found = part.type_rule((found, *map(type, operands)), ())[1][0]
        return types, (found,)

    codes = tuple(code for part in parts for code in part.opcodes)
    return Operator(
        name, Kind.COMPOSITE, codes, whole, rule, attrs=row.attrs,
        parts=tuple(part.name for part in parts), made_of=tuple(parts),
    )  # fmt: skip
