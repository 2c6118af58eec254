"""Operators made of other op-codes than ours: which may be, and why others may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opweave.opcodes.codes import OpCode
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import EditError
from opweave.opcodes.lists import digest, listed
from opweave.opcodes.running import product_list, running_list
from opweave.opcodes.ulps import stated

AROUND = "put elementwise op-codes around it, in the function or in ow.kernel"
# Why the list of an operator can be read, and not edited.
FIXED = {
    Kind.MOVE: f"it has no fragment but an index map; {AROUND}",
    Kind.CREATE: f"its op-codes can be read; {AROUND}",
    Kind.MAP: f"it reads at computed places; {AROUND}",
    Kind.HANDWRITTEN: "it is a whole kernel: edit its source",
}


def edited(operator: Operator, opcodes: Any, ulp: float | None) -> Operator:
    """See ``Operator.with_opcodes``."""
    if operator.kind is Kind.COMPOSITE:
        return _composite(operator, opcodes, ulp)
    is_map = operator.kind is Kind.MAP and not operator.tables and not operator.notes_faults
    if is_map:
        codes = _elementwise(operator, opcodes)
    elif operator.kind in (Kind.REDUCE, Kind.SCAN):
        codes = running_list(operator.name, opcodes, operator.opcodes[0].rows)
    elif operator.kind is Kind.CONTRACT:
        codes = product_list(operator.name, opcodes, operator.opcodes, operator.opcodes[1].rows)
    else:
        raise EditError(
            f"{operator.name}: expected an elementwise operator, a reduction, a scan or a "
            f"product, found one of kind {operator.kind.value}: {FIXED[operator.kind]}"
        )
    name = f"{operator.name}_{digest(repr(codes if ulp is None else (codes, ulp)))}"
    renamed = tuple(c.named(name) if c.name == operator.name else c for c in codes)
    figures = operator.ulp if ulp is None else stated(ulp)
    return replace(operator, name=name, opcodes=renamed, ulp=figures, like=operator.law)


def _elementwise(operator: Operator, opcodes: Any) -> tuple[OpCode, ...]:
    operands, results = operator.opcodes[-1].params, operator.opcodes[-1].results
    params = operands if operator.mixes else operator.params
    codes = listed(operator.name, opcodes, params, results)
    if operator.mixes and len(codes) > 1:
        raise EditError(
            f"{operator.name}: expected one op-code over channels, found {len(codes)}: write "
            "them as statements of one"
        )
    return codes


def _composite(operator: Operator, opcodes: Any, ulp: float | None) -> Operator:
    """A composite some of whose parts have other op-codes, wherever its definition has them."""
    from opweave.opcodes import OPERATORS

    if ulp is not None:
        raise EditError(
            f"{operator.name}: ulp= is that of one part: give the part, edited with its ulp=, as "
            "in {'exp': ow.opcodes.exp.with_opcodes(text, ulp=2)}"
        )
    known = {**OPERATORS, **dict(operator.edits)}
    edits = dict(operator.edits)
    if isinstance(opcodes, Mapping):
        edits |= {name: _part(operator, name, own) for name, own in opcodes.items()}
    else:
        for part, codes in _by_part(operator, opcodes, known).items():
            if codes == list(OPERATORS[part].opcodes):
                edits.pop(part, None)
            elif codes != list(known[part].opcodes):
                edits[part] = known[part].with_opcodes(codes)
    if edits == dict(operator.edits):
        return operator
    if not edits and operator.law in OPERATORS:
        return OPERATORS[operator.law]
    own = {**OPERATORS, **edits}
    made = tuple(code for part in operator.parts for code in own[part].opcodes)
    name = f"{operator.law}_{digest(repr(sorted((n, own[n].name) for n in edits)))}"
    changed = tuple(edits.items())
    return replace(operator, name=name, opcodes=made, edits=changed, like=operator.law)


def _part(operator: Operator, name: Any, own: Any) -> Operator:
    """What takes the place of a part.

    Raises:
        EditError: there is no such part, or that is no operator made of it.
    """
    if name not in operator.parts:
        parts = ", ".join(dict.fromkeys(operator.parts))
        raise EditError(f"{operator.name}: expected the name of a part ({parts}), found {name!r}")
    if not isinstance(own, Operator) or own.law != name:
        shown = own.name if isinstance(own, Operator) else type(own).__name__
        raise EditError(
            f"{operator.name}: {name}: expected ow.opcodes.{name}.with_opcodes(...), found {shown}"
        )
    return own


def _by_part(operator: Operator, opcodes: Any, known: Mapping[str, Operator]) -> dict[str, Any]:
    """The op-codes of each part, by its name.

    Raises:
        EditError: another number of op-codes; a part that is there twice, edited in two ways; a
            part that a user has edited before it became one.
    """
    given = [opcodes] if isinstance(opcodes, str) else list(opcodes)
    if len(given) != len(operator.opcodes):
        names = ", ".join(code.name for code in operator.opcodes)
        raise EditError(
            f"{operator.name}: expected a list of the {len(operator.opcodes)} op-codes of its "
            f"parts ({names}), found {len(given)}"
        )
    found: dict[str, list[Any]] = {}
    rest = iter(given)
    for name in operator.parts:
        if name not in known:
            raise EditError(
                f"{operator.name}: its part {name} is an operator of your own: edit that, and "
                "make the operator of it anew"
            )
        codes = [next(rest) for _ in known[name].opcodes]
        if found.setdefault(name, codes) != codes:
            raise EditError(
                f"{operator.name}: {name} is there {operator.parts.count(name)} times, and edited "
                "in two ways; edit all alike, or write the function of what differs"
            )
    return found
