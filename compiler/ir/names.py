"""Names in generated source: the user's own, as far as C++ allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from opweave.opcodes import OPERATORS
from opweave.opcodes.allowed import RESERVED
from opweave.opcodes.core import Operator
from opweave.opcodes.defines import DECIDED, DECLARED
from opweave.opcodes.tokens import C_KEYWORDS, is_c_name
from opweave.templates import TEMPLATES

# CUDA's own names, those of the launch, and toggles that no template names.
BUILT_IN = (
    frozenset(
        """USE_FAST_MATH USE_64BIT_INDEX USE_VECTOR_IO
    threadIdx blockIdx blockDim gridDim warpSize main T S partials counter faults rows cols depth
    product one inline_ volatile_ NULL size_t uint3 uint4 dim3 float2 float4""".split()
    )
    | DECIDED
)
# What the compiler appends to an operand's name; a user's name never ends like this.
DERIVED = re.compile(
    r"_(v|p|row|load|acc|all|next|parts?|kept|chunk|carry|turn|view\d*|tile|s\d+(x\d+)?)$"
)
# What the compiler numbers itself.
NUMBERED = re.compile(r"(v|s|t|r|n|out)\d+$")
# Function objects of reductions: an operator and a dtype.
FUNCTOR = re.compile(r"[A-Z]\w*_(b1|bf16|[cfiu]\d+)$")


@cache
def template_names() -> frozenset[str]:
    """Every identifier at kernel scope in the templates, and every helper that kernels call."""
    found: set[str] = set()
    for path in TEMPLATES.glob("*.cu.j2"):
        text = re.sub(r"\{\{(?s:.*?)\}\}|//.*", " ", path.read_text())
        found |= set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", text))
    for path in [*TEMPLATES.glob("*.cuh"), *TEMPLATES.glob("host/*.cuh")]:
        text = path.read_text()
        found |= set(re.findall(r"\b([A-Za-z_]\w*)(?=\(|<[A-Za-z])", text))
        found |= set(re.findall(r"(?:#define|struct|typedef [\w ]+?)\s+([A-Za-z_]\w*)", text))
    return frozenset(found)


@cache
def called(row: Operator) -> frozenset[str]:
    """The functions that an operator's fragments call."""
    return frozenset(
        name
        for code in row.opcodes
        for line in code.rows
        for name in re.findall(r"(\w+)(?=[(<])", line.text)
    )


def is_taken(name: str) -> bool:
    """True for a name that means something else inside a kernel."""
    return (
        name in C_KEYWORDS
        or name in BUILT_IN
        or name in DECLARED
        or name in template_names()
        or any(name in called(row) for row in OPERATORS.values())
        or bool(DERIVED.search(name) or NUMBERED.match(name) or FUNCTOR.match(name))
    )


def c_name(name: str, fallback: str) -> str:
    """A valid, free C name as close to ``name`` as possible.

    >>> c_name("image", "a0"), c_name("double", "a0"), c_name("größe", "a0")
    ('image', 'double_', 'a0')
    """
    plain = str.__str__(name) if isinstance(name, str) else ""
    return _c_name(plain, fallback, (len(OPERATORS), len(DECLARED)))


@cache
def _c_name(plain: str, fallback: str, known: tuple[int, int]) -> str:
    """``c_name``; ``known`` counts operators and toggles, whose names are taken."""
    if not is_c_name(plain) or len(plain) > 48 or RESERVED.match(plain):
        return fallback
    return f"{plain}_" if is_taken(plain) else plain


def flat(path: str) -> str:
    """A path to a part of an argument as one word."""
    return re.sub(r"[\[\].']+", "_", path).strip("_")


def c_names(names: Iterable[str]) -> list[str]:
    """Distinct C names for the arguments of a function; a part of one is named after its path.

    >>> c_names(["x", "params['w']", "pair[0]"])
    ['x', 'params_w', 'pair_0']
    """
    used: set[str] = set()
    out = []
    for index, name in enumerate(names):
        made = c_name(name if is_c_name(name) else flat(name), f"arg{index}")
        while made in used:
            made += "_"
        used.add(made)
        out.append(made)
    return out


def function_name(fn: Callable[..., Any]) -> str:
    """C name of a Python function; ``kernel`` for lambdas."""
    return c_name(getattr(fn, "__name__", "kernel"), "kernel")
