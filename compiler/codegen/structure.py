"""A user's structural op-codes in the place of a template's: which templates take which, and how.

A kernel is assembled with the template's own; ``structured`` then puts the others in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from opweave.compiler.codegen.operands import Setting
from opweave.compiler.ir.graph import Graph
from opweave.compiler.ir.values import Value
from opweave.compiler.kernels.accessed import accessed, factors_of, shown_accesses
from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import OperandLoad, OperandStore, Pass
from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import Phase
from opweave.opcodes.errors import DTypeError, EditError
from opweave.opcodes.structural import COPIED, EACH, Placed, Structural

# The phases that a template takes from a user, and why it takes no others.
ACCESSES = (Phase.LOAD, Phase.STORE)
TAKES: dict[str, tuple[Phase, ...]] = {
    "map": (Phase.INDEX, Phase.GUARD, *ACCESSES),
    "stencil": (Phase.INDEX, Phase.GUARD, *ACCESSES),  # with one of a user's it is a map
    "pixel": ACCESSES,
    "row": ACCESSES,
    "reduce": ACCESSES,
    "scan": ACCESSES,
    "scan_parts": ACCESSES,
    "scan_ahead": ACCESSES,  # with one of a user's tiles are not copied
    "scan_columns": ACCESSES,
    "tile": ACCESSES,
    "product": ACCESSES,
    "product_rows": ACCESSES,
}
_ROWS = "the threads of a row meet at barriers, so that none may leave its place"
_TILES = "the threads of a tile meet at barriers, so that none may leave its place"
WHY: dict[str, str] = {
    "pixel": "a thread has whole pixels, whose channels its registers are laid out for",
    "row": _ROWS,
    "reduce": _ROWS,
    "scan": _ROWS,
    "scan_parts": _ROWS,
    "scan_ahead": _ROWS,
    "scan_columns": "a thread goes down its columns from the first row on",
    "columns": "a band of columns goes down all rows, on the host",
    "outer": "a band of columns goes down its rows by threads that meet at barriers",
    "tile": _TILES,
    "product": _TILES,
    "product_rows": _TILES,
    "count": "blocks take turns at the elements, and meet at barriers around them",
    "vendor": "a library computes it; in an ow.kernel list it is a kernel of ours",
    "handwritten": "it is a whole kernel of yours: edit its source",
    "library": "NumPy computes it",
}
ONCE = (Phase.INDEX, Phase.GUARD)  # in a kernel
# The ways to address an operand that know the place of each element.
BY_ELEMENT = ("chunk", "strided", "gather", "runs", "splat", "pixels", "across")
# Threads that a multiprocessor holds: CUDA C++ Programming Guide 13.0, "Technical Specifications
# per Compute Capability"; 1024 on sm_75, where blocks of a second wave are short of work.
RESIDENT_THREADS = 2048

Access = TypeVar("Access", OperandLoad, OperandStore)


def placed(kernel: Kernel, name: str, code: Structural) -> list[Placed]:
    """A structural op-code in the place of one of a kernel's; ``load`` alone means each load.

    Raises:
        EditError: it is of another phase, or the kernel has no such load or store.
    """
    phase = code.phase
    if type(name) is not str or name.split()[:1] != [phase.value]:
        raise EditError(
            f"replace {shown(name)}: {code.name} is an op-code of the phase {phase.value}, and "
            f"takes the place of {phase.value} alone"
        )
    if phase in ONCE:
        return [Placed(code, kernel.group)]
    given, names = name.removeprefix(phase.value).strip(), accessed(kernel, phase)
    found = [n for n in names if given in ("", n)]
    if not found or (phase is Phase.STORE and len(found) > 1):
        raise EditError(f"replace {shown(name)}: expected one of {shown_accesses(kernel, phase)}")
    return [Placed(code, kernel.group, n) for n in found]


def structured(kernel: Kernel, setting: Setting, number: int) -> Kernel:
    """A kernel with the user's op-codes of its group.

    Raises:
        EditError: its template does not take one, or the kernel has nothing of that name.
        DTypeError: a store that adds, of a type that has no meaning for it.
    """
    placed = [p for p in setting.structure if p.is_in(number)]
    if not placed:
        return kernel
    for one in placed:
        _check_template(kernel, one)
    once = {p.code.phase: p.code for p in placed if p.of == ""}
    others = {n: p.code for p in placed if p.of != "" for n in _named(kernel, setting, p)}
    index = once.get(Phase.INDEX)
    _check_carried(kernel, others)
    made = replace(
        _with_accesses(kernel, others),
        index=index,
        guard=once.get(Phase.GUARD),
        most_blocks=_most_blocks(kernel, setting, index),
    )
    for value in setting.schedule.groups[number].outputs:
        if value.id in made.added:
            _check_adds(made, setting, number, value)
    return made


def _with_accesses(kernel: Kernel, codes: Mapping[str, Structural]) -> Kernel:
    """A kernel with other op-codes in all places where it loads and stores."""

    def walked(step: Pass) -> Pass:
        loads, stores = _replaced(step.loads, codes), _replaced(step.stores, codes)
        return replace(step, loads=loads, stores=stores)

    used = [p.name for p in kernel.params]
    across = tuple(_read_by(f, codes.get(f.name), used) for f in kernel.across)
    product = kernel.product
    if product is not None:
        x, y = (_read_by(f, codes.get(f.name), used) for f in (product.x, product.y))
        product = replace(product, x=x, y=y)
    made = replace(
        kernel,
        row_loads=_replaced(kernel.row_loads, codes),
        row_stores=_replaced(kernel.row_stores, codes),
        cached=_replaced(kernel.cached, codes),
        passes=tuple(map(walked, kernel.passes)),
        totals=walked(kernel.totals) if kernel.totals else None,
        across=across,
        product=product,
    )
    readers = {f.function: f"load {f.name}" for f in factors_of(made) if f.by}
    return replace(made, functions=(*kernel.functions, *readers.items()))


def _read_by(factor: Factor, code: Structural | None, used: Sequence[str]) -> Factor:
    """A factor that is read by a function of its own, under a name that no parameter has."""
    if code is None:
        return factor
    reader = f"{factor.name}_read"
    while reader in used:
        reader += "_"
    return replace(factor, by=code, reader=reader)


def _named(kernel: Kernel, setting: Setting, placed: Placed) -> list[str]:
    """The kernel's names for what an op-code loads or stores: of an argument all its views.

    Raises:
        EditError: it does neither; of the kernels of a list another one may.
    """
    known, graph = accessed(kernel, placed.code.phase), setting.schedule.graph
    if isinstance(placed.of, int):
        base = _stored_base(graph, placed)
        found = [p.name for p in kernel.params if p.kind == "output" and p.source == base]
    elif placed.group == EACH:
        views = {n.result.id: graph.base(n.result).id for n in graph.nodes if n.is_view}
        read = {p.name: views.get(p.source, p.source) for p in kernel.params if p.kind == "input"}
        given = {base: item.name for base, item in graph.arguments.items()}
        found = [name for name, base in read.items() if given.get(base) == placed.of]
    else:
        found = [placed.of]
    found = [name for name in found if name in known]
    if not found and placed.group != EACH:
        raise _refused([kernel], placed)
    return found


def check_used(kernels: Sequence[Kernel], setting: Setting) -> None:
    """Check that each op-code for all kernels of a list stands in one of them.

    Raises:
        EditError: one does not.
    """
    for placed in setting.structure:
        anywhere = placed.group == EACH and placed.of != ""
        if anywhere and not any(_named(kernel, setting, placed) for kernel in kernels):
            raise _refused(kernels, placed)


def _refused(kernels: Sequence[Kernel], placed: Placed) -> EditError:
    names = " and ".join(kernel.name for kernel in kernels)
    has = "; ".join(shown_accesses(kernel, placed.code.phase) for kernel in kernels)
    return EditError(
        f"{placed.place}: {names} has no such array for {placed.code.name}; expected one of {has}"
    )


def _stored_base(graph: Graph, placed: Placed) -> int:
    """The value in memory that a store writes.

    Raises:
        EditError: it is an argument.
    """
    output = graph.outputs[int(placed.of)]
    base = graph.base(output).id if isinstance(output, Value) else -1
    if base in {i.value.id for i in graph.inputs}:
        raise EditError(
            f"{placed.place}: {placed.code.name} writes what a kernel makes, and this is a "
            f"view of an argument, which no kernel writes anew; {COPIED}"
        )
    return base


def _replaced(items: Iterable[Access], codes: Mapping[str, Structural]) -> tuple[Access, ...]:
    """Loads or stores with the op-codes that have their names.

    Raises:
        EditError: the elements of one have no places of their own.
    """
    items = tuple(items)
    for item in items:
        if item.name in codes and item.access.kind not in BY_ELEMENT:
            raise EditError(
                f"{codes[item.name].name}: {item.name} is read as {item.access.kind}, by a helper "
                f"of its own; expected one of {', '.join(BY_ELEMENT)}"
            )
    return tuple(replace(item, by=codes.get(item.name)) for item in items)


def _most_blocks(kernel: Kernel, setting: Setting, index: Structural | None) -> int:
    """The most blocks of a launch: of a loop as it says, or as many as the device holds."""
    if index is None or not index.fills:
        return index.blocks if index else 0
    return max(1, setting.device.sms * RESIDENT_THREADS // kernel.threads)


def _check_template(kernel: Kernel, placed: Placed) -> None:
    phase = placed.code.phase
    if phase in TAKES.get(kernel.template, ()):
        return
    able = ", ".join(name for name, phases in TAKES.items() if phase in phases)
    here = " and ".join(f"its {p.value}s" for p in TAKES.get(kernel.template, ())) or "nothing"
    raise EditError(
        f"{placed.place}: {kernel.name} is a kernel of the template {kernel.template}, which "
        f"takes no {phase.value} op-code from outside: {WHY[kernel.template]}. Here {here} can be "
        f"replaced; expected one of the templates: {able}"
    )


def _check_carried(kernel: Kernel, codes: Mapping[str, Structural]) -> None:
    """Refuse op-codes for what a kernel reads again after it has written it.

    Raises:
        EditError: names the operand or result that a loop carries in memory.
    """
    in_memory = () if kernel.template == "map" else kernel.carried
    for name in (n for operand, result in in_memory for n in (operand.name, result.name)):
        if name in codes:
            raise EditError(
                f"{codes[name].phase.value} {name}: {kernel.name} repeats, and reads in a turn "
                f"what it has stored in the one before; {codes[name].name} may not see that: "
                "expected an array that no turn changes"
            )


def _check_adds(kernel: Kernel, setting: Setting, number: int, value: Value) -> None:
    """Hold a store that adds to a result that begins as something, and to types that may.

    Raises:
        DTypeError, EditError: says what it may be.
    """
    dtype, fast = value.dtype, kernel.toggles.get("USE_FAST_MATH", 0)
    at = f"store of {kernel.name}, which adds"
    if dtype.kind not in ("iuf" if fast else "iu") or dtype.itemsize not in (4, 8):
        floats = "" if fast else "; floats in any order are for fuse(fast=True)"
        raise DTypeError(
            f"{at}: expected a result of int32, int64, uint32 or uint64"
            f"{', float32 or float64' * bool(fast)}, found {dtype.numpy_name}{floats}"
        )
    graph, groups = setting.schedule.graph, setting.schedule.groups
    returned = sum(isinstance(o, Value) and graph.base(o).id == value.id for o in graph.outputs)
    read = [g.name for n, g in enumerate(groups) if n != number and value in g.inputs]
    if returned != 1 or read:
        raise EditError(
            f"{at}: expected a result of the function, which begins as zeros or as out= has it; "
            f"found a value that {', '.join(read) or 'is returned twice'} reads"
        )
