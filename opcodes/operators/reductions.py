"""Reductions and scans: an accumulate and a reduce op-code, and an accumulator type.

``acc`` is the running value of one lane, ``x`` the next element.  The reduce op-code joins two
partial results.  Which elements meet in which order is not said here: that is the accumulation
plan (compiler/scheduling/accumulation_plans.py, scan_plans.py).

A scan is a reduction of every beginning of a row, with one element for each.  NumPy calls them
cumsum and cumprod, and ``accumulate`` of a ufunc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.codes import OpCode, Phase, rows
from opweave.opcodes.core import Kind, Operator, TypeRule
from opweave.opcodes.shapes import REDUCED, SCANNED, ShapeRule

Texts = dict[str, str]  # fragments by dtype kinds
# How two values are joined, and what changes nothing.
ADDED: Texts = {"fu": "acc + x", "i": "wrap_add(acc, x)", "b": "acc | x"}
MULTIPLIED: Texts = {"f": "acc * x", "iu": "wrap_mul(acc, x)", "b": "acc & x"}
LARGER: Texts = {"f": "max_nan(acc, x)", "iu": "acc > x ? acc : x", "b": "acc | x"}
SMALLER: Texts = {"f": "min_nan(acc, x)", "iu": "acc < x ? acc : x", "b": "acc & x"}
ZERO: Texts = {"fiu": "0", "b": "false"}
MINUS_ZERO: Texts = {"f": "-0.0f", "iu": "0", "b": "false"}  # 0.0 would lose the sign of -0.0
ONE: Texts = {"fiu": "1", "b": "true"}
LOWEST: Texts = {"f": "-infinity<T>()", "iu": "lowest<T>()", "b": "0"}
HIGHEST: Texts = {"f": "infinity<T>()", "iu": "highest<T>()", "b": "1"}


def accumulating(
    name: str, kind: Kind, numpy: Callable[..., Any], join: Texts, identity: Texts, rule: TypeRule,
    shape_rule: ShapeRule, attrs: tuple[tuple[str, Any], ...], **more: Any,
) -> Operator:  # fmt: skip
    """Make a reduction or a scan from a row; ``join`` is written over ``acc`` and ``x``."""
    codes = (
        OpCode(name, Phase.ACCUMULATE, ("acc", "x"), rows(join, identity)),
        OpCode(name, Phase.REDUCE, ("acc", "x"), rows(join)),
    )
    dtype = (("dtype", None),) if rule is rules.summation else ()
    return Operator(
        name, kind, codes, numpy, rule, shape_rule=shape_rule, attrs=(*attrs, *dtype),
        **{"accumulator": rules.wide_float} | more,
    )  # fmt: skip


def reduction(
    name: str, numpy: Callable[..., Any], join: Texts, identity: Texts, rule: TypeRule, **more: Any
) -> Operator:
    """Make a reduction from a row."""
    attrs = (("axis", None), ("keepdims", False))
    more = {"accumulator": rules.wide_truth} | more
    return accumulating(name, Kind.REDUCE, numpy, join, identity, rule, REDUCED, attrs, **more)


def _meaning(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.accumulate`` along one axis, the last unless given."""

    def scanned(x: Any, axis: int = -1, dtype: Any = None) -> Any:
        to = None if dtype is None else dtypes.of(dtype).numpy
        return ufunc.accumulate(x, axis=index(axis), dtype=to)

    return scanned


# No identity leaves the bits of every number as they are: (1 + 0j) * inf has a NaN.
NO_COMPLEX = "no running values of {}: take those of .real and .imag"


def scan(name: str, ufunc: np.ufunc, join: Texts, identity: Texts, rule: TypeRule) -> Operator:
    """Make a scan from a row.

    The identity, joined in front of an element, must leave all bits of the element as they are.
    """
    made = accumulating(
        name, Kind.SCAN, _meaning(ufunc), join, identity, rule, SCANNED, (("axis", -1),)
    )
    return replace(made, type_rule=rules.of_reals(rule, NO_COMPLEX))


OPERATORS: tuple[Operator, ...] = (
    reduction("sum", np.sum, ADDED, ZERO, rules.summation),
    reduction("prod", np.prod, MULTIPLIED, ONE, rules.summation),
    reduction("max", np.max, LARGER, LOWEST, rules.first, needs_nonempty=True),
    reduction("min", np.min, SMALLER, HIGHEST, rules.first, needs_nonempty=True),
    reduction("any", np.any, {"b": "acc | x"}, {"b": "0"}, rules.truth),
    reduction("all", np.all, {"b": "acc & x"}, {"b": "1"}, rules.truth),
    scan("cumsum", np.add, ADDED, MINUS_ZERO, rules.summation),
    scan("cumprod", np.multiply, MULTIPLIED, ONE, rules.summation),
    scan("cummax", np.maximum, LARGER, LOWEST, rules.first),
    scan("cummin", np.minimum, SMALLER, HIGHEST, rules.first),
    scan("cumany", np.logical_or, {"b": "acc | x"}, {"b": "false"}, rules.truth),
    scan("cumall", np.logical_and, {"b": "acc & x"}, {"b": "true"}, rules.truth),
)
