"""Which products go to the vendor's library: NumPy's BLAS on the host, CUDA's through CuPy.

It is chosen before anything is fused, from shapes, types and what follows in the graph, so that
fused and unfused kernels are of one mind.  No compiler and no clock is asked: on the host it is
a count of multiply-adds; on a GPU a closed form of two times, of which nothing was measured.
"""

from __future__ import annotations

from typing import NamedTuple

from opweave.compiler.ir.accumulation import MOST_TURNING, ProductPlan
from opweave.compiler.ir.device import BY_ARCH, Device
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Extents, count, extent_of
from opweave.compiler.ir.views import View
from opweave.opcodes.core import Kind
from opweave.opcodes.defines import USE_VENDOR
from opweave.opcodes.dtypes import C64, C128, F32, F64, HALVES, DType

# On the host, products of this many multiply-adds go to NumPy's BLAS.  Below, the cost of calling
# it outweighs its better loop.  So it does where the steps are few and the columns fill the lanes
# of a kernel, which then saves more by computing what follows, too; but not for long where there
# are many results, or rows, of which a kernel's tile has few.
BLAS_FROM = 1 << 14  # multiply-adds, or results
BLAS_DEPTH = 16
BLAS_COLUMNS = 8
BLAS_ROWS = 512
# Of a batch each matrix has this many at least: its call took 0.2 us, by an AMD EPYC (Zen 3).
BLAS_EACH = 1 << 8
ON_HOST = (F32, F64, C64, C128)

# What is reached on a GPU of the device's peak of float32, by our kernels and by the library: ours
# as the model of runtime/model/ has a product of 4096^3 on an H200 and an A100 (docs/profile.md),
# CUDA's as published comparisons have it.
RATES = {F32: (0.7, 0.78), F64: (0.35, 0.45), C64: (0.7, 0.78), C128: (0.35, 0.45)}
# For 16 bits the library has tensor cores: 0.75 of what the data sheets have with float32 sums, in
# the same unit; on an H200 790 TFLOP/s were measured.  Ours have none.
TENSOR_RATES = {
    "sm_75": 6.0, "sm_80": 12.0, "sm_89": 1.5, "sm_90a": 11.8, "sm_100": 22.5, "sm_120": 1.5,
}  # fmt: skip
# A step of our smaller tiles, whose warps are too few to hide it: 180 cycles by the same model.
STEP_US = 0.1
# A call of CuPy's matmul, a guess: the processor's time, and that of the kernels beside it, which
# cannot be in a graph.  And from one kernel of ours to the next.
CALL_US, LAUNCH_US = 15.0, 2.0


class ProductTimes(NamedTuple):
    """What a product takes on a GPU by the closed form, in microseconds.

    Attributes:
        ours: a kernel of ours, which computes what follows, too.
        vendors: the library's calls, and a pass over its result for what follows.
    """

    ours: float
    vendors: float


class Choice(NamedTuple):
    """Who computes a product.

    Attributes:
        by_library: the vendor's library does.
        why: for people, behind who does.
    """

    by_library: bool
    why: str


def choice(
    node: Node, graph: FunctionGraph, extents: Extents, device: Device, asked: bool | None = None
) -> Choice:
    """Who computes a product of a graph; ``asked`` decides if the library can."""
    rows, depth, columns, matrices = _sizes(node, graph, extents)
    # op-codes of a user's are no product of a library's
    if node.operator.like or node.result.dtype not in _served(device):
        return Choice(False, f", since {_library(device).split(',')[0]} has none of this kind")
    if not min(rows, depth, columns):
        return Choice(False, ", of nothing")
    if asked is not None:
        return Choice(asked, f", as {USE_VENDOR}={int(asked)} asks")
    if device.is_host:
        by_library = is_for_blas(rows, depth, columns, matrices)
        return Choice(by_library, f", of {rows * depth * columns:,} multiply-adds a matrix")
    if columns == 1:  # at the rate of memory
        return Choice(False, ", a sum along rows")
    if graph.repeated and columns <= MOST_TURNING:
        return Choice(False, ", since a kernel may hold the loop")
    found = product_times(node, graph, extents, device)
    by_library = found.vendors < found.ours
    least, most = sorted(found)
    other = "ours" if by_library else _library(device)
    return Choice(by_library, f", {least:.3g} us; {other} {most:.3g} us (a model)")


def is_for_blas(rows: int, depth: int, columns: int, matrices: int = 1) -> bool:
    """Whether a product on the host goes to NumPy's BLAS; loops of Python ask in C."""
    pays, steps = depth >= BLAS_DEPTH or columns < BLAS_COLUMNS, rows * depth * columns
    if pays and steps >= BLAS_EACH and steps * matrices >= BLAS_FROM:
        return True
    return columns > 1 and (rows >= BLAS_ROWS or rows * columns >= BLAS_FROM)


