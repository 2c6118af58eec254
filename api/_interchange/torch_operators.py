"""``ow.to_torch``: a fused function as an operator of PyTorch's, whole under ``torch.compile``.

torch calls an operator with tensors, or with fake ones, which have shapes and dtypes alone: for
these the function is lowered, and nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from opweave.compiler.captures.structure import Leaf, Tree
from opweave.compiler.ir.values import Value, extent_of
from opweave.opcodes.allowed import check_name
from opweave.opcodes.errors import ArgumentError, MissingExtraError

# How torch's schemas call types of Python's.
TYPES = {bool: "bool", int: "int", float: "float"}
# Where a memory begins and ends.
Memory = tuple[int, int]


def to_torch(fused: Any, *args: Any, name: str | None = None) -> Callable[..., Any]:
    """Register a fused function as an operator of PyTorch's, ``torch.ops.opweave.NAME``.

    Under ``torch.compile`` it is one node of known shapes.  It runs on the CPU and has no
    gradients.  Results are in C order, as its fake tensors are, and those that share memory with
    an argument, another result or an array from outside are copied, as torch asks of operators.

    Args:
        fused: a function made by ``ow.fuse`` that writes to no argument.
        args: tensors and numbers as it will be called with; their types are the operator's.
        name: of the operator, the function's if left out.  It replaces one of that name.

    Returns:
        The operator; it takes its arguments by position.

    Raises:
        ArgumentError: no fused function, arguments that are neither tensors nor numbers, a
            function that writes to one, or results that are no arrays.
        OpweaveError: the function is no whole; see ``fuse(fullgraph=True)``.
        MissingExtraError: PyTorch is not installed.
    """
    torch = _torch()
    if not getattr(type(fused), "__opweave_fused__", False):
        raise ArgumentError(f"to_torch: expected a fused function, found {type(fused).__name__}")
    called = fused.signature.name if name is None else name
    check_name(called, "to_torch: operator")
    kinds = _kinds(torch, called, args)
    program = fused.lower(*args)
    results = ", ".join(["Tensor"] * len(_results(called, program)))
    schema = f"({kinds}) -> {results if _is_one(program) else f'({results})'}"
    params = (p for kernel in program.lowered.kernels for p in kernel.params)
    written = {p.source for p in params if p.kind == "output"}
    taken = tuple(output.id not in written for output in program.graph.outputs)
    made = TorchOperator(fused, called, taken)
    operator: Any = torch.library.custom_op(
        f"opweave::{called}", made.run, mutates_args=(), device_types="cpu", schema=schema
    )
    operator.register_fake(made.fake)
    found: Callable[..., Any] = operator
    return found


class TorchOperator:
    """What torch calls for an operator: to compute, and to learn shapes and dtypes.

    Attributes:
        taken: which results no kernel writes: arguments, arrays from outside, and views.
    """

    def __init__(self, fused: Any, name: str, taken: Sequence[bool]):
        self.fused, self.name, self.taken = fused, name, taken

    def run(self, *given: Any) -> Any:
        """Tensors in C order, apart from those given and from one another."""
        returned = self.fused(*given)
        is_one = type(returned) is not tuple
        found = [each.contiguous() for each in ((returned,) if is_one else returned)]
        held = [_memory(each) for each in given if hasattr(each, "shape")]
        for place, each in enumerate(found):
            if self.taken[place] or _overlaps(_memory(each), held):
                found[place] = each.clone()
            held.append(_memory(found[place]))
        return found[0] if is_one else tuple(found)

    def fake(self, *given: Any) -> Any:
        """Fake tensors of the results for fake tensors."""
        torch = _torch()
        program = self.fused.lower(*map(_stand_in, given))
        like = next(each for each in given if isinstance(each, torch.Tensor))
        found = tuple(
            like.new_empty(shape, dtype=getattr(torch, dtype.name))
            for shape, dtype in _results(self.name, program)
        )
        return found[0] if _is_one(program) else found


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(f"to_torch needs PyTorch ({error}): pip install torch") from None
    return torch


def _kinds(torch: Any, name: str, args: Sequence[Any]) -> str:
    """The arguments of a schema."""
    kinds = [_kind(torch, name, arg) for arg in args]
    if "Tensor" not in kinds:
        raise ArgumentError(f"to_torch: {name}: expected a tensor among the arguments, found none")
    return ", ".join(f"{kind} a{n}" for n, kind in enumerate(kinds))


def _kind(torch: Any, name: str, arg: Any) -> str:
    """The type of an argument in a schema."""
    if isinstance(arg, torch.Tensor):
        return "Tensor"
    if type(arg) not in TYPES:
        raise ArgumentError(
            f"to_torch: {name}: expected tensors, floats, ints and bools, found "
            f"{type(arg).__name__}; write a function of the tensors in it"
        )
    return TYPES[type(arg)]


def _results(name: str, program: Any) -> Sequence[tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shapes and dtypes of what a program returns."""
    graph, tree = program.graph, program.variant.trace.structure
    is_tuple = type(tree) is Tree and tree.type is tuple and all(map(_is_leaf, tree.children))
    is_flat = is_tuple or _is_leaf(tree)
    is_flat = is_flat and len(graph.outputs) > is_tuple
    if graph.written or not is_flat or not all(type(o) is Value for o in graph.outputs):
        raise ArgumentError(
            f"to_torch: {name}: expected a function that returns an array, or several in a tuple, "
            "each once, and writes to no argument; return each array that it writes to"
        )
    extents = program.variant.extents(program.found.extents)
    return [
        (tuple(extent_of(e, extents) for e in output.shape), output.dtype.numpy)
        for output in graph.outputs
    ]


def _is_one(program: Any) -> bool:
    """Whether a program returns an array, and no tuple of them."""
    return _is_leaf(program.variant.trace.structure)


def _is_leaf(structure: Any) -> bool:
    return structure is None or type(structure) is Leaf


def _stand_in(arg: Any) -> Any:
    """An array of the shape and dtype of a fake tensor, of one element in memory."""
    if not hasattr(arg, "shape"):
        return arg
    name = str(arg.dtype).partition(".")[2]
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    return np.broadcast_to(np.zeros((), dtype), tuple(map(int, arg.shape)))


def _overlaps(memory: Memory, held: Sequence[Memory]) -> bool:
    return any(memory[0] < end and begin < memory[1] for begin, end in held)


def _memory(tensor: Any) -> Memory:
    """The memory that holds a tensor."""
    memory = tensor.untyped_storage()
    begin: int = memory.data_ptr()
    return begin, begin + memory.nbytes()
