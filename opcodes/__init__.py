"""Op-codes and operators: what an operation is.

Every operator is an attribute of this module (``opweave.opcodes.clip``).
"""

from __future__ import annotations

from opweave.opcodes.codes import Fragment, OpCode, Phase
from opweave.opcodes.core import BoundOperator, Cost, Kind, Operator
from opweave.opcodes.operators.registry import ALIASES, OPERATORS, operator
from opweave.opcodes.ulps import Figure, Ulp

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


def __getattr__(name: str) -> Operator:
    wanted = ALIASES.get(name, name)
    if wanted in OPERATORS:
        return OPERATORS[wanted]
    raise AttributeError(f"opweave.opcodes has no operator {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *OPERATORS])
