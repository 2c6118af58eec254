"""Names in generated source: the user's own, as far as C++ allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opweave.opcodes.tokens import C_KEYWORDS, is_c_name

# Names that kernels, device helpers and templates use themselves.
TAKEN = C_KEYWORDS | frozenset(
    """index_t row rows col cols lane lanes valid chunk first rest base item total part parts
    threadIdx blockIdx blockDim gridDim main exp log pow sqrt sin cos tanh floor ceil trunc rint
    fabs abs sign partial scratch offset warp active done uint8 int64 uint64 float16 bfloat16 T
    i j k l n min max convert infinity lowest highest compare BLOCK VECTOR CHUNKS LANES
    THREADS_PER_ROW counter partials signbit isnan rsqrt expm1 log1p""".split()
)


def c_name(name: str, fallback: str) -> str:
    """A valid, free C name as close to ``name`` as possible.

    >>> c_name("image", "a0"), c_name("double", "a0"), c_name("größe", "a0")
    ('image', 'double_', 'a0')
    """
    if not is_c_name(name) or len(name) > 48 or name.startswith("__"):
        return fallback
    generated = name[0] in "vnrs" and name[1:].isdigit()
    return f"{name}_" if name in TAKEN or generated or name.startswith("USE_") else name


def c_names(names: Iterable[str]) -> list[str]:
    """Distinct C names for the arguments of a function."""
    used: set[str] = set()
    out = []
    for index, name in enumerate(names):
        made = c_name(name, f"arg{index}")
        while made in used:
            made += "_"
        used.add(made)
        out.append(made)
    return out


def function_name(fn: Callable[..., Any]) -> str:
    """C name of a Python function; ``kernel`` for lambdas."""
    return c_name(getattr(fn, "__name__", "kernel"), "kernel")
