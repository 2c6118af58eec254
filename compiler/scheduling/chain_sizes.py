"""Sizes of chains of maps: how many links one kernel takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from opweave.compiler.ir.graph import Node
from opweave.compiler.scheduling.compile_costs import (
    MOST_SECONDS,
    SECONDS,
    KernelSize,
    is_rounded,
    weight,
)
from opweave.compiler.scheduling.forms import MOST_NUMBERS, MOST_OPERANDS, numbers_of
from opweave.compiler.scheduling.profit import LONGEST


@dataclass
class ChainSize:
    """The size of a group of maps.

    Attributes:
        read: ids of the values that it reads.
        slots: its operations.
        weight: the same to a compiler, see ``compile_costs.weight``.
        rounded: results that are rounded to 16 bits.
        numbers: keys of its numbers.
    """

    read: set[int]
    slots: int
    weight: float
    rounded: int
    numbers: set[Any]

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> ChainSize:
        found = cls(set(), 0, 0, 0, set())
        for node in nodes:
            found.read |= {v.id for v in node.values}
            found.slots += node.operator.cost.slots
            found.weight += weight(node)
            found.rounded += is_rounded(node)
            found.numbers |= numbers_of(node)
        return found

    def fits(self, other: ChainSize) -> bool:
        """True where both together fit one kernel, with room for operands that are returned."""
        return (
            len(self.read) + len(other.read) <= MOST_OPERANDS // 2
            and self.slots + other.slots <= LONGEST
            and SECONDS["map"].seconds(self.together(other)) <= MOST_SECONDS
            and len(self.numbers) + len(other.numbers) <= MOST_NUMBERS
        )

    def together(self, other: ChainSize) -> KernelSize:
        slots, operands = self.weight + other.weight, len(self.read) + len(other.read)
        return KernelSize(slots, operands, rounded=self.rounded + other.rounded)

    def add(self, other: ChainSize, inside: int) -> None:
        """Add another group; the value between the two is no longer read."""
        self.read |= other.read
        self.read.discard(inside)
        self.slots += other.slots
        self.weight += other.weight
        self.rounded += other.rounded
        self.numbers |= other.numbers
