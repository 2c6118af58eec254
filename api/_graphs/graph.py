"""``ow.Graph``: a program as a table of named operators, between transfers to a device and back.

    g = ow.Graph("mlp")
    x, w, b = (g.host_to_device(n, s) for n, s in (("x", (8, 64)), ("w", (64, 64)), ("b", 64)))
    h = g.relu(g.linear(x, w, b))
    g.device_to_host(g.softmax(h), name="y")

    g.runner("replay")(x=..., w=..., b=...)

The table is plain data; ``check`` finds what is wrong with it before anything is compiled, and
``function`` gives the Python function that it means, which ``fuse`` compiles.
"""

from __future__ import annotations

import difflib
import graphlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from opweave._graphs.entries import (
    DOWNLOAD,
    UPLOAD,
    Entry,
    GraphFunction,
    Ref,
    Typed,
    check_free_name,
    plain,
    row_of,
)  # fmt: skip
from opweave._html.shown import Shown
from opweave._tracebacks import folded
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.traced.made import users_line
from opweave.compiler.traced.tracer import Tracer
from opweave.compiler.tracing.arguments import ArrayType
from opweave.compiler.tracing.trace import trace
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.allowed import is_number, shown
from opweave.opcodes.errors import GraphError, OpweaveError
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel

if TYPE_CHECKING:
    from opweave._graphs.runner import Runner


