"""From which size on a graph of layers is better on a GPU than on the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.report.reading import time, times, values

# A kernel in a CUDA graph on an H100, microseconds: the flash-vla project's measurement.
GRAPH_KERNEL = 1.24
MODES = ("graph, fused", "replay, fused")


def best_of(found: Mapping[str, Any]) -> dict[int, float]:
    """Microseconds of the quicker of our two modes, by size."""
    by_size = {
        n: [t for mode in MODES for t in times(found, mode, size=n, rule="program")]
        for n in sorted(values(found, "size"))
    }
    return {n: min(found) for n, found in by_size.items() if found}


def crossing(results: Mapping[str, Mapping[str, Any]], depth: int) -> str:
    """What launch costs, and where host and GPU meet.

    Args:
        results: of graphs, by device.
        depth: of those that are measured by size.
    """
    host = best_of(results["host"]) if "host" in results else {}
    if not host:
        return ""
    least = depth * GRAPH_KERNEL
    below = [n for n, taken in host.items() if taken < least]
    parts = [
        f"Fused, a graph of {depth} layers is {depth} kernels and the softmax. On a GPU each "
        f"takes what starting it does, at least: {GRAPH_KERNEL} us in a CUDA graph on an H100 (by "
        f"the flash-vla project), so {time(least)} for {depth}, whatever they compute; transfers "
        "come on top. Started one by one from Python, or plain instead of fused, there "
        "is more to start for the same arithmetic: that is what replaying and fusing gain."
    ]
    if below:
        parts.append(
            f"The host takes less than that for all {depth} layers up to n = {below[-1]} "
            f"({time(host[below[-1]])}): there it is quicker than any GPU."
        )
    cards = {name: best_of(found) for name, found in results.items() if name != "host"}
    parts += [f"Measured, {name} is {ahead(host, card)}." for name, card in cards.items()]
    if not cards:
        parts.append("Where the two meet has not been measured: no result of a GPU is stored.")
    return " ".join(parts)


def ahead(host: Mapping[int, float], card: Mapping[int, float]) -> str:
    """From which size on a card is ahead of the host, of the sizes that both have."""
    both = [n for n in host if n in card]
    if not both:
        return "compared with the host at no size: both are measured at none"
    won = [n for n in both if card[n] < host[n]]
    return (
        f"ahead of the host from n = {won[0]} on"
        if won
        else (f"ahead of the host at no size up to {both[-1]}")
    )
