"""Two folders of results, row by row: what a change did, or whether a machine repeats itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report.document import stored

Key = tuple[Any, ...]
CONTROL = "NumPy"  # the runner that no change of ours touches


@dataclass(frozen=True)
class Pair:
    """A row that both folders have.

    Attributes:
        ratio: its time here over its time there.
        noise: the larger of the two spreads.
        us: its time there.
        beside: the ratio over that of NumPy's row of the same case, without what the machine did
            to both; None where there is no such row, and for NumPy itself.
    """

    ratio: float
    noise: float
    us: float
    what: str
    beside: float | None


def pairs(here: Path, there: Path, least_ms: float = 0.0) -> list[Pair]:
    """Rows that took at least so long there, those that changed most first."""
    after, before = dict(rows_of(here)), dict(rows_of(there))
    both = {key: (after[key], before[key]) for key in after if key in before}
    ratios = {key: row["median_us"] / other["median_us"] for key, (row, other) in both.items()}
    found = []
    for key, (row, other) in both.items():
        if other["median_us"] >= 1e3 * least_ms:
            noise = max(row["spread"], other["spread"])
            place, experiment, runner, parameters = key
            shown = ", ".join(f"{k}={v}" for k, v in parameters)
            what = f"{place} {experiment}: {shown}; {runner}"
            numpys = ratios.get((place, experiment, CONTROL, parameters))
            beside = ratios[key] / numpys if numpys and runner != CONTROL else None
            found.append(Pair(ratios[key], noise, other["median_us"], what, beside))
    return sorted(found, key=lambda p: -abs(p.ratio - 1))


def rows_of(results: Path) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """Every row of every document, by folder, experiment, runner and parameters."""
    for path, found in stored(results):
        if isinstance(found, dict):
            for row in found["rows"]:
                parameters = tuple(row["parameters"].items())
                yield (path.parent.name, found["experiment"], row["runner"], parameters), row


def table(here: Path, there: Path, least_ms: float) -> str:
    """Ratio, noise, ratio over NumPy's and time of each pair, and how many agree within 5 %."""
    found = pairs(here, there, least_ms)
    lines = [
        f"{p.ratio:7.3f} +-{p.noise:<5.0%} {'' if p.beside is None else f'{p.beside:.3f}':>7} "
        f"{p.us / 1e3:10.3f} ms  {p.what}"
        for p in found
    ]
    shares = [p.beside for p in found if p.beside is not None]
    text = f"{_agree(p.ratio for p in found)} of {len(found)} agree within 5 %"
    if shares:
        text += f"; over what {CONTROL} took in the same run, {_agree(shares)} of {len(shares)}"
    return "\n".join([*lines, text])


def _agree(ratios: Iterable[float]) -> int:
    return sum(abs(ratio - 1) <= 0.05 for ratio in ratios)
