"""Inline PTX in a user's kernel: what is understood becomes C++, the rest is named and refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from opweave.opcodes.errors import UnsupportedError
from opweave.runtime.binaries.tokens import split

UNDERSTOOD = (
    "cp.async (ca, cg; commit_group, wait_group, wait_all), ldmatrix (m8n8, x1, x2, x4, trans), "
    "mma.sync (m16n8k8, k16, k32 of f16, bf16, tf32, s8, u8), cvta and cvt of shared addresses, "
    "mov, bar.sync 0, bar.warp.sync, membar, fence"
)
# Element types of mma.sync: helper in cuda/ptx.cuh and elements per 32-bit register.
ELEMENTS = {
    "f16": ("OwF16", 2), "bf16": ("OwBF16", 2), "tf32": ("OwTF32", 1), "s8": ("OwS8", 4),
    "u8": ("OwU8", 4),
}  # fmt: skip
ACCUMULATORS = {"f32": "float", "s32": "int", "f16": "half"}
SPECIAL = {"%laneid": "ow_lane()", "%warpid": "(ow_thread_number() / 32)"} | {
    f"%{ptx}.{axis}": f"{name}.{axis}"
    for ptx, name in (
        ("tid", "threadIdx"), ("ctaid", "blockIdx"), ("ntid", "blockDim"), ("nctaid", "gridDim"),
    )
    for axis in "xyz"
}  # fmt: skip
REGISTERS = {
    "u32": "unsigned", "b32": "unsigned", "s32": "int", "u64": "unsigned long",
    "b64": "unsigned long", "s64": "long", "f32": "float",
}  # fmt: skip
# The match of an opcode's pattern and the operands -> the C++ statement that is meant.
Lower = Callable[[re.Match[str], list[str]], str]


def translated(template: str, count: int, line: int) -> str:
    """The C++ statements that a PTX template means; operand n is called ``ow_p{n}``.

    Args:
        template: the text of the asm statement, its strings joined and unescaped.
        count: operands of the statement.
        line: of the statement, for messages.

    Raises:
        UnsupportedError: an instruction that is not understood; names it and its line.
    """
    out = []
    # what lies between braces are operands of an instruction, or else a scope of registers
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.DOTALL)
    for part in text.split(";"):
        instruction = " ".join(part.split())
        while instruction.startswith(("{", "}")):
            instruction = instruction[1:].strip()
        if instruction.strip("{} "):
            out.append(_statement(instruction, count, line))
    return " ".join(out)


def _statement(instruction: str, count: int, line: int) -> str:
    opcode, _, rest = instruction.partition(" ")
    operands = [found for part in split(rest, rest) if (found := "".join(part).strip())]
    for pattern, lower in INSTRUCTIONS.items():
        match = re.fullmatch(pattern, opcode)
        if match:
            try:
                named = operands if opcode == ".reg" else [_renamed(o, count) for o in operands]
                return lower.format(*named) if isinstance(lower, str) else lower(match, named)
            except (IndexError, KeyError, ValueError):
                break
    raise UnsupportedError(
        f"line {line}: the PTX instruction {instruction!r} is not understood: expected one of "
        f"{UNDERSTOOD}; leave it out of what is sanitized (#ifndef OPWEAVE_SANITIZE) or write it "
        "as CUDA C++"
    )


def _renamed(operand: str, count: int) -> str:
    """``[%1 + 16]`` as ``ow_p1 + 16``; lists in braces keep their commas."""
    if operand in SPECIAL:
        return SPECIAL[operand]

    def name(match: re.Match[str]) -> str:
        if int(match[1]) >= count:
            raise ValueError(operand)
        return f"ow_p{match[1]}"

    text = re.sub(r"%(\d+)", name, operand.strip("[]{} "))
    if "%" in text or not re.fullmatch(r"[\w\s,+-]*", text):
        raise ValueError(operand)
    return text


def _copy(match: re.Match[str], operands: list[str]) -> str:
    to, source, size, *given = operands
    size = f"(int)({size})"
    return (
        f"ow_copy_async(ow_from_shared((unsigned)({to})), (const void*)({source}), {size}, "
        f"{f'(int)({given[0]})' if given else size}, __LINE__);"
    )


def _matrices(match: re.Match[str], operands: list[str]) -> str:
    made, source = operands
    n, transposed = int(match["n"]), "true" if match["trans"] else "false"
    names = [f.strip() for f in made.split(",")]
    if len(names) != n:
        raise ValueError(made)
    stores = " ".join(f"{name} = ow_m[{i}];" for i, name in enumerate(names))
    return (
        f"{{ unsigned ow_m[{n}]; ow_ldmatrix<{n}, {transposed}>(ow_m, (unsigned)({source}), "
        f"__LINE__); {stores} }}"
    )


def _multiply(match: re.Match[str], operands: list[str]) -> str:
    d, a, b, c = ([part.strip() for part in o.split(",")] for o in operands)
    helper_a, each = ELEMENTS[match["a"]]
    helper_b, other = ELEMENTS[match["b"]]
    k, accumulator = int(match["k"]), ACCUMULATORS[match["d"]]
    parts, half = k // (4 * each), accumulator == "half"
    if match["d"] != match["c"] or each != other or parts * 4 * each != k or parts > 2:
        raise ValueError(match[0])
    if [len(d), len(a), len(b), len(c)] != [2 if half else 4, 2 * parts, parts, 2 if half else 4]:
        raise ValueError(match[0])
    held = "unsigned" if half else accumulator
    function = f"{'ow_mma_half' if half else 'ow_mma'}<{helper_a}, {helper_b}, {k}>"
    stores = " ".join(f"{name} = ow_d[{i}];" for i, name in enumerate(d))
    sums = ", ".join(f"({held})({x})" for x in c)
    return (
        f"{{ const unsigned ow_a[] = {{{_bits(a)}}}, ow_b[] = {{{_bits(b)}}}; "
        f"const {held} ow_c[] = {{{sums}}}; {held} ow_d[{len(d)}]; "
        f"{function}(ow_d, ow_a, ow_b, ow_c, __LINE__); {stores} }}"
    )


def _bits(names: Sequence[str]) -> str:
    return ", ".join(f"ow_bits<unsigned>({name})" for name in names)


def _assign(match: re.Match[str], operands: list[str]) -> str:
    to, source = operands
    if "," in to or "," in source:  # packing and unpacking
        raise ValueError(match[0])
    is_register = re.fullmatch(r"ow_p\d+|[A-Za-z_]\w*", source)  # and no number or index
    copies = match[0].startswith("mov") and is_register
    return f"ow_move({to}, {source});" if copies else f"{to} = {source};"


def _barrier(match: re.Match[str], operands: list[str]) -> str:
    if operands != ["0"]:  # a named barrier is one of part of the block
        raise ValueError(operands)
    return "ow_host->barrier(__LINE__);"


def _declared(match: re.Match[str], operands: list[str]) -> str:
    kind, names = operands[0].split(None, 1)
    made = [names, *operands[1:]]
    if not all(re.fullmatch(r"[A-Za-z_]\w*", n) for n in made):
        raise ValueError(names)
    return f"{REGISTERS[kind.lstrip('.')]} {', '.join(made)};"


HINTS = r"(\.L2::cache_hint)?(\.L2::\d+B)?"
TILES = r"(\.m8n8)?\.x(?P<n>[124])(\.m8n8)?(?P<trans>\.trans)?"
TYPES = r"\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)\.(?P<c>\w+)"
# Patterns of opcodes, and what one means: a statement over its operands, or what makes one.
INSTRUCTIONS: dict[str, Lower | str] = {
    rf"cp\.async\.(ca|cg)\.shared(::cta)?\.global{HINTS}": _copy,
    r"cp\.async\.commit_group": "ow_host->commit_async();",
    r"cp\.async\.wait_group": "ow_host->wait_async({0});",
    r"cp\.async\.wait_all": "ow_host->wait_async(-1);",
    rf"ldmatrix\.sync\.aligned{TILES}\.shared(::cta)?\.b16": _matrices,
    rf"mma\.sync\.aligned\.m16n8k(?P<k>\d+)\.row\.col(\.satfinite)?{TYPES}": _multiply,
    r"cvta\.to\.shared\.u64": "{0} = __cvta_generic_to_shared((const void*)({1}));",
    r"cvta\.to\.global\.u64": _assign,
    r"cvt\.u32\.u64": "{0} = (unsigned)({1});",
    r"mov\.(u|s|b|f)(32|64)": _assign,
    r"\.reg": _declared,
    r"(bar|barrier)\.(cta\.)?sync(\.aligned)?": _barrier,
    r"bar\.warp\.sync": "(void)ow_host->meet({0}, 0, OW_WARP_BARRIER, __LINE__);",
    r"membar\.(gl|sys)|fence(\.acq_rel|\.sc)\.(gpu|sys)": "__threadfence();",
    r"membar\.cta|fence(\.acq_rel|\.sc)\.cta": "__threadfence_block();",
}
