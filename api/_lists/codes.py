"""What stands in an op-code list: loads, stores, operators, and other lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from opweave.compiler.ir.values import Where
from opweave.compiler.scheduling.edit import bound
from opweave.opcodes.allowed import check_name, is_number, plain_number, shown
from opweave.opcodes.core import BoundOperator
from opweave.opcodes.defines import Define
from opweave.opcodes.errors import EditError
from opweave.opcodes.structural import Structural


class ListLike(Protocol):
    """An op-code list, see ``oplist.py``.

    ``where`` is the user's line that made it, ``once`` its structural op-codes of the whole.
    """

    @property
    def name(self) -> str: ...
    @property
    def codes(self) -> tuple[Code, ...]: ...
    @property
    def arguments(self) -> tuple[str, ...]: ...
    @property
    def results(self) -> tuple[str, ...]: ...
    @property
    def where(self) -> Where: ...
    @property
    def once(self) -> tuple[Structural, ...]: ...


@dataclass(frozen=True)
class Load:
    """Make an argument of the kernel the running value, or a result that was named before.

    An argument is an array or a number.  ``by`` is what reads its elements.
    """

    label: str
    by: Structural | None = None

    def __post_init__(self) -> None:
        check_name(self.label, "argument")
        _check_by(self)

    @property
    def name(self) -> str:
        return f"load {self.label}"


@dataclass(frozen=True)
class Store:
    """Return the running value, or the named one.  ``by`` is what writes its elements."""

    label: str
    value: str = ""
    by: Structural | None = None

    def __post_init__(self) -> None:
        _check_by(self)
        check_name(self.label, "output")
        if type(self.value) is not str or self.value:
            check_name(self.value, "stored value")

    @property
    def name(self) -> str:
        return f"store {self.label}"


def _check_by(code: Load | Store) -> None:
    """
    Raises:
        EditError: no structural op-code.
    """
    if not isinstance(code.by, Structural | None):
        raise EditError(
            f"{code.name}: by={shown(code.by)}: expected a structural op-code, such as "
            "opweave.opcodes.read_only"
        )


@dataclass(frozen=True)
class Called:
    """A list as an op-code of another, with the operands that were given to it.

    As of an operator, the running value is the first operand where there is one too few.
    """

    kernel: ListLike
    operands: tuple[Any, ...] = ()
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for operand in self.operands:
            if type(operand) is str:
                check_name(operand, f"{self.name}: operand")
        plain = tuple(o if type(o) is str else plain_number(o) for o in self.operands)
        object.__setattr__(self, "operands", plain)

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def label(self) -> str:
        return self.labels[0] if len(self.labels) == 1 else ""

    def named(self, *labels: str) -> Called:
        """Name the results, so that later op-codes can refer to them: a name for each.

        Raises:
            EditError: another number of names than of results.
        """
        for label in labels:
            check_name(label, "label")
        if len(labels) != len(self.kernel.results):
            results = ", ".join(self.kernel.results)
            raise EditError(
                f"{self.name}: expected a name for each result ({results}), found {len(labels)}"
                f"{at(self.kernel)}"
            )
        return replace(self, labels=labels)

    def __repr__(self) -> str:
        return f"<op-code list {self.name}({', '.join(map(repr, self.operands))})>"


Code = Load | Store | BoundOperator | Called


def load(name: str, *, by: Structural | None = None) -> Load:
    """An argument of an op-code list; or a result that was ``named`` before, once more.

    ``by`` is a structural op-code that reads its elements, such as ``ow.opcodes.read_only``.

    Raises:
        NameRefusedError: the name may not enter source.
        EditError: ``by`` is no structural op-code.
    """
    return Load(name, by)


def store(name: str = "out", value: str = "", *, by: Structural | None = None) -> Store:
    """An output of an op-code list: the running value, or the result called ``value``.

    ``by`` is a structural op-code that writes its elements, such as
    ``ow.opcodes.streaming_store``.

    Raises:
        NameRefusedError: the name may not enter source.
        EditError: ``by`` is no structural op-code.
    """
    return Store(name, value, by)


def code_of(given: Any) -> Code:
    """An op-code as it stands in a list; a list becomes one.

    Raises:
        EditError: no op-code.
    """
    if isinstance(given, Load | Store | Called):
        return given
    if isinstance(given, Define):
        raise EditError(
            f"toggle {given.name}: expected it in the list of the operator whose fragments test "
            "it: ow.operator(name, [ow.toggle(...), ...], ...)"
        )
    return Called(given) if hasattr(type(given), "__opweave_list__") else bound(given)


def in_place_of(old: Code, given: Any) -> Code:
    """An op-code that takes the place of another; without a name of its own it has that one's."""
    made = code_of(given)
    is_plain = not isinstance(made, Load | Store) and makes_running(made)
    if is_plain and not labels_of(made) and not isinstance(old, Load | Store) and old.label:
        return made.named(old.label)  # type: ignore[union-attr]
    return made


def is_operand(value: Any) -> bool:
    """Whether a value may be bound to an op-code: a name or a number."""
    return type(value) is str or is_number(value)


def arity(code: BoundOperator | Called) -> int:
    """How many operands an op-code takes."""
    return len(code.kernel.arguments) if isinstance(code, Called) else code.operator.arity


def labels_of(code: Code) -> tuple[str, ...]:
    """The names that an op-code gives to its results."""
    if isinstance(code, Called):
        return code.labels
    return (code.label,) if isinstance(code, BoundOperator) and code.label else ()


def names_in(code: Code) -> tuple[str, ...]:
    """The names that an op-code reads."""
    if isinstance(code, Load):
        return (code.label,)
    if isinstance(code, Store):
        return (code.value,) if code.value else ()
    return tuple(o for o in code.operands if type(o) is str)


def makes_running(code: Code) -> bool:
    """Whether there is a running value behind an op-code that has none of its own to pass on."""
    return not isinstance(code, Called) or len(code.kernel.results) == 1


def arguments_of(codes: Sequence[Code]) -> tuple[str, ...]:
    """The names that are loaded and are no results."""
    results: set[str] = set()
    found: dict[str, None] = {}
    for code in codes:
        if isinstance(code, Load) and code.label not in results:
            found[code.label] = None
        results.update(labels_of(code))
    return tuple(found)


def at(found: ListLike) -> str:
    """The user's line of a list, as a message ends."""
    return f" ({found.where})" if found.where.file else ""


def line_of(code: Code) -> str:
    """An op-code as a line of a printed list."""
    if isinstance(code, Load | Store):
        value = f" <- {code.value}" if isinstance(code, Store) and code.value else ""
        by = f"  // {code.by.name}: {code.by.text}" if code.by else ""
        return f"{code.name}{value}{by}"
    operands = ", ".join(map(str, code.operands))
    label = f" -> {', '.join(labels_of(code))}" if labels_of(code) else ""
    if isinstance(code, Called):
        inner = ", ".join(c.name for c in code.kernel.codes)
        return f"{code.name:<14} ({operands}){label}  // list: {inner}"
    defaults = dict(code.operator.attrs)
    operands += "".join(f", {k}={v}" for k, v in code.attrs if v != defaults.get(k))
    fragment = code.operator.text
    return f"{code.name:<14} ({operands.removeprefix(', ')}){label}  // {fragment}"


def refused(found: ListLike, number: int, text: str) -> EditError:
    """An error of an op-code of a list."""
    name = found.codes[number].name
    return EditError(f"{found.name}: op-code {number}, {name}: {text}{at(found)}")
