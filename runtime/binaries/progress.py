"""What is told of kernels that compile for long: a line on stderr, in a terminal a bar.

Quiet below ``SECONDS_QUIET``, and with ``OPWEAVE_LOGS=quiet``.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence

from opweave.runtime.process import environment, share

SECONDS_QUIET = 2.0
WIDTH = 24
PAUSE = 0.2  # seconds between two looks of a bar


def log_compiled(source: str, seconds: float) -> None:
    """Say how long a source compiled, where ``OPWEAVE_LOGS`` asks for it."""
    _log(source, f"compiled in {seconds:.2f} s")


def log_refused(source: str, log: str) -> None:
    """Say that a source compiled and its canonical one did not, which is a fault of ours.

    It costs a second compilation and no result, so whoever calls the kernel is not warned.
    """
    first = next((line for line in log.split("\n") if "error" in line), log).strip()
    _log(source, f"compiled as it reads; its canonical source was refused: {first}")


def _log(source: str, text: str) -> None:
    if "compile" in environment.logs():
        name = re.search(r"^// (\w+)\n", source, re.MULTILINE)
        what = name[1] if name else "a library of the host"
        print(f"opweave: {what} {text}", file=sys.stderr)


class Progress:
    """The kernels of one program, which compile in the order of their costs."""

    def __init__(self, name: str, seconds: Sequence[float]):
        """``seconds``: what each kernel is expected to take, on one core."""
        self.name = name
        self.seconds = list(seconds)
        self.done, self.left = 0, sum(self.seconds)
        self.begun = time.monotonic()
        self.is_quiet = "quiet" in environment.logs()
        self.told = False

    @property
    def pause(self) -> float | None:
        """Seconds until there may be something to tell."""
        if self.is_quiet or (self.told and not self._is_terminal()):
            return None
        return PAUSE if self.told else max(0.0, self.begun + SECONDS_QUIET - time.monotonic())

    def tell(self, done: Sequence[int]) -> None:
        """Take note of kernels that are done, by number, and tell if it is time to."""
        self.done += len(done)
        self.left -= sum(self.seconds[n] for n in done)
        lasted = time.monotonic() - self.begun
        if self.is_quiet or lasted < SECONDS_QUIET:
            return
        text = (
            f"opweave: compiling {self.name}: {self.done} of {len(self.seconds)} binaries in "
            f"{lasted:.0f} s, some {self.left / share.cores():.0f} s left"
        )
        if self._is_terminal():
            full = round(WIDTH * self.done / len(self.seconds))
            print(f"\r[{'#' * full:<{WIDTH}}] {text}", end="\033[K", file=sys.stderr, flush=True)
        elif not self.told:
            print(text, file=sys.stderr, flush=True)
        self.told = True

    def end(self) -> None:
        """Leave the line of the bar."""
        if self.told and self._is_terminal():
            print(file=sys.stderr, flush=True)

    @staticmethod
    def _is_terminal() -> bool:
        return sys.stderr is not None and sys.stderr.isatty()
