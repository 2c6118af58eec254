"""Render: from a kernel to its source text, through the Jinja templates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from opweave.compiler.codegen.gate import check_kernel
from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.toggles.choose import TOGGLES
from opweave.templates import TEMPLATES

if TYPE_CHECKING:
    import jinja2


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(TEMPLATES)),
        line_statement_prefix="//%",
        line_comment_prefix="//#",
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        cache_size=-1,  # all of them, in a dictionary: a lock may be held when the process forks
    )
    made.filters["at"] = _at
    return made


def _at(text: str, columns: int) -> str:
    """Indent a block of code, leaving preprocessor lines at the margin."""
    lines = text.rstrip("\n").split("\n")
    return "\n".join(f if f.startswith("#") or not f else " " * columns + f for f in lines)


def render(kernel: Kernel) -> str:
    """Source text of a kernel: the same kernel gives the same bytes.

    Raises:
        NameRefusedError: the kernel holds what may not enter a source.
    """
    check_kernel(kernel)
    template = _environment().get_template(f"{kernel.template}.cu.j2")
    meanings = {t.name: t.meaning for t in TOGGLES[kernel.template]}
    text = template.render(kernel=kernel, meanings=meanings)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n"
