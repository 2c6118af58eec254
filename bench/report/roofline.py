"""The figure of all kernels under the roofs of a machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bench.report.plots import MARKERS, Document, finish, grid_of, provenance


def roofline(documents: Sequence[Document]) -> Any:
    """Every kernel of ours under the roofs: operations a second against operations a byte.

    The roofs are the highest that any of the files measured.
    """
    roofs = {k: max(d["roofs"][k] for d in documents) for k in ("copy", "fp32", "matrix")}
    figure, (axis,) = grid_of(1, "curves", 0)
    lowest, highest = math.inf, 0.0
    for number, found in enumerate(documents):
        rows = [r for r in found["rows"] if r["role"] == "ours" and r["flops"] and r["bytes"]]
        x = [r["flops"] / r["bytes"] for r in rows]
        y = [r["flops"] / r["median_us"] / 1e3 for r in rows]
        if rows:
            # no two experiments share both
            marker = MARKERS[(number + number // 10) % len(MARKERS)]
            axis.plot(x, y, marker, color=f"C{number % 10}", markersize=4,
                      label=found["experiment"])  # fmt: skip
            lowest, highest = min(lowest, *x), max(highest, *x)
    text = axis.xaxis.label.get_color()
    ends = (lowest / 2, highest * 2)
    for name, style in (("fp32", "--"), ("matrix", "-.")):
        x = sorted({*ends, min(max(roofs[name] / roofs["copy"], ends[0]), ends[1])})
        y = [min(roofs[name], at * roofs["copy"]) / 1e9 for at in x]
        axis.plot(x, y, style, color=text, linewidth=1,
                  label=f"roof: copy {roofs['copy'] / 1e9:,.0f} GB/s, {name} "
                        f"{roofs[name] / 1e9:,.0f} GFLOP/s")  # fmt: skip
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel("operations a byte")
    axis.set_ylabel("operations / time, GFLOP/s")
    axis.grid(visible=True)
    finish(figure, [axis], "Kernels under the measured roofs", provenance(documents[0]))
    return figure