def product_times(
    node: Node, graph: FunctionGraph, extents: Extents, device: Device
) -> ProductTimes:
    """Both times of a product that the library can compute.

    By the figures of the architecture: as other plans, this does not ask which device is there.
    """
    device = BY_ARCH[device.arch]
    depth = extent_of(node.values[0].shape[-1], extents)
    dtype, results = node.result.dtype, count(node.result.shape, extents)
    nbytes = dtype.itemsize * sum(count(v.shape, extents) for v in (*node.values, node.result))
    work = (8 if dtype.is_complex else 2) * depth * results
    bytes_per_us, peak_per_us = 1e3 * device.gigabytes_per_second, 1e3 * device.gigaflops
    memory = nbytes / bytes_per_us
    rates = (0.7, TENSOR_RATES[device.arch]) if dtype in HALVES else RATES[dtype]
    ours, vendors = (max(memory, work / (peak_per_us * part)) for part in rates)
    follows = LAUNCH_US + 2 * results * dtype.itemsize / bytes_per_us
    return ProductTimes(
        LAUNCH_US + max(ours, STEP_US * depth),
        CALL_US * _calls(node, extents) + vendors + follows * _is_followed(node, graph),
    )


def reasons(
    graph: FunctionGraph, extents: Extents, device: Device, asked: bool | None = None
) -> list[str]:
    """Who computes the products of a graph, and why: a line for those that are alike."""
    found: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.is_product:
            name = f"{node.operator.name} ({node.where})"
            found.setdefault(reason(node, graph, extents, device, asked), []).append(name)
    if not found:
        return []
    lines = [f"  {why}: {', '.join(dict.fromkeys(names))}" for why, names in found.items()]
    return [f"products ({USE_VENDOR}=0 or 1 asks for either; no time was measured):", *lines]


def reason(
    node: Node, graph: FunctionGraph, extents: Extents, device: Device, asked: bool | None = None
) -> str:
    """Who computes a product of a graph, and why."""
    by_library, why = choice(node, graph, extents, device, asked)
    return (_library(device) if by_library else "ours") + why


def on_tensor_cores(node: Node) -> bool:
    """Whether a planned product has 16 bits and goes to a library, which is then that of a GPU."""
    plan = node.plan
    by_library = isinstance(plan, ProductPlan) and plan.unit == "blas"
    return by_library and node.result.dtype in HALVES


def _calls(node: Node, extents: Extents) -> int:
    """Calls of CuPy's matmul for a product, which takes matrices of 16 bits one by one."""
    is_folded = len(node.values[1].shape) == 2  # the batch joins the rows
    if is_folded or node.result.dtype not in HALVES:
        return 1
    return count(node.result.shape[:-2], extents)


def _library(device: Device) -> str:
    return "NumPy's BLAS" if device.is_host else "cuBLAS, through CuPy"


def _served(device: Device) -> tuple[DType, ...]:
    """Types of which the library has products."""
    if device.is_host:
        return ON_HOST
    return (*RATES, *HALVES[: 1 if device.arch == "sm_75" else 2])  # which has no bfloat16


def _sizes(node: Node, graph: FunctionGraph, extents: Extents) -> tuple[int, int, int, int]:
    """Rows, depth and columns of a matrix, and how many there are.

    A batch by one matrix is one product of all its rows, where these lie one behind the other.
    """
    x, y = (value.shape for value in node.values)
    is_one = len(y) == 2 and _has_rows_together(graph.views.get(node.values[0].id))
    rows, matrices = (x[:-1], ()) if is_one else (x[-2:-1], node.result.shape[:-2])
    depth, columns = extent_of(x[-1], extents), extent_of(y[-1], extents)
    return count(rows, extents), depth, columns, count(matrices, extents)


def _has_rows_together(view: View | None) -> bool:
    """Whether one step leads from each row of a view to the next, as far as a graph knows."""
    if view is None:
        return True
    axes, shape = [axis for axis in view.axes if axis is not None], view.shape_of_base
    if not axes or axes != [*range(axes[0], len(shape))]:
        return False
    inner = axes[1:-1]
    return all(view.steps[a] == 1 for a in axes) and all(
        view.lengths[a] == shape[a] for a in inner
    )


def _is_followed(node: Node, graph: FunctionGraph) -> bool:
    """A kernel of ours would compute more than the product."""
    users = (graph.nodes[user] for user in graph.users.get(node.result.id, ()))
    return any(user.operator.kind is Kind.MAP for user in users)
