"""The reductions: an accumulate and a reduce op-code, an identity and an accumulator type each.

``acc`` is the running value of one lane, ``x`` the next element.  The reduce op-code joins two
partial results.  Which elements meet in which order is not said here: that is the accumulation
plan (compiler/scheduling/accumulation_plans.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.core import Kind, OpCode, Operator, Phase, TypeRule
from opweave.opcodes.shapes import REDUCED

LOWEST = {"f": "-infinity<T>()", "iub": "lowest<T>()"}
HIGHEST = {"f": "infinity<T>()", "iub": "highest<T>()"}


def reduction(
    name: str,
    numpy: Callable[..., Any],
    join: dict[str, str],
    identity: dict[str, str],
    rule: TypeRule,
    *,
    needs_nonempty: bool = False,
    dtype_attr: bool = False,
) -> Operator:
    """Make a reduction from a row; ``join`` is written over ``acc`` and ``x`` per dtype kind."""
    codes = []
    for phase in (Phase.ACCUMULATE, Phase.REDUCE):
        for kinds, text in join.items():
            codes.append(OpCode(name, phase, text, ("acc", "x"), dtypes=kinds))
    attrs: tuple[tuple[str, Any], ...] = (("axis", None), ("keepdims", False))
    return Operator(
        name,
        Kind.REDUCE,
        tuple(codes),
        numpy,
        rule,
        shape_rule=REDUCED,
        identity={kind: text for kinds, text in identity.items() for kind in kinds},
        accumulator=rules.wide_float,
        needs_nonempty=needs_nonempty,
        attrs=(*attrs, ("dtype", None)) if dtype_attr else attrs,
    )


def truth(name: str, numpy: Callable[..., Any], join: str, identity: str) -> Operator:
    """A reduction of truths."""
    made = reduction(name, numpy, {"b": join}, {"b": identity}, rules.truth)
    return replace(made, accumulator=rules.wide_truth)


OPERATORS: tuple[Operator, ...] = (
    reduction(
        "sum",
        np.sum,
        {"fu": "acc + x", "i": "wrap_add(acc, x)", "b": "acc || x"},
        {"fiu": "0", "b": "false"},
        rules.summation,
        dtype_attr=True,
    ),
    reduction(
        "prod",
        np.prod,
        {"f": "acc * x", "iu": "wrap_mul(acc, x)", "b": "acc && x"},
        {"fiu": "1", "b": "true"},
        rules.summation,
        dtype_attr=True,
    ),
    reduction(
        "max",
        np.max,
        {"f": "max_nan(acc, x)", "iub": "acc > x ? acc : x"},
        LOWEST,
        rules.first,
        needs_nonempty=True,
    ),
    reduction(
        "min",
        np.min,
        {"f": "min_nan(acc, x)", "iub": "acc < x ? acc : x"},
        HIGHEST,
        rules.first,
        needs_nonempty=True,
    ),
    truth("any", np.any, "acc | x", "0"),
    truth("all", np.all, "acc & x", "1"),
)
