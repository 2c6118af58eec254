"""What lists are drawn from, as tables: fragments with their NumPy text, op-codes, bad lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes import errors

from .fold_rows import FOLDS

FLOATS, NUMBERS, ALL = "f", "fiu", "fiub"


class Form(NamedTuple):
    """An operation in a fragment.

    Attributes:
        numpy: the same in NumPy.
        kinds: of dtypes for which both mean one thing.
        rounds: it rounds or wraps; anything else picks, turns or compares what is there.
        is_smooth: it is monotone in each operand, so that bounds can be derived.
    """

    numpy: str
    kinds: str = ALL
    rounds: bool = False
    is_smooth: bool = False


# What makes a number: C, and NumPy's text.
EXPRESSIONS = {
    "{0} + {1}": Form("{0} + {1}", "fciub", True, True),
    "{0} - {1}": Form("{0} - {1}", "fciu", True, True),
    "{0} * {1}": Form("{0} * {1}", "fciub", True, True),
    "{0} / {1}": Form("{0} / {1}", FLOATS, True),
    "sqrt({0})": Form("np.sqrt({0})", FLOATS, True),
    "-{0}": Form("-{0}", "fci", True, True),
    "fabs({0})": Form("np.abs({0})", FLOATS, False, True),
    "floor({0})": Form("np.floor({0})", FLOATS),
    "ceil({0})": Form("np.ceil({0})", FLOATS),
    "trunc({0})": Form("np.trunc({0})", FLOATS),
    "rint({0})": Form("np.rint({0})", FLOATS),
    "{0} & {1}": Form("{0} & {1}", "iub"),
    "{0} | {1}": Form("{0} | {1}", "iub"),
    "{0} ^ {1}": Form("{0} ^ {1}", "iub"),
    "~{0}": Form("~{0}", "iu", True),  # of narrow integers C makes an int
    "{0} >> (T)1": Form("{0} >> 1", "iu"),
    "{0} < {1} ? {0} : {1}": Form("np.where({0} < {1}, {0}, {1})"),
    "{0} > (T)0 ? {1} : {0}": Form("np.where({0} > 0, {1}, {0})"),
    "{0} == {1} ? {2} : {0}": Form("np.where({0} == {1}, {2}, {0})"),
    "{0} != {0} ? {1} : {0}": Form("np.where({0} != {0}, {1}, {0})"),
}
# What makes a truth, at the end of an operator of bools.
TRUTHS = {
    "{0} < {1}": Form("{0} < {1}"),
    "{0} >= {1}": Form("{0} >= {1}"),
    "{0} == {1}": Form("{0} == {1}"),
    "{0} != {0}": Form("{0} != {0}"),
    "{0} > {1} && {0} < {2}": Form("({0} > {1}) & ({0} < {2})"),
}
# Statements, as the last op-code may have them.
STATEMENTS = {
    "if ({0} > {1}) return {0}; return {2};": Form("np.where({0} > {1}, {0}, {2})"),
    "T t_ = {0} * {1}; return t_ - {2};": Form("{0} * {1} - {2}", NUMBERS, True),
    "T t_ = {0}; for (int i_ = 0; i_ < 2; ++i_) t_ = t_ + {1}; return t_;":
        Form("{0} + {1} + {1}", NUMBERS, True),
    "const bool b_ = {0} <= {1}; return b_ ? {1} : {0};": Form("np.where({0} <= {1}, {1}, {0})"),
}  # fmt: skip
FORMS = EXPRESSIONS | TRUTHS | STATEMENTS
# Numbers in fragments; of whole ones ``(T)`` makes any type.
CONSTANTS: tuple[Any, ...] = (1, 2, 3, 7, 0.5, 2.5)
# What a named result may be called: plain names, and names that kernels have themselves.
RESULTS = ("s", "t", "q", "BLOCK", "j0", "v0", "n0", "out", "rows")
PARAMETERS = (("x",), ("x", "y"), ("y", "x"), ("x", "y", "z"), ("img", "n0"), ("a", "b", "lanes"))

# Toggles that fragments may test: their values, and what they are declared with besides.
TOGGLES = {
    "USE_OTHER": ((0, 1), "doc='the other way'"),
    "WAY": ((0, 1, 2), ""),
    "WIDE": ((0, 1), "rule=lambda device, result: result.size > 20"),
    "ON_DEVICE": ((0, 1), "check=lambda value, device, result: 'no' * (value and device.is_host)"),
    "ANOTHER": ((1, 0), "same_bits=False, rule=lambda device, result: result.size % 2"),
}
# The same in C once more, for the other way of a toggle; anything else stands in brackets.
OTHERS = {
    "{0} + {1}": "{1} + {0}", "{0} * {1}": "{1} * {0}", "{0} - {1}": "{0} + -{1}",
    "{0} & {1}": "{1} & {0}", "{0} | {1}": "{1} | {0}", "{0} < {1}": "{1} > {0}",
    "{0} < {1} ? {0} : {1}": "!({0} < {1}) ? {1} : {0}",
}  # fmt: skip

# Built-in operators of other op-codes with the same meaning: name, op-codes, kinds of dtypes.
REPLACED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("add", ("y + x",), "fciu"),
    ("multiply", ("t = y * x", "t"), "fiu"),
    ("subtract", ("n = -y", "x + n"), "f"),
    ("absolute", ("fabs(x)",), "f"),
    ("sqrt", ("s = x", "sqrt(s)"), "f"),
    ("square", ("s = x", "s * x"), "fiu"),
    ("greater", ("y < x",), "fiub"),
    ("negative", ("return -x;",), "f"),
    ("where", ("condition ? x : y",), "b"),
)

# Op-codes of lists whose results have NumPy's bits, and those that are bounded alone.
EXACT = (
    "add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square", "floor", "trunc",
    "where", "greater", "less_equal", "equal", "logical_and", "logical_not", "bitwise_and",
    "bitwise_or", "invert", "isnan", "sign", "neighbour",
)  # fmt: skip
BOUNDED = (
    "exp", "tanh", "log1p", "sin", "relu", "sigmoid", "maximum", "minimum", "clip", "power", "sum", "mean",
    "max", "min", "cumsum", "prod", "softmax", "hypot", "cast", "remainder", "floor_divide", "all", "any",
)  # fmt: skip
# Numbers as operands of op-codes.
OPERANDS: tuple[Any, ...] = (1, 2, 3, -1, 0, 0.5, 2.0, -1.5, 0.1, True, np.inf)
# What a neighbour reads beside the array, and how far it may lie.
POLICIES = ("clamp", "wrap", "zero")
STEPS = (-3, -1, -1, 1, 1, 2, 40)
# Names of arguments and results of lists; few, so that joins meet the same ones.
ARGUMENTS = ("x", "y", "z", "w", "u")
OUTPUTS = ("y", "z", "out", "p", "q")
LABELS = ("t", "s", "m", "k", "d")
FRESH = ("e", "f", "g", "h", "i", "j", "l", "n", "o", "r", "c", "v")  # of a list behind another

EDITS = ("insert", "replace", "remove", "renamed")
JOINS = ("+", "then by name", "then")

# Structural op-codes in the place of an index or a guard, of a load, of a store.
ONCE = (
    "", "ow.opcodes.grid_stride", "ow.opcodes.grid_stride(blocks=2)", "ow.structural('guard', 'end = cols')",
    "ow.structural('index', 'first = ((index_t)threadIdx.x + (index_t)blockIdx.x * (BLOCK * CHUNKS)) * VECTOR')",
)  # fmt: skip
ACCUMULATE = "ow.opcodes.accumulate"  # for integers of 32 and 64 bits
BY = {
    "load": ("", "ow.opcodes.read_only", "ow.opcodes.streaming_load", "ow.opcodes.packed_pairs",
             "ow.structural('load', 'load(p)')"),
    "store": ("", "ow.opcodes.streaming_store", "ow.structural('store', 'store(p, x)')", ACCUMULATE),
}  # fmt: skip

# Lists that are refused, of a kernel {k}, and with what.
BAD: dict[str, type[errors.OpweaveError]] = {
    "ow.kernel([*{k}.codes[:1], ow.opcodes.add('nobody_'), *{k}.codes[1:]])": errors.EditError,
    "ow.kernel([*{k}.codes, ow.store({k}.results[0], {k}.arguments[0])])": errors.EditError,
    "ow.kernel([ow.load('x_'), ow.opcodes.add('t_'), ow.opcodes.exp().named('t_'), *{k}.codes])":
        errors.EditError,
    "ow.kernel([ow.load('x_'), ow.opcodes.add('t_').named('t_'), *{k}.codes])": errors.EditError,
    "ow.kernel([ow.opcodes.exp, *{k}.codes])": errors.EditError,
    "ow.kernel([c for c in {k}.codes if not c.name.startswith('store')])": errors.EditError,
    "ow.kernel([*{k}.codes, ow.opcodes.where(1)])": errors.EditError,
    "ow.kernel([*{k}.codes, {k}(*['nobody_'] * len({k}.arguments))])": errors.EditError,
    "{k}.renamed(x_='y_').then({k})": errors.EditError,
    "{k}.renamed(**{{{k}.arguments[0]: {k}.results[0]}})": errors.EditError,
    "{k}.renamed(**{{{k}.arguments[0]: 'int'}})": errors.NameRefusedError,
    "{k}.remove('nothing_')": errors.EditError,
    "{k}.insert(ow.opcodes.exp, before='nothing_')": errors.EditError,
    "{k}.insert(ow.opcodes.add('nobody_'), before={k}.codes[-1].name)": errors.EditError,
    "{k}.then({k}, nothing_='x')": errors.EditError,
    "ow.kernel([ow.load('a_'), ow.opcodes.exp, ow.store('b_')]).then(ow.kernel([ow.load('b_'), "
    "*{k}.renamed(**{{r: f'{{r}}_' for r in {{*{k}.results, *{k}.arguments}}}}).codes, ow.store('a_', 'b_')]))":
        errors.EditError,
    "{k}(*['x'] * 99)": errors.ArgumentError,
    "{k}.named(*['t_'] * 99)": errors.EditError,
    "ow.schedule([{k}, np.exp])": errors.EditError,
    "ow.operator('bad_', ['s = s + x', 's'], 'same', lambda x: x, replace=True)": errors.FragmentError,
    "ow.operator('bad_', ['s = x', 'x'], 'same', lambda x: x, replace=True)": errors.FragmentError,
    "ow.operator('bad_', ['s = q', 's = x', 's'], 'same', lambda x: x, replace=True)": errors.FragmentError,
    "ow.operator('bad_', ['s = x', 's = s + x', 's'], 'same', lambda x: x, replace=True)":
        errors.NameRefusedError,
    "ow.operator('bad_', ['T = x', 'T'], 'same', lambda x: x, replace=True)": errors.NameRefusedError,
    "ow.operator('bad_', [ow.toggle('UNTESTED_A', 0, 1), 'x'], 'same', lambda x: x, replace=True)":
        errors.ToggleError,
    "ow.operator('bad_', '#if NOBODY_A\\nx\\n#else\\nx\\n#endif', 'same', lambda x: x, replace=True)":
        errors.FragmentError,
    "ow.operator('bad_', [ow.toggle('WAY_A', 0, 1), '#if WAY_A\\nx\\n#endif'], 'same', lambda x: x, "
    "replace=True)": errors.FragmentError,
    "ow.toggle('lower', 0, 1)": errors.NameRefusedError,
    "ow.toggle('BLOCK', 0, 1)": errors.NameRefusedError,
    "ow.toggle('ONE_WAY', 0)": errors.ToggleError,
    "ow.structural('index', 'i = 0')": errors.FragmentError,
    "ow.structural('guard', 'first = cols')": errors.FragmentError,
    "ow.structural('load', 'x + 1')": errors.FragmentError,
    "ow.structural('nowhere', 'p')": errors.EditError,
    "ow.kernel([ow.opcodes.grid_stride, ow.opcodes.grid_stride, *{k}.codes])": errors.EditError,
    "ow.kernel([ow.load('x_', by=ow.opcodes.streaming_store), *{k}.codes])": errors.EditError,
    "ow.kernel([*{k}.codes, ow.kernel([ow.opcodes.grid_stride, *{k}.codes])(*{k}.arguments)])":
        errors.EditError,
    "ow.kernel([*{k}.codes, ow.store('last_', {k}.arguments[0], by=ow.opcodes.streaming_store)])":
        errors.EditError,
    "ow.kernel([ow.load('x_'), ow.opcodes.neighbour(bounds='mirror'), ow.store('y_')])(np.ones(3))":
        errors.ArgumentError,
    "ow.reduction('bad_', ['acc = 0', 'acc - x'], 'same', np.subtract, replace=True)":
        errors.FragmentError,
    "ow.reduction('bad_', ['acc = 1', 'acc + x'], 'same', np.add, replace=True)": errors.FragmentError,
    "ow.scan('bad_', ['acc + x'], 'same', np.add, replace=True)": errors.FragmentError,
    "ow.product('bad_', ['acc = 0', 'acc + x'], 'same', (np.multiply, np.add), replace=True)":
        errors.FragmentError,
    "ow.opcodes.sum.with_opcodes(['acc = 0', 'acc = acc + x'])": errors.FragmentError,
    "ow.opcodes.softmax.with_opcodes('x')": errors.EditError,
}  # fmt: skip
TABLES: dict[str, Any] = {
    "list fragment": FORMS,
    "list op-code": (*EXACT, *BOUNDED, "any other", "of the user's", "a list"),
    "list operator": ("operator", "cuda", "extended", "replaced", "reduction", "scan", "product"),
    "list fold": tuple(FOLDS),
    "list policy": POLICIES,
    "list structure": tuple(filter(None, (*ONCE, *BY["load"], *BY["store"]))),
    "list toggle": tuple(TOGGLES),
    "list edit": EDITS,
    "list join": JOINS,
    "bad list": tuple(BAD),
}
