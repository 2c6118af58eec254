"""Registers: what the fragments of a kernel call their operands."""

from __future__ import annotations

from typing import Any

from opweave.compiler.codegen.group_facts import GroupFacts
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.ir.expr import Expr, expr_key
from opweave.compiler.ir.literals import c_literal
from opweave.compiler.ir.values import Operand, Scalar
from opweave.compiler.kernels.param import Param


class Registers(GroupFacts):
    """Names given so far: of values, of windows, and of scalar parameters."""

    # How the element at hand is taken from an operand's registers.
    LANE = "[l]"

    def __init__(self, setting: Setting, number: int):
        self.names: dict[int, str] = {}
        super().__init__(setting, number)
        self.windows: dict[tuple[int, int], str] = {}
        self.scalars: dict[Any, Param] = {}

    def text(self, operand: Operand, kept: bool) -> str:
        """Text of an operand in a fragment."""
        if isinstance(operand, Scalar):
            return self._scalar(operand)
        if operand.id in self.names:
            return self.names[operand.id]
        if (operand.id, 0) in self.windows:
            return f"{self.windows[operand.id, 0]}{self.LANE}"
        key = Key(operand.id, kept)
        register = f"{self.operands[key].name}_v"
        if self.access[key].kind == "splat":
            return register
        return f"{register}{self.LANE}"

    def _scalar(self, scalar: Scalar) -> str:
        if scalar.expr.op == "literal":
            return c_literal(scalar.expr.args[0], scalar.dtype)
        if scalar.dtype.is_complex:  # two parameters: an argument has 8 bytes at most
            parts = (Expr(part, (scalar.expr,)) for part in ("real", "imag"))
            texts = (self._scalar(Scalar(part, scalar.dtype.part)) for part in parts)
            return f"{scalar.dtype.register}{{{', '.join(texts)}}}"
        key = expr_key(scalar.expr), scalar.dtype
        if key not in self.scalars:
            plain = scalar.expr.op == "argument"
            name = str(scalar.expr.args[0]) if plain else self._fresh(f"s{len(self.scalars)}")
            if name in {p.name for p in self.scalars.values()}:  # one argument in two dtypes
                name = self._fresh(f"{name}_{scalar.dtype}")
            comment = "" if plain else f"{name} = {scalar.expr!r}"
            self.scalars[key] = Param("scalar", name, scalar.dtype.register, scalar, comment)
        return self.scalars[key].name
