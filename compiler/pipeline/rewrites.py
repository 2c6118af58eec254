"""Rewrites of a graph that go by its extents and the device, before anything is planned."""

from __future__ import annotations

from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Extents
from opweave.compiler.scheduling.exp_sums import exp_sums, with_exp_sums
from opweave.compiler.scheduling.vectors import as_sums, column_products

# The results of the nodes that something stands for: of products, and of sums.
Chosen = tuple[tuple[int, ...], tuple[int, ...]]


class Rewrites:
    """The graphs that a traced one has become, by what was chosen in it."""

    def __init__(self) -> None:
        self.known: dict[Chosen, FunctionGraph] = {}

    def of(
        self, graph: FunctionGraph, extents: Extents, device: Device, vendor: bool | None
    ) -> tuple[Chosen, FunctionGraph]:
        """What is chosen for these extents, and the graph with it."""
        chosen = column_products(graph, extents, device, vendor), exp_sums(graph, extents, device)
        found = self.known.get(chosen)
        if found is None:
            products, sums = chosen
            found = self.known[chosen] = as_sums(with_exp_sums(graph, sums), products)
        return chosen, found
