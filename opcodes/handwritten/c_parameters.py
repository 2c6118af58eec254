"""The parameter list of a CUDA C kernel, read from its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import NameRefusedError

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# What stands between __global__ and the name: words, and attributes with their arguments.
ATTRIBUTE = r"(?:__launch_bounds__|__attribute__|__maxnreg__|__cluster_dims__)"
HEAD = re.compile(
    rf"\b__global__\b(?:\s|\w|{ATTRIBUTE}\s*\((?:[^()]|\([^()]*\)|\(\([^()]*\)\))*\))*?"
    rf"\b(?!{ATTRIBUTE})(\w+)\s*\("
)
# What says nothing of a parameter's type.
QUALIFIERS = frozenset(
    "const volatile __restrict__ __restrict restrict __grid_constant__ struct".split()
)
EXTERN_C = re.compile(r'\bextern\s*"C"')
# The words of integer types, and the other types by the names that they have in C.
INTEGER = frozenset("signed unsigned char short int long".split())
NAMED: dict[str, DType] = {
    **{f"int{n}_t": dtypes.of(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"uint{n}_t": dtypes.of(f"uint{n}") for n in (8, 16, 32, 64)},
    "float": dtypes.F32, "double": dtypes.F64, "bool": dtypes.BOOL,
    "half": dtypes.F16, "__half": dtypes.F16, "__nv_bfloat16": dtypes.BF16,
    "nv_bfloat16": dtypes.BF16, "size_t": dtypes.U64, "ptrdiff_t": dtypes.I64,
    "float2": dtypes.C64, "double2": dtypes.C128,
}  # fmt: skip


@dataclass(frozen=True)
class CParameter:
    """One parameter of a kernel.

    Attributes:
        name: its name.
        text: its declaration, in one line.
        dtype: of the number, or of the elements behind the pointer; None: no type of a table.
        is_pointer: it is an array.
        is_const: the kernel does not write there.
        line: of the source, from 1.
    """

    name: str
    text: str
    dtype: DType | None
    is_pointer: bool
    is_const: bool
    line: int


def parameters_of(source: str, name: str) -> tuple[CParameter, ...]:
    """The parameters of a kernel.

    >>> [p.text for p in parameters_of('extern "C" __global__ void f(float* x, int n) {}', "f")]
    ['float* x', 'int n']

    Raises:
        NameRefusedError: no such kernel, or one whose name a C++ compiler changes.
    """
    text = COMMENT.sub(_blank, source)
    found = {match[1]: match for match in HEAD.finditer(text)}
    if name not in found:
        known = ", ".join(found) or "none"
        raise NameRefusedError(
            f"raw_kernel: the source defines no __global__ function called {name!r}: it has "
            f"{known}"
        )
    match = found[name]
    if not EXTERN_C.search(text, 0, match.end()):
        raise NameRefusedError(
            f'raw_kernel: {name} (line {_line(text, match.start())}) is not declared extern "C", '
            f'so its name in the binary is another: write extern "C" __global__ void {name}(...); '
            "of a template, write such a function that calls the instance"
        )
    return tuple(_parameter(text, start, end) for start, end in _declarations(text, match.end()))


def _blank(match: re.Match[str]) -> str:
    """White space in the place of a comment, lines as they were."""
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _declarations(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where each parameter begins and ends, from the opening parenthesis on."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] in "([{<") - (text[at] in ")]}>")
        if depth == 0 or (depth == 1 and text[at] == ","):
            if text[start:at].strip() not in ("", "void"):
                yield start, at
            start = at + 1
        if depth == 0:
            return


def _parameter(text: str, start: int, end: int) -> CParameter:
    plain = " ".join(text[start:end].split())
    line = _line(text, start + len(text[start:end]) - len(text[start:end].lstrip()))
    before, star, _ = plain.partition("*")
    words = re.findall(r"[A-Za-z_]\w*|[^\sA-Za-z_]", plain)
    name = next((w for w in reversed(words) if w[0].isalpha() or w[0] == "_"), "")
    kind = [w for w in re.findall(r"[\w:]+|\S", before) if w not in QUALIFIERS]
    if not star and kind[-1:] == [name]:
        kind.pop()
    is_plain = plain.count("*") <= 1 and not any(c in plain for c in "[&=")
    dtype = dtype_of_c(kind) if is_plain else None
    return CParameter(name, plain, dtype, bool(star), "const" in before.split(), line)


def dtype_of_c(words: list[str]) -> DType | None:
    """The row for the words of a C type, None where there is none.

    >>> dtype_of_c(["unsigned", "long", "long"]), dtype_of_c(["float"]), dtype_of_c(["T"])
    (u64, f32, None)
    """
    if len(words) == 1 and words[0].removeprefix("std::") in NAMED:
        return NAMED[words[0].removeprefix("std::")]
    if not words or not INTEGER.issuperset(words):
        return None
    bits = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return dtypes.of(f"{'u' * ('unsigned' in words)}int{bits}")
