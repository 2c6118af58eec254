"""Error bounds: how far a result may lie from the exact one, and whether an array keeps to it.

bound, = ow.bounds.derive(fused, x)      # without running it: value, error and ULP per element
print(ow.bounds.judge(bound, fused(x)))  # any array: of this kernel, of your own, of a library

The bound is derived from the graph: each operator's largest error in ULP (``table()``), the errors
that operands carry, and gamma_n over the accumulation plan of sums and products.  ``check`` and
the tests judge by the same engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.bounds import rounding
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import FLOATS, DType
from opweave.opcodes.errors import ArgumentError
from opweave.opcodes.operators.ulp_table import Row, table
from opweave.opcodes.ulps import EXECUTORS

__all__ = ["Bound", "Judgement", "Row", "derive", "gamma", "judge", "spacing", "table"]

Array = np.ndarray[Any, Any]
# The share of the bound from which a result is worth a look; it is no fault.
TIGHT = 0.5


@dataclass(frozen=True)
class Bound:
    """What one output may be.

    Attributes:
        name: "out", or "out0", "out1"... of several outputs.
        dtype: NumPy dtype of the output; None for a Python number.
        value: the wide value: float64, or longdouble where float64 takes part; integers and bools
            as they are; the number itself for a Python number.
        error: the largest distance allowed from it, in the wide type, of the same shape; inf where
            nothing decides: a comparison on the edge, a result that may overflow.  Of a complex
            output the parts of the error are those of the parts.
    """

    name: str
    dtype: np.dtype[Any] | None
    value: Any
    error: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The output's shape."""
        return tuple(np.shape(self.value))

    @property
    def ulp(self) -> Array:
        """The error allowed in ULP of the output's dtype; of integers in steps.

        Of a complex output the larger of its parts.
        """
        if self.dtype is not None and self.dtype.kind == "c":
            re, im = self.parts
            return np.maximum(re.ulp, im.ulp)
        if self.dtype is None or not dtypes.of(self.dtype).is_float:
            return np.asarray(self.error)
        unit = spacing(self.value, self.dtype)
        with np.errstate(all="ignore"):
            return np.where(self.error == 0, 0.0, self.error / np.where(unit > 0, unit, 1.0))

    @property
    def parts(self) -> tuple[Bound, Bound]:
        """The bounds of a complex output's real and imaginary part."""
        assert self.dtype is not None
        dtype, value, error = dtypes.of(self.dtype).part.numpy, self.value, self.error
        return (
            Bound(f"{self.name}.real", dtype, value.real, error.real),
            Bound(f"{self.name}.imag", dtype, value.imag, error.imag),
        )

    @property
    def undecided(self) -> int:
        """Elements that nothing decides."""
        return int(np.count_nonzero(~np.isfinite(self.error)))

    def __str__(self) -> str:
        ulp = self.ulp[np.isfinite(self.ulp)]
        largest = f"{np.max(ulp, initial=0.0):.3g} ULP allowed at most"
        rest = f", {self.undecided} elements undecided" if self.undecided else ""
        return f"{self.name}: {self.dtype or 'number'}{list(self.shape)}, {largest}{rest}"


@dataclass(frozen=True)
class Judgement:
    """One output against its bound.

    Attributes:
        name: the output.
        elements: how many there are.
        ulp: largest error in ULP of the dtype.
        bounds: largest error in units of the bound; at most 1 where ``ok``.
        wrong: elements outside the bound.
        undecided: elements that no bound decides: a comparison on the edge, an overflow.
        worst: index of the largest error in units of the bound.
        tight: elements over half of the bound.  What is within half a ULP never counts: no
            result of the dtype is nearer.
    """

    name: str
    elements: int
    ulp: float
    bounds: float
    wrong: int
    undecided: int
    worst: tuple[int, ...]
    tight: int = 0

    @property
    def ok(self) -> bool:
        """No element lies outside the bound."""
        return self.wrong == 0

    def __str__(self) -> str:
        verdict = "agrees" if self.ok else f"{self.wrong} elements WRONG at {self.worst}"
        rest = f", {self.undecided} undecided" if self.undecided else ""
        return (
            f"{self.name}: {self.elements} elements, {verdict}; largest error {self.ulp:.3g} ULP, "
            f"{self.bounds:.3g} of the bound{rest}"
        )


def derive(
    fused: Any, *args: Any, executor: str = "host", target: Any = None, **kwargs: Any
) -> tuple[Bound, ...]:
    """The bound of every output for these arguments; nothing is compiled and no kernel runs.

    Args:
        fused: a fused function or an op-code kernel, or a program for one target.
        executor: "host" or "cuda": whose ULP figures count.
        target: for whom a fused function is lowered, since the order of a sum is the target's:
            "host", an architecture, or a device; the executor's own if left out (``sm_90a`` for
            cuda, where no live device says otherwise).  A program has its target already.

    Returns:
        A ``Bound`` per output, in the order of the outputs.

    Raises:
        ArgumentError: an unknown executor, or arguments that do not fit a program.
    """
    if executor not in EXECUTORS:
        raise ArgumentError(
            f"bounds.derive: unknown executor {executor!r}: expected one of {list(EXECUTORS)}"
        )
    program: Any = getattr(fused, "program", fused)
    if not hasattr(program, "bounds"):
        maker = getattr(fused, "fused", fused)
        if not hasattr(maker, "lower"):
            raise ArgumentError(
                f"bounds.derive: expected a fused function, found {type(fused).__name__}: wrap it "
                "in opweave.fuse"
            )
        on_gpu = any(map(is_cupy, (*args, *kwargs.values())))
        if target is None and not on_gpu:
            target = "host" if executor == "host" else "sm_90a"
        program = maker.lower(*args, target=target, **kwargs)
    found: tuple[Bound, ...] = program.bounds(*args, executor=executor, **kwargs)
    return found


