"""Two builds of opweave, process by process in turns: is this one slower than the other?

``python bench/run.py calls guards --against COMMIT``.  A round is a short process of each build;
rounds begin with one build and with the other in turn (A B, B A, A B, ...), so that a machine that
drifts favours neither.  A row's ratio is that of the two times of a round, and its interval is
over the rounds.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.tools.builds import BENCH, OTHER, THIS, Build, CannotCompare, builds, run

ROUNDS = 20
FEWEST = 6  # below, no interval holds with 95 %
# How many times longer a row may take than by the other build.
LIMITS = {"calls": 1.03, "guards": 1.03, "compile": 1.10, "network": 1.10}
LIMIT = 1.02
SLOWER = "SLOWER"
ONE_ROUND = BENCH / "tools" / "one_round.py"

Rows = Mapping[str, float]
# Rows of a process of a build in a round, in microseconds; NaN where a result was refused.
Measure = Callable[[Build, int], Rows]


# Statistics


def interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Median, low and high end of the 95 % interval of a ratio, of one ratio a round.

    The interval is that of the median by the order of the ratios alone: of 20 rounds from the 6th
    to the 15th.  It asks nothing of how they are distributed, and rounds that somebody disturbed
    count as one each, however far off.
    """
    found = sorted(ratios)
    beyond = ranks_beyond(len(found))
    return statistics.median(found), found[beyond], found[-1 - beyond]


def ranks_beyond(rounds: int) -> int:
    """How many ratios lie beyond either end of a 95 % interval of their median.

    The largest k so that at most 2.5 % of all rounds have k or fewer on one side of the median,
    where each is on either side with an even chance.

    >>> ranks_beyond(6), ranks_beyond(12), ranks_beyond(20)
    (0, 2, 5)

    Raises:
        CannotCompare: so few rounds have no such interval.
    """
    if rounds < FEWEST:
        raise CannotCompare(f"{rounds} rounds: expected {FEWEST} or more for a 95 % interval")
    chances = itertools.accumulate(math.comb(rounds, k) / 2**rounds for k in range(rounds))
    return sum(1 for chance in chances if chance <= 0.025) - 1


@dataclass(frozen=True)
class Row:
    """A row that both builds have: how many times longer it takes by this one."""

    what: str
    ratio: float
    low: float
    high: float
    limit: float

    @property
    def verdict(self) -> str:
        """By the whole interval; where the limit lies in it, more rounds would tell."""
        if self.low > self.limit:
            return SLOWER
        return "ok" if self.high <= self.limit else "open"


def rows_of(
    pairs: Sequence[tuple[Rows, Rows]], limit: float | None
) -> tuple[list[Row], list[str]]:
    """Rows of all rounds, those first that come nearest to their limit; what some rounds lack."""
    every = list(dict.fromkeys(what for pair in pairs for rows in pair for what in rows))
    whole = [w for w in every if all(rows.get(w, 0) > 0 for pair in pairs for rows in pair)]
    found = [
        Row(what, *interval([here[what] / there[what] for here, there in pairs]),
            LIMITS.get(what.split(":")[0], LIMIT) if limit is None else limit)
        for what in whole
    ]  # fmt: skip
    return sorted(found, key=lambda row: -row.ratio / row.limit), [
        missing(what, pairs) for what in every if what not in whole
    ]


def missing(what: str, pairs: Sequence[tuple[Rows, Rows]]) -> str:
    """Which builds have a row in how many rounds."""
    counts = [sum(pair[side].get(what, 0) > 0 for pair in pairs) for side in (0, 1)]
    return (
        f"NOT COMPARED {what}: measured in {counts[0]} of {len(pairs)} rounds by {THIS}, in "
        f"{counts[1]} by {OTHER}"
    )


