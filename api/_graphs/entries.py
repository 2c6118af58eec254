"""The rows of a graph's table, what may stand in them, and the Python function that they mean."""

from __future__ import annotations

import difflib
import inspect
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from opweave.compiler.ir.values import Where
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.allowed import check_name, is_number, shown
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import GraphError, NameRefusedError
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel

UPLOAD, DOWNLOAD = "host_to_device", "device_to_host"


class GraphLike(Protocol):
    """A program in the making, see ``graph.py``."""

    name: str
    entries: dict[str, Entry]

    @property
    def inputs(self) -> Mapping[str, Typed]:
        """Shape and dtype of every input."""

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""

    @property
    def order(self) -> list[str]:
        """The nodes that an output needs, each behind what it reads."""

    def function(self) -> GraphFunction:
        """The program as a function of its inputs."""

    def node(self, operator: str | CudaKernel, *operands: Any, **attrs: Any) -> Ref:
        """A node, added to the program."""


@dataclass(frozen=True)
class Ref:
    """A value by its name; ``graph`` is None where only the name was given."""

    name: str
    graph: GraphLike | None = field(default=None, repr=False, compare=False)

    def __opweave_apply__(
        self, operator: Operator, operands: Sequence[Any], attrs: Mapping[str, Any]
    ) -> Ref:
        """A node of the graph: so that operators, and op-code lists, can be called with values.

        Raises:
            GraphError: no graph knows the value, or no operator is registered as this one.
        """
        if self.graph is None:
            raise GraphError(f"{operator.name}: {self.name!r} belongs to no graph")
        if isinstance(operator, CudaKernel):
            return self.graph.node(operator, *operands)
        if OPERATORS.get(operator.name) is not operator:
            raise GraphError(f"{operator.name} is no registered operator: a graph's nodes are")
        defaults = dict(operator.attrs)
        given = {k: v for k, v in attrs.items() if k not in defaults or v != defaults[k]}
        return self.graph.node(operator.name, *operands, **given)


@dataclass(frozen=True)
class Entry:
    """One node of a graph.

    Attributes:
        operator: a registered operator, a transfer, or the name of a kernel of one's own.
        operands: values by name, and numbers.
        attrs: of the operator; shape and dtype of an upload.
        where: the line that added it.
        kernel: a kernel of ``ow.raw_kernel``, which no table has.
    """

    operator: str
    operands: tuple[Any, ...]
    attrs: Mapping[str, Any]
    where: Where
    kernel: CudaKernel | None = None

    @property
    def row(self) -> Operator:
        """What computes it."""
        return self.kernel or OPERATORS[self.operator]

    @property
    def sources(self) -> list[str]:
        """Names of the values that it reads."""
        return [o.name for o in self.operands if isinstance(o, Ref)]

    def __str__(self) -> str:
        texts = [o.name if isinstance(o, Ref) else repr(o) for o in self.operands]
        texts += [f"{name}={value!r}" for name, value in self.attrs.items()]
        return f"{self.operator}({', '.join(texts)})"


@dataclass(frozen=True)
class Typed:
    """Shape and dtype of a value."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


class GraphFunction:
    """A graph as it was, as a function of its inputs: what ``fuse`` traces.  NumPy runs it too."""

    __opweave_apart__ = True  # each result is an array of its own

    def __init__(self, graph: GraphLike):
        computed = (n for n in graph.order if graph.entries[n].operator not in (UPLOAD, DOWNLOAD))
        self._nodes = [(name, graph.entries[name]) for name in computed]
        self._outputs = [graph.entries[name].sources[0] for name in graph.outputs]
        self.__name__ = graph.name
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in graph.inputs])

    def __call__(self, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        held = dict(self.__signature__.bind(*args, **kwargs).arguments)
        for name, entry in self._nodes:
            operands = [held[o.name] if isinstance(o, Ref) else o for o in entry.operands]
            held[name] = entry.row(*operands, **entry.attrs)
        return tuple(held[name] for name in self._outputs)


def check_free_name(name: Any, what: str) -> None:
    """Refuse what is no name in C and in Python.

    Raises:
        NameRefusedError: says which names may be.
    """
    check_name(name, what)
    if keyword.iskeyword(name):
        raise NameRefusedError(f"{what} name {name!r} refused: it is Python's; pick another")


def plain(what: str, value: Any) -> Any:
    """An attribute as part of a graph, which nobody changes.

    Raises:
        GraphError: another object.
    """
    if isinstance(value, tuple | list):
        return tuple(plain(what, item) for item in value)
    if isinstance(value, type | np.dtype):
        return dtypes.of(value).numpy_name
    if value is None or isinstance(value, str) or is_number(value):
        return value
    raise GraphError(
        f"{what}={shown(value)}: expected a number, a text, a dtype, None, or a tuple of them"
    )


def row_of(operator: Any) -> tuple[Operator, str]:
    """The operator that a node is of, and a name for its values.

    Raises:
        GraphError: no such operator, or one that only the compiler makes.
    """
    if isinstance(operator, CudaKernel):
        return operator, operator.c_name
    if operator not in OPERATORS:
        near = difflib.get_close_matches(str(operator), OPERATORS, 1)
        raise GraphError(
            f"no operator is registered as {shown(operator)}"
            + (f": did you mean {near[0]!r}?" if near else "; see opweave.OPERATORS")
        )
    row = OPERATORS[operator]
    if row.kind in (Kind.MOVE, Kind.CREATE) or row.tables or row.notes_faults:
        raise GraphError(
            f"{operator} is the compiler's own, whose operands its tracer makes and checks: "
            "write that part as a function and fuse it"
        )
    return row, operator
