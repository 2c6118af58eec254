"""Two folders of results, row by row: what a change did, or whether a machine repeats itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from document import stored

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Pair:
    """A row that both folders have.

    Attributes:
        ratio: its time here over its time there.
        noise: the larger of the two spreads.
        us: its time there.
    """

    ratio: float
    noise: float
    us: float
    what: str


def pairs(here: Path, there: Path, least_ms: float = 0.0) -> list[Pair]:
    """Rows that took at least so long there, those that changed most first."""
    before = dict(rows_of(there))
    found = []
    for key, row in rows_of(here):
        other = before.get(key)
        if other is not None and other["median_us"] >= 1e3 * least_ms:
            ratio = row["median_us"] / other["median_us"]
            noise = max(row["spread"], other["spread"])
            place, experiment, runner, parameters = key
            shown = ", ".join(f"{k}={v}" for k, v in parameters)
            what = f"{place} {experiment}: {shown}; {runner}"
            found.append(Pair(ratio, noise, other["median_us"], what))
    return sorted(found, key=lambda p: -abs(p.ratio - 1))


def rows_of(results: Path) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """Every row of every document, by folder, experiment, runner and parameters."""
    for path, found in stored(results):
        if isinstance(found, dict):
            for row in found["rows"]:
                parameters = tuple(row["parameters"].items())
                yield (path.parent.name, found["experiment"], row["runner"], parameters), row


def table(here: Path, there: Path, least_ms: float) -> str:
    """The pairs as text, and how many agree within 5 %."""
    found = pairs(here, there, least_ms)
    lines = [f"{p.ratio:7.3f} +-{p.noise:<5.0%} {p.us / 1e3:10.3f} ms  {p.what}" for p in found]
    agree = sum(abs(p.ratio - 1) <= 0.05 for p in found)
    return "\n".join([*lines, f"{agree} of {len(found)} agree within 5 %"])
