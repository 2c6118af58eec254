"""NumPy arrays on a GPU, because the user asked for it: copied there and back."""

from __future__ import annotations

from typing import Any

from opweave._functions.layout import Call
from opweave._functions.preparing import Preparing
from opweave._functions.watched import FusedCalls
from opweave.compiler.captures.structure import packed
from opweave.compiler.captures.tree import flatten
from opweave.compiler.tracing.results import CONSTANTS
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.arrays import is_cupy
from opweave.runtime.calls.outcomes import truth


def through_gpu(fused: FusedCalls, preparing: Preparing, call: Call, out: Any) -> Any:
    """The results of a call with NumPy arrays, as NumPy's."""
    from opweave.runtime.cuda import executor as cuda

    if out is not None:
        raise ArgumentError("out=: NumPy arrays that run on a GPU are copied; assign the result")
    if any(map(is_cupy, call.values)):
        preparing.executor(call.arrays, True)  # says that kinds are mixed
    copied = call._replace(values=[cuda.copied_in(v) for v in call.values])
    leaves, tree = flatten(fused.called(copied, None), "", CONSTANTS)
    ready = fused.ready_for(copied)
    truths = ready.found.lowered.graph.truths if ready else ()
    found = [cuda.copied_out(leaf) for _, leaf in leaves]
    return packed(tree, [truth(v) if n in truths else v for n, v in enumerate(found)])
