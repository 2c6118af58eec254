"""Loops over ranges."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from opweave.compiler.lines.values import LEAST, MOST, Counted, Held, Number, Size
from opweave.compiler.loops.nodes import tabled
from opweave.compiler.loops.rounds import InnerLoop, Rounds


def for_range(self: Rounds, node: ast.For, over: Counted, items: Sequence[Held] = ()) -> None:
    """A loop over a range, or over the items of a tuple by their places."""
    if not over.step:
        _for_steps(self, node, over)
        return
    step = over.step
    start, stop = self.indexing.size_of(over.start), self.indexing.size_of(over.stop)
    ends = [self.pinned_size(size) for size in (start, stop)]
    counter = self.text.fresh(_counter(node))
    if step > 0:
        self.facts.learn(counter, ends[0], ends[1].plus(-1))
    else:
        self.facts.learn(counter, ends[1].plus(1), ends[0])
    bounds = (
        (over.start.low, over.stop.high - 1) if step > 0 else (over.stop.low + 1, over.start.high)
    )

    def begin() -> None:
        self.text.add("LOOP_TICK(1);")
        number = Number(int, counter, Size.of(counter), *bounds)
        self.assign(node.target, tabled(self, items, number) if items else number)

    sign = "<" if step > 0 else ">"
    if self.is_entered:
        self.text.add(f"if (!({ends[0].text} {sign} {ends[1].text})) return LOOP_NO_ROUND;")
    move = f"{counter} += {over.by or step}" if step > 0 else f"{counter} -= {-step}"
    head = f"for (int64 {counter} = {ends[0].text}; {counter} {sign} {ends[1].text}; {move})"
    self.loop(InnerLoop(node, head, begin))


def _for_steps(self: Rounds, node: ast.For, over: Counted) -> None:
    """A loop over a range whose step C has computed: by its turns, so that none overflows."""
    start, stop = (self.pinned_size(self.indexing.size_of(n)) for n in (over.start, over.stop))
    length = f"slice_length({start.text}, {stop.text}, {over.by})"
    count = self.text.named("int64", length, "n")
    turn = self.text.fresh("turn_")
    self.facts.learn(count, Size.of(0))
    self.facts.learn(turn, Size.of(0), Size.of(count).plus(-1))
    if self.is_entered:
        self.text.add(f"if (!(0 < {count})) return LOOP_NO_ROUND;")

    def begin() -> None:
        self.text.add("LOOP_TICK(1);")
        place = self.text.named("int64", f"{start.factor} + {turn} * {over.by}", _counter(node))
        low = high = None
        if over.is_rising:
            self.facts.learn(place, start, stop.plus(-1))
            low, high = over.start.low, over.stop.high - 1
        bounds = (LEAST, MOST) if low is None or high is None else (low, high)
        self.assign(node.target, Number(int, place, Size.of(place), *bounds))

    self.loop(InnerLoop(node, f"for (int64 {turn} = 0; {turn} < {count}; ++{turn})", begin))


def _counter(node: ast.For) -> str:
    return f"{node.target.id.split()[-1]}_" if isinstance(node.target, ast.Name) else "it_"
