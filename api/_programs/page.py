"""One self-contained page of a program: the function beside its kernels; no network, no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from opweave._html.markup import MarkedLine, listing, page, rendered
from opweave._profiler import pieces as profiles
from opweave._profiler.profile import profile
from opweave._profiler.report import KernelProfile
from opweave._profiler.roofline import roofline
from opweave._programs import pieces
from opweave._programs.drawing import drawing
from opweave._programs.explain import Explanation, explain
from opweave._programs.flipped import flips
from opweave._programs.users_source import UsersSource
from opweave._programs.views import Viewed, Views, views_of
from opweave.compiler.pipeline.driver import Lowered
from opweave.opcodes.errors import NoCompilerError, OpweaveError

# A page may have 2 MB; what is below the sources leaves as much again for them.
MOST_OF_VIEWS = 1_000_000


def page_of(program: Any, arguments: Sequence[Any]) -> str:
    """The page of a program for given arguments.

    Raises:
        OpweaveError: the arguments are not the program's.
    """
    lowered, users = program.lowered, UsersSource.of(program.fused.__wrapped__)
    found = explain(program, program.fused.signature.bind(tuple(arguments), {}))
    counted, why = _profiled(program, arguments)
    articles = _articles(program, arguments, users, counted)
    first, *rest = found.text.split("\n")
    said = [line for line in rest[:12] if _is_said(line)]
    body = rendered(
        "program", title=first, said=said, drawing=drawing(lowered), articles=articles,
        function=pieces.function(users, pieces.linked_lines(lowered, users)),
        groups=pieces.groups(lowered, users), decisions=pieces.decisions(lowered, users),
        graph=pieces.graph(lowered, users), roofline=_roofline(lowered, counted), why=why,
    )  # fmt: skip
    return page(f"{lowered.graph.name} for {program.target}", body)


def page_of_parts(function: Any, found: Explanation) -> str:
    """The page of a function that is no whole: what was found out about it, and its sources."""
    users = UsersSource.of(function)
    body = rendered(
        "parts", title=users.name, function=pieces.function(users),
        explanation=pieces.explanation(found),
    )  # fmt: skip
    return page(users.name, body)


def _is_said(line: str) -> bool:
    """What the explanation says of all kernels: lines that are no list."""
    return not line.startswith(" ") and not line.endswith(":")


def _profiled(program: Any, arguments: Sequence[Any]) -> tuple[dict[str, KernelProfile], str]:
    """Profiles by the names of kernels, or why there are none."""
    if program.target == "host":
        return {}, "counters and a roofline are of GPUs: ask for one by --target sm_90a"
    try:
        found = profile(program, *arguments)
    except NoCompilerError as error:
        return {}, f"counters and a roofline need NVRTC and its disassembler: {error}"
    except OpweaveError as error:
        return {}, f"no counters, no roofline: {error}"
    return {one.name: one for one in found.kernels}, "; ".join(found.by_library)


def _roofline(lowered: Lowered, counted: Mapping[str, KernelProfile]) -> Markup:
    """Of the kernels that have a chapter."""
    numbered = enumerate(lowered.kernels[: pieces.MOST_KERNELS])
    found = {n: counted[k.name] for n, k in numbered if k.name in counted}
    return roofline(found)


def _articles(
    program: Any, arguments: Sequence[Any], users: UsersSource,
    counted: Mapping[str, KernelProfile],
) -> list[Markup]:  # fmt: skip
    """A chapter for each kernel."""
    lowered, room, made = program.lowered, MOST_OF_VIEWS, []
    flipped = flips(program, arguments)
    for number, kernel in enumerate(lowered.kernels[: pieces.MOST_KERNELS]):
        viewed = Viewed(lowered, number, users)
        own = _with_counts(viewed.lines(), counted.get(kernel.name))
        views = views_of(viewed, flipped, own, room)
        room = views.room
        made.append(_article(number, kernel, own, views, counted.get(kernel.name)))
    return [*made, pieces.left_over(lowered)]


def _with_counts(rows: Sequence[MarkedLine], found: KernelProfile | None) -> list[MarkedLine]:
    """Lines with the warp instructions that are theirs in the margin."""
    totals = profiles.totals_of(found) if found else {}
    most = max(totals.values(), default=1.0)
    return [
        row._replace(margin=profiles.margin(totals.get(n, 0.0)), heat=totals.get(n, 0.0) / most)
        for n, row in enumerate(rows, 1)
    ]


def _article(
    number: int, kernel: Any, rows: Sequence[MarkedLine], views: Views,
    found: KernelProfile | None,
) -> Markup:  # fmt: skip
    parts: dict[str, Any] = {"bound": "", "limits": "", "counters": ""}
    if found:
        parts = {"bound": profiles.bound_by(found), "limits": profiles.limits(found),
                 "counters": profiles.counters(found)}  # fmt: skip
    return rendered(
        "kernel", number=number, name=kernel.name, about=pieces.about(kernel), views=views,
        is_counted=found is not None, source=listing(rows, label=f"source of {kernel.name}"),
        **parts,
    )  # fmt: skip
