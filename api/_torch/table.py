"""The table: how each operator of ATen is computed, by its name and overload."""

from __future__ import annotations

from typing import Any

from opweave._torch import elementwise, reductions, shapes
from opweave._torch.rows import AtenRow

PIECE = "_operator.getitem"
TABLE: dict[str, AtenRow] = elementwise.TABLE | shapes.TABLE | reductions.TABLE


def name_of(target: Any) -> str:
    """An operator's name as the table has it: aten.add.Tensor, or _operator.getitem."""
    if hasattr(target, "overloadpacket"):
        return str(target)
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}"


def row_of(node: Any) -> AtenRow | None:
    """The row of a node of torch's; None where there is none."""
    return TABLE.get(name_of(node.target)) if node.op == "call_function" else None
