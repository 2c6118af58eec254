"""Make mutants of every template and helper, and count what dies.

    python -m tests.mutants [--only TEXT] [--every N] [--first K] [--jobs 2] [--write docs/mutants.md]
                            [--keep FILE]

With ``--keep`` a run that was stopped goes on where it was: verdicts are those of the same text of
a mutant, so of a file that has changed since none is taken.

Exit status 1 if a mutant survives that tests/mutants/survivors.py does not explain.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.mutants.cases import CASES
from tests.mutants.judge import expected, judged, swapped, verdict
from tests.mutants.make import Mutant, of_helpers, of_templates
from tests.mutants.survivors import reason_of

# For one mutant; one that loops for ever is dead too.  Of the processor's time, so that a machine
# with other work kills none; and of the clock, for one that waits for ever.
SECONDS, WAITED = 40, 400
STOPPED = "killed: it never ends"
TIMED_OUT = (signal.SIGPROF, signal.SIGALRM)


def main() -> int:
    options = parsed()
    os.environ.setdefault("OPWEAVE_CACHE_DIR", options.cache)
    for case in CASES:  # once, before the children are forked
        for schedule in (0, 1, 2):
            assert isinstance(expected(case), list), (case, expected(case))
            assert expected(case, schedule) == expected(case), case
    work = [(m, lambda m=m: judged(m)) for m in (*of_templates(), *of_helpers())]
    work += [(m, lambda p=pairs: verdict(p)) for m, pairs in swapped()]
    work = [w for w in work if options.only in str(w[0])][options.first :: options.every]
    kept = Kept(options.keep)
    left = [w for w in work if not kept.verdict(w[0])]
    run_all(left, options.jobs, kept.add)
    verdicts = [(m, kept.verdict(m)) for m, _ in work]
    text = report(verdicts)
    print(text)
    if options.write:
        Path(options.write).write_text(text)
    return int(any(v == "survives" and not reason_of(m) for m, v in verdicts))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="mutants whose description has this text")
    parser.add_argument("--every", type=int, default=1, help="only each n-th mutant")
    parser.add_argument("--first", type=int, default=0, help="the first of these, from 0")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--write", help="write the report, as Markdown")
    parser.add_argument("--keep", default="", help="a file of verdicts, to go on from")
    parser.add_argument("--cache", default=str(Path(".pytest_cache") / "mutants"))
    return parser.parse_args()


class Kept:
    """Verdicts of mutants, by what the mutant's text is; in a file, if one is given."""

    def __init__(self, file: str):
        self.file = Path(file) if file else None
        lines = self.file.read_text().splitlines() if self.file and self.file.exists() else []
        self.made: dict[str, str] = dict(map(json.loads, lines))

    @staticmethod
    def key(mutant: Mutant) -> str:
        text = f"{mutant}\n{mutant.text}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def verdict(self, mutant: Mutant) -> str:
        return self.made.get(self.key(mutant), "")

    def add(self, mutant: Mutant, verdict_of_it: str) -> None:
        self.made[self.key(mutant)] = verdict_of_it
        if self.file is not None:
            with self.file.open("a") as out:
                out.write(json.dumps([self.key(mutant), verdict_of_it]) + "\n")


def run_all(work, jobs: int, keep: Callable[[Mutant, str], None]) -> None:
    """Judge mutants in child processes: one that crashes or hangs takes nothing with it."""
    waiting, running, done = list(work), {}, 0
    begun = time.monotonic()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant, judge = waiting.pop(0)
            running[start(judge)] = mutant
        pid, status = os.wait()
        mutant, found = running.pop(pid), ended(pid, status)
        keep(mutant, found)
        done += 1
        if found == "survives" and not reason_of(mutant):
            print(f"survives: {mutant}", flush=True)
        if done % 50 == 0:
            took = f"{time.monotonic() - begun:.0f} s"
            print(f"{done} of {len(work)} in {took}", file=sys.stderr, flush=True)


_pipes: dict[int, int] = {}


def start(judge) -> int:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WAITED)
        os.close(reader)
        try:
            text = judge()
        except BaseException as error:
            text = f"killed: {type(error).__name__}"
        os.write(writer, text.encode()[:500])
        os._exit(0)
    os.close(writer)
    _pipes[pid] = reader
    return pid


def ended(pid: int, status: int) -> str:
    with os.fdopen(_pipes.pop(pid)) as pipe:
        text = pipe.read()
    if os.WIFSIGNALED(status):
        return STOPPED if os.WTERMSIG(status) in TIMED_OUT else "killed: it crashes"
    return text


def report(verdicts) -> str:
    """The figures and the survivors with their reasons, as Markdown."""
    files = dict.fromkeys(m.file for m, _ in verdicts)
    alive = [(m, v) for m, v in verdicts if v in ("survives", "not reached")]
    counted = [(m, v) for m, v in verdicts if v != "stillborn"]
    dead = len(counted) - len(alive)
    lines = [
        "# Mutants", "",
        "One change at one place of a template or helper: a barrier, fence or shuffle dropped, a bound widened, an index shifted, a",
        "comparison flipped, an operator swapped (the table of changes is `tests/mutants/make.py`). A mutant dies if verify mode gives",
        "other bytes or stops under one of three schedules, or if the SIMT checker finds something. Made by",
        "`python -m tests.mutants --write docs/mutants.md`.", "",
        f"{len(counted)} mutants that compile (and {len(verdicts) - len(counted)} refused by the compiler), {dead} killed, {len(alive)} survive.", "",
        "| file | made | killed | survive |", "|---|---:|---:|---:|",
    ]  # fmt: skip
    for file in files:
        mine = [v for m, v in counted if m.file == file]
        left = sum(m.file == file for m, _ in alive)
        lines.append(f"| {file} | {len(mine)} | {len(mine) - left} | {left} |")
    lines += ["", "| how | mutants |", "|---|---:|"]
    for how, count in Counter(v for _, v in counted).most_common():
        lines.append(f"| {how} | {count} |")
    lines += [
        "",
        "## Survivors",
        "",
        "The reason stands with each.",
        "",
    ]
    for reason in sorted({reason_of(m) or "" for m, _ in alive}):
        lines += [f"**{reason or 'NOT EXPLAINED'}**", ""]
        lines += [
            f"- `{m.file}:{m.line}` {m.change}: `{m.before}` -> `{m.after}`"
            for m, _ in alive
            if (reason_of(m) or "") == reason
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
