"""Render: from a kernel to its source text, through the Jinja templates."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from opweave.compiler.kernels.gate import check_kernel
from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.library import LibraryKernel
from opweave.compiler.toggles.choose import rows_of
from opweave.templates import TEMPLATES

if TYPE_CHECKING:
    import jinja2

NOTHING = "\0"  # a line that stands for no line


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
    made.filters["each"] = _each
    return made


def _at(text: str, columns: int) -> str:
    """Indent a block of code, leaving preprocessor lines at the margin; no code leaves no line."""
    lines = [f for f in text.rstrip("\n").split("\n") if f.strip() != NOTHING]
    if lines in ([], [""]):
        return NOTHING
    return "\n".join(f if f.startswith("#") or not f else " " * columns + f for f in lines)


def _each(items: Iterable[Any], code: str | Callable[..., str], *arguments: Any) -> str:
    """A macro's code for each item, or a line with its attributes: ``{0.ctype} {0.name};``."""
    makes = code.format if isinstance(code, str) else code
    return "\n".join(makes(item, *arguments).rstrip("\n") for item in items)


def _comment(text: str) -> str:
    """A comment, in as many lines as it takes."""
    return "// " + "\n//   ".join(textwrap.wrap(text, 110))


def rendered(template: str, **values: Any) -> str:
    """Text of a template that is no kernel's."""
    return _environment().get_template(template).render(**values)


def render(kernel: Kernel) -> str:
    """Source text of a kernel: the same kernel gives the same bytes.

    Raises:
        NameRefusedError: the kernel holds what may not enter a source.
    """
    check_kernel(kernel)
    if isinstance(kernel, HandwrittenKernel | LibraryKernel):
        return kernel.source
    template = _environment().get_template(f"{kernel.template}.cu.j2")
    meanings = {t.name: t.meaning for t in rows_of(kernel.template, kernel.declared)}

    def define(toggle: tuple[str, int]) -> str:
        name, value = toggle
        said = f" // {meanings[name]}" if meanings[name] else ""
        return f"#define {name:<17} {value:<4}{said}"

    text = template.render(kernel=kernel, define=define, comment=_comment)
    lines = (line.rstrip() for line in text.strip("\n").split("\n"))
    return "\n".join(line for line in lines if line != NOTHING) + "\n"
