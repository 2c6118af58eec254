"""The reductions: an accumulate and a reduce op-code, an identity and an accumulator type each.

``acc`` is the running value of one lane, ``x`` the next element.  The reduce op-code joins two
partial results.  Which elements meet in which order is not said here: that is the accumulation
plan (compiler/scheduling/accumulation_plans.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.core import Kind, OpCode, Operator, Phase, TypeRule
from opweave.opcodes.shapes import REDUCED, ShapeRule

Texts = dict[str, str]  # fragments by dtype kinds
# How two values are joined, and what changes nothing.
ADDED: Texts = {"fu": "acc + x", "i": "wrap_add(acc, x)", "b": "acc || x"}
MULTIPLIED: Texts = {"f": "acc * x", "iu": "wrap_mul(acc, x)", "b": "acc && x"}
LARGER: Texts = {"f": "max_nan(acc, x)", "iub": "acc > x ? acc : x"}
SMALLER: Texts = {"f": "min_nan(acc, x)", "iub": "acc < x ? acc : x"}
ZERO: Texts = {"fiu": "0", "b": "false"}
ONE: Texts = {"fiu": "1", "b": "true"}
LOWEST: Texts = {"f": "-infinity<T>()", "iub": "lowest<T>()"}
HIGHEST: Texts = {"f": "infinity<T>()", "iub": "highest<T>()"}


def accumulating(
    name: str, kind: Kind, numpy: Callable[..., Any], join: Texts, identity: Texts, rule: TypeRule,
    shape_rule: ShapeRule, attrs: tuple[tuple[str, Any], ...], **more: Any,
) -> Operator:  # fmt: skip
    """Make a reduction or a scan from a row; ``join`` is written over ``acc`` and ``x``."""
    codes = tuple(
        OpCode(name, phase, text, ("acc", "x"), dtypes=kinds)
        for phase in (Phase.ACCUMULATE, Phase.REDUCE)
        for kinds, text in join.items()
    )
    by_kind = {kind: text for kinds, text in identity.items() for kind in kinds}
    dtype = (("dtype", None),) if rule is rules.summation else ()
    return Operator(
        name, kind, codes, numpy, rule, shape_rule=shape_rule, identity=by_kind,
        attrs=(*attrs, *dtype), **{"accumulator": rules.wide_float} | more,
    )  # fmt: skip


def reduction(
    name: str, numpy: Callable[..., Any], join: Texts, identity: Texts, rule: TypeRule, **more: Any
) -> Operator:
    """Make a reduction from a row."""
    attrs = (("axis", None), ("keepdims", False))
    return accumulating(name, Kind.REDUCE, numpy, join, identity, rule, REDUCED, attrs, **more)


TRUTH = {"accumulator": rules.wide_truth}
OPERATORS: tuple[Operator, ...] = (
    reduction("sum", np.sum, ADDED, ZERO, rules.summation),
    reduction("prod", np.prod, MULTIPLIED, ONE, rules.summation),
    reduction("max", np.max, LARGER, LOWEST, rules.first, needs_nonempty=True),
    reduction("min", np.min, SMALLER, HIGHEST, rules.first, needs_nonempty=True),
    reduction("any", np.any, {"b": "acc | x"}, {"b": "0"}, rules.truth, **TRUTH),
    reduction("all", np.all, {"b": "acc & x"}, {"b": "1"}, rules.truth, **TRUTH),
)
