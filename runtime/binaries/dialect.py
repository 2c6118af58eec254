"""CUDA C++ as users write it, made fit for the host compiler.

The preprocessor runs first, so that macros and conditions are out of the way; then three things
are rewritten token by token: dynamic shared memory, inline PTX, and the CUDA headers that have a
counterpart in templates/host/cuda/.  Lines stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from opweave.opcodes.errors import ArgumentError, CompileError, UnsupportedError
from opweave.runtime.binaries.debuginfo import KERNEL_FILE
from opweave.runtime.binaries.hostcc import host_compiler, run_compiler
from opweave.runtime.binaries.ptx import translated
from opweave.runtime.binaries.tokens import Token, closing_of, kernels_of, split, tokenised
from opweave.templates import TEMPLATES

# What an #include becomes: "" is known without it, a file is included in its place.
HEADERS = {
    **dict.fromkeys(
        """cuda.h cuda_runtime.h cuda_runtime_api.h device_launch_parameters.h vector_types.h
        vector_functions.h device_functions.h device_atomic_functions.h math_functions.h
        math_constants.h sm_20_atomic_functions.h sm_30_intrinsics.h cuda_pipeline.h
        cuda_pipeline_primitives.h stdint.h cstdint stddef.h cstddef stdio.h cstdio math.h cmath
        float.h cfloat limits.h climits assert.h cassert stdlib.h cstdlib string.h
        cstring""".split(),
        "",
    ),
    "cuda_fp16.h": "cuda/fp16.cuh",
    "cuda_fp16.hpp": "cuda/fp16.cuh",
    "cuda_bf16.h": "cuda/fp16.cuh",
    "cooperative_groups.h": "cuda/groups.cuh",
    "cooperative_groups/reduce.h": "cuda/reduce.cuh",
}
INCLUDE = re.compile(r'^([ \t]*#[ \t]*)include[ \t]*[<"]([^">\n]+)[">]', re.MULTILINE)
NAME = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*(<[\w\s,:<>*&-]*>)?")
# Everything stands in one unnamed namespace: shared variables of templates are then variables of
# their own, and what a user overloads stands beside what it overloads.
PRELUDE = """#include "simt.cuh"
#include "bits.cuh"
#include "cuda/signature.cuh"
namespace {
#include "cuda/cuda.cuh"
"""
OWN_STDINT = re.compile(r"\btypedef\b[^;]*\bu?int(8|16|32|64)_t\s*;")
# What may stand in front of __shared__ and belongs behind it.
QUALIFIERS = ("static", "volatile", "const", "alignas", "__align__", "__attribute__")
SHARED = re.compile(r"//.*|(?<!extern )\b__shared__\b")
ASM = ("asm", "__asm__", "__asm")
MOST_BYTES = 4 << 20


def host_source(source: str, kernel: str) -> str:
    """The text that the host compiler gets for a user's kernel, without its entry point.

    Args:
        source: CUDA C++.
        kernel: name of a ``__global__`` function in it, or an instance: ``sum<float, 256>``.

