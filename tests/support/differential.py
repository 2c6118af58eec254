"""Plain Python as the judge: whatever a function does besides computing, its fused one does too."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import logging
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import opweave as ow


class Records(logging.Handler):
    """What was logged: level and text."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.found: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append((record.levelno, record.getMessage()))


def described(value: Any) -> Any:
    """A value with its types, to be compared; arrays and floats to some digits."""
    kind = type(value)
    if issubclass(kind, np.ndarray | np.generic):
        data = np.asarray(value)
        rounded = np.round(data.astype(np.float64), 4) if data.dtype.kind == "f" else data
        return kind, data.dtype.char, data.shape, rounded.tolist()
    if isinstance(value, list | tuple):
        return kind, [described(v) for v in value]
    if isinstance(value, dict):
        return kind, [(k, described(v)) for k, v in value.items()]
    if isinstance(value, float):
        return kind, round(value, 4)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return kind, [(name, described(getattr(value, name))) for name in names]
    if hasattr(value, "__dict__") and not isinstance(value, type | FunctionType | ModuleType):
        return kind, described(vars(value))
    return kind, value


def ran(fn: Callable[..., Any], args: Sequence[Any], times: int = 3) -> list[Any]:
    """What some calls did: results or exceptions, arguments afterwards, output, logs, warnings."""
    fn_args = copy.deepcopy(list(args))
    records, printed, found = Records(), io.StringIO(), []
    logger = logging.getLogger()
    before = logger.level
    logger.addHandler(records)
    logger.setLevel(1)
    try:
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            for _ in range(times):
                try:
                    found.append(described(fn(*fn_args)))
                except ow.OpweaveError:
                    raise
                except Exception as error:
                    found.append((type(error), str(error)))
    finally:
        logger.removeHandler(records)
        logger.setLevel(before)
    told = [(w.category, str(w.message), w.lineno) for w in warned
            if not issubclass(w.category, ow.OpweaveWarning)]  # fmt: skip
    return [found, described(fn_args), printed.getvalue(), records.found, told]


def does_the_same(fn: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Three calls of the fused function do what three of the plain one do."""
    __tracebackhide__ = True
    expected = ran(fn, args)
    for name, found, wanted in zip(
        ("results", "arguments", "output", "logs", "warnings"),
        ran(ow.fuse(fn, **options), args), expected, strict=True,
    ):  # fmt: skip
        assert found == wanted, name
