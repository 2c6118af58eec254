"""The nodes that a trace has noted, found by what they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opweave.compiler.ir.graph import Node


class NotedNodes(list[Node]):
    """Nodes in order; they are appended, or all of them are replaced.

    Attributes:
        makers: the node of each value, by the value's id.
    """

    def __init__(self) -> None:
        super().__init__()
        self._makers: dict[int, Node] = {}

    @property
    def makers(self) -> Mapping[int, Node]:
        return self._makers

    def append(self, node: Node) -> None:
        super().append(node)
        for result in node.results:
            self._makers[result.id] = node

    def replace(self, nodes: Iterable[Node], first: int = 0) -> None:
        """Have other nodes, from one on."""
        for node in self[first:]:
            for result in node.results:
                self._makers.pop(result.id, None)
        super().__delitem__(slice(first, None))
        for node in nodes:
            self.append(node)

    def clear(self) -> None:
        super().clear()
        self._makers.clear()

    def _refuse(self, *args: Any) -> Any:
        raise TypeError("nodes are appended or replaced")

    __setitem__ = __delitem__ = __iadd__ = extend = insert = pop = remove = _refuse
