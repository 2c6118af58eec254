"""Tiers: which tests run by default, and what of the others.

A test function that a table of tests/support/slow/ names leaves the default tier, or leaves a
part of its cases there.  ``--tier all`` runs everything, ``--tier slow`` what the default leaves
out, ``--share 2/5`` the third of five shares of that.  A test named with ``::`` on the command
line runs in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

Cases = Sequence[Mapping[str, Any]]
TIERS = ("default", "slow", "all")
LEFT_OUT = pytest.StashKey[int]()


@dataclass(frozen=True)
class Slow:
    """What leaves the default tier of a test function.

    Attributes:
        keep: the numbers of the cases that stay, of the parameters of all.
        instead: the test that shows the same, where none stays; else the cases that stay do.
        cases: what stays besides, by the text that pytest prints between brackets.
        gone: what leaves besides, by the same text.
    """

    keep: Callable[[Cases], Iterable[int]]
    instead: str = ""
    cases: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def also(self, *cases: str) -> Slow:
        """Cases that alone have some operator, kind of dtype, template and target."""
        return replace(self, cases=cases)

    def stays(self, case: str, kept: bool) -> bool:
        """Whether a case stays, by its text between brackets."""
        return case in self.cases or (kept and case not in self.gone)

    def less(self, *cases: str) -> Slow:
        """Cases that are dear, where others of the table that stay show the same."""
        return replace(self, gone=cases)


def diagonal(*columns: str, most: int = 10_000) -> Slow:
    """Each value of each of these parameters stays once; of that at most so many cases."""

    def keep(cases: Cases) -> list[int]:
        kept = covering([[_identity(case[c]) for c in columns] for case in cases])
        return kept[:: -(-len(kept) // most)]

    return Slow(keep)


def every(count: int) -> Slow:
    """Each so manieth case stays, the first included."""
    return Slow(lambda cases: range(0, len(cases), count))


def some(*cases: str) -> Slow:
    """These cases stay, by the text that pytest prints between brackets."""
    return Slow(lambda _: (), cases=cases)


def only(parameter: str, *values: str) -> Slow:
    """The cases stay in which a parameter has one of these values."""
    return Slow(lambda cases: [n for n, c in enumerate(cases) if str(c[parameter]) in values])


def without(parameter: str, *values: str) -> Slow:
    """The cases leave in which a parameter has one of these values."""
    return Slow(lambda cases: [n for n, c in enumerate(cases) if str(c[parameter]) not in values])


def away(instead: str) -> Slow:
    """All cases leave; the test that shows the same has this name."""
    return Slow(lambda cases: (), instead)


def _identity(value: Any) -> Hashable:
    """Numbers and texts are themselves; of other values each is one, and cases share them."""
    return (type(value), value) if isinstance(value, str | int) else id(value)


def covering(rows: Sequence[Sequence[Hashable]]) -> list[int]:
    """The numbers of rows which have each value of each column, few and always the same.

    Of rows that are as good the one is taken whose values have been taken least.
    """
    cells = [set(enumerate(row)) for row in rows]
    missing, taken = set().union(*cells), Counter[Hashable]()
    kept = []
    while missing:
        best = max(
            range(len(rows)),
            key=lambda n: (len(cells[n] & missing), -sum(taken[c] for c in cells[n]), -n),
        )
        kept.append(best)
        missing -= cells[best]
        taken.update(cells[best])
    return sorted(kept)


def share_of(name: str, count: int) -> int:
    """The share that a test belongs to; it depends on nothing but its name."""
    return int.from_bytes(sha256(name.encode()).digest()[:8]) % count


def slow_ones(items: Iterable[pytest.Item], table: Mapping[str, Slow]) -> set[pytest.Item]:
    """The tests of the slow tier."""
    found: set[pytest.Item] = set()
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.split("[")[0].removeprefix("tests/"), []).append(item)
    for name in functions.keys() & table.keys():
        cases, row = functions[name], table[name]
        kept = {cases[n] for n in row.keep([_parameters(case) for case in cases])}
        found.update(c for c in cases if not row.stays(_between_brackets(c), c in kept))
    return found


def _parameters(case: pytest.Item) -> Mapping[str, Any]:
    return case.callspec.params if hasattr(case, "callspec") else {}


def _between_brackets(case: pytest.Item) -> str:
    return case.nodeid.partition("[")[2].removesuffix("]")


def select(config: pytest.Config, items: list[pytest.Item], table: Mapping[str, Slow]) -> None:
    """Mark the slow tests, and leave out what this run does not want; a named test stays."""
    slow = slow_ones(items, table)
    for item in slow:
        item.add_marker("slow")
    tier, (number, count) = config.option.tier, config.option.share or (0, 1)
    left = [
        item
        for item in items
        if not is_named(item, config.args)
        and (
            (item in slow and (tier == "default" or share_of(item.nodeid, count) != number))
            or (item not in slow and tier == "slow")
        )
    ]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
    config.stash[LEFT_OUT] = len(gone & slow) if left else 0


def is_named(item: pytest.Item, arguments: Iterable[str]) -> bool:
    """``tests/x.py::test_y`` and ``tests/x.py::test_y[z]`` name tests."""
    _, _, mine = item.nodeid.partition("::")
    for argument in arguments:
        path, _, name = argument.partition("::")
        if name and (mine == name or mine.startswith(f"{name}[")):
            return Path(path).resolve() == item.path
    return False


def a_share(text: str) -> tuple[int, int]:
    """``2/5``: the third of five shares."""
    number, count = map(int, text.split("/"))
    if not 0 <= number < count:
        raise ValueError(f"{text}: the first share of {count} is 0/{count}")
    return number, count


def summary(config: pytest.Config) -> list[str]:
    """What to say of the tests that a run left out."""
    left = config.stash.get(LEFT_OUT, 0)
    told = f"{left} slow tests left out; --tier all runs them, too (docs/testing.md)"
    return [told] if left else []
