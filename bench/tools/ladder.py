"""Published kernels, the model against their measured times: ``python -m bench.tools.ladder``.

Writes ``bench/results/model/ladder.md``, of the ladders whose sources are here: ladders.py.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from bench.measure.machine import describe
from bench.tools.ladders import LADDERS, ROOT, Ladder, Rung
from opweave._profiler.handwritten import profile_on
from opweave._profiler.report import KernelProfile
from opweave.runtime.model.device import DeviceModel

PAGE = ROOT / "bench" / "results" / "model" / "ladder.md"
# Steps that differ by less than this are in no order.
APART = 1.15


class Row(NamedTuple):
    """A step, and what the model says of it."""

    step: Rung
    profile: KernelProfile

    @property
    def us(self) -> float:
        return self.profile.model.us

    @property
    def error(self) -> float:
        """The model over what was measured, less one."""
        return self.us / self.step.us - 1


def source_of(ladder: Ladder, step: Rung) -> str:
    """A kernel's file as it is, without what is the host's; a template with its instance.

    Raises:
        OSError: it is not there.
    """
    text = (ladder.folder / step.file).read_text()
    made = "typedef unsigned int uint;\n" + step.before
    made += re.sub(r"#include .*|#pragma once", "", text)
    if ladder.until:
        made = made.partition(ladder.until)[0]
    if not step.arguments:
        return made
    given = re.search(rf"{step.kernel}\s*\(([^)]*)\)\s*\{{", text)
    assert given, f"{step.file} has another form than at {ladder.commit}"
    types = ", ".join(re.sub(r"\w+$", "", one.strip()) for one in given[1].split(","))
    return f"{made}\ntemplate __global__ void {step.kernel}<{step.arguments}>({types});\n"


def profiled(ladder: Ladder, step: Rung, device: DeviceModel) -> Row:
    """A step of a ladder on a described device: of several launches the fastest."""
    source, args = source_of(ladder, step), ladder.args()
    profiles = (
        profile_on(
            device, source, step.kernel, to.grid, to.block, args, ladder.elements, to.shared_bytes
        )
        for to in step.launches
    )
    return Row(step, min(profiles, key=lambda profile: profile.model.us))


def misordered(measured: Sequence[float], model: Sequence[float]) -> tuple[int, int]:
    """Pairs that differ by over 15 % as measured: how many the model has the wrong way, of all."""
    times = list(zip(measured, model, strict=True))
    pairs = [
        (a, b)
        for a, b in combinations(times, 2)
        if max(a[0], b[0]) > APART * min(a[0], b[0])
    ]  # fmt: skip
    return sum((a[0] - b[0]) * (a[1] - b[1]) <= 0 for a, b in pairs), len(pairs)


def section(ladder: Ladder, rows: Sequence[Row], device: DeviceModel) -> str:
    """A ladder's table, and what follows from it."""
    wrong, pairs = misordered([r.step.us for r in rows], [r.us for r in rows])
    middle = statistics.median(abs(r.error) for r in rows)
    lines = [
        f"## {ladder.title}\n",
        f"{ladder.about}. Here each kernel is profiled for {device.arch} of the {device.name} at "
        f"{device.clock_mhz:g} MHz.\n",
        f"Of {pairs} pairs that differ by over 15 % the model has {wrong} the wrong way. "
        f"The median error is {100 * middle:.0f} %.\n",
        "| kernel | measured, us | model, us | error | bound by, as the model has it |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.step.label} | {r.step.us:,.0f} | {r.us:,.0f} | {r.error:+.0%} "
        f"| {r.profile.model.binds.name} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def page(sections: Sequence[str]) -> str:
    """The page of all ladders."""
    made = describe()
    return "\n".join([
        "# Ladders of published kernels, by the model\n",
        "Made by `python -m bench.tools.ladder` from sources as they are. Nothing of the model",
        f"was fitted to them. Commit {made['commit'][:12]}, {made['date'][:10]}.\n",
        *sections,
    ])  # fmt: skip


def main() -> int:
    """Returns 1 where sources are not there."""
    if absent := [ladder.fetch for ladder in LADDERS if not ladder.folder.is_dir()]:
        print("sources are not here:", *absent, sep="\n")
        return 1
    sections = []
    for ladder in LADDERS:
        device, rows = ladder.card(), []
        for step in ladder.rungs:
            rows.append(row := profiled(ladder, step, device))
            print(
                f"{step.label:34} {step.us:9.0f} us measured {row.us:9.0f} us (model) "
                f"{row.error:+.0%}",
                flush=True,
            )
        sections.append(section(ladder, rows, device))
    PAGE.write_text(page(sections))
    return 0


if __name__ == "__main__":
    sys.exit(main())
