"""How we stand: our time against every peer's and against the roof, from stored results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.report.document import stored

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Ratio:
    """Our time on one workload over that of a peer, or over what the roofs allow.

    Attributes:
        ratio: above 1 we are slower.
        noise: the larger of the two spreads; 0 for a roof.
    """

    ratio: float
    noise: float
    folder: str
    workload: str
    other: str
    ours: str


def ratios(results: Path) -> tuple[list[Ratio], list[str]]:
    """Every comparison of complete results, worst first, and what could not be read."""
    found, broken = [], []
    for path, document in stored(results):
        if isinstance(document, str):
            broken.append(f"{path.parent.name}/{document}")
            continue
        if document["complete"] and not document["options"]["quick"]:
            found += of_document(path.parent.name, document)
    return sorted(found, key=lambda p: -p.ratio), broken


def of_document(folder: str, found: Mapping[str, Any]) -> Iterator[Ratio]:
    """Comparisons, case by case: of ours with each peer that returns as ours does, with or without
    ``out=``, and of the quickest of ours with the roof.
    """
    cases: dict[tuple[Any, ...], list[Row]] = {}
    for row in found["rows"]:
        cases.setdefault(tuple(row["parameters"].items()), []).append(row)
    for parameters, rows in cases.items():
        own = [row for row in rows if row["role"] == "ours"]
        if not own:
            continue
        name = f"{found['experiment']}: {', '.join(f'{k}={v}' for k, v in parameters)}"
        for row in rows:
            alike = [o for o in own if is_into(o) == is_into(row)]
            if row["role"] == "peer" and alike:
                mine = min(alike, key=lambda o: time_us(o, row))
                noise = max(row["spread"], mine["spread"])
                ratio = time_us(mine, row) / row["median_us"]
                yield Ratio(ratio, noise, folder, name, row["runner"], mine["runner"])
        best = min(own, key=lambda row: row["median_us"])
        floor = floor_us(best, found["roofs"], cached=is_cached(best, found["machine"]))
        if floor:
            yield Ratio(best["median_us"] / floor, 0.0, folder, name, "the roof", best["runner"])


def is_cached(row: Row, machine: Mapping[str, Any]) -> bool:
    """What a row reads and writes, in all its sets, may stay in a cache."""
    gpu = machine["gpu"]
    last = gpu["l2_bytes"] if gpu else max(machine["caches"].values(), default=0)
    return bool(0 < row["bytes"] * row["sets"] < last)


def is_into(row: Row) -> bool:
    return bool(row["runner"].endswith("out="))


def time_us(row: Row, other: Row) -> float:
    """Our median by the clock of another row: of calls, where it waited for its results."""
    if row["clock"] != other["clock"] and row.get("call_us"):
        return float(median(row["call_us"]))
    return float(row["median_us"])


def floor_us(row: Row, roofs: Mapping[str, float], *, cached: bool = False) -> float:
    """Microseconds that the measured roofs allow: the longer of traffic and arithmetic.

    Of what a cache serves the roof of memory says nothing.
    """
    traffic = 0.0 if cached else row["bytes"] / roofs["copy"]
    if not roofs[row["unit"]]:
        return 0.0  # nobody measured that roof
    arithmetic = row["flops"] / roofs[row["unit"]] + row["special"] / roofs["special"]
    return 1e6 * max(traffic, arithmetic)


def table(results: Path) -> str:
    """The table as text, worst first; a roof is no peer and stands by itself."""
    found, broken = ratios(results)
    lines = []
    for title, chosen in (
        ("our time / a peer's, above 1 we are slower",
         [p for p in found if p.other != "the roof"]),
        ("our time / what the measured roofs allow", [p for p in found if p.other == "the roof"]),
    ):  # fmt: skip
        lines.append(title)
        for p in chosen:
            noise = f" +-{p.noise:.0%}" if p.noise else ""
            lines.append(
                f"{p.ratio:8.2f}{noise:<6} {p.folder:<8} {p.workload}; {p.ours} / {p.other}"
            )
        lines += [] if chosen else ["nothing was measured"]
        lines.append("")
    return "\n".join([*lines, *(f"not read: {b}" for b in broken)]).rstrip()
