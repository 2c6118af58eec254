"""Products of a user's own, as lists: over another pair of operations than + and *."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import Fragment, OpCode
from opweave.opcodes.core import Cost, Kind, Operator, TypeRule
from opweave.opcodes.defines import Define
from opweave.opcodes.errors import FragmentError
from opweave.opcodes.operators.asked import Asked
from opweave.opcodes.operators.folds import begun, row_of
from opweave.opcodes.operators.registry import (
    OPERATORS,
    check_free,
    named_rule,
    positional_parameters,
)
from opweave.opcodes.running import Text, product_list
from opweave.opcodes.shapes import PRODUCT
from opweave.opcodes.ulps import stated

RULES: dict[str, TypeRule] = {"same": rules.same, "float": rules.floating}


def product(
    name: str,
    opcodes: Text | Sequence[Text | OpCode | Define],
    type_rule: str | TypeRule,
    numpy: tuple[Callable[..., Any], Callable[..., Any]],
    *,
    like: str | None = None,
    flops: int = 2,
    ulp: float = 1.0,
    replace: bool = False,
) -> Operator:
    """Add a product of matrices that takes other operations than + and *; as ``x @ y`` it fuses.

    plus = ow.product("maxplus", ["acc = -infinity<T>()", "max_nan(acc, x + y)"], "same",
                      (np.add, np.maximum))

    Args:
        name: unique name; letters, digits, underscores.
        opcodes: what a running value begins with, and how it takes the next pair of elements, an
            expression of ``acc``, ``x`` and ``y``; as texts for all kinds of real numbers or by
            kinds, as in ``reduction``, with toggles that they test.  Tiles are loaded as for
            ``x @ y``.
        type_rule: ``"same"``, ``"float"`` (promoted to a float type), or a callable as in
            opweave.opcodes.rules.  float16 and bfloat16 are accumulated in float32.
        numpy: what pairs are combined by, and what the terms are joined by: ufuncs, or functions
            of two arrays, element by element.  They are asked for a few values whether what the
            list begins with changes nothing, also where tiles are filled up with it in ``y`` and
            with 0 in ``x``.
        like: as whose its errors grow, see ``reduction``.
        flops: operations of a step.
        ulp: largest error of one step in units in the last place.
        replace: overwrite a user's operator of that name.

    Returns:
        The operator: ``op(x, y)`` with x: [..., m, k] and y: [..., k, n], or vectors as for ``@``,
        on arrays, inside fused functions, or in an op-code list.  Its kernels are those of
        products, without libraries.

    Raises:
        NameRefusedError: the name cannot stand in source or is taken.
        FragmentError: the list breaks a rule, or its meaning is no product's.
        ToggleError: nothing tests a toggle.
        DTypeError: an unknown type rule; where it is used, a dtype that the list has no row for,
            or that does not hold what it begins with.
        ArgumentError: ``like`` is none of these.
    """
    check_free(name, replace)
    rule = named_rule(name, type_rule, RULES)
    codes = product_list(name, opcodes, OPERATORS["matmul"].opcodes)
    kinds, join = _asked(name, numpy, rule, codes[1].rows)
    codes = (codes[0], *(code.of_kinds(kinds) for code in codes[1:]))
    meaning = Multiplied(*numpy, rule, codes[1].rows)
    row = Operator(
        name, Kind.CONTRACT, codes, meaning, rule, ("x", "y"), PRODUCT, cost=Cost(flops),
        ulp=stated(ulp), accumulator=rules.wide_float, like=join.law(like, kinds),
    )  # fmt: skip
    OPERATORS[name] = row
    return row


def _asked(name: str, numpy: Any, rule: TypeRule, rows: tuple[Fragment, ...]) -> tuple[str, Asked]:
    """The kinds of dtypes that a meaning takes, and what was asked about joining."""
    pair = tuple(numpy) if isinstance(numpy, tuple | list) else ()
    if len(pair) != 2 or any(len(positional_parameters(name, each)) != 2 for each in pair):
        raise FragmentError(
            f"{name}: expected a NumPy meaning (combine, join) of two functions of two arrays, "
            f"such as (np.add, np.maximum); found {shown(numpy)}"
        )
    combine, join = pair

    def filled(acc: Any, x: Any) -> Any:
        """What joins a term, after one of a tile that is filled up."""
        outside = np.full_like(x, begun(row_of(rows, x.dtype), x.dtype))
        return join(join(acc, combine(np.zeros_like(x), outside)), x)

    plain = Asked(name, join, rule, np.asarray, False)
    kinds = plain.kinds(rows)
    whole = Asked(name, filled, lambda types, attrs=(): rule(types * 2, attrs), np.asarray, False)
    try:
        kinds = "".join(kind for kind in whole.kinds(rows) if kind in kinds)
    except FragmentError as error:
        raise FragmentError(
            f"{name}: tiles are filled up with 0 in x and what the list begins with in y, which "
            f"must change nothing; {str(error).removeprefix(f'{name}: ')}"
        ) from None
    return kinds, plain


@dataclass(frozen=True)
class Multiplied:
    """``join`` of ``combine`` of pairs, as the product of x: [..., m, k] and y: [..., k, n].

    A vector is a matrix of one row on the left, of one column on the right, as for ``@``.
    """

    combine: Callable[..., Any]
    join: Callable[..., Any]
    rule: TypeRule
    rows: tuple[Fragment, ...]

    def __call__(self, x: Any, y: Any) -> Any:
        if x.ndim == 1:
            made = self(x[None], y)
            return made[..., 0, :] if y.ndim > 1 else made[0]
        if y.ndim == 1:
            return self(x, y[:, None])[..., 0]
        if np.longdouble in (x.dtype, y.dtype):  # error bounds compute in it
            wide = to = np.dtype(np.longdouble)
        else:
            loop, results = self.rule((dtypes.of(x.dtype), dtypes.of(y.dtype)), ())
            wide, to = rules.wide_float(loop[0]).numpy, results[0].numpy
        x, y = x.astype(wide), y.astype(wide)
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        shape = (*batch, x.shape[-2], y.shape[-1])
        acc = self.started(np.empty_like(x, shape=shape))
        for term in self.terms(x, y):
            acc = self.join(acc, term).astype(wide)
        return acc.astype(to)

    def started(self, like: Any) -> Any:
        """What running values begin with, in the shape and dtype of an array."""
        return np.full_like(like, begun(row_of(self.rows, like.dtype), like.dtype))

    def terms(self, x: Any, y: Any) -> Any:
        """What the steps join, one after the other."""
        for k in range(x.shape[-1]):
            yield self.combine(x[..., :, k : k + 1], y[..., k : k + 1, :])
