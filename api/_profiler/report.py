"""What a profile says: counters by name, what the model makes of them, and the source beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from opweave._html.shown import Shown
from opweave.runtime.model.facts import LaunchFacts
from opweave.runtime.model.times import ModelTime
from opweave.runtime.sass.counters import BlockCount
from opweave.runtime.sass.execution import Skipped

MARGIN = ("alu", "fma", "xu", "lsu", "branch")


@dataclass(frozen=True)
class KernelProfile(Shown, by="_profiler.pieces:kernel"):
    """One launch of one kernel.

    Attributes:
        name, target, device: the kernel, its architecture, and the device that is described.
        clock_mhz: the one clock of the model.
        counters: by name; those that begin with ``opweave__`` have no name in Nsight Compute.
        facts: what the model was told.
        model: what a model of the device makes of them; nothing was measured.
        skipped: branches that follow from data, behind which nothing is counted.
        unknown: instructions that were to decide something, and are not understood.
        sampled, blocks: blocks that were executed, and that the launch has.
        in_order: blocks drew numbers from a counter: here in the order of their own numbers.
        basic_blocks: of the binary, with instructions by pipe, and how often each runs.
        lines: warp instructions by line of the source and by pipe.
        source: CUDA C.
    """

    name: str
    target: str
    device: str
    clock_mhz: float
    counters: Mapping[str, float]
    facts: LaunchFacts
    model: ModelTime
    skipped: tuple[Skipped, ...]
    unknown: tuple[str, ...]
    sampled: int
    blocks: int
    in_order: bool
    basic_blocks: tuple[BlockCount, ...] = field(repr=False)
    lines: Mapping[int, Mapping[str, float]] = field(repr=False)
    source: str = field(repr=False)

    def __str__(self) -> str:
        wide = max(map(len, self.counters))
        rows = [f"  {name:{wide}}  {number(value):>12}" for name, value in self.counters.items()]
        return "\n".join([f"{self.name} for {self.target}", *rows, *self._model(), *self._notes()])

    def _model(self) -> list[str]:
        model = self.model
        head = (
            f"model of {self.device} at {self.clock_mhz:g} MHz: {model.us:.3g} us, bound by "
            f"{model.binds.name}, {100 * model.fraction:.0f} % of the roof of its bytes; "
            "nothing was measured"
        )
        shown = [limit for limit in model.limits if limit.us > 0][:6]
        wide = max((len(limit.name) for limit in shown), default=0)
        rows = [f"  {x.name:{wide}}  {x.us:9.3g} us (model)  {x.sentence}" for x in shown]
        if model.joining_us:
            us = f"{model.joining_us:9.3g} us (model)"
            rows.append(f"  {'last block':{wide}}  {us}  joins the parts, behind all others")
        return [self._floors(), head, *rows, f"next (model): {model.binds.mend}"]

    def _floors(self) -> str:
        """What holds on any device of the architecture, whatever the model says."""
        facts = self.facts
        times = facts.moved_bytes / facts.least_bytes if facts.least_bytes else 1.0
        return (
            f"no model: {times:.3g} times the least bytes moved; "
            f"{facts.per_element(facts.instructions)} {facts.unit}; {facts.bytes_in_flight} bytes "
            f"in flight a thread; {facts.resident_blocks} blocks of {facts.threads} threads a "
            f"multiprocessor, limited by {facts.limiter}; {self.model.waves:.3g} waves"
        )

    def _notes(self) -> list[str]:
        out = []
        if self.sampled < self.blocks:
            out.append(f"counted on {self.sampled} of {self.blocks} blocks, and scaled")
        if self.in_order:
            out.append(
                "blocks draw numbers from a counter: here in the order of their own numbers"
            )
        if hidden := self.counters["opweave__requests_with_addresses_from_data.sum"]:
            out.append(
                f"{hidden:.0f} requests have addresses that follow from data: their sectors, "
                "wavefronts and bytes are counted nowhere"
            )
        for line in sorted({one.line for one in self.skipped}):
            rows = [one for one in self.skipped if one.line == line]
            where = f"line {line}" if line else f"{rows[0].address:#06x}"
            ways = f"{len(rows)} branches" if len(rows) > 1 else "a branch"
            behind = sum(row.instructions for row in rows)
            out.append(
                f"not attributed, at {where}: {ways} on data, to which {rows[0].warps:.0f} warps "
                f"come; {behind} instructions behind are counted nowhere"
            )
        if self.unknown:
            out.append(f"not understood: {', '.join(self.unknown)}")
        return out

    @property
    def annotated(self) -> str:
        """The source with warp instructions of each line in its margin, by pipe."""
        head = "".join(f"{name:>9}" for name in MARGIN) + f"{'other':>9} |"
        rows = [head]
        for n, line in enumerate(self.source.splitlines(), 1):
            found = self.lines.get(n, {})
            rest = sum(v for k, v in found.items() if k not in MARGIN)
            cells = [found.get(name, 0.0) for name in MARGIN] + [rest]
            rows.append("".join(f"{number(c) if c else '':>9}" for c in cells) + f" | {line}")
        return "\n".join(row.rstrip() for row in rows)

    @property
    def blocks_table(self) -> str:
        """The basic blocks that run: address, line, how often, and instructions by pipe."""
        rows = [f"{'block':>8}{'line':>7}{'runs':>11}  instructions by pipe"]
        for block in self.basic_blocks:
            if block.runs:
                pipes = ", ".join(f"{count} {pipe}" for pipe, count in block.instructions.items())
                runs = number(block.runs)
                rows.append(f"{block.address:#8x}{block.line or '':>7}{runs:>11}  {pipes}")
        return "\n".join(rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: names of counters are keys."""
        model = asdict(self.model)
        return {
            "name": self.name, "target": self.target, "device": self.device,
            "clock_mhz": self.clock_mhz,
            "counters": dict(self.counters), "model": model,
            "skipped": [asdict(s) for s in self.skipped], "unknown": list(self.unknown),
            "sampled": self.sampled, "blocks": self.blocks, "in_order": self.in_order,
            "basic_blocks": [asdict(block) for block in self.basic_blocks],
            "lines": {str(k): dict(v) for k, v in self.lines.items()},
        }  # fmt: skip


@dataclass(frozen=True)
class ProfileReport(Shown, by="_profiler.pieces:report"):
    """The kernels of a call, in the order in which they start.

    Attributes:
        by_library: what a library computes between them, a sentence each: nothing is counted.
    """

    kernels: Sequence[KernelProfile]
    by_library: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.kernels), *self.by_library])

    @property
    def us(self) -> float:
        """Microseconds of all kernels, by the model."""
        return sum(kernel.model.us for kernel in self.kernels)

    @property
    def roofline(self) -> str:
        """A picture of the kernels below the roofs of their device, as the text of an SVG file.

        "" where no kernel moves bytes.
        """
        from opweave._profiler.roofline import picture  # it knows reports

        return picture(self.kernels)


def number(value: float) -> str:
    """A counter for people.

    >>> number(2048.0), number(0.625), number(98304.5)
    ('2048', '0.625', '98304')
    """
    return f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}"
