"""What may be an operand, and can be asked for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from opweave.compiler.arrays.traced_operators import ArrayOperators
from opweave.compiler.numpy_api.dispatch import operator_of


class OnlyOperand(ArrayOperators):
    """Stands for what is an operand, or is refused."""

    def refuse(self, *args: Any) -> NoReturn:
        """Say what it is, and what to write instead.

        Raises:
            UnsupportedError: always.
        """
        raise NotImplementedError

    def _values(self, operands: Sequence[Any]) -> Sequence[Any]:
        """What operands stand for, as operators are chosen by."""
        return operands

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        operator = operator_of(ufunc, self._values(args))
        if operator is None or method != "__call__" or kwargs:
            self.refuse()
        return self._applied(operator, *args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.refuse()


for _name in (
    "bool", "len", "iter", "float", "int", "index", "getitem", "setitem", "array", "contains",
    "hash", "matmul", "rmatmul", "divmod", "rdivmod", "repr", "format",
):  # fmt: skip
    setattr(OnlyOperand, f"__{_name}__", lambda self, *args: self.refuse())
