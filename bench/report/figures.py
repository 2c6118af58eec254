"""What a figure shows, as data: it goes into the file, and plots are drawn from that alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure of an experiment.

    Attributes:
        name: the last part of its files' names.
        x: the parameter along the axis; of bars, what is written beside the runner, or "".
        y: a measure, see ``plots.MEASURES``.
        xlabel: what the axis says.
        kind: "curves", a line for each runner, or "bars".
        panels: parameters whose values each get a panel.
        xlog: base of the axis, 0 for a linear one.
        ylog: a logarithmic axis.
    """

    name: str
    x: str
    y: str = "time"
    xlabel: str = ""
    kind: str = "curves"
    panels: tuple[str, ...] = ()
    xlog: int = 0
    ylog: bool = True
