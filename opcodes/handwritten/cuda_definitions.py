"""What a user declares of a kernel of one's own, held to the kernel's parameter list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.allowed import MOST_NAME, check_name, is_number, shown
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import ArgumentError, DTypeError
from opweave.opcodes.handwritten.c_parameters import CParameter, parameters_of
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel, names_of
from opweave.opcodes.handwritten.launch_limits import (
    MOST_BLOCKS,
    MOST_SHARED,
    check_block,
    check_shared,
    three,
)

Kernel = TypeVar("Kernel", bound=CudaKernel)
MOST_PARAMETERS = 60  # a kernel's parameter space is 4 KiB, and so many arrays stay below 64


def check_definition(kernel: CudaKernel) -> None:
    """Hold what a kernel is declared as to its parameter list.

    Raises:
        ArgumentError, DTypeError: says what was expected and found.
    """
    name, known = kernel.c_name, {p.name: p for p in kernel.parameters}
    listed = ", ".join(p.text for p in kernel.parameters)
    for what, names in (("outputs", kernel.outputs), ("extents", kernel.extents)):
        for wanted in names:
            if wanted not in known:
                raise ArgumentError(
                    f"{name}: {what} names {shown(wanted)}, which is no parameter: it has {listed}"
                )
    if len(known) > MOST_PARAMETERS:
        raise ArgumentError(f"{name}: {len(known)} parameters: expected {MOST_PARAMETERS} at most")
    if not kernel.zeros <= set(kernel.outputs):
        raise ArgumentError(f"{name}: zeros={sorted(kernel.zeros)}: expected names of outputs")
    arrays = [p.name for p in kernel.operands if p.is_pointer]
    if not set(kernel.same) <= set(arrays):
        raise ArgumentError(
            f"{name}: same={list(kernel.same)}: expected names among {', '.join(arrays)}"
        )
    for p in kernel.parameters:
        _check_parameter(kernel, p)
    if not kernel.outputs:
        raise ArgumentError(f"{name}: it has no outputs: name its results in outputs={{...}}")
    _check_functions(kernel)
    _check_meaning(kernel)


def _check_parameter(kernel: CudaKernel, p: CParameter) -> None:
    at = f"{kernel.c_name}: parameter {p.name} ({p.text}, line {p.line} of the source)"
    check_name(p.name, f"{kernel.c_name}: parameter")
    if p.dtype is None:
        raise DTypeError(
            f"{at}: its type is none of NumPy's: name the dtype of its elements in "
            f"dtypes={{{p.name!r}: 'float32'}}"
        )
    is_output, is_extent = p.name in kernel.outputs, p.name in kernel.extents
    if is_output and (not p.is_pointer or p.is_const):
        raise ArgumentError(f"{at}: an output is a pointer to what is not const")
    if is_extent and (p.is_pointer or p.dtype.kind not in "iu"):
        raise ArgumentError(f"{at}: an extent is an integer")
    if p.is_pointer and not is_output and not p.is_const:
        raise ArgumentError(
            f"{at}: the kernel may write there, and no output is declared: name it in "
            f"outputs={{{p.name!r}: ...}}, or make it const {p.text}"
        )
    if not p.is_pointer and (p.dtype.is_complex or p.dtype.round):
        raise DTypeError(
            f"{at}: a number by value is an integer, a bool, a float or a double: pass an array "
            "of one element"
        )


def _check_functions(kernel: CudaKernel) -> None:
    """Each function of shapes names operands; grid, shared and extents also outputs."""
    operands = {p.name for p in kernel.operands}
    functions: list[tuple[str, Any, set[str]]] = [
        *((f"outputs[{n!r}]", f, operands) for n, f in kernel.outputs.items()),
        *((f"extents[{n!r}]", f, operands | {*kernel.outputs}) for n, f in kernel.extents.items()),
        ("grid", kernel.blocks, operands | {*kernel.outputs}),
        ("shared", kernel.shared, operands | {*kernel.outputs}),
    ]
    for what, function, known in functions:
        if not callable(function):
            if what in ("grid", "shared"):
                continue
            raise ArgumentError(f"{kernel.c_name}: {what}: expected a function of what it names")
        for name in names_of(function):
            if name not in known:
                raise ArgumentError(
                    f"{kernel.c_name}: {what} asks for {name!r}: expected names among "
                    f"{', '.join(sorted(known))}"
                )


def _check_meaning(kernel: CudaKernel) -> None:
    if not callable(kernel.meaning):
        raise ArgumentError(f"{kernel.c_name}: numpy={shown(kernel.meaning)}: expected a function")
    wanted = [p.name for p in kernel.operands]
    if isinstance(kernel.meaning, np.ufunc):
        found = wanted if kernel.meaning.nin == len(wanted) else ["?"] * kernel.meaning.nin
    else:
        try:
            found = list(names_of(kernel.meaning))
        except (TypeError, ValueError):
            return  # a function in C
    if found != wanted:
        raise ArgumentError(
            f"{kernel.c_name}: the NumPy meaning takes {len(found)} parameters "
            f"({', '.join(found)}), a call of the kernel {len(wanted)} ({', '.join(wanted)}): "
            "they have the same names in the same order; numbers that follow from shapes are "
            "named in extents={...}"
        )


def declared(kind: type[Kernel], source: Any, c_name: Any, given: Mapping[str, Any]) -> Kernel:
    """A kernel of what a user has declared, see ``ow.raw_kernel``.

    Raises:
        NameRefusedError: no such kernel in the source.
        ArgumentError, DTypeError: the declaration does not fit it, or is no launch.
    """
    _check_given(source, c_name, given)
    fields = dict(given)
    kinds, blocks, meaning = (fields.pop(n) for n in ("dtypes", "grid", "numpy"))
    parameters = tuple(_typed(p, kinds) for p in parameters_of(source, c_name))
    outputs = fields["outputs"]
    makes = tuple(p.dtype for p in parameters if p.name in outputs)
    takes = tuple(p.dtype for p in parameters if p.name not in outputs)
    fields |= {
        "name": f"kernel_{c_name}"[:MOST_NAME],
        "kind": Kind.HANDWRITTEN,
        "opcodes": (),
        "numpy": meaning,
        "type_rule": lambda types, attrs: (takes, makes),
        "params": tuple(p.name for p in parameters if p.name not in outputs),
        "block": check_block(f"{c_name}: block", fields["block"]),
        "zeros": frozenset(fields["zeros"]),
        "same": tuple(fields["same"]),
    }
    own = {"source": source, "c_name": c_name, "blocks": blocks, "meaning": meaning}
    kernel = kind(parameters=parameters, **own, **fields)
    check_definition(kernel)
    return kernel


def _check_given(source: Any, name: Any, given: Mapping[str, Any]) -> None:
    """Refuse what is no text, no mapping, or no launch."""
    check_name(name, "kernel")
    is_text = type(source) is str and source == source.encode(errors="replace").decode()
    if not is_text or "\0" in source:
        raise ArgumentError(f"{name}: source: expected CUDA C++ as text")
    for what in ("outputs", "extents", "dtypes"):
        if not isinstance(given[what], Mapping):
            found = shown(given[what])
            raise ArgumentError(f"{name}: {what}={found}: expected a dict by parameter")
    if not callable(given["grid"]):
        three(f"{name}: grid", given["grid"], MOST_BLOCKS)
    if not callable(given["shared"]):
        check_shared(name, given["shared"], MOST_SHARED)
    for what in ("rtol", "atol"):
        number = given[what]
        if number is not None and (not is_number(number) or not 0 <= number < np.inf):
            raise ArgumentError(f"{name}: {what}={shown(number)}: expected a number from 0")


def _typed(p: CParameter, kinds: Mapping[str, Any]) -> CParameter:
    """A parameter with the dtype that the user has named."""
    if p.name not in kinds:
        return p
    return CParameter(p.name, p.text, dtypes.of(kinds[p.name]), p.is_pointer, p.is_const, p.line)
