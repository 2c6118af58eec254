"""``raw_kernel``: a whole CUDA kernel of one's own as a function and as a node of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opweave._functions.fused import Fused
from opweave._tracebacks import fold, folded
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.opcodes.cached import cached_property
from opweave.opcodes.errors import ArgumentError
from opweave.opcodes.handwritten.cuda_definitions import declared
from opweave.opcodes.handwritten.cuda_kernel import CudaKernel


def raw_kernel(
    source: str,
    name: str,
    *,
    outputs: Mapping[str, Callable[..., Any]],
    grid: Any,
    numpy: Callable[..., Any],
    block: Any = 256,
    shared: Any = 0,
    extents: Mapping[str, Callable[..., Any]] = {},
    dtypes: Mapping[str, Any] = {},
    shapes: Mapping[str, Callable[..., Any] | None] = {},
    zeros: Sequence[str] = (),
    rtol: float | None = None,
    atol: float = 0.0,
) -> RawKernel:
    """A whole CUDA kernel of one's own, as a function and as a node of fused functions.

    saxpy = ow.raw_kernel(
        source, "saxpy", outputs={"out": lambda x: x.shape}, extents={"n": lambda x: x.size},
        grid=lambda out: -(-out.size // 256), block=256, numpy=lambda a, x, y: a * x + y)

    Functions of shapes name parameters of the kernel: arrays come with ``shape``, ``dtype``,
    ``ndim`` and ``size``, numbers that are operands as they are (they are part of the guard then).

    Args:
        source: CUDA C++; the kernel is ``extern "C" __global__``.
        name: of the kernel in the source, whose parameter list says dtypes and what is an array.
        outputs: the shape of each array that the kernel writes, by its parameter.
        grid: blocks: a number, up to three, or a function of shapes that gives them.
        numpy: the meaning, a function of the operands: of all parameters but outputs and extents,
            under the same names.  ``check`` holds the kernel to it; on the host it is what runs.
        block: threads of a block: a number, or up to three.
        shared: bytes of dynamic shared memory of a block, or a function of shapes.
        extents: whole numbers that follow from shapes, by their parameter.
        dtypes: dtypes of parameters whose C type says none.
        shapes: the shapes that operands must have, by their parameter; None for any.  Arrays that
            neither this nor a function of shapes names have the shape of the first array that
            one names.  Calls with others are refused.
        zeros: outputs that begin as zeros; of others nobody knows what is there.
        rtol, atol: how far ``check`` lets results be from the meaning's; by default 1e-5 of
            float32, 1e-12 of float64, 1e-2 of float16, and nothing of integers.

    Raises:
        NameRefusedError: no such kernel in the source.
        DTypeError: a parameter whose type is none of NumPy's.
        ArgumentError: what is declared does not fit the parameter list, or no GPU takes it.
    """
    given = {
        "outputs": outputs, "grid": grid, "numpy": numpy, "block": block, "shared": shared,
        "extents": extents, "dtypes": dtypes, "shapes": shapes, "zeros": zeros, "rtol": rtol,
        "atol": atol,
    }  # fmt: skip
    return declared(RawKernel, source, name, given)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RawKernel(CudaKernel):
    """A kernel of one's own: call it on arrays, or inside of fused functions."""

    def __call__(self, *operands: Any, **named: Any) -> Any:
        """Run the kernel, or add it to the graph of the function that is traced, or to a Graph.

        Raises:
            OpweaveError: a subclass says what is wrong, where, and what to do.
        """
        try:
            given = self._bound(operands, named)
            for operand in given:
                if hasattr(type(operand), "__opweave_apply__"):  # of a trace, or of an ow.Graph
                    return operand.__opweave_apply__(self, given, {})
            return self.fused(*given)
        except Exception as error:
            fold(error)
            raise

    def _bound(self, operands: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            return self.__signature__.bind(*operands, **named).args
        except TypeError as error:
            listed = ", ".join(p.text for p in self.operands)
            found = len(operands) + len(named)
            raise ArgumentError(
                f"{self.c_name}: {error}: expected {len(self.operands)} operands ({listed}), "
                f"found {found}"
            ) from None

    @cached_property
    def fused(self) -> Fused:
        """The kernel alone as a fused function."""

        def run(**given: Any) -> Any:
            operands = [given[p.name] for p in self.operands]
            for operand in operands:
                if is_traced(operand):
                    return operand.__opweave_apply__(self, operands, {})
            raise ArgumentError(f"{self.c_name}: expected an array or a number that may differ")

        run.__name__ = self.c_name
        run.__signature__ = self.__signature__  # type: ignore[attr-defined]
        return Fused(run)

    @folded
    def lower(self, *args: Any, target: Any = None, **kwargs: Any) -> Any:
        """The program of the kernel alone; see ``Fused.lower``."""
        return self.fused.lower(*args, target=target, **kwargs)

    @folded
    def check(self, *args: Any, **kwargs: Any) -> Any:
        """Run the source, and compare with the meaning; see ``Fused.check``."""
        return self.fused.check(*args, **kwargs)

    @folded
    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """See ``Fused.explain``."""
        return self.fused.explain(*args, **kwargs)
