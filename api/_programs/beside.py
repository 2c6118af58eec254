"""NumPy arrays beside CuPy arrays in one call: as indices they are copied, as CuPy does itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.compiler.tracing.arguments import ArrayType
from opweave.compiler.tracing.following import follow
from opweave.opcodes.errors import ArgumentError


def are_mixed(values: Iterable[Any]) -> bool:
    """Whether there are arrays of NumPy's and of CuPy's."""
    return len({is_cupy(value) for value in values if is_array(value)}) > 1


def are_numpys(values: Collection[Any]) -> bool:
    """Whether there are arrays of NumPy's own class, and none of CuPy's."""
    return any(type(v) is np.ndarray for v in values) and not any(map(is_cupy, values))


def places_of_numpys(values: Sequence[Any]) -> frozenset[int]:
    """Where there are NumPy's arrays beside CuPy's; nowhere if all are of one kind."""
    if not are_mixed(values):
        return frozenset()
    return frozenset(n for n, v in enumerate(values) if is_array(v) and not is_cupy(v))


def dense(values: Sequence[Any]) -> Sequence[Any]:
    """Leaves of a call as their copies lie: NumPy's arrays beside CuPy's are in C order."""
    places = places_of_numpys(values)
    return [in_c_order(v) if n in places else v for n, v in enumerate(values)]


def in_c_order(array: Any) -> Any:
    """A NumPy array in C order; itself if it is."""
    return array if array.flags.c_contiguous else array.copy(order="C")


def together(arrays: Sequence[Any]) -> list[Any]:
    """Arrays of a call, all on the device of those that lie on one."""
    if not are_mixed(arrays):
        return list(arrays)
    from opweave.runtime.cuda import executor as cuda

    with cuda.cupy().cuda.Device(cuda.device_of(list(filter(is_cupy, arrays)))):
        return [a if is_cupy(a) else cuda.copied_in(in_c_order(a)) for a in arrays]


def refused(name: str) -> ArgumentError:
    """The error of a function whose arrays are mixed."""
    return ArgumentError(
        f"{name}: NumPy and CuPy arrays are mixed: expected one kind; copy with cupy.asarray or "
        ".get()"
    )


def check_kinds(
    graph: FunctionGraph, arrays: Sequence[Any], name: str, gives_numbers: bool = False
) -> None:
    """Refuse NumPy's arrays that are values beside CuPy's; ``arrays`` are those of the inputs.

    See ``follow`` for ``gives_numbers``.

    Raises:
        ArgumentError: one is.
    """
    if are_mixed(arrays):
        rows = zip(graph.inputs, arrays, strict=True)
        hosts = {item.value.id for item, array in rows if not is_cupy(array)}
        if not follow(graph, hosts, gives_numbers):
            raise refused(name)


def of_libraries(types: dict[str, Any], libraries: Sequence[str]) -> dict[str, Any]:
    """Types of arguments that are taken for CuPy's, or for NumPy's, as those of a trace were."""
    names = [name for name, kind in types.items() if isinstance(kind, ArrayType)]
    other = {
        name: replace(types[name], library=library)
        for name, library in zip(names, libraries, strict=False)
        if "cupy" in (library, types[name].library)
    }
    return types | other
