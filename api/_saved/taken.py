"""What an exported program takes: arguments by their names in C, and what C cannot take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opweave._saved.given import GivenArguments
from opweave._saved.launches import ExportedArgument
from opweave.compiler.ir.expr import Expr
from opweave.compiler.pipeline.specialise import Variant
from opweave.compiler.tracing.arguments import ArrayType, Static
from opweave.opcodes.errors import SavedError

# Bytes of arrays that are written into a file: the text is three times as long.
MOST_CONSTANTS = 1 << 20
# Functions that C's and CUDA's headers declare, beside those that our fragments call.
DECLARED = frozenset(
    """abs acosh asinh atanh clock close copysign cospi cyl_bessel_i0 cyl_bessel_i1 div erfcinv
    erfcx erfinv exit exp10 fdim fdivide fma free frexp gamma hypot ilogb index j0 j1 jn labs ldexp
    lgamma llrint logb malloc memcpy memset modf nan nearbyint nextafter norm norm3d norm4d normcdf
    normcdfinv open pipe printf rand random rcbrt read remainder remquo rhypot rint rnorm rnorm3d
    rnorm4d round rsqrt scalb scalbn select signal signbit sincos sinpi sleep tgamma time trunc
    truncate wait write y0 y1 yn""".split()
)
# What launchers themselves call their variables, and what they use of Python's.
OWN = re.compile(
    r"arena|cupy|float|freed|numpy|status|stream|TypeError|OPTIONS|(KERNEL|SOURCE)_\d+"
    r"|[A-Z0-9_]+_CONSTANT_\d+"
)


def name_of(function: str) -> str:
    """The name of a launcher: the function's, unless C or the file knows another by it."""
    return f"{function}_" if function in DECLARED or OWN.fullmatch(function) else function


def own_names(names: Sequence[str]) -> dict[str, str]:
    """Arguments that are named as a variable of the launcher, by the names that they get.

    ``names`` are all that the function has.
    """
    taken, found = set(names), {}
    for name in filter(OWN.fullmatch, names):
        found[name] = fresh(f"{name}_", taken)
    return found


def fresh(name: str, taken: set[str]) -> str:
    """A name that is not taken, like one; from then on it is."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def arguments_of(
    given: GivenArguments, inputs: Iterator[Any], names: Iterator[str], writes: set[int],
    renamed: Mapping[str, str],
) -> Iterator[ExportedArgument]:  # fmt: skip
    """The arguments by their names in C; see ``own_names``."""
    place, defaults = 0, {p.name: p.default for p in given.parameters}
    for where, _, leaves in given.leaves():
        for name, kind in leaves:
            if isinstance(kind, ArrayType):
                item = next(inputs)
                if isinstance(where, str):
                    name = renamed.get(item.name, item.name)
                    yield ExportedArgument(name, kind.dtype, kind.shape, "", place in writes)
                place += 1
            elif not isinstance(kind, Static):
                number = next(names)
                if isinstance(where, str):
                    number = renamed.get(number, number)
                    default = defaults.get(name)  # of no parameter where it lies in a container
                    yield ExportedArgument(
                        number, None, (), _kind_of(given.name, name, kind),
                        default=default if type(default) in (int, float) else None,
                    )  # fmt: skip


def _kind_of(function: str, name: str, value: Any) -> str:
    """The type of a number, in Python's words."""
    if type(value) in (int, float):
        return type(value).__name__
    raise SavedError(
        f"{function}: argument {name}: a number of type {type(value).__name__} cannot be exported:"
        " expected int or float"
    )


def with_known(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    """An expression with numbers in the place of some arguments."""
    return expr.with_leaves(
        lambda leaf: known.get(leaf.args[0], leaf) if leaf.op == "argument" else leaf
    )


def check_numbers(variant: Variant, name: str) -> None:
    scalars = set(variant.trace.graph.scalars)
    asked = sorted(scalars & variant.static.keys())
    asked += [repr(condition) for condition, _ in variant.asked_of_numbers]
    if asked:
        raise SavedError(
            f"{name} looks at the value of a number ({', '.join(asked)}), and other numbers make "
            "another program: name it in static_argnames"
        )


def check_bytes(name: str, constants: Sequence[Any]) -> None:
    total = sum(int(array.nbytes) for array in constants)
    if total > MOST_CONSTANTS:
        raise SavedError(
            f"{name} has {total} bytes of arrays in it: expected at most {MOST_CONSTANTS}; pass "
            "them as arguments"
        )
