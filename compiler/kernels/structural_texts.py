"""A user's structural op-codes as they stand in a kernel, for messages and explanations."""

from __future__ import annotations

from opweave.compiler.kernels.accessed import factors_of, loads_of, stores_of
from opweave.compiler.kernels.kernel import Kernel


def texts_of(kernel: Kernel) -> dict[str, str]:
    """What stands in the source for a user's structural op-codes, and the op-codes' names."""
    found: dict[str, str] = {}
    if kernel.index:
        lines = kernel.loop.split("\n") if kernel.loop else [f"first = {kernel.index.bound};"]
        found |= {line.strip(): "index" for line in lines}
    if kernel.guard:
        found[f"end = {kernel.guard.bound};"] = "guard"
    for load in loads_of(kernel):
        found |= {load.read(load.element): f"load {load.name}"} if load.by else {}
    for store in stores_of(kernel):
        lanes = ("[c][h][l]", "[c][l]", "[l]")
        values = (*(f"{store.register}{lane}" for lane in lanes), store.value)
        names = dict.fromkeys(map(store.written, values), f"store {store.name}")
        found |= names if store.by else {}
    return found


def edited(kernel: Kernel) -> list[str]:
    """The structural op-codes that a user put into a kernel, such as ``load x: read_only``."""
    named = (
        ("index", kernel.index),
        ("guard", kernel.guard),
        *((f"load {factor.name}", factor.by) for factor in factors_of(kernel)),
        *((f"load {load.name}", load.by) for load in loads_of(kernel)),
        *((f"store {store.name}", store.by) for store in stores_of(kernel)),
    )
    return list(dict.fromkeys(f"{place}: {code.name}" for place, code in named if code))
