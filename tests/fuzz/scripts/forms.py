"""What a script is made of: tables of templates, by kind.

A template is Python with holes.  A hole is a name of something the script has (``HOLES``), a
literal (``LITERALS``), or another kind, of which a template is drawn in turn.  Equal holes of a
template are filled alike.  A new form is one more line; the coverage counts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _array(kinds: str) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, np.ndarray) and v.dtype.kind in kinds


# Which values of a script a hole takes.
HOLES: dict[str, Callable[[Any], bool]] = {
    "x": _array("biufc"),
    "y": _array("biufc"),
    "f": _array("fc"),
    "r": _array("f"),
    "i": _array("iu"),
    "b": _array("b"),
    "m": lambda v: _array("biufc")(v) and v.ndim == 2,
    "v": lambda v: _array("biufc")(v) and v.ndim == 1,
    "s": lambda v: isinstance(v, int | float | np.generic) and np.isreal(v),
}
LITERALS: dict[str, tuple[str, ...]] = {
    "n": ("0", "1", "-1", "2"),
    "k": ("1", "2", "3"),
    "ax": ("0", "-1", "1", "None"),
    "at": ("0", "-1", "1"),
    "c": ("0", "1", "2", "3", "0.5", "-1", "1.5"),
    "cut": (
        "1:",
        ":-1",
        "::2",
        "::-1",
        ":2",
        "-2:",
        "..., :1",
        "..., ::-1",
        "0",
        "-1",
        "1:3, ...",
    ),
    "op": ("+", "-", "*"),
    "cmp": (">", "<", "==", "<=", "!="),
    "dtype": ("np.float32", "np.float64", "np.int32", "np.int64"),
}

# Kinds whose statements move data and count: results are NumPy's bit for bit.
MOVES = frozenset({"view", "copy"})

VIEWS = (
    "{x}[{cut}]", "{x}[1:][::2]", "{x}[{k}:]", "{x}[None]", "{x}[..., None]", "{x}[:, 0]", "{m}[:, ::-1]",
    "{m}[1:, :-1]", "{x}.T", "{x}.reshape(-1)", "{x}.ravel()", "{x}.reshape({x}.shape[::-1])",
    "{x}.reshape(2, -1)", "{x}.reshape(-1, {x}.shape[-1])", "{x}.T.reshape(-1)", "{x}.swapaxes(0, -1)",
    "np.moveaxis({x}, 0, -1)", "np.transpose({x})", "{m}.transpose(1, 0)", "np.squeeze({x})",
    "np.atleast_1d({x})", "np.atleast_2d({x})", "np.expand_dims({x}, {at})", "np.flip({x})", "np.flipud({x})",
    "np.rot90({m})", "np.broadcast_to({x}, (2, *{x}.shape))", "np.broadcast_to({x}, (2, *{x}.shape))[0]",
    "np.diagonal(np.atleast_2d({x}))", "{m}.diagonal(1)", "np.ascontiguousarray({x})", "np.asarray({x})",
    "{x}.real", "{x}.imag", "np.real({x})", "np.imag({x})", "{x}[...]", "{x}[()]", "{x}.view()",
    "{x}[tuple([slice(None)] * {x}.ndim)]", "np.array_split({x}, 2)[1]", "np.split({x}, [1])[0]",
    "np.hsplit({m}, [1])[1]", "np.broadcast_arrays({x}, {y})[0]", "[*{x}][0]", "next(iter({x}))",
    "np.lib.stride_tricks.sliding_window_view({x}, 2, axis=0)", "{x} if {x}.ndim > 1 else {x}[None]",
    "{x}[:{x}.shape[0] // 2]", "np.asfortranarray({x})", "np.array({x}, copy=False, ndmin=2)", "{x}[{x}.ndim - 1:]",
)  # fmt: skip
COPIES = (
    "{x}.copy()", "np.array({x})", "{x}.flatten()", "np.roll({x}, {n})", "np.roll({x}, {n}, axis={at})",
    "np.concatenate([{x}, {x}[::-1]])", "np.concatenate([{x}, {y}], axis={at})", "np.stack([{x}, {y}])",
    "np.stack([{x}, {x}], axis=-1)", "np.hstack([{x}, {y}])", "np.vstack([{x}, {y}])", "np.dstack([{x}, {x}])",
    "np.column_stack([{x}, {y}])", "np.append({x}, {y})", "np.pad({x}, 1)", "np.pad({x}, (0, 2), mode='edge')",
    "np.pad({x}, 1, mode='reflect')", "np.pad({x}, 1, mode='wrap')", "np.tile({x}, 2)", "np.tile({x}, (2, 1))",
    "np.repeat({x}, 2)", "np.repeat({x}, 2, axis={at})", "np.repeat({v}, np.arange({v}.size) % 3)",
    "np.take({x}, [0, -1, 0])", "np.take({x}, {i}, mode='wrap')", "{x}.take([0], axis={at})", "{x}[[0, -1]]",
    "{x}[..., [0, 0, -1]]", "{x}[np.array([[0], [-1]])]", "{x}[{i} % len({x})]", "{x}[{x} {cmp} {c}]", "{x}[{b}]",
    "{x}[~{b}]", "np.delete({x}, 0, axis={at})", "np.insert({x}, 1, {c}, axis={at})", "np.tril({m})",
    "np.triu({m}, 1)", "np.where({x} {cmp} {c}, {x}, {c})", "np.where({b}, {x}, {y})", "np.zeros_like({x})",
    "np.full_like({x}, {k})", "np.ones({x}.shape)", "np.zeros({x}.shape, {x}.dtype)", "np.full_like(np.empty_like({x}), 1)",
    "np.extract({x} {cmp} {c}, {x})", "np.diag({x})", "{x}[np.ix_([0], [0, -1])]", "np.arange({x}.shape[-1])",
    "np.arange({x}.size).reshape({x}.shape)", "np.eye({m}.shape[0])", "np.select([{x} > 2, {x} > 0], [{x}, {c}], 5)",
    "np.choose({i} % 2, [{x}, {y}])", "np.indices({x}.shape)[0]", "np.meshgrid({v}, {v})[0]", "{x}.astype({x}.dtype)",
    "np.resize({x}, (2, 3))", "np.block([{x}, {y}])", "np.take_along_axis({x}, {x}.argmax(axis=-1, keepdims=True), -1)",
    "np.compress([True, False], {x}, axis=0)", "{x}[np.nonzero({x})]", "np.array([{x}, {y}])", "{x}[-1:0:-1].copy()",
    "np.asarray({x}.tolist(), dtype={x}.dtype)", "np.linspace(0, 1, {x}.size)", "np.copy({x}.T)",
)  # fmt: skip
MAPS = (
    "{x} {op} {y}", "{x} {op} {c}", "{c} {op} {x}", "{x} {op} {s}", "{s} {op} {x}", "{x} / 2", "{x} // 2", "{x} % 3",
    "{x} // {y}", "{x} % {y}", "-{x}", "+{x}", "abs({x})", "{x} {cmp} {y}", "{x} {cmp} {s}", "({x} > 0) & ({y} < 2)",
    "~({x} > 0)", "{b} | {b}", "{b} ^ ({x} > 1)", "{x} ** 2", "{x} * {x} - {y}", "np.maximum({x}, {y})",
    "np.minimum({x}, {s})", "np.clip({x}, -1, 2)", "{x}.clip(0, None)", "np.clip({x}, None, {y})", "np.sign({x})",
    "np.where({x} {cmp} {y}, {x}, {y})", "np.where({x} > {s}, {s}, {y})", "np.square({x})", "np.floor({r} / 2)",
    "np.round({r})", "{r}.round(1)", "np.trunc({r})", "{x}.astype(np.float32)", "{x}.astype(np.float64)",
    "{x}.astype(bool)", "{x}.astype(np.complex64)", "{i}.astype(np.uint8)", "{i}.astype(np.int16)",
    "np.isfinite({x})", "np.logical_not({x})", "np.logical_and({x}, {y})", "np.conj({x})", "{i} << 1", "{i} >> 1",
    "{i} & 3", "{i} ^ {i}", "~{i}", "np.heaviside({r}, 1)", "np.nan_to_num({x})", "np.copysign({r}, -1)",
    "np.fmax({x}, {y})", "np.diff({x}, axis={at})", "np.diff({x}, prepend=0)", "np.ediff1d({x})",
    "divmod({x}, 3)[1]", "np.divmod({x}, 2)[0]", "np.float32(2) * {x}", "np.int8(1) + {x}", "True + {x}", "{x} + 1j",
    "np.add({x}, {y}, dtype={dtype})", "np.multiply({x}, {y}, where={x} > 1, out=np.zeros_like({x}))",
    "np.add({x}, 1, out=None)", "np.equal({x}, {y})", "np.isin({x}, [1, 2])", "np.interp({r}, [0, 2], [0, 4])",
    "np.subtract.outer({v}, {v})", "np.add.outer({x}, {v})", "np.fmin({x}, {c})", "np.cross({v}[:3], {v}[:3])",
    "np.isclose({x}, {y})", "np.array_equal({x}, {y})", "np.lcm({i}, 4)", "np.gcd({i}, {i})", "np.unwrap({r})",
    "np.gradient({r})", "np.polyval([1, 2, 3], {x})", "np.convolve({v}, [1, 2])", "np.invert({b})",
    "np.piecewise({r}, [{r} > 0], [1, -1])", "np.apply_along_axis(np.sum, 0, {x})", "np.vectorize(lambda e: e + 1)({v})",
)  # fmt: skip
FUNCTIONS = (
    "np.sqrt(np.abs({f}))", "np.exp(-np.abs({f}))", "np.sin({f})", "np.tanh({r})", "np.log1p(np.abs({r}))",
    "{f} / (np.abs({f}).sum() + 1)", "np.hypot({r}, {r})", "np.arctan2({r}, 2)", "1 / (1 + {f} * {f})",
    "{r} / np.linalg.norm({r})", "np.exp({r} - {r}.max(axis=-1, keepdims=True))", "np.angle({f})", "{f} ** 0.5",
    "np.cbrt({r})", "np.sinc({r})", "{f} * 0.1", "np.abs({f} + 1j)", "np.log({r} * {r} + 1)", "np.float64(0.1) + {f}",
)  # fmt: skip
REDUCTIONS = (
    "{x}.sum()", "{x}.sum(axis={ax})", "{x}.sum(axis={ax}, keepdims=True)", "np.sum({x}, axis=(0, -1))",
    "{x}.sum(dtype=np.float64)", "{x} - {x}.mean(axis={ax}, keepdims=True)", "{x}.mean(axis={ax})", "{x}.max()",
    "{x}.min(axis={ax})", "{x} - {x}.max(axis={at}, keepdims=True)", "{x}.any()", "np.all({x} > 0, axis={ax})",
    "{x}.argmax()", "{x}.argmin(axis={ax})", "np.cumsum({x}, axis={ax})", "{x}.cumsum()", "{x}.cumprod()",
    "np.maximum.accumulate({x})", "np.add.accumulate({x}, axis={at})", "np.add.reduce({x}, axis={at})",
    "np.count_nonzero({x})", "np.count_nonzero({x}, axis={at})", "{x}.prod(axis={ax})", "{r}.var()",
    "{r}.std(axis={ax})", "np.median({r})", "np.ptp({x})", "np.trace({m})", "np.nansum({r})",
    "np.sum({x}, where={x} > 0)", "np.max({x}, initial=3)", "{x}[{x} > 0].sum()", "{x}[{x} {cmp} {c}].size",
    "np.average({x}, axis={at})", "np.add.reduceat({x}, [0, 1])", "np.linalg.norm({r}, axis={at})",
    "np.minimum.reduce({x}, axis={at})", "np.logical_or.reduce({x})", "np.argwhere({x})", "np.cumsum({x}[::-1])[::-1]",
    "np.nanmax({r})", "np.percentile({r}, 50)", "np.bincount({i}.ravel() % 4)", "np.histogram({x}, 3)[0]",
    "np.mean({x}) + {y}", "np.sum([{x}, {x}], axis=0)", "np.trapezoid({r})", "np.sum({x} * {y})",
    "{m}[{m}[:, 0] {cmp} {c}].sum(axis=0)", "{m}[:, {m}[0] {cmp} {c}].sum(axis=1)", "({m}[{m}[:, -1] > 0] - {m}[0]).prod(0)",
    "np.stack([{m}, {m}])[:, {m}[:, 0] {cmp} {c}].sum(axis=0).sum()", "np.stack([{m}, {m}])[:, {m} {cmp} {c}].sum(0).sum()",
    "np.lib.stride_tricks.sliding_window_view({x}, 2, axis={at}).sum(-1)", "np.lib.stride_tricks.sliding_window_view({v}, 2)",
)  # fmt: skip
PRODUCTS = (
    "{m} @ {m}.T", "{m}.T @ {m}", "{m} @ {v}", "np.dot({x}, {y})", "np.inner({x}, {y})", "np.outer({v}, {v})",
    "np.matmul({x}, {y})", "np.tensordot({x}, {x}, axes={x}.ndim)", "np.einsum('i...->...', {x})",
    "np.einsum('...i,...i->...', {x}, {y})", "np.einsum('ij->ji', {m})", "np.einsum('ij,kj->ik', {m}, {m})",
    "np.vdot({x}, {x})", "np.kron({v}, {v})", "np.linalg.matrix_power({m} @ {m}.T, 2)", "{v} @ {v}",
    "np.einsum('ii->i', {m} @ {m}.T)",
)  # fmt: skip
EAGER = (
    "np.sort({x}, axis={ax})", "np.argsort({x}, axis=-1, kind='stable')", "np.unique({x})", "np.sort({x})[::-1]",
    "np.unique({x}, return_counts=True)[1]", "np.fft.fft({r}).real", "np.fft.ifft(np.fft.fft({f}))",
    "np.nonzero({x})[0]", "np.flatnonzero({x} > 0)", "np.searchsorted(np.sort({x}.ravel()), {s})",
    "np.partition({x}.ravel(), 0)[:1]", "np.lexsort(({v}, {v}))", "np.linalg.det({m} @ {m}.T)",
    "np.digitize({r}, [0, 1, 2])", "np.take_along_axis({x}, np.argsort({x}, axis=-1, kind='stable'), axis=-1)",
    "np.array([r.max() for r in {x}])", "np.array([e * 2 for e in {v}])", "np.setdiff1d({x}, {y})",
    "np.array({x}.tolist())", "np.asarray(list({x}))", "np.fromiter({r}.ravel(), float)",
)  # fmt: skip
NUMBERS = (
    "int({x}.sum())", "float({r}.sum())", "len({x})", "{x}.shape[0] * 2", "{x}.size - {x}.ndim", "{x}.item(0)",
    "bool({x}.any())", "{x}.ravel()[0]", "sum(r.sum() for r in {x})", "max({x}.ravel())", "{x}.shape[-1] // 2",
    "{x}[0, 0]", "{v}[-1]", "{x}.max() + 1", "{s} + 1", "{s} * {s}", "sorted({x}.ravel().tolist())[0]",
    "{x}.dtype.itemsize", "np.float32({s})", "{x}.nbytes", "min({s}, 3)", "{x}.sum().astype(np.int64)",
    "len({x}[{x} > 1])", "{s} if {s} > 1 else {x}.shape[0]", "abs({s}) % 3", "np.prod({x}.shape)", "round(float({s}))",
)  # fmt: skip
# Statements that write into an array.
WRITES = (
    "{x} += 1", "{x} *= 2", "{x} -= {y}", "{x} += {s}", "{x} //= 2", "{x} %= 3", "{x} **= 2", "{r} /= 2", "{x} |= 1",
    "{i} &= 3", "{i} <<= 1", "{x} += {x}[::-1]", "{x}[1:] += {x}[:-1]", "{x}[:-1] = {x}[1:]", "{x}[...] = {c}", "{x}[...] = {y}",
    "{x}[{cut}] = {c}", "{x}[{cut}] += {k}", "{x}[{cut}] *= 2", "{x}[{cut}] = {y}[{cut}]", "{x}[{cut}] -= {s}",
    "{x}[::2] = {x}[::2][::-1]", "{x}[{x} {cmp} {c}] = {c}", "{x}[{x} {cmp} {c}] += 1", "{x}[{b}] = {c}", "{x}[{b}] *= 2",
    "{x}[{x} > 1] = {x}[{x} > 1] * 2", "{x}[[0, 0, -1]] += 1", "{x}[[0, -1]] = {x}[[-1, 0]]", "{x}[{i} % len({x})] = {c}",
    "{x}[{i} % len({x})] += 1", "{x}[..., [0]] = {c}", "{x}[np.argsort({x}, axis=0, kind='stable')] = {c}",
    "np.add.at({x}, [0, 0, -1], 1)", "np.add.at({x}, {i} % len({x}), {c})", "np.subtract.at({x}, {x} > 1, 1)",
    "np.maximum.at({x}, [0, 0], 5)", "np.add({x}, 1, out={x})", "np.add({x}, {y}, out={x})", "np.multiply({x}, 2, out={x}, where={x} > 0)",
    "np.add({x}[1:], {x}[:-1], out={x}[1:])", "np.negative({x}, out={x})", "np.sqrt(np.abs({r}), out={r})", "np.clip({x}, 0, 2, out={x})",
    "np.cumsum({x}, axis=0, out={x})", "np.copyto({x}, {y} + 1)", "np.copyto({x}, {c}, where={x} > 1)", "np.putmask({x}, {x} > 1, {c})",
    "{m}[np.arange(len({m})), np.arange(len({m})) % {m}.shape[1]] += 1", "{m}[np.arange(len({m})), {m}.argmax(axis=1)] = {c}",
    "np.put({x}, [0, -1], [1, 2])", "np.place({x}, {x} > 1, [7, 8])", "{x}.fill({c})", "{x}.sort()", "{x}.sort(axis=0)", "{x}.partition(0)",
    "np.fill_diagonal({m}, {c})", "{x}.flat[0] = {c}", "{x}.flat[::2] = {c}", "{x}.put(0, {c})", "{m}[0] = {m}[-1]",
    "{m}[[0, -1]] = {m}[[-1, 0]]", "{m}[:, 0], {m}[:, -1] = {m}[:, -1].copy(), {m}[:, 0].copy()", "{x}[0], {x}[-1] = {x}[-1], {x}[0]",
    "{x}[0] += {x}[-1]", "{x}.T[...] = {x}.T[::-1]", "{x}.T[0] += 1", "{x}.reshape(-1)[::2] += 1", "{x}.ravel()[0] = {c}", "{x}.real[...] = {c}",
    "{f}.imag[...] = {c}", "{x}.real += 1", "np.diagonal({m}).copy()[:] = 1", "np.einsum('ij->ji', {m})[...] = {c}", "{x}.flatten()[0] = 9",
    "np.take({x}, [0], out={x}[:1])", "np.sum({x}, axis=0, out={x}[0])", "np.matmul({m}, {m}, out={m})", "{x}[1:][::2] = {c}",
    "{x}[None][0] += 1", "{x}.swapaxes(0, -1)[0] *= 2", "np.put_along_axis({x}, np.zeros_like({x}, int)[:1], {c}, axis=0)",
    "{x}[{x}.argmax()] = {c}", "{x}[{s}] = {c}", "{x}[int({x}.sum()) % len({x})] = {c}", "{x}[-{k}:] = {x}[:{k}]", "{x} @= {x}",
    "np.floor_divide({x}, 2, {x})", "np.divmod({x}, 2, out=({x}, {x}.copy()))", "np.modf({r}, out=({r}, {r}.copy()))",
    "{x}.reshape({x}.shape[::-1])[0] = {c}", "del_ = {x}; del_ += 1", "for e_ in {x}: e_ += 1", "for e_ in {m}.T: e_ *= 2",
)  # fmt: skip
# Statements that hold others; {write} is one of the above in the same line.
CONTROL = (
    "if {x}.sum() > 4:\n    {write}\nelse:\n    {write2}",
    "if {s} > 1:\n    {write}",
    "if {s} > 1:\n    {new} = {expr}\nelse:\n    {new} = {expr2}",
    "if {x}.shape[0] > 3:\n    {new} = {x}[:3]\nelse:\n    {new} = {x} * 2",
    "if {x}.any() and {y}.max() > 2:\n    {write}",
    "if not {x}.size:\n    {new} = {x}\nelif {x}.ravel()[0] > 1:\n    {new} = {expr}\nelse:\n    {new} = {expr2}",
    "if {x}.dtype == np.float32:\n    {new} = {expr}\nelse:\n    {new} = {x} + 1",
    "for k_ in range({k}):\n    {write}\n    {write2}",
    "for k_ in range({x}.shape[0]):\n    {x}[k_] *= k_",
    "for k_ in range(1, len({x})):\n    {x}[k_] += {x}[k_ - 1]",
    "for k_ in range(len({x}) - 1, -1, -1):\n    {x}[k_] = {x}[0] + k_",
    "{new} = 0\nfor row_ in {x}:\n    {new} = {new} + row_ * 2",
    "{new} = []\nfor row_ in {x}:\n    {new}.append(row_.sum())\n{new} = np.array({new})",
    "{new} = {x} * 1\nfor k_, row_ in enumerate({new}):\n    row_ += k_",
    "for row_, other_ in zip({x}, {y}):\n    row_ += other_",
    "k_ = 0\nwhile {x}.sum() < 20 and k_ < 4:\n    {write}\n    k_ += 1",
    "k_ = {k}\nwhile k_:\n    {write}\n    k_ -= 1",
    "for k_ in range(4):\n    if {x}.max() > 6:\n        break\n    {x} += 1",
    "for k_ in range(3):\n    if k_ == {n}:\n        continue\n    {write}",
    "{new} = {x}\nfor k_ in range({k}):\n    {new} = {new} + {y}",
    "{new} = {x}.copy()\nfor k_ in range(3):\n    old_ = {new}\n    {new} = {new}[::-1] + 1\n    old_ += 1",
    "try:\n    {new} = {x}[7]\nexcept IndexError:\n    {new} = {x} - 1",
    "try:\n    {new} = {x} + {y}\nexcept ValueError:\n    {new} = {x} * 3",
    "p_, q_ = {x}[:1], {x}[1:]\np_ += 1\n{new} = q_ * 2",
    "p_ = q_ = {x} + 1\np_ -= 2\n{new} = q_",
    "p_ = {x}\np_ = p_ + 1\np_ += 1\n{new} = p_",
    "{new}, *rest_ = {x}",
    "parts_ = [{x}, {y}]\nparts_[0] += 1\n{new} = parts_[0] + parts_[-1]",
    "held_ = {{'a': {x}, 'b': {y}}}\nheld_['a'] *= 2\n{new} = held_['b'] * 1",
    "with np.errstate(all='ignore'):\n    {new} = {expr}",
    "def local_(v_, w_=2):\n    return v_ * w_ + {y}\n{new} = local_({x})",
    "def local_(v_):\n    v_[0] = 1\nlocal_({x})\n{new} = {x} * 1",
    "{new} = (lambda v_: v_[::-1] - {x})({x})",
    "{new} = [v_ * 2 for v_ in ({x}, {y})][-1]",
    "{new} = sum(w_ * {x} for w_ in range(3))",
    "assert {x}.ndim < 9\n{new} = {x}.T",
    "{new} = {x} if {s} > 0 else {y}",
    "({new} := {x} + 1)",
    "match {x}.ndim:\n    case 1:\n        {new} = {x} + 1\n    case _:\n        {new} = {x} * 2",
)  # fmt: skip
# What stands beside the function, by the name that a statement calls or reads.
BESIDE: dict[str, str] = {
    "scaled": "def scaled(v, by=2, *, shift=0):\n    return v * by + shift",
    "bumped": "def bumped(v):\n    v += 1\n    return v",
    "first": "def first(v):\n    return v[:1]",
    "early": "def early(v):\n    if v.sum() > 3:\n        return v * 2\n    return v",
    "many": "def many(*vs, **named):\n    return sum(vs) + sum(named.values())",
    "inner": "@fuse\ndef inner(v):\n    w = v[::-1] * 2\n    w += 1\n    return v + w",
    "both": "@fuse\ndef both(v, w=3):\n    return v * w, v.T",
    "marked": "@fuse\ndef marked(v):\n    v[:1] = 5\n    return v.sum()",
    "unsure": "@fuse\ndef unsure(v):\n    if v.sum() > 2:\n        return np.sort(v)\n    return v + 1",
    "deep": "def deep(v, n):\n    return v if n == 0 else deep(v + n, n - 1)",
    "Pair": "class Pair:\n    def __init__(self, v):\n        self.v = v\n\n    def twice(self):\n        self.v = self.v * 2\n        return self.v",
    "pieces": "def pieces(v):\n    for row in v:\n        yield row + 1",
    "G_ARRAY": "G_ARRAY = np.arange(3.0)",
    "G_NUMBER": "G_NUMBER = 3",
    "G_TABLE": "G_TABLE = {'w': np.array([1.0, 2.0, 4.0]), 'k': 2}",
}
CALLS = (
    "scaled({x})", "scaled({x}, {s})", "scaled({x}, shift={y})", "scaled({x}, by={k})", "bumped({x})", "bumped({x}[::2])",
    "bumped({x} * 1)", "first({x})", "early({x})", "many({x}, {x}, a={y})", "many({x}, {k})", "inner({x})", "inner({x}[1:])",
    "both({x})[0]", "both({x}, {s})[1]", "marked({x})", "marked({x} + 1)", "unsure({x})", "deep({x}, {k})", "Pair({x}).twice()",
    "list(pieces({x}))[0]", "np.array([*pieces({x})])", "{x} + G_NUMBER", "{v}[:3] + G_ARRAY[:1]", "G_ARRAY * {s}", "G_ARRAY[::-1]",
    "{x} * G_TABLE['k']", "G_TABLE['w'] - {s}", "{x} ** (G_NUMBER - 1)", "np.full(2, G_NUMBER)", "(lambda q: scaled(q, 3))({x})",
    "list(map(scaled, [{x}, {y}]))[1]",
)  # fmt: skip
EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "view": VIEWS, "copy": COPIES, "map": MAPS, "function": FUNCTIONS, "reduction": REDUCTIONS,
    "product": PRODUCTS, "eager": EAGER, "number": NUMBERS, "call": CALLS,
}  # fmt: skip
STATEMENTS: dict[str, tuple[str, ...]] = {"write": WRITES, "control": CONTROL}
TABLES = {**EXPRESSIONS, **STATEMENTS}
# How often a line is of a kind.
WEIGHTS = {
    "view": 6, "copy": 3, "map": 5, "function": 1, "reduction": 4, "product": 1, "eager": 1,
    "number": 2, "call": 2, "write": 9, "control": 4,
}  # fmt: skip
# Of {expr}.
PLAIN = ("view", "copy", "map", "map", "reduction")

# What a function returns of the names {a}, {b}, {c}.
RESULTS = (
    "{a}", "{a}, {b}", "{a}, {b}, {c}", "[{a}, {b}]", "{{'p': {a}, 'q': ({b}, None)}}", "({a},)", "{a}, None, {b}",
    "{{'p': [{a}], 'n': 3}}", "{a} * 1, {b}", "({a}, ({b}, {c}))", "{a}, {a}", "{a}, {a}.T", "{a}, {b} * 1, {c}.copy()",
)  # fmt: skip
# How arguments come: the parameters, lines that unpack them, and the arguments of a call.
PACKINGS: dict[str, tuple[str, str]] = {
    "positions": ("{names}", ""),
    "keywords": ("*, {names}", ""),
    "defaults": ("{names}, extra=2, *, more=1.5", ""),
    "dict": ("box", "{names} = (box[n_] for n_ in {texts})"),
    "tuple": ("box, n0=0", "{names} = box"),
    "stars": ("*box", "{names} = box"),
    "object": ("box", "{names} = {attributes}"),
}
