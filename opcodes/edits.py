"""Operators made of other op-codes than ours: which may be, and why others may not."""

from __future__ import annotations

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
    Kind.COMPOSITE: (
        "its op-codes can be read; edit those of its parts, and write the function of them"
    ),
    Kind.MOVE: f"it has no fragment but an index map; {AROUND}",
    Kind.CREATE: f"its op-codes can be read; {AROUND}",
    Kind.MAP: f"it reads at computed places; {AROUND}",
    Kind.HANDWRITTEN: "it is a whole kernel: edit its source",
}


def edited(operator: Operator, opcodes: Any, ulp: float | None) -> Operator:
    """See ``Operator.with_opcodes``."""
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
    name = f"{operator.name}_{digest(repr(codes))}"
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
