"""Operators as text: their lists, a line for each row of each op-code."""

from __future__ import annotations

from contextlib import suppress

from opweave.opcodes import dtypes
from opweave.opcodes.codes import Phase
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import DTypeError, FragmentError


def head(operator: Operator) -> str:
    """Such as ``composite softmax(x, axis=-1) = max, subtract, exp, sum, divide``."""
    attrs = [f"{name}={value!r}" for name, value in operator.attrs]
    made = f" = {', '.join(operator.parts)}" if operator.parts else ""
    return f"{operator.kind.value} {operator.name}({', '.join([*operator.params, *attrs])}){made}"


def printed(operator: Operator) -> str:
    """The operator as a list.

    reduce max(x, axis=None, keepdims=False)
    accumulate max            float               max_nan(acc, x)  (begins with -infinity<T>())
    ...
    """
    notes = [f"{'':<26}({note})" for note in running_types(operator)]
    lines = map(str, (*operator.toggles, *operator.opcodes))
    return "\n".join([head(operator), *lines, *notes])


def running_types(operator: Operator) -> list[str]:
    """Such as ``float16, bfloat16: in float32, converted at the end``, of what accumulates."""
    if operator.accumulator is None:
        return []
    names: dict[DType, dict[str, None]] = {}
    for dtype in dtypes.ALL:
        with suppress(DTypeError, FragmentError):  # a type that the operator does not take
            loop, (result,) = operator.type_rule((dtype,) * operator.arity, ())
            operator.opcode(Phase.ACCUMULATE).row(loop[0].kind)
            running = operator.accumulator(result)
            if running is not result:
                names.setdefault(running, {})[result.numpy_name] = None
    return [
        f"{', '.join(found)}: in {running.numpy_name}, converted at the end"
        for running, found in names.items()
    ]
