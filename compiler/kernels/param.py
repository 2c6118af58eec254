"""The parameters of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Param:
    """One kernel parameter.

    Attributes:
        kind: "input", "output", "scalar", "extent", "stride", "partials" or "counter".
        name: its name in the source.
        ctype: its C type.
        source: what the launch binds: a value id, a Scalar, extent factors, or a Stride.
    """

    kind: str
    name: str
    ctype: str
    source: Any = None
    comment: str = ""

    @property
    def declaration(self) -> str:
        const = "const " if self.kind in ("scalar", "extent", "stride") else ""
        return f"{const}{self.ctype} {self.name}"
