"""``out=``: arrays that a call writes its outputs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any
from weakref import ref

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.captures.tree import flatten
from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.compiler.ir.values import Value
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.arrays import overlap, overlaps_itself
from opweave.runtime.calls.prepared import Prepared


def into(out: Any, prepared: Prepared, arrays: Sequence[Any], env: Mapping[str, Any]) -> list[Any]:
    """Run with given output arrays; some, if strided or overlapping, are written by a copy.

    Raises:
        ArgumentError: arrays that do not fit the outputs, or that share memory.
    """
    outputs = prepared.graph.outputs
    targets = _targets(out, len(outputs))
    for target, value in zip(targets, outputs, strict=True):
        _check(target, value, prepared)
    direct = _remembered(targets, prepared, arrays)
    if prepared.added and not prepared.added <= direct.keys():
        raise ArgumentError(
            "out=: the kernel adds to what is there: expected a C-contiguous array that shares no "
            "memory with an argument, found one that is written by a copy"
        )
    made = prepared(arrays, env, direct)
    for target, array in zip(targets, made, strict=True):
        if array is not target:
            target[...] = array
    return targets


def check_fitting(out: Any, prepared: Prepared, count: int) -> None:
    """Check arrays that the first outputs are copied to, before anything is computed.

    Raises:
        ArgumentError: arrays that do not fit the outputs.
    """
    for target, value in zip(_targets(out, count), prepared.graph.outputs, strict=False):
        if isinstance(value, Value) and is_array(target):  # all else is refused by the copy
            shape, dtype = prepared.layouts.shape_of(value)
            _check_fits(target, shape, dtype.numpy)


def _targets(out: Any, count: int) -> list[Any]:
    """The arrays that are given for so many outputs."""
    targets = [out] if is_array(out) else [leaf for _, leaf in flatten(out)[0]]
    if len(targets) != count:
        raise ArgumentError(f"out=: expected {count} arrays, found {len(targets)}")
    return targets


def copied_into(out: Any, results: Sequence[Any]) -> list[Any]:
    """Copy results into given arrays.

    Raises:
        ArgumentError: arrays that do not fit the results.
    """
    targets = _targets(out, len(results))
    for target, result in zip(targets, results, strict=True):
        if not (is_array(target) or is_traced_array(target)) or not hasattr(result, "shape"):
            raise ArgumentError(f"out=: expected an array, found {type(target).__name__}")
        _check_fits(target, tuple(result.shape), result.dtype)
    for target, result in zip(targets, results, strict=True):
        target[...] = result
    return targets


def _check(target: Any, value: Any, prepared: Prepared) -> None:
    """Refuse a target that the output does not fit."""
    if not isinstance(value, Value) or not is_array(target):
        raise ArgumentError(f"out=: expected an array, found {type(target).__name__}")
    if value.id not in prepared.fitting:
        raise ArgumentError("out=: the function returns one of its arguments, or a view of it")
    _check_fits(target, *prepared.fitting[value.id])


def _check_fits(target: Any, shape: tuple[int, ...], dtype: Any) -> None:
    if target.shape != shape or target.dtype != dtype:
        raise ArgumentError(
            f"out=: expected {dtype}{list(shape)}, found {target.dtype}{list(target.shape)}"
        )
    if isinstance(target, np.ndarray) and not target.flags.writeable:
        raise ArgumentError("out=: the array is read-only")


def _remembered(
    targets: Sequence[Any], prepared: Prepared, arrays: Sequence[Any]
) -> dict[int, Any]:
    """The outputs that kernels write straight to their targets, by value.

    For the arrays of the last call, as in a loop, layouts are not checked again.
    """
    held = (*targets, *arrays)
    known, places = prepared.last_targets
    if len(known) != len(held) or not all(map(is_, [r() for r in known], held)):
        places = _straight(targets, prepared, arrays)
        prepared.last_targets = (tuple(map(ref, held)), places)
    return {value: targets[place] for value, place in places}


def _straight(
    targets: Sequence[Any], prepared: Prepared, arrays: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    """Pairs of a value and the position of its target, for targets that can be written directly.

    Raises:
        ArgumentError: two targets overlap, or elements of one.
    """
    found: dict[int, int] = {}
    for place, target in enumerate(targets):
        if overlaps_itself(target):
            raise ArgumentError("out=: elements of the array share memory with each other")
        if any(overlap(target, t) for t in targets[:place]):
            raise ArgumentError("out=: two of the arrays overlap")
        value = prepared.outputs[place]
        clear = not any(overlap(target, a) for a in arrays) and value in prepared.shapes
        aligned = not is_cupy(target) or target.data.ptr % 16 == 0
        if clear and target.flags.c_contiguous and aligned and value not in found:
            found[value] = place
    return tuple(found.items())
