"""Statement fragments as ``__device__`` functions of a kernel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from opweave.compiler.toggles.choose import KNOWN
from opweave.opcodes.codes import OpCode
from opweave.opcodes.defines import DECLARED
from opweave.opcodes.dtypes import DType
from opweave.opcodes.tokens import rename
from opweave.templates import TEMPLATES

# Columns from which the parameters of a function take a line each.
WIDEST = 110


@cache
def macros() -> frozenset[str]:
    """Every toggle, and every macro of the helpers: nothing else may be called like that."""
    text = "\n".join(p.read_text() for p in TEMPLATES.rglob("*.cuh"))
    return frozenset(re.findall(r"#define\s+([A-Za-z_]\w*)", text)) | frozenset(KNOWN)


def device_function(
    code: OpCode,
    text: str,
    name: str,
    operands: Sequence[DType],
    results: Sequence[DType],
    mixes: tuple[int, int] | None = None,
) -> str:
    """A statement fragment as a function.

    float op_leaky_f32_f32(const float x) { if (x > 0) return x; return 0.1f * x; }

    An operator that mixes channels takes and makes arrays of them, and its fragment names each.
    """
    slots = {"T": results[0].register, "S": results[0].storage}
    free = {p: f"{p}_" if p in macros() or p in DECLARED else p for p in code.params}
    named, text = list(free.values()), rename(text, free | slots)
    body = [text] if "{" in text else text.replace("; ", ";\n").split("\n")
    returned = results[0].register if code.results == 1 else "void"
    if mixes:
        params, body = _over_channels(named, operands, results[0], mixes, body)
    else:
        params = [f"const {d.register} {p}" for d, p in zip(operands, named, strict=True)]
        if code.results > 1:
            params = [f"{d.register}& r{i}" for i, d in enumerate(results)] + params
    head = f"static __device__ __forceinline__ {returned} {name}("
    wide = len(head) + sum(map(len, params)) > WIDEST
    joined = "\n    " + ",\n    ".join(params) if wide else ", ".join(params)
    lines = map(_indented, "\n".join(body).strip("\n").split("\n"))
    return "\n".join([f"{head}{joined})", "{", *lines, "}"])


def running_call(
    code: OpCode, kind: str, operator: str, operands: Sequence[DType], acc: DType
) -> tuple[str, str]:
    """How a running value takes the next one: an expression, and the function that it calls or "".

    An expression that tests toggles stands in a function of its own, a line in each branch.

    acc + x  ->  op_own_reduce_f32_f32(acc, x)
    """
    text = code.row(kind).text
    if not code.toggles:
        return text, ""
    name = "_".join(("op", operator, code.phase.value, *map(str, (operands[-1], acc))))
    body = code.branched(text, "return {};".format)
    made = device_function(code, body, name, operands, (acc,))
    return f"{name}({', '.join(code.params)})", made


def _indented(line: str) -> str:
    """A line of a body; those for the preprocessor stay at the margin."""
    return line.strip() if line.lstrip().startswith("#") else f"    {line}"


def _over_channels(
    named: Sequence[str],
    operands: Sequence[DType],
    result: DType,
    mixes: tuple[int, int],
    body: list[str],
) -> tuple[list[str], list[str]]:
    """Parameters and body of a fragment over channels: ``x`` and ``r`` are arrays of them."""
    taken, made = mixes
    channels, amounts = named[:taken], named[taken:]
    first, register = operands[0].register, result.register
    named = ", ".join(f"{c} = x[{h}]" for h, c in enumerate(channels))
    body = [f"const {first} {named};", *body]
    params = [f"const {first} (&x)[{taken}]"]
    params += [f"const {d.register} {a}" for d, a in zip(operands[1:], amounts, strict=True)]
    if made > 1:
        results = [f"r{h}" for h in range(made)]
        assigned = " ".join(f"r[{h}] = {r};" for h, r in enumerate(results))
        body = [f"{register} {', '.join(results)};", *body, assigned]
        params = [f"{register} (&r)[{made}]", *params]
    return params, body
