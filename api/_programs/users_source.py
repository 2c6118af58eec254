"""The user's function beside its kernels: its lines, and which lines of a kernel are made of them.

A line of a kernel that an operator makes ends in the operator's comment (``Origin.comment``), and
the op-code list says of which line of the user's each comment speaks.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opweave.compiler.codegen.lines import Origin
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Where
from opweave.compiler.kernels.kernel import Kernel


@dataclass(frozen=True)
class UsersSource:
    """A function's text.

    Attributes:
        name: of the function.
        file: as its code names it.
        first: its first line in that file, decorators included.
        text: all of it; "" where there is none.
    """

    name: str
    file: str
    first: int
    text: str

    @classmethod
    def of(cls, function: Any) -> UsersSource:
        """The text of a function, without one where Python finds none."""
        function = inspect.unwrap(function)
        code = getattr(function, "__code__", None)
        name = str(getattr(function, "__name__", "function"))
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError, SyntaxError, ValueError):
            return cls(name, "", 0, "")
        file = code.co_filename if code else ""
        return cls(name, file, first, "".join(lines))

    def line(self, where: Where) -> int:
        """A place's line, counted from the function's first; 0 outside of it."""
        number = where.line - self.first + 1
        is_inside = where.file == self.file and 0 < number <= self.text.count("\n") + 1
        return number if is_inside and self.text else 0


def comments_of(kernel: Kernel, graph: FunctionGraph, users: UsersSource) -> dict[str, int]:
    """The line of the user's that each comment of a kernel's lines speaks of.

    The comments are those of the graph's nodes, and of op-codes that say more than their node.
    """
    said = [(Origin(node, n).comment, node.where) for n, node in enumerate(graph.nodes)]
    said += [(line.comment, graph.nodes[line.node].where) for line in kernel.opcodes
             if line.comment and line.node >= 0]  # fmt: skip
    found: dict[str, int] = {}
    for comment, where in said:
        if number := users.line(where):
            found.setdefault(comment, number)
    return found


def line_of(text: str, comments: Mapping[str, int]) -> int:
    """The line of the user's that a line of a kernel is made of, 0 for none.

    >>> line_of("v = x * y;  // multiply: f32[n0], line 3, kept", {"multiply: f32[n0], line 3": 3})
    3
    """
    _, mark, comment = text.rpartition("  // ")
    if not mark:
        return 0
    return comments.get(comment) or next(
        (number for known, number in comments.items() if comment.startswith(f"{known},")), 0
    )
