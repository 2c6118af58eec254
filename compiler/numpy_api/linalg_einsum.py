"""Sums of products along axes, einsum and tensordot.

Where each operand has axes of its own, it is a batched matrix product; where only one has, it is
an elementwise product that is summed, which fuses with what stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.lifting import lifted, tracer_of
from opweave.compiler.arrays.reshaping import counted_axis, number_of
from opweave.compiler.ir.expr import Expr
from opweave.compiler.numpy_api.linalg import _on_diagonal
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ShapeError, UnsupportedError

SUBSCRIPTS = re.compile(r"[A-Za-z]*(,[A-Za-z]*)*(->[A-Za-z]*)?")
# Most operands of one contraction.
MOST_OPERANDS = 8


@numpy_function(np.einsum, arrays=())
def einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    """Operands are contracted two at a time, from left to right.

    A letter that stands twice in a term takes a diagonal.

    Raises:
        UnsupportedError: an ellipsis, options, or more than ``MOST_OPERANDS`` operands.
        ShapeError: a term has not as many letters as its operand has axes.
    """
    options.pop("optimize", None)
    if options:
        raise UnsupportedError(f"einsum({', '.join(options)}=...)")
    text = subscripts.replace(" ", "") if isinstance(subscripts, str) else ""
    if not text or not SUBSCRIPTS.fullmatch(text) or not 1 <= len(operands) <= MOST_OPERANDS:
        raise UnsupportedError(f"einsum({shown(subscripts)}) of {len(operands)} operands")
    left, _, out = text.partition("->")
    terms = left.split(",")
    if "->" not in text:
        letters = "".join(terms)
        out = "".join(sorted(c for c in letters if letters.count(c) == 1))
    tracer = tracer_of(*operands)
    arrays = [lifted(tracer, operand) for operand in operands]
    _check_letters(terms, out, arrays)
    a, first = _on_diagonals(arrays[0], terms[0])
    for position in range(1, len(arrays)):
        b, second = _on_diagonals(arrays[position], terms[position])
        later = "".join([out, *terms[position + 1 :]])
        kept = "".join(c for c in dict.fromkeys(first + second) if c in later)
        kept = out if position == len(arrays) - 1 else kept
        a, first = _contracted(a, first, b, second, kept), kept
    made = _ordered(_without(a, first, out), [c for c in first if c in out], out)
    is_view = len(arrays) == 1 and set(out) == set(terms[0])  # no axis is summed
    if not is_view:
        return made
    if not made.ndim:
        return made[()]  # a number, as by NumPy
    return tracer.alias(arrays[0], made, lambda array, _: np.einsum(text, array))


def _on_diagonals(operand: Any, term: str) -> tuple[Any, str]:
    """An operand, and its letters: two axes of one letter become their diagonal."""
    while len(set(term)) < len(term):
        twice = next(c for c in term if term.count(c) > 1)
        axes = [d for d, c in enumerate(term) if c == twice][:2]
        m, n = (number_of(operand.tracer, operand.shape[d]) for d in axes)
        if m != n and not operand.tracer.builder.require(Expr("eq", (m, n))):
            raise ShapeError(f"einsum: axes of different extents are both {twice!r}")
        operand = _on_diagonal(operand, 0, *axes)
        term = "".join(c for d, c in enumerate(term) if d not in axes) + twice
    return operand, term


def _check_letters(terms: Sequence[str], out: str, operands: Sequence[Any]) -> None:
    if len(terms) != len(operands):
        raise ShapeError(f"einsum: {len(terms)} terms for {len(operands)} operands")
    for term, operand in zip(terms, operands, strict=True):
        if len(term) != operand.ndim:
            raise ShapeError(
                f"einsum: {term!r} has {len(term)} letters for {operand.ndim} dimensions"
            )
    if len(set(out)) < len(out) or not set(out) <= set("".join(terms)):
        raise ShapeError(f"einsum: {out!r} names an axis twice, or one that no operand has")


def _without(operand: Any, term: str, kept: str) -> Any:
    """The sum over the axes whose letters nothing else has."""
    axes = tuple(d for d, c in enumerate(term) if c not in kept)
    return _summed(operand, axes) if axes else operand


def _ordered(operand: Any, have: Sequence[str], wanted: Sequence[str]) -> Any:
    order = tuple(have.index(c) for c in wanted)
    return operand if order == tuple(range(len(order))) else operand.transpose(order)


def _contracted(a: Any, first: str, b: Any, second: str, out: str) -> Any:
    a, b = _without(a, first, second + out), _without(b, second, first + out)
    first = "".join(c for c in first if c in second + out)
    second = "".join(c for c in second if c in first + out)
    summed = [c for c in first if c in second and c not in out]
    batch = [c for c in first if c in second and c in out]
    own = [
        [c for c in term if c not in other] for term, other in ((first, second), (second, first))
    ]
    if summed and all(own):
        return _product(a, first, b, second, (batch, own[0], summed, own[1]), out)
    letters = [*batch, *own[0], *own[1], *summed]
    product = _spread(a, first, letters) * _spread(b, second, letters)
    found = _summed(product, tuple(range(-len(summed), 0))) if summed else product
    return _ordered(found, letters[: len(letters) - len(summed)], out)


def _spread(operand: Any, term: str, letters: Sequence[str]) -> Any:
    """An operand with an axis for each letter; an axis that it lacks has extent 1."""
    ordered = _ordered(operand, term, [c for c in letters if c in term])
    return ordered[tuple(slice(None) if c in term else None for c in letters)]


def _product(
    a: Any, first: str, b: Any, second: str, parts: tuple[list[str], ...], out: str
) -> Any:
    """A batched matrix product; the axes of a group become one, and are split again after it."""
    batch, rows, summed, columns = parts
    extents = dict(zip(first, a.shape, strict=True)) | dict(zip(second, b.shape, strict=True))

    def shaped(operand: Any, term: str, groups: Sequence[list[str]]) -> Any:
        ordered = _ordered(operand, term, [*batch, *(c for g in groups for c in g)])
        if all(len(g) == 1 for g in groups):
            return ordered
        merged = [_times([extents[c] for c in g]) for g in groups]
        return ordered.reshape([*(extents[c] for c in batch), *merged])

    found = shaped(a, first, (rows, summed)) @ shaped(b, second, (summed, columns))
    letters = [*batch, *rows, *columns]
    if len(rows) > 1 or len(columns) > 1:
        found = found.reshape([extents[c] for c in letters])
    return _ordered(found, letters, out)


def _times(extents: Sequence[Any]) -> Any:
    total = extents[0]
    for extent in extents[1:]:
        total = total * extent
    return total


@numpy_function(np.tensordot, np.linalg.tensordot, arrays=("a", "b"), numbers=True)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """A sum of products over the last axes of ``a`` and the first of ``b``, or over pairs of axes.

    Raises:
        ShapeError: ``axes`` does not name pairs of axes of equal extents.
    """
    if isinstance(axes, int):
        pairs = [(a.ndim - axes + d, d) for d in range(axes)]
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot: {axes} axes of {a.ndim} and {b.ndim} dimensions")
    else:
        given = [side if isinstance(side, tuple | list) else (side,) for side in axes]
        if len(given) != 2 or len(given[0]) != len(given[1]):
            raise ShapeError(f"tensordot: {axes!r} does not name pairs of axes")
        pairs = [
            (counted_axis("tensordot", p, a.ndim), counted_axis("tensordot", q, b.ndim))
            for p, q in zip(*given, strict=True)
        ]
    for p, q in pairs:
        m, n = (getattr(e, "example", e) for e in (a.shape[p], b.shape[q]))
        if m != n:
            raise ShapeError(f"axis {p} of the one has {m} elements, axis {q} of the other {n}")
    first = [chr(ord("a") + d) for d in range(a.ndim)]
    second = [chr(ord("A") + d) for d in range(b.ndim)]
    for p, q in pairs:
        second[q] = first[p]
    out = [c for c in first if c not in second] + [c for c in second if c not in first]
    found = _contracted(a, "".join(first), b, "".join(second), "".join(out))
    return found if found.ndim else np.copy(found)  # an array without dimensions, as by NumPy


def _summed(product: Any, axis: Any) -> Any:
    """A sum in the product's own type, where ``np.sum`` widens small integers."""
    return product.sum(axis=axis, dtype=product.dtype)
