"""A user's operator as data: its fragments, what they are in NumPy, and for what they are exact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opweave.opcodes import OPERATORS, dtypes

from ..validity import NotForUs
from .forms import FORMS, OTHERS, REPLACED, STATEMENTS

# A name, a number, or a form of ``FORMS`` with what stands in its places.
Expression = Any
SMOOTH = ("add", "multiply", "subtract", "absolute", "negative")  # of ``REPLACED``
# Text that needs no brackets.
WHOLE = re.compile(r"[\w.]+(\([^()]*\))?")
NARROW = 4  # bytes: in C, narrower types are computed in wider ones


@dataclass(frozen=True)
class Own:
    """An operator of fragments.

    Attributes:
        name: the variable that it is, and the operator.
        params: names of the operands.
        fragments: each with the name that it binds; the last is the result.
        rule: "same", "float" or "bool".
        how: "operator", "cuda", "extended" or "replaced".
        of: the operator whose op-codes an extended one begins with, or that a replaced one edits.
        toggle: by which its last fragment has two ways in C, of one meaning.
    """

    name: str
    params: tuple[str, ...]
    fragments: tuple[tuple[str, Expression], ...] = ()
    rule: str = "same"
    how: str = "operator"
    of: str = ""
    toggle: str = ""

    # As Python

    def text(self, base: Own | None = None) -> str:
        """Python that makes it; an extended one is made of another."""
        if self.how == "replaced":
            return f"{self.name} = ow.opcodes.{self.of}.with_opcodes({list(self._row[1])})"
        codes = [f"{n} = {c_text(e)}" if n else c_text(e) for n, e in self.fragments]
        given = repr(codes) if len(codes) > 1 else repr(codes[0])
        if self.toggle:
            other = other_text(self.fragments[-1][1])
            last = f"#if {self.toggle} == 1\n{other}\n#else\n{codes[-1]}\n#endif"
            given = f"[{self.toggle}, {', '.join(map(repr, (*codes[:-1], last)))}]"
        if self.how == "extended" and base is not None:
            count = len(base.fragments)
            last = f"{base.name}.opcodes[-1].named({self.fragments[count - 1][0]!r})"
            given = f"[*{base.name}.opcodes[:-1], {last}, *{codes[count:]}]"
        meaning = f"lambda {', '.join(self.params)}: {self.numpy_text}"
        if self.how == "cuda":
            return (
                f"def {self.name}({', '.join(self.params)}):\n    return ow.cuda({given}, "
                f"{', '.join(self.params)}, numpy={meaning}, type_rule={self.rule!r})"
            )
        return (
            f"{self.name} = ow.operator({self.name!r}, {given}, {self.rule!r}, {meaning}, "
            "replace=True)"
        )

    @property
    def built_in(self) -> str:
        """Whose op-codes it edits, if it is an edited copy; then its name has a digest."""
        return self.of if self.how == "replaced" else ""

    @property
    def _row(self) -> tuple[str, tuple[str, ...], str]:
        return next(row for row in REPLACED if row[0] == self.of)

    @cached_property
    def numpy_text(self) -> str:
        """Its meaning: the last fragment, with the others in the place of their names."""
        bound: dict[str, str] = {}
        for name, expression in self.fragments:
            bound[name] = numpy_text(expression, bound)
        return bound[""]

    @property
    def forms(self) -> list[tuple[str, str]]:
        found = [("list fragment", f) for _, e in self.fragments for f in forms_in(e)]
        found += [("list toggle", self.toggle)] * bool(self.toggle)
        return [("list operator", self.how), *found]

    # What it means

    @cached_property
    def kinds(self) -> set[str]:
        """Of dtypes that all its forms have one meaning for."""
        if self.how == "replaced":
            return set(self._row[2])
        if self.rule == "bool" and "(T)" in c_text(self.fragments[-1][1]):
            return set()  # there T is the result's type, which holds no number
        found = set("fciub")
        for _, expression in self.fragments:
            for form in forms_in(expression):
                found &= set(FORMS[form].kinds)
            if any(not isinstance(leaf, str) for leaf in leaves_of(expression)):
                found &= set("fiu")
        return found

    @property
    def reads_all(self) -> bool:
        """Each name that it binds is read by a later fragment."""
        return all(
            any(name in leaves_of(e) for _, e in self.fragments[n + 1 :])
            for n, (name, _) in enumerate(self.fragments[:-1])
        )

    @cached_property
    def is_smooth(self) -> bool:
        """It rounds once at most, and all else is monotone, so that a bound can be derived."""
        if self.how == "replaced":
            return self.of in SMOOTH
        rows = [FORMS[f] for _, e in self.fragments for f in forms_in(e)]
        return sum(row.rounds for row in rows) <= 1 and all(row.is_smooth for row in rows)

    @cached_property
    def is_plain(self) -> bool:
        """It rounds and wraps at the end of fragments only, as NumPy does behind each operation."""
        return all(
            not any(FORMS[f].rounds for f in list(forms_in(e))[1:])
            and not (isinstance(e, tuple) and e[0] in STATEMENTS and FORMS[e[0]].rounds)
            for _, e in self.fragments
        )

    def is_exact(self, dtype: np.dtype[Any]) -> bool:
        """Results for operands of a dtype have NumPy's bits."""
        row = dtypes.of(dtype)
        return not row.is_complex and (self.is_plain or row.itemsize >= NARROW)

    def by_numpy(self, *operands: Any) -> Any:
        """Its meaning: operands are promoted to one type, then NumPy computes.

        Raises:
            NotForUs: an operand, or a dtype, that C and NumPy take to mean different things.
        """
        arrays = [o for o in operands if isinstance(o, np.ndarray | np.generic)]
        if self.how == "replaced":
            loop_of("same", arrays, operands)
            if dtypes.of(arrays[0].dtype).kind not in self.kinds:
                raise NotForUs
            return np.asarray(OPERATORS[self.of].numpy(*operands))[()]
        loop = loop_of(self.rule, arrays, operands)
        if dtypes.of(loop).kind not in self.kinds:
            raise NotForUs
        held = {
            p: o.astype(loop) if isinstance(o, np.ndarray | np.generic) else loop.type(o)
            for p, o in zip(self.params, operands, strict=True)
        }
        found = np.asarray(eval(self.numpy_text, {"np": np}, held))
        wanted = np.broadcast_shapes(*map(np.shape, operands))  # an operand may be read by nobody
        if (
            found.dtype != (np.dtype(bool) if self.rule == "bool" else loop)
            or found.shape != wanted
        ):
            raise NotForUs
        return found[()]


