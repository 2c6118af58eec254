"""Which nodes of a graph are ours: those of the table, with tensors that we take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opweave._torch.recipes import asked_of, results_of
from opweave._torch.table import PIECE, name_of, row_of

DTYPES = frozenset(
    f"torch.{name}" for name in (
        "float32", "float64", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64",
        "uint8",
    )
)  # fmt: skip
DEVICES = ("cuda", "cpu")


class Supported:
    """What torch's partitioner asks.

    Attributes:
        device: of the tensors that we take; those of others are left to torch.
    """

    def __init__(self, graph: Any):
        self.device = device_of(graph)
        self._bookends = _bookends(graph, self)

    def is_node_supported(self, submodules: Any, node: Any) -> bool:
        return node not in self._bookends and self.takes(node)

    def takes(self, node: Any) -> bool:
        """Whether a node could be computed here."""
        row = row_of(node)
        if row is None or "val" not in node.meta:
            return False
        tensors = [*_tensors(node.all_input_nodes), *_of(node.meta["val"])]
        if not all(map(self._is_plain, tensors)):
            return False
        return row.left is None or not row.left(asked_of(node))

    def _is_plain(self, tensor: Any) -> bool:
        import torch

        return (
            tensor.device == self.device
            and tensor.layout is torch.strided
            and str(tensor.dtype) in DTYPES
            and not (tensor.is_quantized or tensor.is_nested)
        )


def device_of(graph: Any) -> Any:
    """The device of a graph: a GPU, if a tensor is there."""
    tensors = (t for node in graph.nodes for t in _tensors([node]))
    devices = dict.fromkeys(tensor.device for tensor in tensors)
    ranked = [d for kind in DEVICES for d in devices if d.type == kind]
    return ranked[0] if ranked else None


def _tensors(nodes: Iterable[Any]) -> list[Any]:
    return [tensor for node in nodes for tensor in _of(node.meta.get("val"))]


def _of(value: Any) -> list[Any]:
    return [v for v in results_of(value) if hasattr(v, "layout")]


def _bookends(graph: Any, supported: Supported) -> set[Any]:
    """Views that only torch and the graph's results read: torch makes them for nothing."""
    found: set[Any] = set()
    for node in reversed(graph.nodes):
        if is_view(node):
            readers = (u for u in node.users if u not in found)
            if not any(map(supported.takes, readers)):
                found.add(node)
    return found


def is_view(node: Any) -> bool:
    """Whether a node moves or views elements; a piece does as the node does that it is of."""
    row = row_of(node)
    if row is None or not row.moves:
        return False
    return name_of(node.target) != PIECE or is_view(node.args[0])
