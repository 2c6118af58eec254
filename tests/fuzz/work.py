"""Worker processes: each judges programs by number, so that a crash or a hang costs one number."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.warm import by_c

from .kinds import drawn, judge
from .lists.program import Lists
from .oracles import Failure, Verdict
from .program import Array
from .python.program import Python
from .scripts.script import Script

# Longest time for one program, compilers included, and for shrinking one.
SECONDS = 180.0
# A worker is replaced after so many programs: loaded kernels are never unloaded.
MOST_PROGRAMS = 2000


@dataclass
class Outcome:
    """What a worker reports of one program.

    Attributes:
        number: of the program.
        verdict: of the oracles.
        cells, layouts, forms: what it covers, see ``coverage``; forms are of all but graphs.
        compiled: kernels that a compiler built for it.
        cpu: seconds of processor time, compilers included.
        by_c: calls that C ran, too.
    """

    number: int
    verdict: Verdict
    cells: list[tuple[str, str, str]] = field(default_factory=list)
    layouts: list[str] = field(default_factory=list)
    forms: list[tuple[str, str]] = field(default_factory=list)
    compiled: int = 0
    cpu: float = 0.0
    by_c: int = 0


def outcome_of(seed: int, number: int, only: str = "") -> Outcome:
    """Generate and judge one program."""
    from opweave.runtime.binaries.build import builder

    from .coverage import cells

    before, start, by_c_before = builder().compiled, sum(os.times()[:4]), by_c.COUNT[0]
    program, plan = drawn(seed, number, only)
    found = Outcome(number, judge(program, plan))
    arguments: Any = ()
    if isinstance(program, Script):
        arguments, found.forms = program.calls[0], program.forms
    elif isinstance(program, Python):
        found.forms = program.forms
    else:
        arguments, found.cells = program.arguments, cells(program.flat)
    if isinstance(program, Lists):
        found.forms = program.forms
    found.layouts = [a.layout for a in arguments if isinstance(a, Array)]
    found.compiled = builder().compiled - before
    found.cpu = sum(os.times()[:4]) - start
    found.by_c = by_c.COUNT[0] - by_c_before
    return found


def for_short_arrays() -> None:
    """Let functions of short arrays run in parts, and call NumPy's library, as those of long do."""
    from opweave._functions import short
    from opweave._loops import stretches
    from opweave.compiler.ir import pace

    short.PAYS = pace.NOTICED = 0
    stretches.LINES = stretches.STEADY_LINES = -1


def _serve(link: Connection, seed: int, only: str, watches: bool) -> None:
    for_short_arrays()
    if watches:
        by_c.watch()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    while True:
        try:
            task = link.recv()
        except EOFError:
            return  # the run is over
        made = judge(*task) if isinstance(task, tuple) else outcome_of(seed, task, only)
        link.send(made)


class Worker:
    """A process that judges, one program at a time; calls are compared there if they are here."""

    def __init__(self, seed: int, only: str = ""):
        context = multiprocessing.get_context("spawn")
        self.link, other = context.Pipe()
        args = other, seed, only, by_c.is_watching()
        self.process = context.Process(target=_serve, args=args, daemon=True)
        self.process.start()
        other.close()
        self.seed, self.only = seed, only
        self.broken = False
        self.number = -1
        self.started = 0.0
        self.done = 0

    def give(self, number: int) -> None:
        self.number, self.started = number, time.monotonic()
        self.link.send(number)

    def answer(self) -> Outcome:
        """What the worker sent; a crash if it died, a hang if it sends nothing."""
        self.broken = True
        if not self.link.poll(0):
            return failed(self.number, "hang", f"no answer in {SECONDS:.0f} s")
        try:
            found: Outcome = self.link.recv()
        except (EOFError, ConnectionError):
            self.process.join(5)
            code = self.process.exitcode
            return failed(self.number, "crash", f"the process ended with {code}")
        self.broken = False
        self.done += 1
        return found

    def renewed(self) -> Worker:
        """This worker, or a new one where it is broken or has loaded many kernels."""
        if not self.broken and self.done < MOST_PROGRAMS:
            return self
        self.stop()
        return Worker(self.seed, self.only)

    @property
    def is_late(self) -> bool:
        return time.monotonic() - self.started > SECONDS

    def stop(self) -> None:
        self.link.close()
        if self.process.is_alive():
            self.process.kill()
        self.process.join(5)


def failed(number: int, oracle: str, message: str) -> Outcome:
    return Outcome(number, Verdict([Failure(oracle, message)]))


def outcomes(
    seed: int, numbers: Iterator[int], jobs: int, is_over: Callable[[], bool], only: str = ""
) -> Iterator[Outcome]:
    """Judge programs on several processes until there are no more, or the time is over."""
    idle = [Worker(seed, only) for _ in range(jobs)]
    busy: list[Worker] = []
    try:
        while True:
            while idle and not is_over():
                number = next(numbers, None)
                if number is None:
                    break
                worker = idle.pop()
                worker.give(number)
                busy.append(worker)
            if not busy:
                return
            ready = wait([w.link for w in busy], timeout=1.0)
            for worker in [w for w in busy if w.link in ready or w.is_late]:
                found = worker.answer()
                busy.remove(worker)
                idle.append(worker.renewed())
                yield found
    finally:
        for worker in (*idle, *busy):
            worker.stop()


def judged_apart(program: Any, plan: Any) -> Verdict:
    """Judge in a process of its own, for programs that may end it."""
    worker = Worker(0)
    try:
        worker.link.send((program, plan))
        if not worker.link.poll(SECONDS):
            return Verdict([Failure("hang", f"no answer in {SECONDS:.0f} s")])
        found: Verdict = worker.link.recv()
    except (EOFError, ConnectionError):
        return Verdict([Failure("crash", "the process ended")])
    finally:
        worker.stop()
    return found


def cpus() -> int:
    return len(os.sched_getaffinity(0))
