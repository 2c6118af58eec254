"""Op-codes and operators: what an operation is.

Every operator is an attribute of this module (``opweave.opcodes.clip``), and so are the ready-made
structural op-codes (``opweave.opcodes.grid_stride``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opweave.opcodes.codes import Fragment, OpCode, Phase
from opweave.opcodes.core import BoundOperator, Cost, Kind, Operator
from opweave.opcodes.operators.registry import ALIASES, OPERATORS, operator
from opweave.opcodes.ulps import Figure, Ulp

if TYPE_CHECKING:
    from opweave.opcodes.structural import Structural

__all__ = [
    "ALIASES",
    "OPERATORS",
    "BoundOperator",
    "Cost",
    "Figure",
    "Fragment",
    "Kind",
    "OpCode",
    "Operator",
    "Phase",
    "Ulp",
    "operator",
]


def __getattr__(name: str) -> Operator | Structural:
    wanted = ALIASES.get(name, name)
    if wanted in OPERATORS:
        return OPERATORS[wanted]
    from opweave.opcodes.structural import READY  # no import needs it

    if name in READY:
        return READY[name]
    raise AttributeError(f"opweave.opcodes has no operator {name!r}")


def __dir__() -> list[str]:
    from opweave.opcodes.structural import READY

    return sorted([*__all__, *OPERATORS, *READY])
