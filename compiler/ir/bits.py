"""Operators whose kernels give NumPy's very bits: either may run them."""

from __future__ import annotations

from opweave.compiler.ir.graph import Node
from opweave.opcodes.core import Kind
from opweave.opcodes.ulps import IEEE

# Of two zeros, and of two NaN, either may be the larger one.
ORDERING = ("maximum", "minimum", "fmax", "fmin", "clip", "relu")
# Kinds that move elements, or that NumPy runs itself.
MOVING = (Kind.MOVE, Kind.CREATE, Kind.LIBRARY)


def has_numpys_bits(node: Node) -> bool:
    """Whether NumPy computes the same: nothing is rounded, or once and correctly.

    Products and quotients of complex numbers are sums, whose order and steps are each one's own.
    What a float beyond the range of an integer becomes is, too.
    """
    if node.operator.kind in MOVING or node.is_view:
        return True
    kinds = [value.dtype for value in (*node.values, *node.results)]
    if node.operator.kind is not Kind.MAP or any(kind.is_complex for kind in kinds):
        return False
    if node.operator.name in ORDERING and kinds[-1].is_float:
        return False
    if node.operator.name == "cast" and kinds[0].is_float:
        return kinds[-1].is_float or kinds[-1].kind == "b"
    if node.operator.opcodes[-1].exact or not any(kind.is_float for kind in kinds):
        return True
    figure = node.operator.ulp.host
    return figure.source == IEEE and max(figure.f32, figure.f64) <= 0.5
