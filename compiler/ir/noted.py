"""The nodes that a trace has noted: found by what they make, and those that are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from opweave.compiler.ir.graph import Node, Output
from opweave.compiler.ir.values import Value


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


def live_and_dead(
    nodes: Sequence[Node], outputs: Iterable[Output], looked_at: Set[int] = frozenset()
) -> tuple[list[Node], list[Node]]:
    """The nodes that outputs and other values need, and the rest.

    Calls of NumPy's library, and counts, are needed for what they may raise.
    """
    used = {o.id for o in outputs if isinstance(o, Value)} | looked_at
    live: list[Node] = []
    dead: list[Node] = []
    for node in reversed(nodes):
        may_raise = node.is_library or node.refuses
        if may_raise or any(r.id in used for r in node.results):
            live.append(node)
            used |= {v.id for v in node.values}
        else:
            dead.append(node)
    return live[::-1], dead[::-1]