class Graph(Shown, by="_graphs.pieces:graph"):
    """A program in the making: nodes are added, in any order, and named.

    Every registered operator is a method: ``g.exp(x)``, ``g.softmax(x, axis=None)``; so are
    ``node``, for one that another method hides, and the transfers.

    Args:
        name: of the program, fit for C.
    """

    def __init__(self, name: str = "graph"):
        check_free_name(name, "graph")
        self.name = name
        self.entries: dict[str, Entry] = {}

    def __copy__(self) -> Graph:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, entries=dict(self.entries))
        return made

    def __getattr__(self, name: str) -> Callable[..., Ref]:
        if name not in OPERATORS:
            raise AttributeError(f"a graph has no {name!r}, and no operator is registered as that")
        return lambda *operands, **attrs: self.node(name, *operands, **attrs)

    @folded
    def host_to_device(self, name: str, shape: int | Sequence[int], dtype: Any = "float32") -> Ref:
        """An input: an array of this shape and dtype, which travels to the device.

        Raises:
            GraphError: the name is taken, or the shape is none.
            DTypeError: the dtype is not supported.
        """
        try:
            sizes = tuple(map(index, shape)) if hasattr(shape, "__iter__") else (index(shape),)
        except TypeError:
            sizes = (-1,)
        if any(n < 0 for n in sizes):
            raise GraphError(f"{name}: expected a shape of whole numbers, found {shown(shape)}")
        return self._add(name, UPLOAD, (), {"shape": sizes, "dtype": dtypes.of(dtype).numpy})

    @folded
    def device_to_host(self, value: Ref | str, name: str | None = None) -> Ref:
        """An output: a value that travels back, under a name.

        Raises:
            GraphError: the name is taken.
        """
        return self._add(name or self._fresh("out"), DOWNLOAD, (value,), {})

    @folded
    def node(
        self, operator: str | CudaKernel, *operands: Any, name: str | None = None, **attrs: Any
    ) -> Ref:
        """An operator of values, which may be added later if they are given by name, and numbers.

        An operator is its name in the table, or a kernel of ``ow.raw_kernel``.

        Raises:
            GraphError: no such operator, the name is taken, or an operand is neither.
        """
        row, stem = row_of(operator)
        kernel = row if isinstance(row, CudaKernel) else None
        return self._add(name or self._fresh(stem), row.name, operands, attrs, kernel)

    def _fresh(self, stem: str) -> str:
        numbers = range(len(self.entries) + 1)
        return next(n for k in numbers if (n := f"{stem}_{k}") not in self.entries)

    def _add(
        self, name: str, operator: str, operands: Sequence[Any], attrs: Mapping[str, Any],
        kernel: CudaKernel | None = None,
    ) -> Ref:  # fmt: skip
        check_free_name(name, "value")
        if name in self.entries:
            raise GraphError(f"{name!r} is taken by {self.entries[name]}: give it another name")
        found = tuple(Ref(o) if isinstance(o, str) else o for o in operands)
        for operand in found:
            self._check_operand(operator, operand)
        kept = {key: plain(f"{operator}: {key}", value) for key, value in attrs.items()}
        self.entries[name] = Entry(operator, found, kept, users_line(), kernel)
        return Ref(name, self)

    def _check_operand(self, operator: str, operand: Any) -> None:
        if isinstance(operand, Ref):
            if operand.graph not in (None, self):
                raise GraphError(f"{operator}: {operand.name!r} is a value of another graph")
        elif operator == DOWNLOAD or not is_number(operand):
            raise GraphError(
                f"{operator}: expected values of the graph, their names or numbers, found "
                f"{type(operand).__name__}; bring an array in with host_to_device"
                if operator != DOWNLOAD
                else f"{operator}: expected a value of the graph, found {shown(operand)}"
            )

    # What it means

    @property
    def inputs(self) -> dict[str, Typed]:
        """Shape and dtype of every input."""
        return {
            name: Typed(**entry.attrs)
            for name, entry in self.entries.items() if entry.operator == UPLOAD
        }  # fmt: skip

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs, in the order in which they were added."""
        return [name for name, entry in self.entries.items() if entry.operator == DOWNLOAD]

    @property
    def order(self) -> list[str]:
        """The nodes that an output needs, each behind what it reads, and all inputs first.

        Raises:
            GraphError: a value that is none, a cycle, or no transfers.
        """
        if not self.inputs or not self.outputs:
            missing = f"{UPLOAD} node: it has no input" * (not self.inputs)
            missing = missing or f"{DOWNLOAD} node: its result stays on the device"
            raise GraphError(f"graph {self.name}: expected a {missing}")
        for name, entry in self.entries.items():
            self._check_sources(name, entry)
        needed = dict.fromkeys((*self.inputs, *self._reached()))
        rest = {n: dict.fromkeys(self.entries[n].sources) for n in self.entries if n in needed}
        try:
            found = list(graphlib.TopologicalSorter(rest).static_order())
        except graphlib.CycleError as error:
            around = " <- ".join(error.args[1])
            raise GraphError(f"graph {self.name}: a cycle: {around}") from None
        return [*self.inputs, *(n for n in found if n not in self.inputs)]

    def _reached(self) -> list[str]:
        """The nodes that outputs need, directly or not."""
        found = dict.fromkeys(self.outputs)
        waiting = list(found)
        while waiting:
            new = [n for n in self.entries[waiting.pop()].sources if n not in found]
            found |= dict.fromkeys(new)
            waiting += new
        return list(found)

    def _check_sources(self, name: str, entry: Entry) -> None:
        for source in entry.sources:
            if source not in self.entries:
                near = difflib.get_close_matches(source, self.entries, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise self._error(name, f"there is no value {source!r}{hint}")
            if self.entries[source].operator == DOWNLOAD:
                raise self._error(name, f"{source!r} has left the device: read what it is made of")

    def _error(self, name: str, text: str) -> GraphError:
        entry = self.entries[name]
        at = f" ({entry.where})" if entry.where.file else ""
        return GraphError(f"graph {self.name}: {name} = {entry}{at}: {text}")

    @property
    def dead(self) -> list[str]:
        """Nodes that no output needs: they are dropped."""
        used = {*self.order}
        return [name for name in self.entries if name not in used]

    @folded
    def check(self) -> dict[str, Typed]:
        """Shape and dtype of every value that is computed; nothing is compiled or run.

        Raises:
            GraphError: names the first node that is wrong, its line, and why.
        """
        builder = GraphBuilder({})
        tracer = Tracer(builder, {})
        held: dict[str, Any] = {}
        for name in self.order:
            entry = self.entries[name]
            if entry.operator == UPLOAD:
                kind = Typed(**entry.attrs)
                value = builder.new_input(dtypes.of(kind.dtype), kind.shape)
                held[name] = tracer.wrapped(value)
                continue
            operands = [held[o.name] if isinstance(o, Ref) else o for o in entry.operands]
            try:
                held[name] = self._applied(entry, operands)
            except (OpweaveError, TypeError, ValueError, AttributeError) as error:
                raise self._error(name, str(error)) from error
        return {
            name: Typed(tuple(map(builder.example, map(builder.find, v.value.shape))), v.dtype)
            for name, v in held.items()
        }

    @staticmethod
    def _applied(entry: Entry, operands: Sequence[Any]) -> Any:
        if entry.operator == DOWNLOAD:
            return operands[0]
        made = entry.row(*operands, **entry.attrs)
        if isinstance(made, tuple):
            raise GraphError(f"{entry.operator} has {len(made)} results: a node has one")
        if not is_traced_array(made):
            raise GraphError("expected an array among the operands")
        return made

    @property
    def source(self) -> str:
        """The program as a Python function, one line a node."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        order = [n for n in self.order if self.entries[n].operator not in (UPLOAD, DOWNLOAD)]
        yield f"def {self.name}({', '.join(self.inputs)}):"
        for name in order:
            entry = self.entries[name]
            yield f"    {name} = {'opcodes.' * (entry.kernel is None)}{entry}"
        returned = [self.entries[name].sources[0] for name in self.outputs]
        yield f"    return {', '.join(returned)}{',' * (len(returned) == 1)}"

    @folded
    def function(self) -> GraphFunction:
        """The program as a Python function of its inputs, which returns a tuple of its outputs.

        Raises:
            GraphError: as ``check``.
        """
        self.check()
        return GraphFunction(self)

    @folded
    def compiled(self) -> Any:
        """The compiler's graph of it; prints as text.

        Raises:
            GraphError: as ``check``.
        """
        types = {
            name: ArrayType(dtypes.of(kind.dtype), kind.shape, "C", True, 0)
            for name, kind in self.inputs.items()
        }
        return trace(self.function(), types).graph

    @folded
    def runner(self, mode: str = "graph", **options: Any) -> Runner:
        """What runs it, in one of the modes; see ``Runner``."""
        from opweave._graphs.runner import Runner

        return Runner(self, mode, **options)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.entries)} rows>"

    def __str__(self) -> str:
        lines = [f"{name} = {entry}" for name, entry in self.entries.items()]
        return "\n".join([f"graph {self.name}", *(f"  {line}" for line in lines)])
