"""Ejected kernels: sources beside the user's code, which run in the place of ours.

A folder of the file's name, ending in ``.opweave``, has a folder for each function, and in it for
each kernel a ``.cu`` file and a manifest.  That says for which target, arguments and options the
kernel is, and what it means: its group of operators, its parameters and its launch.  When a
function is lowered, a kernel with that meaning takes the source from there.  Where the function
has changed so that none has, the call is refused: neither a stale kernel runs nor ours in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from opweave._programs.own_sources import with_source
from opweave._saved.ejected_files import (
    REMEDIES,
    EjectedKernel,
    Meaning,
    Place,
    digest,
    entries,
    folder_of,
    shown,
)
from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Scalar, Symbol, Value
from opweave.compiler.pipeline.driver import Lowered, Options
from opweave.compiler.pipeline.specialise import Specialised
from opweave.compiler.tracing.arguments import ArrayType, Static
from opweave.configuration import config
from opweave.opcodes.errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    EjectedError,
    TraceError,
    UnsupportedError,
)
from opweave.opcodes.operators.registry import built_in

# Options with which a function is another graph, for which nothing can be ejected.
OTHER_GRAPHS = ("watched", "repeated")


def meaning_of(lowered: Lowered, number: int) -> Meaning:
    """The meaning of a kernel."""
    kernel = lowered.kernels[number]
    graph, group = lowered.schedule.graph, lowered.schedule.groups[kernel.group]
    toggles = (f"{name}={value}" for name, value in sorted(kernel.toggles.items()))
    same = [n for n, k in enumerate(lowered.kernels) if k.group == kernel.group]
    return Meaning(
        tuple(_lines(graph, [graph.nodes[n] for n in group.nodes], group.outputs)),
        (kernel.template, f"part {same.index(number)} of {len(same)}", *toggles),
        tuple(p.declaration for p in kernel.params),
    )


def function_hash(graph: FunctionGraph) -> str:
    """A hash of all operators of a function, wherever they stand in it."""
    outputs = [o for o in graph.outputs if isinstance(o, Value)]
    return digest("\n".join(_lines(graph, graph.nodes, outputs)))


def _lines(graph: FunctionGraph, nodes: Sequence[Node], outputs: Sequence[Value]) -> Iterator[str]:
    """Nodes as text, in which values and extents are numbered in the order of their first use."""
    listing = _Numbering(graph)
    for node in nodes:
        text = listing.line(node)
        yield f"{', '.join(map(listing.name, node.results))} = {text}"
    yield "gives " + ", ".join(map(listing.operand, outputs))


class _Numbering:
    """Numbers values and extents as they come."""

    def __init__(self, graph: FunctionGraph):
        self.values: dict[int, str] = {}
        self.extents: dict[str, str] = {}
        self.views = {r.id: node for node in graph.nodes for r in node.results if node.is_view}

    def name(self, value: Value) -> str:
        return self.values.setdefault(value.id, f"v{len(self.values)}")

    def extent(self, item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(self.extent, item))
        if isinstance(item, Symbol):
            return self.extents.setdefault(item.name, f"e{len(self.extents)}")
        return item

    def operand(self, item: Any) -> str:
        if isinstance(item, Scalar):
            return f"{item.expr!r}: {item.dtype}"
        if item.id in self.values:
            return self.values[item.id]
        if item.id in self.views:  # no group has it: it says where its user reads
            return self.line(self.views[item.id])
        shape = ", ".join(str(self.extent(e)) for e in item.shape)
        return f"{self.name(item)}: {item.dtype}[{shape}]"

    def line(self, node: Node) -> str:
        given = ", ".join(map(self.operand, node.operands))
        own = "" if built_in(node.operator.name) is node.operator else f" {node.operator!s}"
        attrs = "".join(f", {k}={self.extent(v)}" for k, v in node.attrs if v is not None)
        plan = "" if node.plan is None else f" by {node.plan!r}"
        return f"{node.operator.name}({given}{attrs}){plan}{own}"


def place_of(arch: str, types: Mapping[str, Any], options: Options, names: Sequence[str]) -> Place:
    """For which target, options and arguments a kernel is.

    Args:
        types: of the leaves of arguments, and of what the function reads from outside: that is
            what it computes, and counts as a change of it.
        names: of the function's parameters.
    """
    own = {name: t for name, t in types.items() if re.split(r"[.\[]", name)[0] in names}
    changed = f"fused={options.fused}, fast={options.fast}, toggles={dict(options.toggles)}"
    more = [name for name in OTHER_GRAPHS if getattr(options, name)]
    return arch, changed, *more, *(f"{name}: {_kind(value)}" for name, value in own.items())


def _kind(value: Any) -> str:
    if isinstance(value, ArrayType):
        ones = ", ".join("1" if e == 1 else "n" for e in value.shape)
        return f"{value.dtype}[{ones}] {value.layout}"
    if isinstance(value, Static):
        return re.sub(r" at 0x[0-9a-f]+", "", repr(value.value))  # which differ by process
    kind = scalar_type(value)
    return str(getattr(kind, "__name__", kind))


def with_ejected(
    found: Specialised, fn: Any, names: Sequence[str], place: Callable[[], Place]
) -> Specialised:
    """What was lowered, with the sources of ejected kernels in the place of ours.

    Args:
        names: of the function's parameters.
        place: of the call; asked for where the function has ejected kernels.

    Raises:
        EjectedError: the function has changed, and an ejected kernel stands for none of it now.
    """
    lowered = found.lowered
    if lowered.ejected is not None or not config.ejected:
        return found
    folder = folder_of(fn)
    if folder is None or not folder.is_dir():
        return found
    made = _replaced(found, entries(folder), names, place())
    known = found.variant.lowered
    known.update({key: made for key, value in known.items() if value is lowered})
    return replace(found, lowered=made)


@contextmanager
def whole_if_ejected(fn: Any, place: Callable[[], Place]) -> Iterator[None]:
    """Refuse that a call runs in parts, by other kernels, where there are ejected ones for it.

    Raises:
        EjectedError: the function has changed, and is no single graph any more.
    """
    try:
        yield
    except (UnsupportedError, TraceError, DTypeError) as error:
        folder = folder_of(fn) if config.ejected else None
        if folder is None or not folder.is_dir():
            raise
        here = place()
        if (entry := next((e for e in entries(folder) if e.place == here), None)) is None:
            raise
        raise EjectedError(
            f"{shown(entry.path)}: the function has changed, and is no program any more for which "
            f"an ejected kernel could stand: {error}; {REMEDIES}"
        ) from error


@contextmanager
def file_named(lowered: Lowered) -> Iterator[None]:
    """Where a compiler refuses an ejected kernel, have its error name the file."""
    try:
        yield
    except CompileError as error:
        pairs = zip(lowered.kernels, lowered.ejected or (), strict=False)
        own = (p for k, p in pairs if p and re.search(rf"\b{k.name}\b", error.source))
        if (path := next(own, None)) is not None:
            error.args = (f"{shown(Path(path))}: {error}",)
        raise


def _replaced(
    found: Specialised, known: Sequence[EjectedKernel], names: Sequence[str],
    place: Place,
) -> Lowered:  # fmt: skip
    lowered = found.lowered
    paths = [""] * len(lowered.kernels)
    meanings = [
        None if k.by_numpy else meaning_of(lowered, n) for n, k in enumerate(lowered.kernels)
    ]
    for entry in known:
        if entry.names != tuple(names):
            raise _drifted(entry, [f"parameters ({', '.join(entry.names)})"],
                           [f"parameters ({', '.join(names)})"])  # fmt: skip
        if entry.place != place:
            continue
        if entry.meaning in meanings:
            number = meanings.index(entry.meaning)
            lowered = _with_text(lowered, entry, number)
            paths[number] = str(entry.path)
        elif entry.function != function_hash(found.variant.graph):
            number = next((n for n, k in enumerate(lowered.kernels) if k.name == entry.kernel), -1)
            now = meanings[number] if number >= 0 else None
            lines = _places_of(lowered, number) if now else ()
            raise _drifted(entry, entry.meaning.operators, now.operators if now else (), lines)
    return replace(lowered, ejected=tuple(paths))


def _with_text(lowered: Lowered, entry: EjectedKernel, number: int) -> Lowered:
    name = lowered.kernels[number].name  # which has the number of kernels in it
    text = re.sub(rf"\b{entry.kernel}\b", name, entry.text())
    try:
        return with_source(lowered, text, number)
    except ArgumentError as error:
        raise EjectedError(f"{shown(entry.path)}: {error}") from None


def _places_of(lowered: Lowered, number: int) -> list[str]:
    """The user's lines of a kernel's operators."""
    graph, group = lowered.schedule.graph, lowered.schedule.groups[lowered.kernels[number].group]
    return [str(graph.nodes[n].where) for n in group.nodes]


def _drifted(
    entry: EjectedKernel, then: Sequence[str], now: Sequence[str], lines: Sequence[str] = ()
) -> EjectedError:
    """``lines``: the user's, of those that are there now."""
    gone = next((line for line in then if line not in now), "its operators in another kernel")
    come = next((line for line in now if line not in then), "no kernel of that name")
    where = next((f" ({at})" for line, at in zip(now, lines, strict=False) if line == come), "")
    return EjectedError(
        f"{shown(entry.path)}: the function has changed: the ejected kernel stands for "
        f"`{gone}`, found `{come}`{where}; {REMEDIES}"
    )