def loop_of(rule: str, arrays: list[Any], operands: tuple[Any, ...]) -> np.dtype[Any]:
    """The type that operands are promoted to.

    Raises:
        NotForUs: there is no array, or bfloat16 meets another type.
    """
    if not arrays:
        raise NotForUs
    if any(a.dtype.name == "bfloat16" for a in arrays):
        if any(getattr(o, "dtype", None) != arrays[0].dtype for o in operands):
            raise NotForUs
        return arrays[0].dtype
    loop = np.result_type(*operands)
    if rule != "float" or loop.kind == "f":
        return loop
    if loop.kind == "c":
        raise NotForUs
    return np.sqrt(np.zeros((), loop)).dtype


def c_text(expression: Expression) -> str:
    """An expression in C."""
    if not isinstance(expression, tuple):
        return expression if isinstance(expression, str) else f"(T){expression}"
    form, *inner = expression
    return str(form).format(*(_in_brackets(e, c_text(e)) for e in inner))


def other_text(expression: Expression) -> str:
    """The same in C, in another way."""
    if not isinstance(expression, tuple) or expression[0] not in OTHERS:
        text = c_text(expression)
        return text if ";" in text else f"({text})"
    form, *inner = expression
    return OTHERS[form].format(*(_in_brackets(e, c_text(e)) for e in inner))


def numpy_text(expression: Expression, bound: dict[str, str]) -> str:
    """An expression in NumPy; what is bound stands in the place of its name."""
    if not isinstance(expression, tuple):
        return bound.get(expression, str(expression))
    form, *inner = expression
    texts = (numpy_text(e, bound) for e in inner)
    return FORMS[form].numpy.format(*(t if WHOLE.fullmatch(t) else f"({t})" for t in texts))


def _in_brackets(expression: Expression, text: str) -> str:
    return f"({text})" if isinstance(expression, tuple) else text


def forms_in(expression: Expression) -> Iterator[str]:
    """The forms of an expression, the outermost first."""
    if isinstance(expression, tuple):
        yield expression[0]
        for inner in expression[1:]:
            yield from forms_in(inner)


def leaves_of(expression: Expression) -> Iterator[Any]:
    """The names and numbers of an expression."""
    if isinstance(expression, tuple):
        for inner in expression[1:]:
            yield from leaves_of(inner)
    else:
        yield expression


def holes(form: str) -> int:
    """How many places a form has."""
    return max(int(n) for n in "012" if f"{{{n}}}" in form) + 1
