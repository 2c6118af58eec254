"""Which nodes of a graph are ours: those of the table, with tensors that we take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from opweave._torch.recipes import asked_of, results_of
from opweave._torch.table import row_of

DTYPES = frozenset(
    f"torch.{name}" for name in (
        "float32", "float64", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64",
        "uint8",
    )
)  # fmt: skip
DEVICES = ("cuda", "cpu")


class Supported(OperatorSupportBase):  # type: ignore[misc]
    """What torch's partitioner asks.

    Attributes:
        device: of the tensors that we take; those of others are left to torch.
    """

    def __init__(self, graph: Any):
        self.device = device_of(graph)
        self._bookends = _bookends(graph, self)

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node not in self._bookends and self.takes(node)

    def takes(self, node: Node) -> bool:
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


def _tensors(nodes: Iterable[Node]) -> list[Any]:
    return [tensor for node in nodes for tensor in _of(node.meta.get("val"))]


def _of(value: Any) -> list[Any]:
    return [v for v in results_of(value) if hasattr(v, "layout")]


def _bookends(graph: Any, supported: Supported) -> set[Node]:
    """Views that only torch and the graph's results read: torch makes them for nothing."""
    found: set[Node] = set()
    for node in reversed(graph.nodes):
        row = row_of(node)
        if row is not None and row.moves and not _is_piece(node):
            readers = (u for u in node.users if u not in found)
            if not any(map(supported.takes, readers)):
                found.add(node)
    return found


def _is_piece(node: Node) -> bool:
    """A result of a node that has several, which stays beside it."""
    return bool(getattr(node.target, "__name__", "") == "getitem")
