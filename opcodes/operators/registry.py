"""The table of all operators, and the way to add one."""

from __future__ import annotations

import copyreg
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.codes import OpCode, begin_checks
from opweave.opcodes.core import Cost, Kind, Operator, TypeRule
from opweave.opcodes.errors import ArgumentError, DTypeError, FragmentError, NameRefusedError
from opweave.opcodes.operators import (
    complexes,
    composites,
    functions,
    gathers,
    maps,
    pixels,
    places,
    products,
    reductions,
)
from opweave.opcodes.ulps import stated

if TYPE_CHECKING:
    from opweave.opcodes.defines import Define

TABLES: tuple[Any, ...] = (
    maps, functions, gathers, reductions, products, composites, pixels, complexes,
)  # fmt: skip
OPERATORS: dict[str, Operator] = {
    row.name: complexes.extended(row) for module in TABLES for row in module.OPERATORS
}
for _row in OPERATORS.values():  # a composite's list is that of its parts
    if _row.parts:
        _parts = tuple(OPERATORS[part] for part in _row.parts)
        object.__setattr__(_row, "made_of", _parts)
        object.__setattr__(_row, "opcodes", tuple(code for p in _parts for code in p.opcodes))
BUILT_IN = frozenset(OPERATORS)
# Those that stand in no list.
_UNLISTED = {row.name: row for row in places.OPERATORS.values()}
begin_checks()


def built_in(name: str) -> Operator | None:
    """The built-in operator of a name."""
    return OPERATORS[name] if name in BUILT_IN else None


def unlisted(name: str) -> Operator | None:
    """A built-in operator that stands in no list."""
    return _UNLISTED.get(name)


def _pickled(operator: Operator) -> Any:
    """A built-in operator is pickled by its name, every other one by what it is."""
    for ours in (built_in, unlisted):
        if ours(operator.name) is operator:
            return ours, (operator.name,)
    return operator.__reduce_ex__(2)


copyreg.pickle(Operator, _pickled)
# NumPy functions that are another operator under a second name.
ALIASES = {"amax": "max", "amin": "min", "true_divide": "divide", "abs": "absolute"}


def operator(
    name: str,
    fragment: str | Sequence[str | OpCode | Define],
    type_rule: str | TypeRule,
    numpy: Callable[..., Any],
    *,
    flops: int = 1,
    special: int = 0,
    ulp: float = 0.5,
    replace: bool = False,
) -> Operator:
    """Add an elementwise operator in three strings; it fuses and is checked like a built-in one.

    swish = ow.operator("swish", ["s = 1 / (1 + exp(-x))", "x * s"], "float", meaning, ulp=4)

    Args:
        name: unique name; letters, digits, underscores.
        fragment: CUDA C over the parameters of ``numpy``: an expression such as
            ``"x > 0 ? x : slope * x"``, or statements that return the result.  ``T`` stands for
            the result's C type.  Or a list of op-codes, of which each but the last names its
            result, ``"s = 1 / (1 + exp(-x))"``, for later ones.  A named result is rounded to the
            operator's type (the operands', where the result is a bool) as if it were an operator
            of its own.  Op-codes of other operators, as in ``ow.opcodes.exp.opcodes``, may stand
            in the list, and toggles (``ow.toggle``), which its fragments test by ``#if``.
        type_rule: ``"same"`` (operands promoted to one type, which is the result's), ``"float"``
            (promoted to a float type), ``"bool"`` (promoted, result bool), or a callable as in
            opweave.opcodes.rules.
        numpy: the meaning; its positional parameters name the operands.
        flops: operations per element.
        special: special functions per element.
        ulp: largest error of one evaluation in units in the last place; of a list, of all of it.
        replace: overwrite a user's operator of that name.

    Returns:
        The operator: call it on arrays, inside fused functions, or in an op-code list.

    Raises:
        NameRefusedError: the name cannot stand in source or is taken.
        FragmentError: the fragment breaks the rules for fragments.
        ToggleError: a toggle that no fragment tests, or that two op-codes declare differently.
        DTypeError: an unknown type rule.
    """
    check_free(name, replace)
    row = _made(name, fragment, type_rule, numpy, Cost(flops, special), ulp)
    OPERATORS[name] = row
    return row


