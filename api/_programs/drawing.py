"""A drawing of a program: arguments, kernels and results, by who waits for whom."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from opweave._html.markup import rendered
from opweave.compiler.ir.values import Value
from opweave.compiler.pipeline.driver import Lowered

# Of more a drawing says nothing that the list of groups does not say better.
MOST_BOXES = 40
WIDE, HIGH, GAP_X, GAP_Y = 104, 24, 14, 34


@dataclass(frozen=True)
class Box:
    """A box: what stands in it, what it is, and where its left upper corner lies."""

    text: str
    says: str
    kind: str
    number: int
    x: float
    y: float

    @property
    def middle(self) -> float:
        return self.x + WIDE / 2


Waits = dict[str, list[str]]
# By keys: what stands in a box, what it says where one points at it, the kernel's number or -1.
Texts = dict[str, tuple[str, str, int]]


def flow(lowered: Lowered) -> tuple[Waits, Texts]:
    """What each box waits for, by keys, and what stands in the boxes, all in a possible order."""
    graph, makers = lowered.graph, dict[int, str]()
    waits, texts = Waits(), Texts()
    for one in graph.inputs:
        makers[one.value.id] = key = f"in {one.name}"
        waits[key], texts[key] = [], (one.name, f"{one.name}: {one.value.type}", -1)
    for number, kernel in enumerate(lowered.kernels):
        group = lowered.schedule.groups[kernel.group]
        read = dict.fromkeys(makers.get(graph.base(v).id, "") for v in group.inputs)
        key = f"kernel {number}"
        waits[key] = [maker for maker in read if maker and maker != key]
        texts[key] = (f"{number}: {group.form.kind}", f"{kernel.name}: {kernel.title[0]}", number)
        makers |= {graph.base(v).id: key for v in group.outputs}
    for place, output in enumerate(graph.outputs):
        maker = makers.get(graph.base(output).id, "") if isinstance(output, Value) else ""
        key = f"out {place}"
        waits[key], texts[key] = [maker] if maker else [], (f"result {place}", "a result", -1)
    return waits, texts


def placed(waits: Waits, texts: Texts) -> dict[str, Box]:
    """Boxes in rows, each below all that it waits for and beside what it is near to."""
    depth: dict[str, int] = {}
    for key, before in waits.items():
        depth[key] = 1 + max((depth[b] for b in before), default=-1)
    deepest = max(depth.values())
    rows: list[list[str]] = [[] for _ in range(deepest + 1)]
    for key, at in depth.items():
        rows[deepest if key.startswith("out") else at].append(key)
    widest = max(map(len, rows))
    found: dict[str, Box] = {}
    for at, row in enumerate(rows):

        def near(key: str) -> float:
            above = [found[b].middle for b in waits[key] if b in found]
            return sum(above) / len(above) if above else 0.0

        left = (widest - len(row)) * (WIDE + GAP_X) / 2 + 4
        for place, key in enumerate(sorted(row, key=near)):
            text, says, number = texts[key]
            x, y = left + place * (WIDE + GAP_X), 4 + at * (HIGH + GAP_Y)
            found[key] = Box(text, says, key.split()[0], number, x, y)
    return found


def drawing(lowered: Lowered) -> Markup:
    """The drawing; nothing of a program with too many boxes."""
    waits, texts = flow(lowered)
    if len(waits) > MOST_BOXES:
        return Markup("")
    boxes = placed(waits, texts)
    lines = [(boxes[b], boxes[key]) for key, before in waits.items() for b in before if b in boxes]
    return rendered(
        "drawing", boxes=list(boxes.values()), lines=lines, wide=WIDE, high=HIGH,
        width=max(b.x for b in boxes.values()) + WIDE + 4,
        height=max(b.y for b in boxes.values()) + HIGH + 4,
    )  # fmt: skip