def judge(bound: Bound, array: Any) -> Judgement:
    """Hold an array, or a number, to its bound.

    Args:
        bound: of ``derive``.
        array: of the bound's shape; NumPy or CuPy, of any dtype that converts exactly to the
            bound's wide type.

    Raises:
        ArgumentError: the shapes differ.
    """
    if bound.dtype is None:
        same = array == bound.value or (array != array and bound.value != bound.value)
        return Judgement(bound.name, 1, 0.0, 0.0, int(not same), 0, ())
    array = array.get() if hasattr(array, "get") else np.asarray(array)
    if np.shape(array) != bound.shape:
        raise ArgumentError(
            f"bounds.judge: {bound.name}: expected shape {list(bound.shape)}, found "
            f"{list(np.shape(array))}"
        )
    if bound.dtype.kind == "c":
        array = np.asarray(array, np.result_type(array, np.complex64))
        return _merged(bound, *map(judge, bound.parts, (array.real, array.imag)))
    return _judged(bound, array)


def _judged(bound: Bound, array: Array) -> Judgement:
    """Hold an array of real numbers to its bound."""
    allowed = np.broadcast_to(bound.error, bound.shape)
    error, unit = _errors(bound, array)
    with np.errstate(all="ignore"):
        decided = np.isfinite(allowed)
        counts = decided & (error > 0)
        in_ulp = np.where(counts, error / np.where(unit > 0, unit, np.inf), 0.0)
        ratio = error / np.where(allowed > 0, allowed, np.inf)
        in_bounds = np.where(counts, np.where(allowed > 0, ratio, np.inf), 0.0)
    worst = np.unravel_index(int(np.argmax(in_bounds)), bound.shape) if array.size else ()
    return Judgement(
        name=bound.name,
        elements=int(array.size),
        ulp=float(np.max(in_ulp, initial=0.0)),
        bounds=float(np.max(in_bounds, initial=0.0)),
        wrong=int(np.count_nonzero(decided & (error > allowed))),
        undecided=int(np.count_nonzero(~decided)),
        worst=tuple(int(i) for i in worst),
        tight=int(np.count_nonzero((in_bounds > TIGHT) & (in_ulp > 0.5))),
    )


def _merged(bound: Bound, re: Judgement, im: Judgement) -> Judgement:
    """What the parts of a complex output are found to be; counts are of elements of either."""
    worse = re if re.bounds >= im.bounds else im
    return Judgement(
        name=bound.name,
        elements=re.elements,
        ulp=max(re.ulp, im.ulp),
        bounds=worse.bounds,
        wrong=max(re.wrong, im.wrong),
        undecided=bound.undecided,
        worst=worse.worst,
        tight=max(re.tight, im.tight),
    )


def _errors(bound: Bound, array: Array) -> tuple[Array, Array]:
    """Distance of each element from its wide value, and the unit in the last place there."""
    dtype = dtypes.of(bound.dtype)
    with np.errstate(all="ignore"):
        if dtype.is_float:
            found = array.astype(bound.value.dtype)
            far = np.abs(found - bound.value)
            same = (found == bound.value) | (np.isnan(found) & np.isnan(bound.value))
            error = np.where(same, 0.0, np.where(np.isnan(far), np.inf, far))
            return error, rounding.spacing(bound.value, dtype)
        far = np.abs(np.subtract(array, bound.value, dtype=np.longdouble)).astype(np.float64)
        far = np.where(np.isnan(far), np.inf, np.maximum(far, 1.0))
        steps = np.where(array == bound.value, 0.0, far)
        return steps, np.ones(bound.shape)


def gamma(depth: int, dtype: Any) -> float:
    """gamma_n = n u / (1 - n u): relative error of a chain of ``depth`` roundings in ``dtype``.

    u is the unit roundoff, half a ULP of 1; inf where n u reaches 1.  Higham, "Accuracy and
    Stability of Numerical Algorithms", 2nd ed., lemma 3.1.

    Raises:
        ArgumentError: the dtype is no float type, or the depth is negative.
    """
    if depth < 0:
        raise ArgumentError(f"bounds.gamma: expected a depth of at least 0, found {depth}")
    return rounding.gamma(depth, _float_type(dtype, "gamma"))


def spacing(value: Any, dtype: Any) -> Array:
    """One unit in the last place of ``dtype`` at each value: float64, of the value's shape.

    Subnormal numbers have the smallest unit; NaN and infinities have 0.

    Raises:
        ArgumentError: the dtype is no float type.
    """
    return rounding.spacing(np.asarray(value), _float_type(dtype, "spacing"))


def _float_type(dtype: Any, name: str) -> DType:
    found = dtypes.of(dtype)
    if not found.is_float:
        raise ArgumentError(
            f"bounds.{name}: expected one of {', '.join(d.numpy_name for d in FLOATS)}, found "
            f"{found.numpy_name}"
        )
    return found
