"""Op-code lists in pickles: operators by their names, since type rules are functions."""

from __future__ import annotations

from typing import Any, NamedTuple

from opweave._lists.codes import Code, ListLike
from opweave.compiler.ir.values import Where
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import BoundOperator
from opweave.opcodes.errors import EditError
from opweave.opcodes.structural import Structural


class PickledOperator(NamedTuple):
    """A ``BoundOperator``, its operator by name."""

    operator: str
    operands: tuple[Any, ...]
    attrs: tuple[tuple[str, Any], ...]
    label: str


Row = PickledOperator  # its name in pickles of earlier versions


def rows_of(found: ListLike) -> tuple[Any, ...]:
    """The op-codes of a list as they are pickled.

    Raises:
        EditError: an operator that nobody finds under its name.
    """
    return tuple(map(_row, found.codes))


def _row(code: Code) -> Any:
    if not isinstance(code, BoundOperator):
        return code
    if code.name not in OPERATORS:
        raise EditError(
            f"{code.name}: expected an operator that is registered by name (ow.operator and its "
            "kin do so), found an edited one: pickle the function that makes the list"
        )
    if OPERATORS[code.name] is not code.operator:
        raise EditError(f"{code.name}: another operator is registered under this name by now")
    return PickledOperator(code.name, code.operands, code.attrs, code.label)


def restored(
    kind: Any, rows: tuple[Any, ...], name: str, where: Where, once: tuple[Structural, ...] = ()
) -> Any:
    """The list again.

    Raises:
        EditError: an operator that is not registered here.
    """
    return kind(tuple(map(_code, rows)), name, where, once)


def _code(row: Any) -> Code:
    if not isinstance(row, PickledOperator):
        code: Code = row
        return code
    if row.operator not in OPERATORS:
        raise EditError(
            f"{row.operator}: no operator of this name is registered; import the module that "
            "calls ow.operator for it first"
        )
    return BoundOperator(OPERATORS[row.operator], row.operands, row.attrs, row.label)
