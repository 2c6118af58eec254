"""What a notebook shows of functions, programs, kernels and what is found out about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from opweave._html.code import highlighted
from opweave._html.markup import (
    MarkedLine,
    folded,
    function_listing,
    joined,
    listing,
    outline,
    rendered,
    table,
)
from opweave._programs.branches import left_out
from opweave._programs.users_source import UsersSource, comments_of, line_of
from opweave.compiler.ir.values import Where
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.scheduling.schedule import Group

# As many lines of one source as a page takes, and lists of so many entries.
MOST_LINES, MOST_ROWS = 4_000, 500
# And so many kernels.
MOST_KERNELS = 30


def head(title: str, *rest: str) -> Markup:
    """A title, and what is said behind it."""
    return rendered("head", title=title, rest=[text for text in rest if text])


def at(where: Where, users: UsersSource) -> Markup | str:
    """A place, which lights its line of the function."""
    if number := users.line(where):
        return Markup('<span data-l="{0}">line {0}</span>').format(number)
    return str(where)


def function(users: UsersSource, linked: Sequence[int] = ()) -> Markup:
    """The user's function; the lines that kernels are made of can be lit."""
    if not users.text:
        return rendered("note", text=f"the source of {users.name} is not there")
    rows = [
        MarkedLine(text, n if n in linked else 0)
        for n, text in enumerate(highlighted(users.text, "python"), 1)
    ]
    return function_listing(rows, f"the function {users.name}")


def linked_lines(lowered: Lowered, users: UsersSource) -> list[int]:
    """The lines of the function that its nodes are made of."""
    return sorted({n for node in lowered.graph.nodes if (n := users.line(node.where))})


def kernel_lines(
    kernel: Kernel, source: str, lowered: Lowered, users: UsersSource,
    known: dict[str, Markup] | None = None,
) -> list[MarkedLine]:  # fmt: skip
    """A kernel's source; what toggles leave out is dim.  See ``coloured`` for ``known``."""
    texts = source.removesuffix("\n").split("\n")[:MOST_LINES]
    out, comments = left_out(texts, kernel.toggles), comments_of(kernel, lowered.graph, users)
    marked = coloured(texts, {} if known is None else known)
    return [
        MarkedLine(line, line_of(text, comments), n in out)
        for n, (line, text) in enumerate(zip(marked, texts, strict=True))
    ]


def coloured(texts: Sequence[str], known: dict[str, Markup]) -> list[Markup]:
    """Lines of CUDA C in colours; those that are ``known`` are not asked for again."""
    if not known:
        made = highlighted("".join(f"{text}\n" for text in texts), "cuda")
        known |= zip(texts, made, strict=True)
        return made
    new = [text for text in dict.fromkeys(texts) if text not in known]
    known |= zip(new, highlighted("".join(f"{text}\n" for text in new), "cuda"), strict=False)
    return [known[text] for text in texts]


def toggled_span(lines: Sequence[str], toggles: Mapping[str, int]) -> tuple[int, int]:
    """The lines that define toggles: the first, and the one behind the last."""
    numbers = [n for n, text in enumerate(lines) if text.startswith("#define")]
    found = [n for n in numbers if lines[n].split()[1] in toggles]
    return (found[0], found[-1] + 1) if found else (0, 0)


def kernel(lowered: Lowered, number: int, users: UsersSource) -> Markup:
    """A kernel's source; its toggles are folded away."""
    found, source = lowered.kernels[number], lowered.sources[number]
    rows = kernel_lines(found, source, lowered, users)
    begin, end = toggled_span(source.splitlines(), found.toggles)
    parts = [listing(rows[:begin], label=f"{found.name}: what it is")] if begin else []
    if end:
        values = ", ".join(f"{n}={v}" for n, v in found.toggles.items())
        toggles = listing(rows[begin:end], begin + 1, f"{found.name}: toggles")
        parts.append(folded(f"{len(found.toggles)} toggles: {values}", toggles))
    parts.append(listing(rows[end:], end + 1, f"{found.name}: source"))
    if source.count("\n") > MOST_LINES:
        text = f"{source.count(chr(10)) - MOST_LINES} more lines: print(kernel.source)"
        parts.append(rendered("note", text=text))
    return joined(parts)


