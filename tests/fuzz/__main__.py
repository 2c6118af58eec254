"""python -m tests.fuzz --minutes 15 --seed 1: random programs until the time is over.

They are graphs of operators, op-code lists, scripts, and ordinary Python around arrays; ``--kind``
picks one.
Exit status 1 if any oracle failed; each failure is shrunk and written to tests/fuzz/found/.
``--only NUMBER`` replays one program of a seed (and of a kind, where one was picked).
``--by-c`` runs each call that C may run twice, by Python and by C, and compares them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.warm import by_c

from .coverage import Coverage
from .kinds import DRAW, alike, drawn, judge, kind_of, shrink, write
from .oracles import Failure
from .work import Outcome, cpus, for_short_arrays, judged_apart, outcomes

# Failures of one oracle that are shrunk; more are counted and listed only.
MOST_SHRUNK = 8
SECONDS_BETWEEN_LINES = 60


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--programs", type=int, default=0, help="how many; 0: any number")
    parser.add_argument("--only", type=int, default=-1, help="replay this program")
    parser.add_argument("--kind", choices=list(DRAW), default="", help="of all; default: a mix")
    parser.add_argument("--jobs", type=int, default=cpus(), help="processes")
    parser.add_argument("--coverage", type=Path, help="write figures and the table to this file")
    parser.add_argument(
        "--cache", type=Path, help="folder of compiled kernels; default: temporary"
    )
    parser.add_argument("--by-c", action="store_true", help="run calls by C, too: warm/by_c.py")
    parser.add_argument("--no-shrink", action="store_true", help="report failures as they are")
    return parser.parse_args(arguments)


@contextmanager
def private_cache(folder: Path | None) -> Iterator[None]:
    """Kernels of a run lie in a folder of their own; nothing is dropped while it lasts."""
    with tempfile.TemporaryDirectory(prefix="opweave-fuzz-") as made:
        os.environ["OPWEAVE_CACHE_DIR"] = str((folder or Path(made)).absolute())
        os.environ["OPWEAVE_CACHE_SIZE"] = "20G"
        yield


class Run:
    """Counts of a run, and what failed."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.started = self.shown = time.monotonic()
        self.coverage = Coverage()
        self.programs = 0
        self.kinds: Counter[str] = Counter()
        self.compiled = 0
        self.by_c: Counter[str] = Counter()
        self.cpu: Counter[str] = Counter()
        self.undecided = 0
        self.elements = 0
        self.ran: Counter[str] = Counter()
        self.templates: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.failed: list[tuple[int, Failure]] = []

    def is_over(self) -> bool:
        return time.monotonic() - self.started > 60 * self.options.minutes

    def take(self, found: Outcome) -> None:
        """Count an outcome; what failed is shown at once."""
        verdict = found.verdict
        kind = kind_of(found.number, self.options.kind)
        self.programs += 1
        self.kinds[kind] += 1
        self.compiled += found.compiled
        self.by_c[kind] += found.by_c
        self.cpu[kind] += found.cpu
        self.undecided += verdict.undecided
        self.elements += verdict.elements
        self.ran.update(verdict.ran)
        self.templates.update(verdict.templates)
        if verdict.refused:
            self.refused[verdict.refused.split(":")[0]] += 1
        self.coverage.add(found.cells, found.layouts, found.forms)
        for failure in verdict.failures:
            self.failed.append((found.number, failure))
            print(f"#{found.number} {failure.oracle}: {failure.message[:300]}", flush=True)
        if time.monotonic() - self.shown > SECONDS_BETWEEN_LINES:
            self.shown = time.monotonic()
            print(f"{self.rate()}; failures {len(self.failed)}", flush=True)

    def rate(self) -> str:
        seconds = time.monotonic() - self.started
        rate = self.programs / seconds * 3600
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kinds.items()))
        return f"programs {self.programs} ({kinds}) in {seconds / 60:.1f} minutes: {rate:,.0f} an hour"

    def summary(self) -> str:
        """The figures of the run."""
        oracles = Counter(f.oracle for _, f in self.failed)
        shares = ", ".join(
            f"{n} {c / max(1, self.programs):.0%}" for n, c in sorted(self.ran.items())
        )
        cpu = ", ".join(f"{self.cpu[k] / n:.3f} s a {k}" for k, n in sorted(self.kinds.items()))
        by_c = ", ".join(f"{n} of {k}" for k, n in sorted(self.by_c.items()))
        lines = [
            f"{self.rate()}; seed {self.options.seed}"
            + f"; calls by C, too: {by_c}" * self.options.by_c,
            f"processor time: {cpu}; kernels compiled {self.compiled}; ran on: {shares}",
            "fused kernels: " + ", ".join(f"{n} {c}" for n, c in sorted(self.templates.items())),
            f"elements compared with their bound {self.elements:,}, undecided "
            f"{self.undecided / max(1, self.elements):.1%}",
            f"refused: {dict(self.refused) or 'none'}",
            self.coverage.summary(),
            f"failures {len(self.failed)}: {dict(oracles) or 'none'}",
        ]
        return "\n".join(lines)


