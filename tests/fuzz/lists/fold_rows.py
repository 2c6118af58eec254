"""What reductions, scans and products of a user's are drawn from, as a table."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A list of what runs along an axis.

    Attributes:
        how: "reduction", "scan" or "product".
        codes: its op-codes, as Python.
        meaning: what joins two values in NumPy; of a product, what combines pairs before.
        kinds: of dtypes that it is for.
        rule: its type rule.
        of: a built-in operator that it is an edited copy of.
        around: what the elements go through before, and the result behind, in NumPy.
    """

    how: str
    codes: str
    meaning: str
    kinds: str
    rule: str = "same"
    of: str = ""
    around: tuple[str, str] = ("", "")


LOW = "{'f': 'acc = -infinity<T>()', 'iu': 'acc = lowest<T>()'}"
MOST = "{'f': 'max_nan(acc, x)', 'iu': 'max(acc, x)'}"
SUM = "{'f': 'acc + x', 'iu': 'wrap_add(acc, x)'}"
TERMS = "{'f': 'max_nan(acc, x + y)', 'iu': 'max(acc, (T)(x + y))'}"
FOLDS = {
    "xor_all": Row("reduction", "['acc = 0', {'iub': 'acc ^ x'}]", "np.bitwise_xor", "iub"),
    "or_all": Row("reduction", "['acc = 0', {'iub': 'acc | x'}]", "np.bitwise_or", "iub"),
    "and_all": Row(
        "reduction", "[{'i': 'acc = -1', 'u': 'acc = highest<T>()', 'b': 'acc = true'}, 'acc & x']",
        "np.bitwise_and", "iub"),
    "largest": Row("reduction", f"[{LOW}, {MOST}]", "np.maximum", "fiu"),
    "total": Row("reduction", f"['acc = 0', {SUM}]", "np.add", "fiu", "sum"),
    "times": Row(
        "reduction", "['acc = 1', {'f': 'acc * x', 'iu': 'wrap_mul(acc, x)'}]", "np.multiply", "fiu"),
    "length": Row(
        "reduction", "[ow.opcodes.square, 'acc = 0', {'f': 'acc + x'}, ow.opcodes.sqrt]", "np.add", "f",
        "float", around=("np.square", "np.sqrt")),
    "peak": Row(
        "reduction", f"[ow.opcodes.absolute, {{'fu': 'acc = 0'}}, {MOST.replace('iu', 'u')}]", "np.maximum",
        "fu", around=("np.abs", "")),
    "sum edited": Row("reduction", "ow.opcodes.sum.opcodes", "np.add", "fiub", "sum", "sum"),
    "sum anew": Row(
        "reduction", "['acc = 0', {'f': 'x + acc', 'iu': 'wrap_add(x, acc)'}]", "np.add", "fiu", "sum", "sum"),
    "max edited": Row(
        "reduction", "{'f': 'max_nan(x, acc)', 'iu': 'max(x, acc)'}", "np.maximum", "fiu", of="max"),
    "running xor": Row("scan", "['acc = 0', {'iub': 'acc ^ x'}]", "np.bitwise_xor", "iub"),
    "running max": Row("scan", f"[{LOW}, {MOST}]", "np.maximum", "fiu"),
    "running sum": Row("scan", f"[{{'f': 'acc = -0.0f', 'iu': 'acc = 0'}}, {SUM}]", "np.add", "fiu"),
    "cumsum edited": Row("scan", "ow.opcodes.cumsum.opcodes", "np.add", "fiub", "sum", "cumsum"),
    "cummax edited": Row(
        "scan", "{'f': 'max_nan(acc, x)', 'iu': 'max(x, acc)'}", "np.maximum", "fiu", of="cummax"),
    "maxplus": Row("product", f"[{LOW}, {TERMS}]", "np.add, np.maximum", "fiu"),
    "common": Row(
        "product", "['acc = 0', {'iu': 'acc | (x & y)'}]", "np.bitwise_and, np.bitwise_or", "iu"),
    "odd": Row("product", "['acc = 0', {'iu': 'acc ^ (x & y)'}]", "np.bitwise_and, np.bitwise_xor", "iu"),
    "matmul edited": Row("product", "ow.opcodes.matmul.opcodes", "np.multiply, np.add", "fiu", of="matmul"),
}  # fmt: skip
