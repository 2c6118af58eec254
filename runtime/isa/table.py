"""All instructions that compute in registers, by their roots."""

from __future__ import annotations

from collections.abc import Mapping

from opweave.runtime.isa import bits, comparisons, conversions, floats, integers
from opweave.runtime.isa.form import InstructionForm, Operation, Row

# A root that floats and integers share is looked up by the last modifier.
_BY_ROOT: Mapping[str, Row] = {
    **bits.ROWS, **comparisons.ROWS, **conversions.ROWS, **integers.ROWS,
}  # fmt: skip


def operation_of(form: InstructionForm) -> Operation | None:
    """What an instruction computes; None of one that does more than to compute in registers.

    Raises:
        UnknownInstructionError: a form of it that is not executed.
    """
    one = form.instruction
    is_float = "f" in one.modifiers[-1] if one.modifiers else False
    row = floats.ROWS.get(one.root) if is_float else None
    row = row or _BY_ROOT.get(one.root)
    if row is None:
        return None
    made = row(form)
    form.finish()
    return made
