"""How operators are written: the text of a step for each kind of operator, as tables.

What stands in the registry is found there; only what needs more than operands has a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Kind, Operator

SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "power": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "left_shift": "<<", "right_shift": ">>", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=", "matmul": "@",
}  # fmt: skip
PREFIXES = {"negative": "-", "positive": "+", "invert": "~"}
METHODS = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "clip", "cumsum",
           "cumprod")  # fmt: skip
# Array functions that are no operators by their name, but call one.
CALLS = {"cast": "{{0}}.astype({dtype!r})", "copy": "{{0}}.copy()"}

Rng = np.random.Generator


def places(count: int) -> str:
    return ", ".join(f"{{{n}}}" for n in range(count))


def attributes(row: Operator, rank: int, rng: Rng) -> dict[str, Any]:
    """Random attributes of an operator, for an operand of a rank; what is left out is default."""
    found: dict[str, Any] = {}
    for name, default in row.attrs:
        if name == "axis" and rng.random() < 0.85:
            found[name] = _axis(rank, rng) if rng.random() < 0.9 else default
        elif name == "keepdims" and rng.random() < 0.5:
            found[name] = True
        elif name == "ddof" and rng.random() < 0.3:
            found[name] = 1
        elif name == "dtype" and (row.name == "cast" or rng.random() < 0.2):
            found[name] = str(rng.choice([d.numpy_name for d in dtypes.ALL]))
    return found


def _axis(rank: int, rng: Rng) -> Any:
    if rank == 0 or rng.random() < 0.15:
        return None
    if rank > 1 and rng.random() < 0.2:
        several = rng.permutation(rank)[: rng.integers(1, rank + 1)]
        return tuple(int(a) - rank * int(rng.random() < 0.3) for a in several)
    axis = int(rng.integers(-rank, rank))
    return (axis,) if rng.random() < 0.05 else axis


def text(row: Operator, rank: int, rng: Rng) -> str:
    """The form of a step: as a function, a method or a Python operator."""
    given = attributes(row, rank, rng)
    if row.name in CALLS:
        return CALLS[row.name].format(**given)
    shown = "".join(f", {k}={v!r}" for k, v in given.items())
    style = rng.random()
    if row.name in SYMBOLS and style < 0.6:
        return f"{{0}} {SYMBOLS[row.name]} {{1}}"
    if row.name in PREFIXES and style < 0.6:
        return f"{PREFIXES[row.name]}{{0}}"
    rest = ", ".join([*places(row.arity).split(", ")[1:], shown[2:]]).strip(", ")
    if row.name in METHODS and style < 0.5:
        return f"{{0}}.{row.name}({rest})"
    return f"{function(row)}({places(row.arity)}{shown})"


def function(row: Operator) -> str:
    """``np.exp`` where NumPy has the function, else ``ow.opcodes.relu``."""
    mine = row.numpy is getattr(np, row.name, None)
    same = mine or (row.kind is Kind.REDUCE) or row.name == "matmul"
    return f"np.{row.name}" if same else f"ow.opcodes.{row.name}"


def _transpose(rank: int, rng: Rng) -> str:
    if rng.random() < 0.4:
        return "{0}.T"
    return f"np.transpose({{0}}, {tuple(int(a) for a in rng.permutation(rank))})"


def _swapaxes(rank: int, rng: Rng) -> str:
    a, b = rng.integers(-rank, rank, 2)
    return f"np.swapaxes({{0}}, {a}, {b})"


def _moveaxis(rank: int, rng: Rng) -> str:
    a, b = rng.integers(-rank, rank, 2)
    return f"np.moveaxis({{0}}, {a}, {b})"


def _expand_dims(rank: int, rng: Rng) -> str:
    return f"np.expand_dims({{0}}, {rng.integers(-rank - 1, rank + 1)})"


def _squeeze(rank: int, rng: Rng) -> str:
    return "np.squeeze({0})" if rng.random() < 0.4 else f"{{0}}.squeeze({rng.integers(rank)})"


INDICES = (":", "1:", ":-1", "::2", "::-1", "-3:", "2:5", "::-3", ":0", "0", "-1", "None")


def _indexing(rank: int, rng: Rng) -> str:
    parts = [str(rng.choice(INDICES)) for _ in range(rng.integers(1, rank + 2))]
    if rng.random() < 0.2:
        parts.insert(int(rng.integers(len(parts) + 1)), "...")
    return f"{{0}}[{', '.join(parts)}]"


RESHAPES = (
    "{0}.reshape(-1)", "np.ravel({0})", "{0}.flatten()", "np.reshape({0}, (-1, 1))",
    "{0}.reshape({0}.shape[0], -1)", "{0}.reshape(-1, {0}.shape[-1])", "{0}.reshape(2, -1)",
    "{0}.reshape({0}.shape[::-1])", "{0}.reshape(*{0}.shape, 1)",
)  # fmt: skip


def _reshape(rank: int, rng: Rng) -> str:
    return str(rng.choice(RESHAPES))


CREATIONS = (
    "np.zeros_like({0})", "np.ones_like({0})", "np.full_like({0}, 3)", "np.ones({0}.shape)",
    "np.full({0}.shape, 2.5, np.float32)", "np.zeros_like({0}, dtype=np.int32)",
)  # fmt: skip


def _creation(rank: int, rng: Rng) -> str:
    return str(rng.choice(CREATIONS))


def _round(rank: int, rng: Rng) -> str:
    return f"np.round({{0}}, {rng.integers(0, 3)})"


def _reduce(rank: int, rng: Rng) -> str:
    name = rng.choice(["add", "multiply", "maximum", "minimum"])
    return f"np.{name}.reduce({{0}}, axis={rng.integers(-rank, rank)})"


ACCUMULATED = ("add", "multiply", "maximum", "minimum", "logical_or", "logical_and")


def _accumulate(rank: int, rng: Rng) -> str:
    axis = rng.integers(-rank, rank)
    if rng.random() < 0.5:
        return f"np.{rng.choice(ACCUMULATED)}.accumulate({{0}}, axis={axis})"
    name = rng.choice(["cumsum", "cumsum", "cumprod", "nancumsum", "nancumprod"])
    if rng.random() < 0.25:
        return f"np.{name}({{0}})"
    return f"{{0}}.{name}({axis})" if name in METHODS else f"np.{name}({{0}}, axis={axis})"


def _by_extent(rank: int, rng: Rng) -> str:
    extent = "size" if rng.random() < 0.3 else f"shape[{rng.integers(rank)}]"
    return f"{{0}} {rng.choice(['*', '/', '+'])} {{0}}.{extent}"


def _axis_text(rank: int, rng: Rng) -> str:
    return str(rng.integers(-rank, rank))


def _roll(rank: int, rng: Rng) -> str:
    shift = rng.integers(-9, 10)
    if rng.random() < 0.2:
        return f"np.roll({{0}}, {shift})"
    if rank > 1 and rng.random() < 0.3:
        return f"np.roll({{0}}, ({shift}, 2), (0, -1))"
    return f"np.roll({{0}}, {shift}, {_axis_text(rank, rng)})"


JOINS = ("{0}, {0}", "{0}[1:], {0}", "{0}, -{0}, {0}[:1]", "np.flip({0}), {0}")


def _join(rank: int, rng: Rng) -> str:
    if rng.random() < 0.3:
        return f"np.stack([{{0}}, {{0}} + {{0}}, {{0}}], axis={rng.integers(-rank - 1, rank + 1)})"
    if rng.random() < 0.6:
        return f"np.concatenate([{rng.choice(JOINS)}], axis=0)"
    return f"np.concatenate([{{0}}, {{0}}], axis={_axis_text(rank, rng)})"


def _pad(rank: int, rng: Rng) -> str:
    mode = rng.choice(["constant", "edge", "reflect", "symmetric", "wrap"])
    width = ", ".join(f"({rng.integers(0, 4)}, {rng.integers(0, 9)})" for _ in range(rank))
    return f"np.pad({{0}}, ({width},), mode={str(mode)!r})"


REPEATS = (
    "np.tile({0}, 3)",
    "np.tile({0}, (2, 1))",
    "np.repeat({0}, 2)",
    "np.repeat({0}, 3, axis=0)",
)


def _gather(rank: int, rng: Rng) -> str:
    axis = _axis_text(rank, rng)
    return str(rng.choice([
        "{0}[[0, -1, 0]]", "{0}[np.arange({0}.shape[0]) // 2]", "{0}[..., np.array([[0], [-1]])]",
        f"{{0}}.take([5, -7, 2], axis={axis}, mode='wrap')",
        f"np.take({{0}}, np.array([5, -7, 2]), axis={axis}, mode='clip')",
        f"np.take_along_axis({{0}}, np.argmin({{0}}, axis={axis}, keepdims=True), axis={axis})",
        "{0}[::2][[0, 0]]", "{0}.reshape(-1)[(np.arange({0}.size) * 7) % {0}.size]",
        "{0}.T[[-1], ..., [0, 0]]",
    ]))  # fmt: skip


def _counted(rank: int, rng: Rng) -> str:
    name = rng.choice(["argmax", "argmin"])
    return str(rng.choice([
        f"{{0}}.{name}()", f"np.{name}({{0}}, axis={_axis_text(rank, rng)})",
        "{0} * np.arange({0}.shape[-1])", "np.arange(1, {0}.size, 3)",
        f"np.tril({{0}}, {rng.integers(-2, 3)})", f"np.triu({{0}}, {rng.integers(-2, 3)})",
    ]))  # fmt: skip


def _assign(rank: int, rng: Rng) -> str:
    key = "np.s_" + _indexing(rank, rng).removeprefix("{0}").replace("None, ", "").replace(
        "None", ":"
    )
    value = rng.choice(["3", "2.5", "y[k]", "y[k] + y[k]", "-x[k]", "x.sum()", "x[k][::-1]"])
    return f"(lambda x, y, k: (y.__setitem__(k, {value}), y)[1])({{0}}, {{0}}.copy(), {key})"


def _select(rank: int, rng: Rng) -> str:
    mask = rng.choice(["{0} > 0", "{0} != {0}", "np.abs({0}) <= 1"])
    value = rng.choice(["y[m] * 2", "x[m]", "x[m] + y[m]", "-y[m]", "np.square(x[m])"])
    reduced = rng.choice(["sum", "any", "prod", "mean"])
    return str(rng.choice([
        f"(lambda x, y, m: (y.__setitem__(m, {value}), y)[1])({{0}}, {{0}}.copy(), {mask})",
        f"{{0}}[{mask}].{reduced}()",
    ]))  # fmt: skip


def _search(rank: int, rng: Rng) -> str:
    side = rng.choice(["left", "right"])
    return str(rng.choice([
        f"np.searchsorted(np.array([-2.0, 0.0, 0.0, 1.5, np.inf]), {{0}}, {str(side)!r})",
        f"np.searchsorted(np.array([-3, 0, 7]), {{0}}, {str(side)!r})",
        "np.digitize({0}, [2.0, 0.5, -1.0])", "np.isin({0}, [0, 1, 3])",
        "np.interp({0}, [-2.0, 0.0, 1.0, 4.0], [1.0, -1.0, 3.0, 3.0], right=7.0)",
        "{0}.reshape(-1)[{0}.argmax()]",
    ]))  # fmt: skip


def _arrange(rank: int, rng: Rng) -> str:
    axis = _axis_text(rank, rng)
    return str(rng.choice([
        f"np.array_split({{0}}, 3, axis={axis})[{rng.integers(3)}]", "np.block([[{0}], [{0}]])",
        "np.append({0}, {0}[:1])", f"np.insert({{0}}, 0, 1, axis={axis})",
        f"np.delete({{0}}, [0], axis={axis})", f"np.resize({{0}}, ({rng.integers(1, 40)},))",
        f"np.diff({{0}}, prepend=0, axis={axis})", "np.ediff1d({0})", "np.diag({0}.reshape(-1)[:7])",
        "np.array([{0}, {0}])", f"np.rollaxis({{0}}, {axis})", "np.nan_to_num({0}, nan=2)",
        f"np.linalg.norm({{0}}, axis={axis})", f"np.linalg.norm({{0}}, np.inf, axis={axis})",
        "np.multiply.outer({0}, [1, 2])",
    ]))  # fmt: skip


# Functions of one array that are no operators by name, most give a view: lowest rank, and text
# for a rank.
CALLED: dict[str, tuple[int, Callable[[int, Rng], str]]] = {
    "transpose": (1, _transpose),
    "matrix_transpose": (2, lambda rank, rng: "{0}.mT"),
    "swapaxes": (1, _swapaxes),
    "moveaxis": (1, _moveaxis),
    "expand_dims": (0, _expand_dims),
    "squeeze": (1, _squeeze),
    "indexing": (0, _indexing),
    "reshape": (1, _reshape),
    "zeros_like": (0, _creation),
    "round": (0, _round),
    "ufunc.reduce": (1, _reduce),
    "ufunc.accumulate": (1, _accumulate),
    "shape, size": (1, _by_extent),
    "roll": (1, _roll),
    "concatenate": (1, _join),
    "pad": (1, _pad),
    "repeat": (1, lambda rank, rng: str(rng.choice(REPEATS))),
    "take": (1, _gather),
    "arange": (1, _counted),
    "assignment": (1, _assign),
    "selection": (1, _select),
    "searchsorted": (0, _search),
    "split": (1, _arrange),
}


# How often operators of a kind are drawn, against each other.
WEIGHTS = {
    Kind.MAP: 1.0, Kind.REDUCE: 3.0, Kind.SCAN: 3.0, Kind.CONTRACT: 5.0, Kind.COMPOSITE: 1.5,
    Kind.MOVE: 0.0, Kind.CREATE: 0.0,
}  # fmt: skip


def drawn_names() -> tuple[list[str], np.ndarray[Any, Any]]:
    """Names of all operators and calls, and how likely each is; new operators come by themselves."""
    rows = {
        n: row
        for n, row in OPERATORS.items()
        if not row.tables and not row.notes_faults and n != "whole_quotient"  # of places alone
    }
    names = [*rows, *CALLED]
    weights = [WEIGHTS.get(row.kind, 1.0) for row in rows.values()] + [1.5] * len(CALLED)
    total = np.asarray(weights)
    return names, total / total.sum()
