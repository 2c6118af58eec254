"""``opweave ops``: all operators by chapters, or the list of one with its dtypes."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from opweave.cli.terminal import heading, print_json
from opweave.opcodes import ALIASES, OPERATORS, dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.codes import OpCode
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.dtypes import I64, DType
from opweave.opcodes.errors import FragmentError, OpweaveError, RequestError
from opweave.opcodes.operators.complexes import FUNCTIONS
from opweave.opcodes.operators.registry import TABLES

WIDTH = 80
# The tables of operators, as chapters.
CHAPTERS = {
    "maps": "Arithmetic, comparisons, logic, bits",
    "functions": "Functions that round",
    "gathers": "Places and gathers",
    "reductions": "Reductions and scans",
    "products": "Products, views, arrays of one number",
    "composites": "Composites",
    "pixels": "Pictures",
    "complexes": "Complex numbers, and constant factors",
}
END = re.compile(r"(?<=\w\w)\. |\.$")  # of a sentence, not of an initial


def ops(options: Namespace) -> int:
    """List all operators, or print one.

    Raises:
        RequestError: no operator has the name; names those that are near.
    """
    if options.name is not None:
        operator = _named(options.name)
        if options.json:
            print_json(_data(operator))
        else:
            print("\n".join(_one(operator)))
    elif options.json:
        print_json(
            [_data(row) | {"chapter": title} for title, rows in _chapters() for row in rows]
        )
    else:
        print("\n".join(_all()))
    return 0


def _named(name: str) -> Operator:
    found = OPERATORS.get(ALIASES.get(name, name))
    if found is not None:
        return found
    near = difflib.get_close_matches(name.lower(), [*OPERATORS, *ALIASES], 3, 0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise RequestError(
        f"expected the name of an operator, found {shown(name)}; {meant}"
        "'opweave ops' lists all of them"
    )


def _chapters() -> Iterator[tuple[str, list[Operator]]]:
    for table in TABLES:
        title = CHAPTERS[table.__name__.rpartition(".")[2]]
        yield title, [OPERATORS[row.name] for row in table.OPERATORS]


def _all() -> list[str]:
    """A line for each operator, such as ``hypot  Given the "legs" of a right triangle...``."""
    width = max(map(len, OPERATORS)) + 2
    lines = []
    for title, rows in _chapters():
        lines += [heading(title)]
        texts = ((row.name, summary(row)) for row in sorted(rows, key=lambda row: row.name))
        lines += [f"  {name:<{width}}{_cut(text, WIDTH - width - 2)}" for name, text in texts]
        lines.append("")
    return [*lines, "opweave ops NAME prints the op-codes of one."]


def summary(operator: Operator) -> str:
    """The first sentence about an operator's meaning; of one that has none, its fragments."""
    paragraphs = (inspect.getdoc(operator.numpy) or "").split("\n\n")
    if paragraphs[0].startswith(f"{operator.name}("):  # a signature
        paragraphs = paragraphs[1:]
    text = " ".join(paragraphs[0].split())
    if operator.kind is Kind.SCAN or not text:
        return operator.text
    return END.split(text.replace("`", ""))[0]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3].rstrip()}..."


def _one(operator: Operator) -> list[str]:
    """The printed list of an operator, what it means, and its dtypes."""
    head, *lines = str(operator).split("\n")
    found = [heading(line) for line in _wrapped(head, 4)]
    found += _wrapped(summary(operator), 0) if operator.text != summary(operator) else []
    found.append("")
    for line in lines:
        found += _wrapped(line, 48)
    return [*found, "", *_dtypes(operator)]


def _dtypes(operator: Operator) -> Iterator[str]:
    """Such as ``dtypes: float32, float64 -> same`` and ``int8, int64 -> int64``."""
    groups: dict[str, list[str]] = {}
    for source, results in types_of(operator).items():
        groups.setdefault(", ".join(results), []).append(source)
    joined: dict[str, list[str]] = {}
    for made, sources in groups.items():
        is_same = len(sources) == 1 and set(made.split(", ")) == set(sources)
        joined.setdefault(made.replace(sources[0], "same") if is_same else made, []).extend(
            sources
        )
    lines = [f"{', '.join(sources)} -> {made}" for made, sources in joined.items()]
    if operator.name in FUNCTIONS:
        lines.append("complex64, complex128 -> same, by real functions of their parts")
    for number, line in enumerate(lines or ["as dtype= says"]):
        yield from _wrapped(f"{'' if number else 'dtypes:':<8}{line}", 10)


def _wrapped(line: str, indent: int) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def types_of(operator: Operator) -> dict[str, list[str]]:
    """The dtypes of results by that of all operands; of a gather, by that of its table."""
    found = {}
    for dtype in dtypes.ALL:
        others = [I64 if operator.tables else dtype] * (operator.arity - 1)
        types = (dtype, *others)[: operator.arity]
        with suppress(OpweaveError, KeyError):  # a type that it does not take
            loop, results = operator.type_rule(types, ())
            if _has_rows(operator, loop):
                found[dtype.numpy_name] = [result.numpy_name for result in results]
    return found


def _has_rows(operator: Operator, loop: tuple[DType, ...]) -> bool:
    """Whether each op-code has a row; what composites are made of depends on the types."""
    if operator.kind is Kind.COMPOSITE or operator.tables:
        return True
    try:
        for code in operator.opcodes:
            if code.rows:
                code.row(operator.kinds(code, loop))
    except FragmentError:
        return False
    return True


def _data(operator: Operator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "kind": operator.kind.value,
        "summary": summary(operator),
        "params": operator.params,
        "attrs": {name: repr(value) for name, value in operator.attrs},
        "parts": operator.parts,
        "opcodes": list(map(_code, operator.opcodes)),
        "dtypes": types_of(operator),
    }


def _code(code: OpCode) -> dict[str, Any]:
    rows = [{"kinds": r.kinds, "text": r.text, "start": r.start} for r in code.rows]
    return {
        "name": code.name, "phase": code.phase.value, "params": code.params, "rows": rows,
        "supplied": code.supplied,
    }  # fmt: skip
