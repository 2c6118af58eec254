"""Ejected kernels: sources beside the user's code, which run in the place of ours.

``app.opweave/tonemap`` beside ``app.py`` has for each a ``.cu`` file and a manifest.  The manifest
says for which target, arguments and options the kernel is, and what it means: its group of
operators, its parameters and its launch.  When a function is lowered, a kernel with that meaning
takes the source from there.  Where the function has changed so that none has, the call is refused:
neither a stale kernel runs nor ours in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from opweave._programs.own_sources import with_source
from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Scalar, Symbol, Value
from opweave.compiler.pipeline.driver import Lowered, Options
from opweave.compiler.pipeline.specialise import Specialised
from opweave.compiler.tracing.arguments import ArrayType, Static
from opweave.configuration import config
from opweave.opcodes.errors import (
    ArgumentError,
    DTypeError,
    EjectedError,
    TraceError,
    UnsupportedError,
)
from opweave.opcodes.operators.registry import built_in

FORMAT = 1
Place = tuple[str, ...]
# Names of functions that a folder can have: of a module or a class, no lambda.
NAMED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
REMEDIES = (
    "eject it again with --force (the old file is kept as .old), remove the .cu and the .json, or "
    "set opweave.config.ejected = False"
)


@dataclass(frozen=True)
class Meaning:
    """What a kernel computes, and how it is called: an edited source must do the same.

    Attributes:
        operators: of its group, a line each, with values numbered from the first.
        form: its template and toggles, from which the launch follows.
        parameters: as the source declares them.
    """

    operators: tuple[str, ...]
    form: tuple[str, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class EjectedKernel:
    """A manifest and where it lies.

    Attributes:
        place: what it is for: target, options and arguments.
        names: of the function's parameters.
        function: a hash of the whole function's operators.
        source: a hash of the source as it was ejected.
        asked: the arguments of the command that ejected it.
    """

    path: Path
    kernel: str
    place: Place
    names: tuple[str, ...]
    function: str
    meaning: Meaning
    source: str
    asked: Mapping[str, Any]

    def text(self) -> str:
        """The source as it is now.

        Raises:
            EjectedError: it cannot be read.
        """
        try:
            return self.path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise EjectedError(f"{shown(self.path)} cannot be read: {error}; {REMEDIES}") from None


def shown(path: Path) -> str:
    """A path as people know it: from the user's folder on."""
    return "/".join(path.parts[-3:])


def folder_of(fn: Any) -> Path | None:
    """Where a function's ejected kernels lie; None where it can have none."""
    code = getattr(fn, "__code__", None)
    name = getattr(fn, "__qualname__", "")
    if code is None or not code.co_filename.endswith(".py") or not NAMED.fullmatch(name):
        return None
    return Path(code.co_filename).with_suffix(".opweave") / name


# What a kernel means


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


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _lines(graph: FunctionGraph, nodes: Sequence[Node], outputs: Sequence[Value]) -> Iterator[str]:
    """Nodes as text, in which values and extents are numbered in the order of their first use."""
    values: dict[int, str] = {}
    extents: dict[str, str] = {}
    made = {r.id: node for node in graph.nodes for r in node.results if node.is_view}

    def extent(item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(extent, item))
        if isinstance(item, Symbol):
            return extents.setdefault(item.name, f"e{len(extents)}")
        return item

    def operand(item: Any) -> str:
        if isinstance(item, Scalar):
            return f"{item.expr!r}: {item.dtype}"
        if item.id in values:
            return values[item.id]
        if item.id in made:  # no group has it: it says where its user reads
            return line(made[item.id])
        name = values[item.id] = f"v{len(values)}"
        shape = ", ".join(str(extent(e)) for e in item.shape)
        return f"{name}: {item.dtype}[{shape}]"

    def line(node: Node) -> str:
        given = ", ".join(map(operand, node.operands))
        own = "" if built_in(node.operator.name) is node.operator else f" {node.operator!s}"
        attrs = "".join(f", {k}={extent(v)}" for k, v in node.attrs if v is not None)
        plan = "" if node.plan is None else f" by {node.plan!r}"
        return f"{node.operator.name}({given}{attrs}){plan}{own}"

    for node in nodes:
        text = line(node)
        results = [values.setdefault(r.id, f"v{len(values)}") for r in node.results]
        yield f"{', '.join(results)} = {text}"
    yield "gives " + ", ".join(map(operand, outputs))


def place_of(arch: str, types: Mapping[str, Any], options: Options) -> Place:
    """For which target, options and arguments a kernel is."""
    arguments = (f"{name}: {_kind(value)}" for name, value in types.items())
    changed = f"fused={options.fused}, fast={options.fast}, toggles={dict(options.toggles)}"
    return arch, changed, *arguments


def _kind(value: Any) -> str:
    if isinstance(value, ArrayType):
        ones = ", ".join("1" if e == 1 else "n" for e in value.shape)
        return f"{value.dtype}[{ones}] {value.layout}"
    if isinstance(value, Static):
        return repr(value.value)
    kind = scalar_type(value)
    return str(getattr(kind, "__name__", kind))


# Folders


def entries(folder: Path) -> list[EjectedKernel]:
    """The ejected kernels of a function.

    Raises:
        EjectedError: a manifest cannot be read; names it.
    """
    return [read(path) for path in sorted(folder.glob("*.json"))]


def read(path: Path) -> EjectedKernel:
    """A manifest.

    Raises:
        EjectedError: it is none.
    """
    try:
        data = json.loads(path.read_text())
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}, expected {FORMAT}")
        parts = (tuple(data[n]) for n in ("operators", "form", "parameters"))
        rest = tuple(data["place"]), tuple(data["names"]), data["function"], Meaning(*parts)
        return EjectedKernel(
            path.with_suffix(".cu"), data["kernel"], *rest, data["source"], data["asked"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EjectedError(
            f"{shown(path)} is no manifest of an ejected kernel ({error}); {REMEDIES}"
        ) from None


def manifest(entry: EjectedKernel) -> str:
    """The text of a manifest."""
    meaning = entry.meaning
    data = {
        "format": FORMAT, "kernel": entry.kernel, "place": entry.place, "names": entry.names,
        "function": entry.function, "operators": meaning.operators, "form": meaning.form,
        "parameters": meaning.parameters, "source": entry.source, "asked": dict(entry.asked),
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"


# Calls


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
            now = next((m for k, m in zip(lowered.kernels, meanings, strict=True)
                        if k.name == entry.kernel and m), None)  # fmt: skip
            raise _drifted(entry, entry.meaning.operators, now.operators if now else ())
    return replace(lowered, ejected=tuple(paths))


def _with_text(lowered: Lowered, entry: EjectedKernel, number: int) -> Lowered:
    name = lowered.kernels[number].name  # which has the number of kernels in it
    text = re.sub(rf"\b{entry.kernel}\b", name, entry.text())
    try:
        return with_source(lowered, text, number)
    except ArgumentError as error:
        raise EjectedError(f"{shown(entry.path)}: {error}") from None


def _drifted(entry: EjectedKernel, then: Sequence[str], now: Sequence[str]) -> EjectedError:
    gone = next((line for line in then if line not in now), "its operators in another kernel")
    come = next((line for line in now if line not in then), "no kernel of that name")
    return EjectedError(
        f"{shown(entry.path)}: the function has changed: the ejected kernel stands for "
        f"`{gone}`, found `{come}`; {REMEDIES}"
    )
