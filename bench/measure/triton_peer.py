"""Triton as a peer: a kernel for any expression of arrays of one shape, its block tuned."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any

BLOCKS = (256, 512, 1024, 2048, 4096)
WARPS = (4, 8)

KERNEL = """\
import triton
import triton.language as tl

@triton.jit
def kernel(at_out, {pointers}, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
{loads}
    tl.store(at_out + at, {expression}, inside)
"""


def source(expression: str, arguments: Sequence[str]) -> str:
    """The kernel as a user of Triton writes it.

    Args:
        expression: of arrays, numbers and functions, in numexpr's spelling.
        arguments: names of the arrays; other names are constants.
    """
    loads = [f"    {name} = tl.load(at_{name} + at, inside)" for name in arguments]
    tree = ast.parse(expression, mode="eval")
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name):
            call.func.id = f"tl.{call.func.id}"
    pointers = ", ".join(f"at_{name}" for name in arguments)
    return KERNEL.format(pointers=pointers, loads="\n".join(loads), expression=ast.unparse(tree))


def compiled(
    triton: Any, expression: str, arguments: Sequence[str], constants: Mapping[str, Any]
) -> Callable[..., Any]:
    """A function of PyTorch's tensors of one shape.

    Raises:
        AttributeError: Triton lacks a function of the expression.
    """
    text = source(expression, arguments)
    file = f"<triton {hash(text):x}>"
    # Triton reads the source of what it compiles back from its file
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    values = {name: triton.language.constexpr(float(v)) for name, v in constants.items()}
    scope: dict[str, Any] = {"__name__": __name__, **values}
    exec(compile(text, file, "exec"), scope)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "tl":
            getattr(triton.language, node.attr)
    configs = [triton.Config({"BLOCK": b}, num_warps=w) for b in BLOCKS for w in WARPS]
    kernel = triton.autotune(configs=configs, key=["n"])(scope["kernel"])

    def run(*tensors: Any) -> Any:
        out = tensors[0].new_empty(tensors[0].shape)
        n = out.numel()
        kernel[lambda chosen: (triton.cdiv(n, chosen["BLOCK"]),)](out, *tensors, n)
        return out

    return run
