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
    Kind.COUNT: f"the template counts; {AROUND}",
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
    return _with_both(operator.opcodes[-1], codes)


def _with_both(old: OpCode, codes: tuple[OpCode, ...]) -> tuple[OpCode, ...]:
    """With the old row for a signed and an unsigned operand together, if none is given.

    A text of its own would compare them as C does, as unsigned ones.
    """
    kept = tuple(row for row in old.rows if row.kinds == "m")
    if len(codes) > 1 or any("m" in row.kinds for row in codes[0].rows):
        return codes
    return (replace(codes[0], rows=codes[0].rows + kept),)


def _composite(operator: Operator, opcodes: Any, ulp: float | None) -> Operator:
    """A composite some of whose parts have other op-codes, wherever its definition has them."""
    if ulp is not None:
        raise EditError(
            f"{operator.name}: ulp= is that of one part: give the part, edited with its ulp=, as "
            "in {'exp': ow.opcodes.exp.with_opcodes(text, ulp=2)}"
        )
    base = operator.base or operator
    first, known = _named(base), _named(operator)
    if isinstance(opcodes, Mapping):
        own = known | {name: _part(base, name, part) for name, part in opcodes.items()}
    else:
        found = _by_part(operator, opcodes, known)
        own = {n: _other(known[n], first[n], codes) for n, codes in found.items()}
    if own == known:
        return operator
    if own == first:
        return base
    made = tuple(own[part] for part in base.parts)
    return replace(
        base,
        name=f"{base.name}_{digest(repr([part.name for part in made]))}",
        opcodes=tuple(code for part in made for code in part.opcodes),
        made_of=made,
        base=base,
        like=base.law,
    )


def _named(composite: Operator) -> dict[str, Operator]:
    return dict(zip(composite.parts, composite.made_of, strict=True))


def _other(part: Operator, first: Operator, codes: list[Any]) -> Operator:
    """A part with these op-codes: as it is, as it was first, or edited."""
    same = next((one for one in (part, first) if codes == list(one.opcodes)), None)
    return part.with_opcodes(codes) if same is None else same


def _part(operator: Operator, name: Any, own: Any) -> Operator:
    """What takes the place of a part.

    Raises:
        EditError: there is no such part, or that is no operator made of it.
    """
    first = _named(operator).get(name)
    if first is None:
        parts = ", ".join(dict.fromkeys(operator.parts))
        raise EditError(f"{operator.name}: expected the name of a part ({parts}), found {name!r}")
    if not isinstance(own, Operator) or own.law != first.law:
        shown = own.name if isinstance(own, Operator) else type(own).__name__
        raise EditError(
            f"{operator.name}: {name}: expected ow.opcodes.{name}.with_opcodes(...), found {shown}"
        )
    return own


def _by_part(operator: Operator, opcodes: Any, known: Mapping[str, Operator]) -> dict[str, Any]:
    """The op-codes of each part, by its name.

    Raises:
        EditError: another number of op-codes; a part that is there twice, edited in two ways.
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
        codes = [next(rest) for _ in known[name].opcodes]
        if found.setdefault(name, codes) != codes:
            raise EditError(
                f"{operator.name}: {name} is there {operator.parts.count(name)} times, and edited "
                "in two ways; edit all alike, or write the function of what differs"
            )
    return found
