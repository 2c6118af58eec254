"""The gate before rendering: what a kernel holds is held to allow-lists, field by field.

Whatever comes from a user was made plain where it came in (``opcodes.allowed``, ``names``,
``literals``, ``toggles``, ``device``).  This is the second lock: a template writes names, C types,
comments and numbers as they stand, so each is checked once more, whoever made the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opweave.compiler.ir.device import ARCHES
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.toggles.choose import TOGGLES, rows_of
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.defines import DOC, UPPER
from opweave.opcodes.errors import NameRefusedError
from opweave.opcodes.tokens import C_KEYWORDS, is_c_name

_STORAGE = "|".join(sorted({d.storage for d in dtypes.ALL} | {d.register for d in dtypes.ALL}))
CTYPE = re.compile(
    rf"(const )?({_STORAGE})(\*( __restrict__)?)?|void\*|unsigned\*|uint64\*|index_t"
)
# One line of printable ASCII; a backslash could join the next line to it.
COMMENT = re.compile(r"[ -\[\]-~]*")
# The longest name that the compiler makes of a user's: 48 characters and what is appended.
MOST_MADE = 96


def check_kernel(kernel: Kernel) -> None:
    """Refuse to render what no allow-list has.

    Raises:
        NameRefusedError: names the field, what it holds and what it may hold.
    """
    for field, value, expected in _faults(kernel):
        raise NameRefusedError(f"kernel refused: {field} is {shown(value)}: expected {expected}")


def _faults(kernel: Kernel) -> Iterator[tuple[str, object, str]]:
    for name in (kernel.name, *(p.name for p in kernel.params)):
        plain = type(name) is str and is_c_name(name) and len(name) <= MOST_MADE
        if not plain or name in C_KEYWORDS:
            yield "a name", name, "an identifier of C"
    for param in kernel.params:
        if type(param.ctype) is not str or not CTYPE.fullmatch(param.ctype):
            yield f"the type of {param.name}", param.ctype, "one from the table of dtypes"
    comments = (
        *kernel.title,
        kernel.extents_text,
        *(p.comment for p in kernel.params),
        *(line.comment for line in kernel.opcodes),
    )
    for comment in comments:
        if type(comment) is not str or not COMMENT.fullmatch(comment):
            yield "a comment", comment, "one line of printable ASCII without backslashes"
    if kernel.target not in ARCHES:
        yield "the target", kernel.target, f"one of {', '.join(ARCHES)}"
    if kernel.template not in TOGGLES:
        yield "the template", kernel.template, f"one of {', '.join(TOGGLES)}"
        return
    yield from _toggle_faults(kernel)


def _toggle_faults(kernel: Kernel) -> Iterator[tuple[str, object, str]]:
    rows = rows_of(kernel.template, kernel.declared)
    for row in rows:
        if type(row.name) is not str or not UPPER.fullmatch(row.name):
            yield "the name of a toggle", row.name, "capitals, digits and underscores"
        if type(row.meaning) is not str or not DOC.fullmatch(row.meaning):
            yield f"the comment of {row.name}", row.meaning, "one line of printable ASCII"
    known = {row.name for row in rows}
    for toggle, value in kernel.toggles.items():
        if toggle not in known or type(value) is not int:
            yield f"toggle {shown(toggle)}", value, "an integer, for a toggle of its template"
