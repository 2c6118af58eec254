"""``torch.compile(backend="opweave")``.

torch gives a graph of its operators.  Its own core decompositions make simpler ones of them, its
own partitioner finds the parts that are in our table, and each part runs as kernels of ours; all
else stays where it is, and is torch's.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner

from opweave._torch.partition import Partition, counted
from opweave._torch.support import Supported
from opweave._torch.table import name_of, row_of
from opweave.opcodes.errors import OpweaveWarning

# What torch has a kernel of its own for, which its decomposition would take apart.
KEPT = (torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,)


def opweave(module: Any, inputs: Sequence[Any], **_: Any) -> Any:
    """The backend: a function that computes what a graph of torch's does.

    Args:
        module: the graph, as torch's Dynamo found it.
        inputs: tensors, real or fake, as it will be called with.
    """
    try:
        return _compiler()(module, inputs)
    except Exception as error:  # of torch's: not every decomposition takes what its operator does
        warnings.warn(
            f"torch.compile: a graph is left to PyTorch, which cannot take it apart: "
            f"{type(error).__name__}: {error}",
            OpweaveWarning,
            stacklevel=2,
        )
        return module.forward


@cache
def _compiler() -> Any:
    known = core_aten_decompositions()
    decompositions = {operator: known[operator] for operator in known if operator not in KEPT}
    return aot_autograd(fw_compiler=compiled, decompositions=decompositions)


def compiled(module: Any, inputs: Sequence[Any]) -> Any:
    """A graph of ATen operators, those of our table in parts that are ours."""
    made = parted(module)
    made.code  # noqa: B018  torch writes the function now, or at each call looks whether it has
    return make_boxed_func(made.forward)


def parted(module: Any) -> Any:
    """The graph with a callable for each part that is ours."""
    supported: Any = Supported(module.graph)
    partitioner = CapabilityBasedPartitioner(module, supported, allows_single_node_partition=True)
    parts = [part for part in partitioner.propose_partitions() if pays(part.nodes)]
    made = partitioner.fuse_partitions(parts, prefix="opweave_")
    for node in made.graph.find_nodes(op="call_module"):
        part = getattr(made, node.target)
        delattr(made, node.target)
        setattr(made, node.target, Partition(part, node.target))
        counted("partitions", 1)
    _let_views_copy(made)
    _count_operators(made)
    made.recompile()
    return made


def pays(nodes: Any) -> bool:
    """Whether a part is more than one operator, which torch computes as well."""
    found = [node for node in nodes if (row := row_of(node)) and not row.moves]
    return len(found) > 1


def _let_views_copy(made: Any) -> None:
    """Views that are left to torch read results of ours, which may lie in another order."""
    aten = torch.ops.aten
    for node in made.graph.find_nodes(op="call_function", target=aten.view.default):
        node.target = aten.reshape.default


def _count_operators(made: Any) -> None:
    """Note what is left to torch."""
    for node in made.graph.nodes:
        if node.op == "call_function":
            counted(f"left to PyTorch: {name_of(node.target)}", 1)
