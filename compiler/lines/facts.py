"""What is known of numbers of elements: which are at least as large as which."""

from __future__ import annotations

from collections.abc import Collection

from opweave.compiler.lines.values import Size

# Names that one proof replaces by their bounds, one after the other.
MOST_STEPS = 6


class SizeFacts:
    """Bounds of names that never change: extents of arrays, and counters of loops."""

    def __init__(self) -> None:
        self.low: dict[str, Size] = {}
        self.high: dict[str, Size] = {}

    def learn(self, name: str, low: Size | None, high: Size | None = None) -> None:
        """A name is at least ``low`` and at most ``high``."""
        if low is not None:
            self.low[name] = low
        if high is not None:
            self.high[name] = high

    def is_least(self, size: Size, least: int = 0) -> bool:
        """True where a sum is known to be at least a number."""
        return self._is_positive(size.plus(-least), MOST_STEPS)

    def is_below(self, size: Size, end: Size) -> bool:
        """True where a sum is known to be less than another."""
        return self.is_least(end.plus(size, -1), 1)

    def most(self, size: Size, names: Collection[str]) -> Size | None:
        """A bound of a sum, in names of which all is known; None where there is none."""
        for _ in range(MOST_STEPS):
            unknown = [(name, factor) for name, factor in size.terms if name not in names]
            if not unknown:
                return size
            name, factor = unknown[0]
            bound = self.high.get(name) if factor > 0 else self.low.get(name)
            if bound is None:
                return None
            size = size.plus(Size(((name, factor),)), -1)
            for _ in range(abs(factor)):
                size = size.plus(bound, 1 if factor > 0 else -1)
        return None

    def _is_positive(self, size: Size, steps: int) -> bool:
        if not size.terms:
            return size.constant >= 0
        for name, factor in size.terms if steps else ():
            bound = self.low.get(name) if factor > 0 else self.high.get(name)
            if bound is None:
                continue
            rest = size.plus(Size(((name, factor),)), -1)
            for _ in range(abs(factor)):
                rest = rest.plus(bound, 1 if factor > 0 else -1)
            if self._is_positive(rest, steps - 1):
                return True
        return False