def kernels(lowered: Lowered, users: UsersSource) -> Markup:
    """The first ones, each folded behind its name; the first is open."""
    shown = [
        folded(f"{one.name}: {made_of(one)}", kernel(lowered, n, users), is_open=n == 0)
        for n, one in enumerate(lowered.kernels[:MOST_KERNELS])
    ]
    return joined([*shown, left_over(lowered)])


def left_over(lowered: Lowered) -> Markup:
    """What is said of kernels that are too many."""
    count = len(lowered.kernels) - MOST_KERNELS
    text = f"{count} more kernels are not shown: see program.kernels[{MOST_KERNELS}] and on"
    return rendered("note", text=text) if count > 0 else Markup("")


def made_of(found: Kernel) -> str:
    """The operators that share a kernel."""
    return found.title[0].removeprefix("fused: ")


def about(found: Kernel) -> list[str]:
    """What a kernel is, a sentence each."""
    texts = [
        f"made of {made_of(found)}", *found.title[1:], found.extents_text,
        f"{found.shared_bytes} bytes of shared memory a block" if found.shared_bytes else "",
        f"chosen to fit: {found.fitted}" if found.fitted else "",
    ]  # fmt: skip
    return [text for text in texts if text]


def groups(lowered: Lowered, users: UsersSource) -> Markup:
    """The groups of the schedule: which operators share a kernel, and their lines."""
    rows = []
    for number, found in enumerate(lowered.kernels[:MOST_ROWS]):
        group = lowered.schedule.groups[found.group]
        places = dict.fromkeys(at(lowered.graph.nodes[n].where, users) for n in group.nodes)
        linked = '<a href="#k{0}">{0}: {1}</a>' if number < MOST_KERNELS else "{0}: {1}"
        name = Markup(linked).format(number, found.name)
        rows.append((name, group.form.kind, _named(lowered, group), Markup(", ").join(places)))
    return table(("kernel", "form", "operators", "where"), rows)


def _named(lowered: Lowered, group: Group) -> str:
    """The operators of a group, each once, with how often."""
    found = Counter(lowered.graph.nodes[n].operator.name for n in group.nodes)
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in found.items())


def decisions(lowered: Lowered, users: UsersSource) -> Markup:
    """What shares a kernel with what, and why: refusals first."""
    found = sorted(lowered.schedule.decisions, key=lambda d: d.fused)
    rows = [
        ("fused" if d.fused else "not fused", f"{d.producer} -> {d.consumer}", d.reason,
         at(d.where, users))
        for d in found[:MOST_ROWS]
    ]  # fmt: skip
    refused = sum(not d.fused for d in found)
    summary = f"{len(found) - refused} pairs fused, {refused} not, and why"
    return folded(summary, table(("", "operators", "because", "where"), rows))


def graph(lowered: Lowered, users: UsersSource) -> Markup:
    """The nodes of the graph, with the numbers of their kernels in the margin."""
    homes: dict[int, list[int]] = {}
    for number, one in enumerate(lowered.kernels):
        for index in lowered.schedule.groups[one.group].nodes:
            homes.setdefault(index, []).append(number)
    lines = str(lowered.graph).splitlines()
    nodes = lowered.graph.nodes
    rows = [MarkedLine(Markup.escape(lines[0]))]
    for n, node in enumerate(nodes[:MOST_ROWS]):
        home = ",".join(str(k) for k in dict.fromkeys(homes.get(n, ()))) or "view"
        rows.append(MarkedLine(Markup.escape(f"  {node!r}"), users.line(node.where), margin=home))
    rows += [MarkedLine(Markup.escape(text)) for text in lines[1 + len(nodes) :]]
    body = Markup('<div class="ow-counted">{}</div>').format(listing(rows, label="the graph"))
    return folded(f"graph: {len(nodes)} nodes; in the margin the number of their kernel", body)


# What objects show


