"""A kernel for somebody else's program: a text that NVRTC compiles alone, and a launcher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from opweave._saved.inlining import inlined
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Extents, Value, extent_of
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.param import Param
from opweave.opcodes import dtypes
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.steps import workspace

# What our kernels are compiled with, as far as CuPy lets anyone say so: it adds -ftz=true itself.
OPTIONS = ("--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true")
NOTE = """{title}

{launcher}

The numbers are those of the extents that the program was lowered for: lower it again for others.
CuPy compiles with -ftz=true, so this is not strict about denormal numbers: they become zero."""


@dataclass(frozen=True)
class Standalone:
    """A kernel with what a launch needs; its ``__doc__`` has a launcher.

    Attributes:
        name: of the function in the source.
        source: CUDA C++ that includes nothing of opweave's.
        grid: blocks.
        block: threads of a block.
        shared_bytes: dynamic shared memory of a block.
        options: for the compiler.
        launcher: lines of Python, over arrays and numbers by the names of the parameters.
    """

    name: str
    source: str = field(repr=False)
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    options: tuple[str, ...]
    launcher: str = field(repr=False)

    def load(self) -> Any:
        """The kernel as a ``cupy.RawKernel``, which CuPy compiles when it is first launched.

        Raises:
            NoDeviceError: no CuPy, or no device.
        """
        from opweave.runtime.cuda.executor import raw_kernel

        return raw_kernel(self.source, self.name, self.options)


def standalone(kernel: Kernel, source: str, graph: FunctionGraph, extents: Extents) -> Standalone:
    """A kernel of a program for somebody else's.

    Raises:
        ArgumentError: it was lowered for the host.
    """
    if kernel.target == "host":
        raise ArgumentError(
            f"raw_kernel: {kernel.name} was lowered for the host: lower for a GPU, such as "
            'target="sm_90a"'
        )
    grid, shared = kernel.grid(extents), kernel.dynamic_bytes(extents)
    launcher = "\n".join(_launcher(kernel, graph, extents, grid, shared))
    made = Standalone(kernel.name, inlined(source), grid, kernel.block, shared, OPTIONS, launcher)
    title = f"{kernel.title[0]}; {kernel.title[1]}"
    object.__setattr__(made, "__doc__", NOTE.format(title=title, launcher=launcher))
    return made


def _launcher(
    kernel: Kernel, graph: FunctionGraph, extents: Extents, grid: tuple[int, int, int], shared: int
) -> Iterator[str]:
    """Lines that make the kernel, its results, and launch it."""
    values = {o.id: o for n in graph.nodes for o in (*n.values, *n.results)}
    values |= {i.value.id: i.value for i in graph.inputs}
    yield "import cupy, numpy"
    yield f"kernel = cupy.RawKernel(source, {kernel.name!r}, options={OPTIONS})"
    zeroed = {kernel.params[n].name for n, _ in kernel.zeroed(extents)}
    for p in kernel.params:
        if p.kind == "output":
            shape = tuple(extent_of(e, extents) for e in values[p.source].shape)
            begins = p.name in zeroed or p.source in kernel.added
            make = "zeros" if begins else "empty"
            yield f"{p.name} = cupy.{make}({shape}, {values[p.source].dtype.numpy_name!r})"
        elif p.kind in ("partials", "counter", "faults"):
            made = _workspace(kernel, p.kind, extents)
            yield f"{p.name} = {made.replace('empty', 'zeros') if p.name in zeroed else made}"
    names = {p.source: p.name for p in kernel.params if p.kind in ("input", "output")}
    index = "int64" if kernel.toggles.get("USE_64BIT_INDEX") else "int32"
    given = ", ".join(_argument(p, names, values, index, extents) for p in kernel.params)
    if shared:
        yield f"kernel.max_dynamic_shared_size_bytes = {shared}"
    more = f", shared_mem={shared}" if shared else ""
    yield f"kernel({grid}, {kernel.block}, ({given},){more})"


def _workspace(kernel: Kernel, kind: str, extents: Extents) -> str:
    """Memory that a kernel needs for itself."""
    partials, counters = workspace(kernel, extents)
    if kind == "faults":
        return 'cupy.zeros(1, "uint64")'
    if kind == "counter":
        return f'cupy.zeros({counters // 4}, "uint32")'
    return f'cupy.empty({partials}, "uint8")'


def _argument(
    p: Param, names: dict[int, str], values: dict[int, Value], index: str, extents: Extents
) -> str:
    """A parameter as CuPy takes it."""
    if p.kind == "scalar":
        kind = next(d for d in dtypes.ALL if p.ctype in (d.register, d.storage) and not d.round)
        return f"numpy.{kind.numpy.type.__name__}({p.name})"
    if p.kind == "extent":
        return f"numpy.{index}({prod(extent_of(e, extents) for e in p.source)})"
    if p.kind == "stride":
        array = names[p.source.value]
        size = values[p.source.value].dtype.itemsize
        return f"numpy.{index}({array}.strides[{p.source.dim}] // {size})"
    return p.name