def page(summary: str, table: str, forms: str) -> str:
    """What a run was and covered, as Markdown."""
    figures = "\n".join(f"- {line}" for line in summary.splitlines())
    return (
        "# What the fuzzer covered\n\nOne run of `python -m tests.fuzz`; its programs come again "
        f"with the same seed.\n\n{figures}\n\nOperators by the dtype of their first array: how "
        f"often, and letters for the special values that they met.\n\n{table}\n"
        "Op-code lists (`tests/fuzz/lists`) are operators of fragments, kernels of op-codes, edits and "
        "joins, held to NumPy and to their op-codes written out; one list of each program is refused.  "
        "Scripts (`tests/fuzz/scripts`) are functions as NumPy's users write them, with writes through views, "
        "branches and loops, drawn from these forms; each is called several times, with other values "
        "and extents, and held to NumPy.  Programs of ordinary Python (`tests/fuzz/python`) are held "
        f"to Python: results, arguments, what is printed, logged, warned of, raised, counted.\n\n{forms}"
    )


def reported(run: Run) -> None:
    """Shrink what failed and write it as tests, a few of each oracle."""
    seed, seen = run.options.seed, Counter[str]()
    for number, failure in run.failed:
        seen[failure.oracle] += 1
        if seen[failure.oracle] > MOST_SHRUNK:
            continue
        program, plan = drawn(seed, number, run.options.kind)
        ends = failure.message.startswith(("the process", "no answer"))
        check = judged_apart if ends else judge

        def fails(candidate: Any, check=check, plan=plan, failure=failure) -> bool:
            return any(alike(f, failure) for f in check(candidate, plan).failures)

        small = program if run.options.no_shrink else shrink(program, fails)
        path = write(small, failure, seed, number, plan, run.options.kind)
        print(f"\n#{number} {failure.oracle}: {failure.message}\n{small}wrote {path}", flush=True)


def replayed(seed: int, number: int, only: str = "") -> int:
    """Judge one program and print all about it."""
    program, plan = drawn(seed, number, only)
    print(f"{program}{plan}")
    verdict = judge(program, plan)
    for failure in verdict.failures:
        print(f"{failure.oracle}: {failure.message}")
    print(verdict.refused or ("no failure" if not verdict.failures else ""))
    return int(bool(verdict.failures))


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with private_cache(options.cache):
        for_short_arrays()
        if options.by_c:
            by_c.watch()
        if options.only >= 0:
            return replayed(options.seed, options.only, options.kind)
        run = Run(options)
        numbers: Iterator[int] = itertools.count(options.first)
        if options.programs:
            numbers = iter(range(options.first, options.first + options.programs))
        try:
            for found in outcomes(options.seed, numbers, options.jobs, run.is_over, options.kind):
                run.take(found)
        except KeyboardInterrupt:
            print("interrupted: what was found so far")
        print(run.summary())
        if options.coverage:
            options.coverage.write_text(
                page(run.summary(), run.coverage.markdown(), run.coverage.forms_markdown())
            )
        reported(run)
    return int(bool(run.failed))


if __name__ == "__main__":
    sys.exit(main())