def check_free(name: str, replace: bool) -> None:
    """Refuse a name for an operator of a user's.

    Raises:
        NameRefusedError: it cannot stand in source, or is taken.
    """
    check_name(name, "operator")
    if name in BUILT_IN or (name in OPERATORS and not replace):
        raise NameRefusedError(f"operator name {name!r} is taken: pick another, or replace=True")


def cuda(
    fragment: str | Sequence[str | OpCode | Define],
    *operands: Any,
    numpy: Callable[..., Any],
    type_rule: str | TypeRule = "same",
    name: str = "cuda",
    flops: int = 1,
    special: int = 0,
    ulp: float = 0.5,
) -> Any:
    """A fragment of CUDA C in the middle of a fused function; it fuses with its neighbours.

    y = ow.cuda("x > 0 ? x : a * x", x, 0.1, numpy=lambda x, a: np.where(x > 0, x, a * x))

    Args:
        fragment: CUDA C over the parameters of ``numpy``, or a list of op-codes, as in
            ``operator``.
        operands: arrays and numbers, one for each parameter; they broadcast.
        numpy: the meaning, which ``check`` holds the fragment to; what arrays outside of a fused
            function get.
        type_rule: as in ``operator``.
        name: what the generated source calls it, before a digest of the fragment.
        flops: operations per element.
        special: special functions per element.
        ulp: largest error of one evaluation in units in the last place.

    Raises:
        NameRefusedError: the name cannot stand in source.
        FragmentError: the fragment breaks the rules for fragments.
        ToggleError: a toggle that no fragment tests, or that two op-codes declare differently.
        DTypeError: an unknown type rule.
        ArgumentError: not an operand for each parameter.
    """
    check_name(name, "operator")
    params = positional_parameters(name, numpy)
    from opweave.opcodes.lists import digest, listed  # no import needs it

    codes = listed(name, fragment, params)
    text = fragment if isinstance(fragment, str) else codes
    name = f"{name}_{digest(f'{params}{text}')}"  # one function in C for each
    row = _made(name, fragment, type_rule, numpy, Cost(flops, special), ulp)
    if len(operands) != row.arity:
        raise ArgumentError(
            f"{name}: expected {row.arity} operands ({', '.join(row.params)}), found "
            f"{len(operands)}"
        )
    for operand in operands:
        if hasattr(type(operand), "__opweave_apply__"):
            return operand.__opweave_apply__(row, operands, {})
    return numpy(*operands)


def _made(
    name: str,
    fragment: str | Sequence[str | OpCode | Define],
    type_rule: str | TypeRule,
    numpy: Callable[..., Any],
    cost: Cost,
    ulp: float,
) -> Operator:
    """A user's elementwise operator."""
    rule = named_rule(name, type_rule, rules.BY_NAME)
    params = positional_parameters(name, numpy)
    from opweave.opcodes.lists import listed

    return Operator(
        name,
        Kind.MAP,
        listed(name, fragment, params),
        numpy,
        rule,
        params=params,
        cost=cost,
        ulp=stated(ulp),
    )


def named_rule(name: str, type_rule: str | TypeRule, known: Mapping[str, TypeRule]) -> TypeRule:
    """A type rule, or the one of that name.

    Raises:
        DTypeError: there is none.
    """
    if callable(type_rule):
        return type_rule
    if type(type_rule) is not str or type_rule not in known:
        raise DTypeError(
            f"{name}: unknown type rule {shown(type_rule)}: expected one of {sorted(known)}"
        )
    return known[type_rule]


def positional_parameters(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    """What a NumPy meaning names its operands.

    Raises:
        FragmentError: it has no signature, or none.
    """
    if isinstance(function, np.ufunc):
        return ("x", "y", "z")[: function.nin]
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise FragmentError(
            f"{name}: the NumPy meaning has no readable signature: wrap it in a lambda whose "
            "parameters name the operands of the fragment"
        ) from None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = tuple(p.name for p in found if p.kind in kinds)
    if not names:
        raise FragmentError(f"{name}: the NumPy meaning takes no operands")
    return names
