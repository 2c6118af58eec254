"""Recorded operations as one program: its structure is what it is found by again.

The first time that operations come in this order, on operands in these places, they become a
function that ``fuse`` compiles; from then on no Python of theirs is traced.  What is not compiled,
and what is so short that NumPy is done before, the same function does by NumPy or CuPy at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from opweave._functions.fused import Fused
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.pipeline.driver import Options
from opweave.configuration import config
from opweave.opcodes.errors import OpweaveError, OutOfMemoryError, RecompileError
from opweave.runtime.process import locks
from opweave.xp.nodes import XpOperation

OPTIONS = Options(fullgraph=True, writes=False)
# Programs that are kept.
MOST_KEPT = 512
# On the host NumPy is done with shorter arrays before a program is found and called.
LEAST_ELEMENTS = 4096
OPERAND = inspect.Parameter.POSITIONAL_OR_KEYWORD


# An operation, its operands, its attributes by name, the letter of its dtype.  Operands are rows
# before it, and from -1 down what the program is given.
Row = tuple[XpOperation, tuple[int, ...], tuple[tuple[str, Any], ...], str]


class Expression:
    """Rows as a function of arrays and numbers: what ``fuse`` traces.  NumPy runs it, too."""

    __opweave_apart__ = True  # each result is an array of its own
    __name__ = "expression"

    def __init__(self, rows: Sequence[Row], outputs: Sequence[int], count: int):
        self._steps = [(row[0].compute, row[1], dict(row[2]), np.dtype(row[3])) for row in rows]
        self._outputs = tuple(outputs)
        names = [inspect.Parameter(f"a{number}", OPERAND) for number in range(count)]
        self.__signature__ = inspect.Signature(names)

    def __call__(self, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        made: list[Any] = []
        self._run(made, (*args, *kwargs.values()))
        return tuple(made[n] for n in self._outputs)

    def _run(self, made: list[Any], given: Sequence[Any]) -> None:
        """Fill a list with the results of all rows."""
        given = given[::-1]  # so that -1 is the first
        for compute, operands, attrs, dtype in self._steps:
            found = compute(*(made[n] if n >= 0 else given[n] for n in operands), **attrs)
            made.append(found if found.dtype == dtype else found.astype(dtype))

    def failing(self, given: Sequence[Any]) -> int:
        """The place of the row at which NumPy raises an error; the last if it raises none."""
        made: list[Any] = []
        with suppress(Exception), np.errstate(all="ignore"):
            self._run(made, given)
        return min(len(made), len(self._steps) - 1)


class LazyProgram:
    """A program for a structure.

    Attributes:
        compiles: whether kernels may run it.
    """

    def __init__(self, expression: Expression, compiles: bool):
        self.expression, self.compiles = expression, compiles
        self.fused = Fused(expression, (), OPTIONS)

    def __call__(self, given: Sequence[Any], elements: int) -> tuple[Any, ...]:
        """The results, each in memory of its own.

        Args:
            elements: of the longest array.
        """
        if self.compiles and (elements >= LEAST_ELEMENTS or on_gpu(given)):
            try:
                return tuple(map(boxed, self.fused(*given)))
            except (RecompileError, OutOfMemoryError):
                pass  # others like this one are prepared; the next time there may be memory
            except OpweaveError:
                self.compiles = False  # whatever is wrong, NumPy knows it, or says it
        return own(self.at_once(given), given)

    def explain(self, given: Sequence[Any]) -> Any:
        """What kernels run it; see ``Fused.explain``.

        Raises:
            OpweaveError: none do; says why.
        """
        return self.fused.explain(*given)

    def at_once(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """The results by NumPy or CuPy, which may share memory."""
        with np.errstate(all="ignore") if config.errors == "ignore" else nullcontext():
            return self.expression(*given)


def on_gpu(given: Sequence[Any]) -> bool:
    """Whether a GPU computes it, for which no array is short."""
    return config.device == "cuda" or any(map(is_cupy, given))


def boxed(result: Any) -> Any:
    """A result as an array: NumPy has numbers in the place of arrays of no dimensions."""
    return np.asarray(result) if isinstance(result, np.generic | bool) else result


def own(results: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    """Results with memory that is nobody else's; numbers become arrays."""
    seen = {id(array) for array in given}
    found = []
    for result in results:
        array = boxed(result)
        if array.base is not None or id(array) in seen:
            array = array.copy()
        seen.add(id(array))
        found.append(array)
    return tuple(found)


class Programs:
    """Programs by their structure; those that were not asked for longest are dropped."""

    def __init__(self) -> None:
        self._known: dict[Any, LazyProgram] = {}
        self._alike: dict[Any, int] = {}
        self._lock = locks.lock()
        self.made = 0

    def find(self, rows: tuple[Row, ...], outputs: tuple[int, ...], count: int) -> LazyProgram:
        """The program of some rows; ``count`` operands are given to it."""
        key = rows, outputs
        with self._lock:
            found = self._known.pop(key, None)
            if found is None:
                found = LazyProgram(Expression(rows, outputs, count), self._is_new(rows))
                self.made += 1
                if len(self._known) >= MOST_KEPT:
                    self._known.pop(next(iter(self._known)))
            self._known[key] = found
        return found

    def _is_new(self, rows: Sequence[Row]) -> bool:
        """False where so many programs were made of the same operations that none pays.

        A loop that slices at each round at another place is such a case.
        """
        if len(self._alike) >= MOST_KEPT:
            self._alike.clear()
        alike = tuple(operation for operation, *_ in rows)
        self._alike[alike] = self._alike.get(alike, 0) + 1
        return self._alike[alike] <= config.recompile_limit

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._known.clear()
            self._alike.clear()


PROGRAMS = Programs()
