"""The numbers of a call as text in another language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from opweave.compiler.ir.expr import Expr
from opweave.opcodes.errors import SavedError

# What needs no parentheses wherever it stands: a name, a number without a sign, what has them.
ATOM = re.compile(r"[\w.]+|\([^()]*\)")


class NumberSyntax(NamedTuple):
    """How a language writes numbers.

    Attributes:
        literal: the text of a bool, an int or a float.
        patterns: of each operator, with a place for each operand.
        refused: what an error says of a number that has others.
    """

    literal: Callable[[Any], str]
    patterns: Mapping[str, str]
    refused: str

    def text(self, expr: Expr) -> str:
        """A number of a call.

        Raises:
            SavedError: the language would compute another one.
        """
        if expr.op == "literal" and type(expr.args[0]) in (bool, int, float):
            return self.literal(expr.args[0])
        if expr.op == "argument":
            return str(expr.args[0])
        if expr.op in ("real", "imag"):  # no number of an argument is complex
            return self.text(expr.args[0]) if expr.op == "real" else "0.0"
        if expr.op in self.patterns:
            return self.patterns[expr.op].format(*(self._side(arg) for arg in expr.args))
        raise SavedError(f"the number {expr!r} {self.refused}")

    def _side(self, expr: Expr) -> str:
        """An operand, which binds as one: -2 raised to a power is not the negative of 2 raised."""
        text = self.text(expr)
        return text if ATOM.fullmatch(text) else f"({text})"
