"""``python -m tests.api_page``: write docs/api.md from the docstrings of what is public."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from inspect import Parameter as P
from pathlib import Path
from textwrap import dedent
from types import FunctionType
from typing import Any

import opweave as ow
from opweave import _sanitizer
from opweave._functions.raw import RawKernel
from opweave._graphs.runner import Runner
from opweave._lists.oplist import OpcodeKernel
from opweave._lists.schedule import ListSchedule
from opweave._profiler.report import KernelProfile, ProfileReport
from opweave._programs.bisect import Bisection
from opweave._programs.explain import Explanation
from opweave._programs.kernel_view import KernelView
from opweave._programs.rates import Regime
from opweave._programs.report import Report
from opweave._programs.standalone import Standalone
from opweave._repeats.repeated import Repeated
from opweave._saved.loading import LoadedProgram
from opweave._tuning.tune import Tuning
from opweave.opcodes import Fragment, OpCode, Operator
from opweave.opcodes.defines import Define
from opweave.opcodes.operators.registry import BUILT_IN
from opweave.opcodes.structural import Structural

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
WIDTH = 96
HEAD = """# API reference

What does each function take, return and raise? This page is made from the docstrings, by
`python -m tests.api_page`. [guide.md](guide.md) shows the same at work.

```
import opweave as ow
```
"""
# A chapter: its title, and what stands in it, by the name that a user writes or reads.
CHAPTERS: dict[str, dict[str, Any]] = {
    "Compile": {"ow.fuse": ow.fuse, "ow.Fused": ow.Fused, "ow.repeat": ow.repeat,
                "Repeated": Repeated, "ow.to_torch": ow.to_torch},
    "Read and change": {"ow.Program": ow.Program, "ow.load_program": ow.load_program,
                        "LoadedProgram": LoadedProgram, "Kernel": KernelView, "ow.kernel": ow.kernel,
                        "ow.load": ow.load, "ow.store": ow.store, "OpcodeKernel": OpcodeKernel,
                        "ow.structural": ow.structural, "Structural": Structural,
                        "ow.schedule": ow.schedule, "ListSchedule": ListSchedule},
    "Understand": {"Explanation": Explanation, "ow.regime": ow.regime, "Regime": Regime,
                   "ow.tune": ow.tune, "Tuning": Tuning},
    "Check": {"Report": Report, "Bisection": Bisection,
              **{f"ow.bounds.{n}": getattr(ow.bounds, n) for n in sorted(ow.bounds.__all__)}},
    "Check any CUDA kernel": {"ow.sanitize": ow.sanitize, "ow.sanitize_source": ow.sanitize_source,
                              "ow.uninitialised": ow.uninitialised,
                              "SanitizerReport": _sanitizer.SanitizerReport},
    "Profile": {"ow.profile": ow.profile, "ow.profile_source": ow.profile_source,
                "ow.profile_cubin": ow.profile_cubin,
                "ProfileReport": ProfileReport, "KernelProfile": KernelProfile},
    "Graphs": {"ow.Graph": ow.Graph, "Runner": Runner},
    "Operators of your own": {"ow.operator": ow.operator, "ow.cuda": ow.cuda,
                              "ow.toggle": ow.toggle, "ow.reduction": ow.reduction, "ow.scan": ow.scan,
                              "ow.product": ow.product, "Define": Define,
                              "Operator": Operator, "OpCode": OpCode, "Fragment": Fragment},
    "Kernels of your own": {"ow.raw_kernel": ow.raw_kernel, "RawKernel": RawKernel,
                            "Standalone": Standalone},
    "Arrays of the Array API standard": {"ow.xp.Array": ow.xp.Array, "ow.xp.compute": ow.xp.compute,
                                        "ow.xp.explain": ow.xp.explain},
    "Settings": {"ow.config": type(ow.config)},
}  # fmt: skip
# Members of classes; of a class that is not here, all that have a docstring.
MEMBERS = {
    "ow.Fused": "lower explain check bisect reference with_toggles unfused traces clear_cache",
    "ow.Program": "target kernels source graph verify check bisect reference compile save export bounds explain",
    "Kernel": "name source flat opcodes toggles sass ptx resources registers shared_bytes spill_bytes "
    "insert replace remove raw_kernel check profile reference",
    "RawKernel": "lower check explain",
    "Standalone": "load",
    "Operator": "with_opcodes",
    "OpCode": "row named",
    "Structural": "",
    "Fragment": "",
    "Define": "",
}
# Functions of one array whose NumPy meaning is a library's, or one line.
PLAIN = {
    "erf": "The error function.",
    "erfc": "1 - erf(x), exact for large x.",
    "lgamma": "The logarithm of the gamma function's magnitude.",
    "relu": "max(x, 0).",
    "rsqrt": "1 / sqrt(x).",
    "tgamma": "The gamma function.",
}
SECTIONS = ("Args", "Attributes", "Raises")


def text_of() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, entries in CHAPTERS.items():
        parts.append(f"## {title}\n")
        for name, found in entries.items():
            parts += entry(name, found)
    return "\n".join([*parts, operators(), pixels(), errors()])


def entry(name: str, found: Any) -> Iterator[str]:
    """A function or a class, with its members."""
    yield f"### {name}\n"
    if isinstance(found, FunctionType) or name == "ow.Graph":
        yield f"```\n{signature(name, found)}\n```\n"
    yield markdown(inspect.getdoc(found) or "")
    for member in members(name, found) if inspect.isclass(found) else ():
        value = inspect.getattr_static(found, member)
        if isinstance(value, FunctionType):
            yield f"```\n{signature(f'.{member}', value)}\n```\n"
        else:
            yield f"`.{member}`\n"
        yield markdown(inspect.getdoc(value) or "")


def members(name: str, found: type) -> list[str]:
    """Names of the documented members."""
    if name in MEMBERS:
        return MEMBERS[name].split()
    return [
        n for n, v in vars(found).items()
        if not n.startswith("_") and (isinstance(v, FunctionType | property)) and inspect.getdoc(v)
    ]  # fmt: skip


def signature(name: str, found: Any) -> str:
    """A signature as it is written, a parameter a line where it is long."""
    shown = inspect.signature(found)
    drawn = [p for n, p in shown.parameters.items() if n != "self"]
    cells = [parameter(p) for p in drawn]
    kinds = [p.kind for p in drawn]
    if P.KEYWORD_ONLY in kinds and P.VAR_POSITIONAL not in kinds:
        cells.insert(kinds.index(P.KEYWORD_ONLY), "*")
    if P.POSITIONAL_ONLY in kinds:
        cells.insert(kinds.count(P.POSITIONAL_ONLY), "/")
    made = shown.return_annotation
    gives = "" if made is inspect.Signature.empty else f" -> {made}"
    line = f"{name}({', '.join(cells)}){gives}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {cell},\n" for cell in cells) + f"){gives}"


def parameter(found: P) -> str:
    """A parameter with its type and default."""
    stars = {P.VAR_POSITIONAL: "*", P.VAR_KEYWORD: "**"}.get(found.kind, "")
    default = "" if found.default is P.empty else f" = {found.default!r}"
    return f"{stars}{found.name}: {found.annotation}{default}"


def markdown(doc: str) -> str:
    """A docstring as Markdown: sections become lists, examples code."""
    made = []
    for block in re.split(r"\n\n+", doc.strip()):
        head, _, rest = block.partition("\n")
        text = dedent(rest)
        if head == "Returns:":
            made.append(f"{head}\n\n{prose(text)}")
        elif head.endswith(":") and head[:-1] in SECTIONS:
            made.append(f"{head}\n\n{listed(prose(text))}")
        elif block.startswith(("    ", ">>>")) or is_code(block):
            made.append(f"```\n{dedent(block)}\n```")
        else:
            made.append(prose(block))
    return "\n\n".join(made) + "\n"


def prose(text: str) -> str:
    return text.replace("``", "`").replace(".  ", ". ")


def is_code(block: str) -> bool:
    """Whether a paragraph is Python: an example without a prompt."""
    try:
        ast.parse(block)
    except SyntaxError:
        return False
    return "(" in block


def listed(text: str) -> str:
    """The rows of a section as a list."""
    rows = re.sub(r"^(?! )([\w, .*`]+?): ", r"- `\1`: ", text, flags=re.M)
    return re.sub(r"^ +", "  ", rows, flags=re.M)


def first_line(found: Any) -> str:
    return (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")


def operators() -> str:
    """Operators that NumPy has not, and the names of all."""
    rows = [
        "## Operators\n",
        "In fused functions, and on arrays.\n",
        "| operator | meaning |",
        "|---|---|",
    ]
    for name in sorted(n for n in ow.__all__ if getattr(ow, n) is ow.OPERATORS.get(n)):
        operator = ow.OPERATORS[name]
        says = PLAIN.get(name) or first_line(operator.numpy)
        rows.append(f"| `ow.{name}({', '.join(operator.params)})` | {says} |")
    names = ", ".join(f"`{n}`" for n in sorted(BUILT_IN))
    rows.append("\n`ow.OPERATORS` has every operator by its name, `ow.opcodes` by attributes "
                f"(`ow.opcodes.clip(0, 1)`):\n\n{wrapped(names)}\n")  # fmt: skip
    return "\n".join(rows)


def pixels() -> str:
    """Operators on pictures."""
    rows = ["## Pictures\n", f"{first_line(ow.pixels)}\n", "| operator | meaning |", "|---|---|"]
    for name in sorted(ow.pixels.__all__):
        operator = getattr(ow.pixels, name)
        rows.append(
            f"| `ow.pixels.{name}({', '.join(operator.params)})` | {first_line(operator.numpy)} |"
        )
    return "\n".join([*rows, ""])


def errors() -> str:
    """Errors and the warning."""
    rows = [
        "## Errors\n",
        "[errors.md](errors.md) says what to do.\n",
        "| error | meaning |",
        "|---|---|",
    ]
    for name, found in vars(ow.errors).items():
        if inspect.isclass(found) and found.__module__ == ow.errors.__name__:
            rows.append(f"| `ow.errors.{name}` | {first_line(found)} |")
    rows.append(
        "\n`ow.OpweaveError` and `ow.OpweaveWarning` are the base of all errors and the one warning.\n"
    )
    return "\n".join(rows)


def wrapped(text: str) -> str:
    """Text in lines of ``WIDTH``."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) >= WIDTH:
            lines.append(line)
            line = ""
        line += f" {word}" if line else word
    return "\n".join([*lines, line])


if __name__ == "__main__":
    PAGE.write_text(text_of())
    print(f"wrote {PAGE}")
