"""What NumPy or CuPy computes at once: a look at the operands, then their function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from opweave.opcodes.errors import OpweaveError, OutOfMemoryError, ShapeError
from opweave.xp.arrays import Array, array_of
from opweave.xp.lines import at_line
from opweave.xp.looks import explained, look
from opweave.xp.maps import node_of
from opweave.xp.nodes import Handle, LazyNode, common_library, given
from opweave.xp.programs import own


def by_library(function: str, /, *args: Any, **kwargs: Any) -> Any:
    """What a function of the library makes of the memory of arrays, as arrays of ours.

    Args:
        function: its name in NumPy and in CuPy, such as "linalg.qr".

    Raises:
        ShapeError: NumPy finds a value that means nothing.
        OutOfMemoryError: there is no memory for the result.
        numpy.linalg.LinAlgError: a matrix has no such decomposition.
    """
    nodes = list(nodes_in((args, kwargs)))
    library: Any = common_library(function, nodes) if nodes else np
    look(*nodes)
    called = reduce(getattr, function.split("."), library)
    memories = [node.memory for node in nodes]
    try:
        with np.errstate(all="ignore"):
            found = called(*concrete(args), **concrete(kwargs))
    except np.linalg.LinAlgError:
        raise
    except OpweaveError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError(f"{function}: {error}{at_line()}") from None
    except (ValueError, IndexError) as error:
        raise ShapeError(f"{function}: {error}{at_line()}") from None
    if not isinstance(found, tuple | list):
        return array_of(given(*own([found], memories)))
    return tuple(array_of(given(made)) for made in own(found, memories))


def nodes_in(value: Any) -> Iterator[LazyNode]:
    """The nodes of the arrays in arguments."""
    if isinstance(value, Handle):
        yield value._node
    elif isinstance(value, tuple | list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from nodes_in(part)


def concrete(value: Any) -> Any:
    """Arguments with memory in place of arrays."""
    if isinstance(value, Handle):
        return value._node.memory
    if type(value) in (tuple, list):
        return type(value)(map(concrete, value))
    if type(value) is dict:
        return {key: concrete(part) for key, part in value.items()}
    return value


def compute(*arrays: Array) -> None:
    """Compute arrays, all as one program; nothing is returned, since arrays stay what they are.

    Raises:
        ArgumentError: one is no array of ``opweave.xp``.
    """
    look(*(node_of(array, "compute") for array in arrays))


def explain(*arrays: Array) -> Any:
    """The kernels that ``compute`` would run: a report that prints as text; nothing is computed.

    None where all is computed already.  NumPy is done with short arrays before, and runs these.

    Raises:
        ArgumentError: one is no array of ``opweave.xp``.
        OpweaveError: no kernel runs it, but NumPy or CuPy does; says why.
    """
    return explained([node_of(array, "explain") for array in arrays])