def table(rows: Sequence[Row]) -> str:
    """Row, ratio, interval, limit and verdict."""
    lines = [f"{'ratio':>6}  {'95 % interval':<15} {'limit':>5}  {'verdict':<7} row"]
    for row in rows:
        ends = f"{row.low:.3f} to {row.high:.3f}"
        lines.append(f"{row.ratio:6.3f}  {ends:<15} {row.limit:5.2f}  {row.verdict:<7} {row.what}")
    found = [row.verdict for row in rows]
    lines.append(
        f"{found.count(SLOWER)} of {len(rows)} rows are slower than their limit, "
        f"{found.count('open')} open: their interval holds the limit"
    )
    return "\n".join(lines)


# Rounds


def in_turns(
    here: Build, there: Build, measure: Measure, rounds: int
) -> Iterator[tuple[Rows, Rows]]:
    """What both find in each round, this build first.

    The first process of a build, which fills its caches, is not counted.
    """
    for build in (here, there):
        measure(build, 0)
    for number in range(1, rounds + 1):
        order = (here, there) if number % 2 else (there, here)
        found = {build.name: measure(build, number) for build in order}
        yield found[here.name], found[there.name]


def in_process(
    folder: Path, names: Sequence[str], device: str, sizes: Sequence[int] | None
) -> Measure:
    """Measure by a fresh process with a cache folder for each build."""
    log: set[str] = set()

    def measure(build: Build, number: int) -> Rows:
        place = folder / build.name.replace(" ", "-")
        place.mkdir(exist_ok=True)
        asked = place / "asked.json"
        asked.write_text(json.dumps({"experiments": names, "device": device, "sizes": sizes}))
        environment = os.environ | {
            "OPWEAVE_CACHE_DIR": str(place / "cache"),
            "PYTHONHASHSEED": str(number + 1),  # the same for the two of a round
            "PYTHONPATH": str(BENCH.parent),  # this folder's code measures both
        }
        run([build.python, ONE_ROUND, asked], build.name, place, environment)
        found = json.loads(asked.with_suffix(".found").read_text())
        told = [t for t in checked(build, found) if t not in log]
        log.update(told)
        for text in (*told, *[f"round {number}"] * (number > 0 and build.name == THIS)):
            print(text, flush=True)
        made = found["experiments"].values()
        refused = {row["row"]: math.nan for m in made for row in m["refused"]}
        return refused | {row["row"]: row["us"] for m in made for row in m["rows"]}

    return measure


def checked(build: Build, found: Mapping[str, Any]) -> list[str]:
    """What a reader must know of a process: what was refused, and what is not measured there.

    Raises:
        CannotCompare: the build lacks what is asked of it, or is another one than was meant.
    """
    if found["lacks"]:
        raise CannotCompare(
            f"{build.name} lacks what this checkout's bench/ asks for ({found['lacks']}): compare "
            "experiments that ask for less, or let the import depend on what is there"
        )
    where = Path(found["build"]).resolve()
    if build.inside is not None and not where.is_relative_to(build.inside.resolve()):
        raise CannotCompare(f"{build.name}: opweave was imported from {where.parent}, which is "
                            "another build")  # fmt: skip
    made = found["experiments"].items()
    return [
        *(f"{name}: {m['skipped']}" for name, m in made if m["skipped"]),
        *(f"REFUSED by {build.name}: {r['row']}: {r['why']}" for _, m in made
          for r in m["refused"]),
    ]  # fmt: skip


def compare(
    names: Sequence[str], against: str, *, rounds: int = ROUNDS, limit: float | None = None,
    device: str = "host", sizes: Sequence[int] | None = None,
) -> int:  # fmt: skip
    """Print the table; the exit status is 1 where a row is slower, or could not be compared.

    Raises:
        CannotCompare: the builds cannot be measured.
    """
    ranks_beyond(rounds)
    with builds(against) as (here, there, folder):
        measure = in_process(folder, names, device, sizes)
        found = list(in_turns(here, there, measure, rounds))
    rows, others = rows_of(found, limit)
    print("\n".join([table(rows), *others]))
    return int(not rows or bool(others) or any(row.verdict == SLOWER for row in rows))