    Raises:
        ArgumentError: no source, or no such kernel in it.
        UnsupportedError: a header or PTX instruction that is not understood.
        CompileError: the preprocessor refuses the source.
    """
    if not isinstance(source, str) or "\0" in source or len(source) > MOST_BYTES:
        raise ArgumentError("source: expected CUDA C++ as a string without NUL, at most 4 MiB")
    source = source.removeprefix("\ufeff")
    if source != source.encode(errors="replace").decode():
        raise ArgumentError("source: expected text; it has characters that no encoding has")
    if not isinstance(kernel, str) or not NAME.fullmatch(kernel):
        raise ArgumentError(
            f"kernel={kernel!r}: expected the name of a __global__ function, such as 'add' or "
            "'add<float, 4>'"
        )
    tokens = list(tokenised(preprocessed(source)))
    names = kernels_of(tokens)
    wanted = re.split(r"[<]", kernel)[0].split("::")[-1]
    if wanted not in names:
        raise ArgumentError(
            f"the source defines no __global__ function called {wanted!r}: "
            f"it has {', '.join(names) or 'none'}"
        )
    text = _each_header_once(rewritten(tokens))
    own = "#define OW_OWN_STDINT\n" if OWN_STDINT.search(text) else ""
    return f"{own}{PRELUDE}{text}\n}}\nOW_SIGNATURE({kernel})\n"


def _each_header_once(text: str) -> str:
    """The text with our headers in the places of their marks."""
    included: set[str] = set()

    def once(match: re.Match[str]) -> str:
        if match[1] in included:
            return match[2]
        included.add(match[1])
        return f'#include "{match[1]}"{match[2]}'

    return re.sub(r"^#pragma ow_include (\S+)(.*)$", once, text, flags=re.MULTILINE)


def preprocessed(source: str) -> str:
    """The source after the preprocessor, with line markers."""

    def include(match: re.Match[str]) -> str:
        name = match[2].strip()
        if name not in HEADERS:
            line = source.count("\n", 0, match.start()) + 1
            return f"{match[1]}pragma ow_unknown {line} {name}"
        return f"{match[1]}pragma ow_include {HEADERS[name]}" if HEADERS[name] else ""

    text = f'#line 1 "{KERNEL_FILE}"\n{INCLUDE.sub(include, source)}\n'
    macros = TEMPLATES / "host" / "cuda" / "macros.h"
    command = [
        *host_compiler().command, "-E", "-x", "c++", "-std=c++20", "-undef", "-nostdinc", "-w",
        "-DOPWEAVE_SANITIZE=1", "-imacros", str(macros), "-",
    ]  # fmt: skip
    try:
        made = run_compiler(command, text)
    except CompileError as error:
        raise CompileError(
            f"the preprocessor refuses the source: {_first(error.log)}",
            source=source,
            log=error.log,
        ) from None
    unknown = re.search(r"^#pragma ow_unknown (\d+) (\S*)", made, re.MULTILINE)
    if unknown:
        raise UnsupportedError(
            f"line {unknown[1]}: the header {unknown[2]!r} is not known here: expected one of "
            f"{', '.join(HEADERS)}; put what the kernel needs of it into the source"
        )
    return made[made.index(f'# 1 "{KERNEL_FILE}"') :]


def _first(log: str) -> str:
    return next((text for text in log.split("\n") if "error" in text), log.strip()[:200])


def rewritten(tokens: Sequence[Token]) -> str:
    """The text with dynamic shared memory and inline PTX in the host's terms."""
    out: list[str] = []
    line, at = 1, 0
    while at < len(tokens):
        token = tokens[at]
        marker = re.match(r'#(?:line)? (\d+) "', token.text) if token.kind == "marker" else None
        if marker:
            line = int(marker[1]) - 1
        end = at + 1
        text = token.text
        if token.text in ASM and token.kind == "word":
            text, end = _asm(tokens, at, line)
        elif token.text in QUALIFIERS and token.kind == "word":
            text, end = _qualified(tokens, at)
        elif token.text in ("extern", "__shared__") and token.kind == "word":
            text, end = _dynamic(tokens, at, line)
        consumed = "".join(t.text for t in tokens[at:end])
        out.append(text + "\n" * (consumed.count("\n") - text.count("\n")))
        line += consumed.count("\n")
        at = end
    return "".join(out)


def gapped(text: str) -> str:
    """A source with a gap between the shared variables of one declaration, as between all others.

    >>> gapped("__shared__ float a[2], b[sizeof(P<int, 4>)];")
    '__shared__ float a[2], ow_gap_d0[64], b[sizeof(P<int, 4>)];'
    """
    made: list[str] = []
    start = count = 0
    for word in SHARED.finditer(text):
        depth = angles = 0
        if word[0].startswith("//"):
            continue
        for at in range(word.end(), len(text)):
            char = text[at]
            depth += (char in "([{") - (char in ")]}")
            angles += ((char == "<") - (char == ">")) if depth == 0 else 0
            if depth < 0 or (char == ";" and depth == 0):
                break
            if char == "," and depth == angles == 0:
                made.append(f"{text[start:at]}, ow_gap_d{count}[64]")
                start, count = at, count + 1
    return "".join([*made, text[start:]])


def _qualified(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """``volatile __shared__ T x`` as ``__shared__ volatile T x``; anything else as it is."""
    end = at
    words = [t.text for t in tokens[at : at + 40]]
    while at <= end < at + len(words) and words[end - at] != "__shared__":
        word = words[end - at]
        if word == "(":
            end = at + closing_of(words, end - at)
        elif word not in QUALIFIERS and not word.isspace():
            return tokens[at].text, at + 1
        end += 1
    if end - at >= len(words):
        return tokens[at].text, at + 1
    # an alignment as an attribute may stand anywhere, as alignas only in front
    front = "".join({"static": "", "alignas": "__align__"}.get(w, w) for w in words[: end - at])
    return f"__shared__ {front}", end + 1


def _dynamic(tokens: Sequence[Token], at: int, line: int) -> tuple[str, int]:
    """``extern __shared__ T name[];`` as ``T (*name) = OwDynamic();``; anything else as it is."""
    end = at
    while end < len(tokens) and tokens[end].text not in (";", "{", "=", "}"):
        end += 1
    declaration = [t for t in tokens[at:end] if t.kind != "marker"]
    words = [t.text for t in declaration if t.kind == "word"]
    if "extern" not in words or "__shared__" not in words or tokens[end : end + 1] == []:
        return tokens[at].text, at + 1
    if tokens[end].text != ";":
        return tokens[at].text, at + 1
    text = "".join(t.text for t in declaration if t.text not in ("extern", "__shared__"))
    found = re.fullmatch(
        r"(?P<type>.*?)\b(?P<name>[A-Za-z_]\w*)\s*\[\s*\](?P<rest>.*)", text, re.DOTALL
    )
    if found is None:
        raise UnsupportedError(
            f"line {line}: {' '.join(text.split())!r}: expected dynamic shared memory as one "
            "array without an extent, such as: extern __shared__ float tile[];"
        )
    return f"{found['type']}(*{found['name']}){found['rest']} = OwDynamic()", end


def _asm(tokens: Sequence[Token], at: int, line: int) -> tuple[str, int]:
    """An asm statement as a C++ block over its operands."""
    start = at + 1
    while tokens[start].text != "(":
        start += 1
    depth, end = 0, start
    sections: list[list[Token]] = [[]]
    while True:
        text = tokens[end].text if tokens[end].kind == "other" else ""
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth == 0:
            break
        if text == ":" and depth == 1:
            sections.append([])
        elif end > start and tokens[end].kind != "marker":
            sections[-1].append(tokens[end])
        end += 1
        if end >= len(tokens):
            raise UnsupportedError(f"line {line}: an asm statement has no end")
    template = _strings(sections[0], line)
    outputs = _split(sections[1]) if len(sections) > 1 else []
    inputs = _split(sections[2]) if len(sections) > 2 else []
    bound = [f"auto&& ow_p{n} = {_operand(o, line)};" for n, o in enumerate(outputs)]
    first = len(outputs)
    bound += [f"const auto ow_p{first + n} = {_operand(o, line)};" for n, o in enumerate(inputs)]
    body = translated(template.replace("%%", "%"), first + len(inputs), line)
    return f"do {{ {' '.join(bound)} {body} }} while (0)", end + 1


def _strings(tokens: Sequence[Token], line: int) -> str:
    """The text of adjacent string literals; of escapes only those that PTX is written with."""
    text = ""
    for token in tokens:
        if token.kind == "raw":
            text += token.text[token.text.index("(") + 1 : token.text.rindex(")")].replace(
                "\\", "\\\\"
            )
        elif token.kind == "string":
            text += token.text[1:-1]
        elif token.kind != "space":
            raise UnsupportedError(f"line {line}: an asm template is not a string: {token.text!r}")
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), text)


def _split(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Operands of a section, split at commas outside of brackets."""
    parts = split(tokens, [token.text for token in tokens])
    return [p for p in parts if any(t.kind != "space" for t in p)]


def _operand(tokens: Sequence[Token], line: int) -> str:
    """``"=r"(x[0])`` as ``(x[0])``."""
    for at, token in enumerate(tokens):
        if token.kind == "string":
            return " ".join("".join(t.text for t in tokens[at + 1 :]).split())
    raise UnsupportedError(f"line {line}: an operand of an asm statement has no constraint")
