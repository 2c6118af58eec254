"""What a program was lowered for, as data: parameters, arguments, what is read from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from opweave._saved.plain import as_data, of_expr, of_structure
from opweave.compiler.captures.places import Place
from opweave.compiler.captures.structure import Structure, leaves_of
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.pipeline.specialise import Variant, symbol_extents
from opweave.compiler.tracing.arguments import ArrayType, Static
from opweave.opcodes.errors import SavedError
from opweave.runtime.calls.arguments import array_type


@dataclass(frozen=True)
class GivenArguments:
    """The arguments that a program was lowered for, without arrays.

    Attributes:
        name: of the function.
        parameters: of the function.
        places: names of parameters, then places outside of the function.
        trees: the structure of each.
        types: what a trace takes for each leaf, by its name.
        same: two arguments are one object, and the function asks for it.
    """

    name: str
    parameters: tuple[Parameter, ...]
    places: tuple[str | Place, ...]
    trees: tuple[Structure | None, ...]
    types: Mapping[str, Any]
    same: bool

    def leaves(self) -> Iterator[tuple[str | Place, Structure | None, list[tuple[str, Any]]]]:
        """Each parameter and place, its structure, and the types of its leaves by name."""
        rest = iter(self.types.items())
        for place, tree in zip(self.places, self.trees, strict=True):
            yield place, tree, [next(rest) for _ in range(leaves_of(tree))]


def signature_data(given: GivenArguments, variant: Variant) -> tuple[dict[str, Any], list[Any]]:
    """The signature as data, and the arrays that the function reads from outside.

    Raises:
        SavedError: an argument, or what is read from outside, cannot be saved.
    """
    if given.same:
        raise SavedError(
            f"{given.name} asks whether two of its arguments are one object, which no saved "
            "program can: compare values instead"
        )
    made: dict[str, Any] = {"name": given.name}
    made["parameters"] = [*map(_parameter_data, given.parameters)]
    outside = _take_leaves(given, variant, made)
    known = set(variant.trace.graph.scalars)
    static = variant.static.items()
    made["static"] = {name: as_data(value) for name, value in static if name in known}
    extents = variant.extents(symbol_extents(list(given.types.values())))
    made["conditions"] = [
        [of_expr(_within(condition, extents)), as_data(value)]
        for condition, value in variant.asked_of_numbers
    ]
    return made, outside


def _within(expr: Expr, extents: Mapping[str, int]) -> Expr:
    """An expression with the extents that a saved program has."""
    return expr.with_leaves(
        lambda leaf: literal(extents[leaf.args[0]]) if leaf.op == "extent" else leaf
    )


def _take_leaves(given: GivenArguments, variant: Variant, made: dict[str, Any]) -> list[Any]:
    """Add what the leaves are to a signature; returns the arrays outside of the function."""
    inputs, numbers = iter(variant.graph.inputs), iter(variant.trace.graph.scalars)
    made |= {"trees": [], "leaves": [], "frozen": {}}
    outside: list[Any] = []
    for place, tree, leaves in given.leaves():
        if isinstance(place, str):
            made["trees"].append(of_structure(tree, f"{given.name}: argument {place}"))
            for name, kind in leaves:
                made["leaves"].append(_leaf_data(name, kind, inputs, numbers))
            continue
        for _, kind in leaves:
            if isinstance(kind, ArrayType):
                outside.append(_outside(given.name, place, tree, kind))
                next(inputs)
            elif not isinstance(kind, Static):
                made["frozen"][next(numbers)] = as_data(kind)
    return outside


def _parameter_data(parameter: Parameter) -> list[Any]:
    if parameter.default is Parameter.empty:
        return [parameter.name, parameter.kind.name]
    try:
        return [parameter.name, parameter.kind.name, as_data(parameter.default)]
    except SavedError as error:
        raise SavedError(f"the default of {parameter.name}: {error}") from None


def _leaf_data(
    name: str, kind: Any, inputs: Iterator[Any], numbers: Iterator[str]
) -> dict[str, Any]:
    """A leaf of the arguments."""
    if isinstance(kind, Static):
        try:
            return {"name": name, "static": as_data(kind.value)}
        except SavedError as error:
            raise SavedError(f"argument {name} is part of the program: {error}") from None
    if not isinstance(kind, ArrayType):
        return {"name": name, "number": next(numbers), "type": type(kind).__name__}
    aligned = next(inputs).aligned
    _check_dense(f"argument {name}", kind)
    dtype = kind.dtype.numpy_name
    return {"name": name, "array": dtype, "shape": kind.shape, "aligned": aligned}


def _check_dense(what: str, kind: ArrayType) -> None:
    if kind.layout != "C":
        raise SavedError(
            f"{what} does not lie in C order: lower with np.ascontiguousarray(x), since a saved "
            "program has the strides of its arguments in it"
        )


def _outside(name: str, place: Place, tree: Structure | None, kind: ArrayType) -> Any:
    """An array outside of the function, which is a constant from now on."""
    found = place.read() if tree is None else None
    if tree is not None or array_type(place.label, found) != kind:
        why = "in a container" if tree is not None else "of another shape or dtype than before"
        raise SavedError(
            f"{name} reads {place.label}, arrays {why}: pass them as arguments to save it"
        )
    _check_dense(place.label, kind)
    return found
