"""NumPy arrays on a GPU, because the user asked for it: copied there and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave._functions.layout import Call
from opweave._functions.ready import Ready
from opweave._functions.short import ByNumPy
from opweave._functions.watched import FusedCalls
from opweave.compiler.captures.structure import Changing, packed
from opweave.compiler.captures.tree import flatten
from opweave.compiler.tracing.results import CONSTANTS
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.outcomes import truth
from opweave.runtime.calls.writes import Unwritten, Writes


def through_gpu(fused: FusedCalls, call: Call, out: Any) -> Any:
    """The results of a call with NumPy arrays, as NumPy's.

    Raises:
        ByNumPy: it leaves values in objects, which would get arrays of the GPU.
    """
    from opweave.runtime.cuda import executor as cuda

    if out is not None:
        raise ArgumentError("out=: NumPy arrays that run on a GPU are copied; assign the result")
    copied = call._replace(values=[cuda.copied_in(v) for v in call.values])
    prepared = fused.ready_for(copied) or fused.fallback.prepare_or_not(copied)
    if prepared is not None and isinstance(prepared.structure, Changing):
        name = prepared.structure.names[0]
        raise ByNumPy(f"{name} is set anew, and NumPy arrays are copied to a GPU")
    leaves, tree = flatten(fused.called(copied, None), "", CONSTANTS)
    ready = fused.ready_for(copied)
    given = _copied_back(ready, call, copied, cuda.copied_out) if ready else {}
    truths = ready.found.lowered.graph.truths if ready else ()
    found = [given[id(leaf)] if id(leaf) in given else cuda.copied_out(leaf) for _, leaf in leaves]
    return packed(tree, [truth(v) if n in truths else v for n, v in enumerate(found)])


def _copied_back(
    ready: Ready, call: Call, copied: Call, copied_out: Callable[[Any], Any]
) -> dict[int, Any]:
    """The arguments that were written to, by their copies, whose elements they have now.

    Raises:
        ByNumPy: they cannot be written to, or share memory.
    """
    writes = ready.prepared.writes
    if writes is None:
        return {}
    arrays = [call.values[place] for place in ready.arrays]
    try:
        Writes.of(ready.prepared.graph, arrays).check(arrays)
    except Unwritten as why:
        raise ByNumPy(f"{why}, of arrays that are copied to a GPU") from None
    given = {}
    for place in writes.places:
        copy = copied.values[ready.arrays[place]]
        arrays[place][...] = copied_out(copy)
        given[id(copy)] = arrays[place]
    return given
