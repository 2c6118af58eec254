"""A matrix product of a kernel, as data."""

from __future__ import annotations

from dataclasses import dataclass

from opweave.compiler.ir.values import Extent
from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.kernel_parts import Line


@dataclass(frozen=True)
class Product:
    """A matrix product: ``accumulate`` is one step, ``result`` the rounded value of an element.

    Attributes:
        outside: what stands for elements outside of ``y``, with which and 0 a step changes
            nothing; "" is 0.
        padding: the same in words.
        copies: tiles may be copied without waiting, so that the kernel can have stages.
    """

    x: Factor
    y: Factor
    ctype: str
    identity: str
    accumulate: Line
    result: Line
    result_ctype: str
    depth: Extent
    outside: str
    padding: str
    copies: bool = False
