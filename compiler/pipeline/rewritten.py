"""What a graph becomes for a device and a shape class, before it is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.passes.places import places_at_once, with_places
from opweave.compiler.passes.zeros import without_zeros
from opweave.compiler.scheduling.exp_sums import exp_sums, with_exp_sums
from opweave.compiler.scheduling.vectors import as_sums, column_products

Rewrites = tuple[tuple[int, ...], ...]


@dataclass
class Rewritten:
    """The graphs made of one so far, by the numbers of the results that others compute."""

    graphs: dict[Rewrites, FunctionGraph] = field(default_factory=dict)

    def of(
        self,
        graph: FunctionGraph,
        extents: Mapping[str, int],
        device: Device,
        vendor: bool | None,
    ) -> tuple[FunctionGraph, Rewrites]:
        """The graph, and which results are computed otherwise.

        They are products of a column, sums of exponentials, places of extremes.
        """
        sums = column_products(graph, extents, device, vendor), exp_sums(graph, extents, device)
        summed = self.graphs.get(sums)
        if summed is None:
            products, exponentials = sums
            summed = as_sums(with_exp_sums(graph, exponentials), products)
            self.graphs[sums] = summed
        places = places_at_once(summed, extents, device)
        made = self.graphs.get((*sums, places))
        if made is None:
            made = self.graphs[*sums, places] = without_zeros(with_places(summed, places))
        return made, (*sums, places)
