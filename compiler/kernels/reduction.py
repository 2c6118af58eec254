"""A reduction or scan of a kernel: how its running values begin, take elements, and are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opweave.opcodes.tokens import rename

if TYPE_CHECKING:
    from opweave.compiler.kernels.kernel_parts import Line


@dataclass(frozen=True)
class Reduction:
    """A reduction or scan of one pass: its op-codes as statements over registers.

    Attributes:
        finish: the function that makes the result of a running value; "" where that is one.
        made: the type of such a result.
    """

    name: str
    ctype: str
    identity: str
    accumulate: Line
    join: Line
    round: str
    operator: str
    finish: str = ""
    made: str = ""

    @property
    def result_ctype(self) -> str:
        """The type of the result, where that is no running value."""
        return self.made or self.ctype

    @property
    def joint(self) -> str:
        """Running values of columns, all joined, which become the results."""
        return f"{self.name}_all" if self.made else self.name

    @property
    def functor(self) -> str:
        """Name of the function object that joins two partial results, such as ``Sum_f32``."""
        return f"{self.operator[:1].upper()}{self.operator[1:]}"

    @property
    def call(self) -> str:
        """What it does with them."""
        t = self.ctype
        return f"{t} operator()({t} x, {t} y) const {{ return {self.joined('x', 'y')}; }}"

    @property
    def shared_ctype(self) -> str:
        """The type of partial results that other blocks read."""
        if "<" in self.ctype:
            return f"Volatile<{self.ctype}>::type"
        return f"volatile{'_' if self.ctype.startswith('complex') else ' '}{self.ctype}"

    def result(self, text: str) -> str:
        """The reduced value, rounded to its dtype where registers are wider."""
        text = f"{self.finish}({text})" if self.finish else text
        return f"{self.round}({text})" if self.round else text

    def joined(self, a: str, b: str) -> str:
        """Text of the reduce op-code for two partial results."""
        return rename(self.join.text, {"acc": a, "x": b})
