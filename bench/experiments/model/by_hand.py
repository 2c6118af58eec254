"""What was read of the kernels by hand, before there was a model, and why it differs.

The figures are fractions of the roof on an H200, of sources, PTX and SASS in November 2026, when
no kernel had been profiled.  Where a kernel is another one by now, the row says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.experiments.model.table import titled

HEAD = """\
## Against figures read by hand (H200)

Before there was a model, somebody read the same kernels' SASS and estimated. Where both differ by
more than a tenth of the roof, the last column says who is right, as far as anybody can without a
card.
"""
# Reasons that several rows share.
CHANGED = "the kernel is another one by now"
OVERLAP = (
    "open: the model takes its limits as if they overlapped wholly, and a published ladder says "
    "that this is too good (ladder.md); by hand some of the issue slots were added to the bytes"
)
WAITS = (
    "the model: the scheduling bits say that guards keep the loads of a thread apart, so that far "
    "fewer bytes are in flight than there are loads"
)


class ByHand(NamedTuple):
    """An estimate: the least and the most of the roof, and what is to be said of a difference."""

    least: float
    most: float
    why: str

    def differs(self, found: float) -> bool:
        """By more than a tenth of the roof."""
        return found < self.least - 0.1 or found > self.most + 0.1


ESTIMATES = {
    "map of 8 operators, f32": ByHand(0.93, 0.96, OVERLAP),
    "map of 8 operators, f16": ByHand(0.8, 0.85, CHANGED),
    "map of 8 operators, bf16": ByHand(0.4, 0.4, CHANGED),
    "pixels / 255, u8": ByHand(0.3, 0.4, CHANGED),
    "softmax of 64 columns, f32": ByHand(0.6, 0.6, OVERLAP),
    "softmax of 1024 columns, f32": ByHand(0.7, 0.7, OVERLAP),
    "softmax of 8192 columns, f32": ByHand(0.65, 0.75, OVERLAP),
    "softmax of 8192 columns, bf16": ByHand(0.25, 0.3, CHANGED),
    "softmax of 65536 columns, f32": ByHand(0.5, 0.5, CHANGED),
    "layer norm of 4096, f16": ByHand(0.5, 0.6, CHANGED),
    "sum of 2^26, f32": ByHand(0.6, 0.7, CHANGED),
    "sum of 2^26, f16": ByHand(0.35, 0.35, CHANGED),
    "sums of 100 rows of 2^20, f32": ByHand(0.14, 0.14, CHANGED),
    "sums of 64 columns of 65,536, f32": ByHand(0.0005, 0.0005, CHANGED),
    "sums of 4096 columns of 4096, f32": ByHand(0.02, 0.02, CHANGED),
    "x.T of 8192^2, f32": ByHand(
        0.65, 0.75, "the model: each load waits for its store, but 64 warps of others do not"
    ),
    "cumsum of 2^26, f32": ByHand(0.45, 0.5, CHANGED),
    "cumsum down 4096^2, f32": ByHand(0.08, 0.08, CHANGED),
    "heat step of 8192^2, f32": ByHand(
        0.65, 0.75, "the model: neighbours of a row come from the first cache, and 27 "
        "instructions an element were counted where 45 were estimated"
    ),
    "permute (1, 0, 2), runs of 64, f32": ByHand(0.5, 0.5, CHANGED),
    "linear 4096^3, f32": ByHand(0.65, 0.75, OVERLAP),
    "linear 4096^3, f16": ByHand(0.06, 0.06, OVERLAP),
    "linear 4096^3, bf16": ByHand(0.06, 0.06, OVERLAP),
    "1 x 8192 @ 8192^2, f32": ByHand(0.13, 0.13, WAITS),
    "1 x 8192 @ 8192^2, bf16": ByHand(0.07, 0.07, WAITS),
}  # fmt: skip


def section(found: Mapping[str, Any]) -> str:
    """The estimates beside what the model has now; "" for another device, or for other rows."""
    rows = {titled(row): row for row in found["rows"] if "refused" not in row}
    if found["device"] != "H200" or not ESTIMATES.keys() <= rows.keys():
        return ""
    lines = [HEAD, "| work | by hand | model | where they differ |", "|---|---|---|---|"]
    for name, hand in ESTIMATES.items():
        now = rows[name]["fraction"]
        range_ = f"{hand.least:g}" + f" to {hand.most:g}" * (hand.most > hand.least)
        why = hand.why if hand.differs(now) else ""
        lines.append(f"| {name} | {range_} | {now:.2f} | {why} |")
    return "\n".join(lines) + "\n"
