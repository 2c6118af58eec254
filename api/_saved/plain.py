"""What a saved program is made of as JSON: numbers with all their bits, and structures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.compiler.captures.structure import Again, Changing, Constant, Leaf, Structure, Tree
from opweave.compiler.ir.expr import Expr
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import SavedError

# Values that JSON has itself.
OWN = (type(None), bool, int, str)
# Containers that arguments and results may have.
CONTAINERS: Mapping[str, type] = {"tuple": tuple, "list": list, "dict": dict, "None": type(None)}
LEAVES = ("literal", "argument", "extent")


def as_data(value: Any) -> Any:
    """A number, a text, or a tuple, slice or dtype, so that equal data are equal bits.

    >>> as_data((1, 0.5)), as_data(-0.0) == as_data(0.0)
    (['tuple', 1, ['float', '0x1.0000000000000p-1']], False)

    Raises:
        SavedError: it is something else.
    """
    if type(value) in OWN:
        return value
    if type(value) is float:
        return ["float", value.hex()]
    if type(value) is complex:
        return ["complex", value.real.hex(), value.imag.hex()]
    if type(value) is tuple:
        return ["tuple", *map(as_data, value)]
    if type(value) is slice:
        return ["slice", *map(as_data, (value.start, value.stop, value.step))]
    if isinstance(value, np.generic):
        return ["number", dtypes.of(value.dtype).numpy_name, value.tobytes().hex()]
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return ["type" if isinstance(value, type) else "dtype", dtypes.of(value).numpy_name]
    raise SavedError(
        f"{shown(value)}, an object of type {type(value).__name__}, cannot be saved: expected a "
        "number, a text, None, a dtype, or a tuple of them"
    )


def _number(name: str, data: str) -> Any:
    return np.frombuffer(bytes.fromhex(data), dtype_of(name).numpy)[0]


OF_DATA: Mapping[str, Callable[..., Any]] = {
    "float": float.fromhex,
    "complex": lambda re, im: complex(float.fromhex(re), float.fromhex(im)),
    "tuple": lambda *items: tuple(map(of_data, items)),
    "slice": lambda *ends: slice(*map(of_data, ends)),
    "number": _number,
    "type": lambda name: dtype_of(name).numpy.type,
    "dtype": lambda name: dtype_of(name).numpy,
}


def of_data(data: Any) -> Any:
    """The value behind ``as_data``."""
    return OF_DATA[data[0]](*data[1:]) if isinstance(data, list) else data


def dtype_of(name: str) -> dtypes.DType:
    """The row of a dtype by NumPy's name."""
    return next(dtype for dtype in dtypes.EVERY if dtype.numpy_name == name)


# Expressions


def of_expr(expr: Expr) -> list[Any]:
    """An expression as lists."""
    if expr.op in LEAVES:
        return [expr.op, as_data(expr.args[0])]
    return [expr.op, *map(of_expr, expr.args)]


def expr_of(data: Any) -> Expr:
    op, *args = data
    return Expr(op, (of_data(args[0]),) if op in LEAVES else tuple(map(expr_of, args)))


# Structures of arguments and results


def of_structure(structure: Structure | None, what: str, may_repeat: bool = False) -> Any:
    """A structure as data; None is a leaf.

    Args:
        what: of which it is.
        may_repeat: the same container or array may stand there twice.

    Raises:
        SavedError: a container that cannot be saved.
    """
    if structure is None:
        return None
    if isinstance(structure, Constant):
        return {"constant": as_data(structure.value)}
    if isinstance(structure, Leaf):
        return {"leaf": structure.is_view}
    if isinstance(structure, Again) and may_repeat:
        return {"again": structure.number}
    if isinstance(structure, Changing):
        raise SavedError(
            f"{what}: {structure.names[0]} is set anew at each call, which cannot be saved: "
            "return the value instead"
        )
    name = structure.type.__name__ if isinstance(structure, Tree) else "the same container twice"
    if not isinstance(structure, Tree) or CONTAINERS.get(_called(structure.type)) is None:
        raise SavedError(
            f"{what}: {name} cannot be saved: expected arrays and numbers, alone or in tuples, "
            "lists and dicts"
        )
    children = [of_structure(child, what, may_repeat) for child in structure.children]
    return {_called(structure.type): children, "keys": [*map(as_data, structure.keys)]}


def _called(kind: type) -> str:
    return next((name for name, known in CONTAINERS.items() if known is kind), "")


def structure_of(data: Any) -> Structure | None:
    if data is None:
        return None
    if "constant" in data:
        return Constant(of_data(data["constant"]))
    if "leaf" in data:
        return Leaf(data["leaf"])
    if "again" in data:
        return Again(data["again"])
    (name,) = data.keys() - {"keys"}
    keys = tuple(map(of_data, data["keys"]))
    return Tree(CONTAINERS[name], keys, tuple(map(structure_of, data[name])))