def program(found: Any) -> Markup:
    """Of a program."""
    lowered, users = found.lowered, UsersSource.of(found.fused.__wrapped__)
    return joined([
        head(f"{lowered.graph.name} for {found.target}", f"{len(lowered.kernels)} kernel(s)"),
        function(users, linked_lines(lowered, users)),
        decisions(lowered, users), graph(lowered, users), kernels(lowered, users),
    ])  # fmt: skip


def view(found: Any) -> Markup:
    """Of one kernel of a program."""
    lowered, users = found.program.lowered, UsersSource.of(found.program.fused.__wrapped__)
    own = lowered.schedule.groups[found.data.group].nodes
    lines = [n for i in own if (n := users.line(lowered.graph.nodes[i].where))]
    return joined([
        head(found.name, found.data.title[0], f"for {found.program.target}"),
        function(users, lines), kernel(lowered, found.number, users),
    ])  # fmt: skip


def fused(found: Any) -> Markup:
    """Of a fused function: what it was compiled to last; nothing is compiled for it."""
    users = UsersSource.of(found.__wrapped__)
    made = [low for many in found._specialised.variants.values() for v in many
            for low in v.lowered.values()]  # fmt: skip
    title = repr(found).strip("<>")
    if not made:
        hint = "no whole of it was compiled: call it, or .lower(...) it, and its kernels are here"
        return joined([head(title), function(users), rendered("note", text=hint)])
    lowered = made[-1]
    more = f"the newest of {len(made)} compilations, for {lowered.device.arch}"
    return joined([
        head(title, more), function(users, linked_lines(lowered, users)),
        decisions(lowered, users), kernels(lowered, users),
    ])  # fmt: skip


def op_codes(found: Any) -> Markup:
    """Of an op-code list."""
    rows = [MarkedLine(Markup.escape(line)) for line in str(found).splitlines()]
    title = f"op-code kernel {found.name}({', '.join(found.arguments)})"
    return joined([head(title), listing(rows, label=title)])


def explanation(found: Any) -> Markup:
    """Of what ``explain`` found."""
    first, _, rest = found.text.partition("\n")
    named = len(found.kernels) == len(found.sources)
    names = found.kernels if named else [f"source {n}" for n in range(len(found.sources))]
    sources = [
        folded(
            name, listing([MarkedLine(line) for line in highlighted(text, "cuda")[:MOST_LINES]])
        )
        for name, text in zip(names[:MOST_KERNELS], found.sources, strict=False)
    ]
    left = len(found.sources) - MOST_KERNELS
    more = [rendered("note", text=f"{left} more sources: see .sources")] if left > 0 else []
    return joined([head(first), outline(rest), *sources, *more])


def report(found: Any) -> Markup:
    """Of what a check found."""
    named = [("", found), *found.others]
    rows = [row for name, one in named for row in _judged(name, one)]
    columns = ("output", "verdict", "elements", "largest error, ULP", "of the bound", "undecided")
    good, bad = '<span class="ow-good">{}</span>', '<span class="ow-bad">{}</span>'
    verdict = Markup(good if found.ok else bad).format("holds" if found.ok else "does not hold")
    notes = ["fast arithmetic: the strict bound is for information"] if found.relaxed else []
    if found.tight:
        notes.append("over half of the bound: " + ", ".join(row.name for row in found.tight))
    said = [rendered("note", text=text) for text in notes]
    return joined([head("check", verdict), table(columns, rows, "llrrrr"), *said])


def _judged(name: str, one: Any) -> list[tuple[Any, ...]]:
    """Rows of a report with some values of toggles; None where all bits are the same."""
    if one is None:
        return [(name, "the same bits", "", "", "", "")]
    label = f" with {name}" if name else ""
    return [
        (f"{row.name}{label}",
         Markup('<span class="ow-good">agrees</span>') if row.ok else
         Markup('<span class="ow-bad">{} wrong, at {}</span>').format(row.wrong, row.worst),
         row.elements, f"{row.ulp:.3g}", f"{row.bounds:.3g}", row.undecided)
        for row in one.rows
    ]  # fmt: skip
