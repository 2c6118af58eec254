"""A row of the table: how an operator of ATen is computed by NumPy's functions and ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

# In which type operands are computed: by a rule of torch's, or in the type of the result.
DEFAULT, FLOATS, WHOLE = "DEFAULT", "INT_TO_FLOAT", "BOOL_TO_LONG"
RESULT = "RESULT"


class AtenRow(NamedTuple):
    """How an operator is computed.

    Attributes:
        compute: a function of NumPy-style arrays, numbers and lists, called as the operator is,
            without what says where and how a result lies.  Results get the types that torch says.
        types: a rule for the type of operands: a name of torch's
            ``ELEMENTWISE_TYPE_PROMOTION_KIND``, ``RESULT``, or "" for operands as they are.
        first, last: between which arguments the rule decides; others stay as they are.
        left: whether a node is left to PyTorch, see ``AtenCall``.
        moves: it computes nothing, and moves or views elements.
        makes: ``compute`` gets the type of the result as ``dtype=``.
        exact: numbers beside 16-bit floats are not rounded to 16 bits first; which operators do
            so, PyTorch's kernels decide (``opmath`` in its aten/src/ATen/native/cpu).
    """

    compute: Callable[..., Any]
    types: str = ""
    first: int = 0
    last: int | None = None
    left: Callable[[AtenCall], bool] | None = None
    moves: bool = False
    makes: bool = False
    exact: bool = False


class AtenCall(NamedTuple):
    """A node as a row sees it: arguments with fake tensors in the place of nodes."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    def is_whole(self, *places: int) -> bool:
        """Whether operands are integers or bools."""
        return all(is_whole(self.args[place]) for place in places)


def is_whole(value: Any) -> bool:
    """Whether a tensor, or a number, is of integers or bools."""
    if hasattr(value, "dtype"):
        return not (value.dtype.is_floating_point or value.dtype.is_complex)
    return isinstance(value, int)
