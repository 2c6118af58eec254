"""The largest error of every operator that is not exact, as a table to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.dtypes import F32, FLOATS, DType
from opweave.opcodes.errors import DTypeError
from opweave.opcodes.operators.registry import OPERATORS
from opweave.opcodes.ulps import EXECUTORS, IEEE, Figure


@dataclass(frozen=True)
class Row:
    """A line of ``table()``: the largest error of one evaluation on one executor.

    Attributes:
        function: the operator's name.
        dtype: NumPy's name of the dtype.
        executor: "cuda" or "host".
        ulp: largest error in ULP of the dtype; of sums and products, of each step.
        source: where the figure is from.
    """

    function: str
    dtype: str
    executor: str
    ulp: float
    source: str

    def __str__(self) -> str:
        return (
            f"{self.function:14} {self.dtype:9} {self.executor:5} {self.ulp:<9.6g} {self.source}"
        )


def table() -> tuple[Row, ...]:
    """The largest error of every operator that is not exact, by function, dtype and executor.

    Composites have no rows: their bound follows from the operators that they are made of.
    """
    return tuple(row for operator in OPERATORS.values() for row in _rows(operator))


def _rows(operator: Operator) -> Iterator[Row]:
    for dtype in FLOATS:
        for executor in EXECUTORS:
            found = _figure(operator, dtype, executor)
            if found is not None:
                yield Row(operator.name, dtype.numpy_name, executor, *found)


ROUNDING = ("sum", "prod", "cumsum", "cumprod", "matmul")
# Sums and products: each step is rounded; the bound grows with the depth of the plan.
STEP = f"{IEEE} a step; gamma_n of the accumulation plan"
WIDE = "; in float32, then rounded"


def _figure(operator: Operator, dtype: DType, executor: str) -> tuple[float, str] | None:
    """ULP and source; None where an operator is exact, or has no meaning for the dtype."""
    if operator.kind in (Kind.REDUCE, Kind.SCAN, Kind.CONTRACT):
        step = f"{STEP}{WIDE}" if dtype.round else STEP
        return (0.5, step) if operator.name in ROUNDING else None
    if operator.kind is not Kind.MAP or operator.name == "cast":
        return (0.5, IEEE) if operator.name == "cast" else None
    try:
        _, results = operator.type_rule((dtype,) * operator.arity, ())
    except DTypeError:
        return None
    if operator.opcodes[-1].exact or not results[0].is_float:
        return None
    figure: Figure = operator.ulp.on(executor)
    if not dtype.round:
        return figure.of(dtype), figure.source
    narrow = 2.0 ** (dtype.digits - F32.digits)
    return 0.5 + figure.of(dtype) * narrow, f"{figure.source}{WIDE}"
