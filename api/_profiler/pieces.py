"""What a notebook shows of a profile."""

from __future__ import annotations

from markupsafe import Markup

from opweave._html.code import highlighted
from opweave._html.markup import (
    Gauge,
    MarkedLine,
    folded,
    gauges,
    joined,
    listing,
    rendered,
    table,
)
from opweave._profiler.report import KernelProfile, ProfileReport, number

MOST_LIMITS = 6


def report(found: ProfileReport) -> Markup:
    """Of all launches of a call, and of what a library computes between them."""
    each = [kernel(one) for one in found.kernels]
    return joined([*each, *(rendered("note", text=text) for text in found.by_library)])


def kernel(found: KernelProfile) -> Markup:
    """Of one launch of one kernel."""
    return joined([
        rendered("head", title=found.name, rest=[f"for {found.target}", bound_by(found)]),
        limits(found), counters(found),
        folded("source, with warp instructions of each line in the margin", counted(found)),
    ])  # fmt: skip


def bound_by(found: KernelProfile) -> str:
    """What the model says, in a line."""
    model = found.model
    return (
        f"{model.us:.3g} us by a model of {found.device}, bound by {model.binds.name}, "
        f"{100 * model.fraction:.0f} % of the roof of its bytes; nothing was measured"
    )


def limits(found: KernelProfile) -> Markup:
    """What could bind the launch, the slowest first, as bars of the time by the model."""
    rows = [one for one in found.model.limits if one.us > 0][:MOST_LIMITS]
    most = max((one.us for one in rows), default=1.0)
    bars = gauges([Gauge(x.name, f"{x.us:.3g} us", x.us / most, x.sentence) for x in rows])
    return joined([bars, rendered("note", text=f"next: {found.model.binds.mend}")])


def counters(found: KernelProfile) -> Markup:
    """Counters by name; those that are 0 by their names alone."""
    rows = [(name, number(value)) for name, value in found.counters.items() if value]
    rest = ", ".join(name for name, value in found.counters.items() if not value)
    said = [rendered("note", text=f"0: {rest}")] if rest else []
    body = joined([table(("counter", "value"), rows, "lr"), *said])
    return folded(f"{len(found.counters)} counters", body)


def counted(found: KernelProfile) -> Markup:
    """The source with warp instructions of each line in its margin."""
    totals = totals_of(found)
    most = max(totals.values(), default=1.0)
    rows = [
        MarkedLine(text, margin=margin(totals.get(n, 0.0)), heat=totals.get(n, 0.0) / most)
        for n, text in enumerate(highlighted(found.source, "cuda"), 1)
    ]
    body = listing(rows, label=f"{found.name} with counts")
    return Markup('<div class="ow-counted">{}</div>').format(body)


def totals_of(found: KernelProfile) -> dict[int, float]:
    """Warp instructions of each line of the source, of all pipes."""
    return {line: sum(pipes.values()) for line, pipes in found.lines.items() if line > 0}


def margin(count: float) -> str:
    """A count in few characters, "" for none.

    >>> margin(0.0), margin(512.0), margin(20480.0), margin(3.2e6)
    ('', '512', '20k', '3.2M')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            scaled = count / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{count:.0f}" if count else ""
