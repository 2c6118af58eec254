"""How far a run is, and what became of its limits, for people."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Bar:
    """A progress bar over the experiments, where rich is there; otherwise a line each."""

    def __init__(self, total: int):
        self.total = total
        self.done = 0
        self.progress: Any = None
        with suppress(ImportError):
            from rich.progress import Progress

            self.progress = Progress()

    def __enter__(self) -> tuple[Callable[[str], None], Callable[[str], None]]:
        if self.progress is None:
            return self._line, print
        self.progress.start()
        self.task = self.progress.add_task("", total=self.total)
        return self._advance, lambda text: self.progress.console.print(
            text, markup=False, highlight=False, soft_wrap=True
        )

    def __exit__(self, *_: Any) -> None:
        if self.progress is not None:
            self.progress.update(self.task, completed=self.done)
            self.progress.stop()

    def _advance(self, name: str) -> None:
        self.progress.update(self.task, completed=self.done, description=name)
        self.done += 1

    def _line(self, name: str) -> None:
        self.done += 1
        print(f"[{self.done}/{self.total}] {name}")


def report(found: dict[str, Any], log: Callable[[str], None]) -> None:
    """Who was absent, and the limits."""
    for name, why in found["absent"].items():
        log(f"absent: {name} ({why})")
    for limit in found["limits"]:
        verdict = {True: "met", False: "MISSED", None: f"not measured: {limit['why']}"}
        value = "-" if limit["value"] is None else f"{limit['value']:g} {limit['unit']}"
        log(f"{limit['name']}: {value}, limit {limit['limit']}: {verdict[limit['met']]}")
