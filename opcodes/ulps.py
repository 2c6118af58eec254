"""The largest error of one evaluation of an operator, per executor and precision, with its source.

An error is the distance from the exact result, in units in the last place (ULP) of the type that
is computed in.  float16 and bfloat16 compute in float32 and then round once to their own type.
"""

from __future__ import annotations

from dataclasses import dataclass

from opweave.opcodes.dtypes import F64, DType

EXECUTORS = ("cuda", "host")
IEEE = "IEEE 754: correctly rounded"
# The tables count from the correctly rounded result, which is itself half a ULP off at most.
CUDA_GUIDE = "CUDA C++ Programming Guide 13.0, tables 17 (float) and 18 (double), plus 0.5"
MEASURED = (
    "measured (x86-64, glibc 2.36; float32: every argument, of erf every one from 1/8 to 4.2, of "
    "erfc each 17th, functions of two 3 * 10**8; float64: 5 * 10**6): "
    "tests/opcodes/test_host_math.py"
)
COUNTED = "counted: the roundings of the fragment"
STATED = "stated by the one who added the operator"


# (operator, executor) -> the arguments between which the source states no figure: "larger inside".
UNSTATED: dict[tuple[str, str], tuple[float, float]] = {("lgamma", "cuda"): (-11.0001, -2.2637)}


@dataclass(frozen=True)
class Figure:
    """Largest error of one evaluation in ULP, computed in float32 and in float64.

    Attributes:
        f32: for float32, and for float16 and bfloat16 before they are rounded.
        f64: for float64.
        source: where the figures are from.
    """

    f32: float = 0.5
    f64: float = 0.5
    source: str = IEEE

    def of(self, dtype: DType) -> float:
        """The figure of the type that ``dtype`` computes in."""
        return self.f64 if dtype is F64 else self.f32


@dataclass(frozen=True)
class Ulp:
    """The figures of an operator on each executor."""

    cuda: Figure = Figure()
    host: Figure = Figure()

    def on(self, executor: str) -> Figure:
        """The figure of an executor, "cuda" or "host"."""
        return self.cuda if executor == "cuda" else self.host


def nvidia(f32: float, f64: float) -> Figure:
    """A row of NVIDIA's tables, which count whole steps from the correctly rounded result."""
    return Figure(f32 + 0.5, f64 + 0.5, CUDA_GUIDE)


def measured(f32: float, f64: float) -> Figure:
    """What was measured on the host."""
    return Figure(f32, f64, MEASURED)


def counted(ulp: float) -> Ulp:
    """A figure for every executor, since the fragment consists of correctly rounded operations."""
    return Ulp(Figure(ulp, ulp, COUNTED), Figure(ulp, ulp, COUNTED))


def stated(ulp: float) -> Ulp:
    """A user's figure, for every executor and precision."""
    return Ulp(Figure(ulp, ulp, STATED), Figure(ulp, ulp, STATED))
