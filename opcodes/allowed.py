"""What may pass from a user into generated source: names, numbers, attributes, and nothing else.

Fragments are code.  All other input is data: it is taken over as a plain value of one of the types
below, so that no ``__str__``, ``__format__`` or ``__int__`` of somebody else's class has a say in
what is written, or it is refused with a typed error before anything is rendered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.errors import ArgumentError, DTypeError, NameRefusedError
from opweave.opcodes.tokens import C_KEYWORDS, is_c_name

MOST_NAME = 64
MOST_SHOWN = 80
# Identifiers that C++ reserves for the compiler and its headers (lex.name), also as macros.
RESERVED = re.compile(r"_[A-Z_]|__")
NAME_RULE = (
    "expected letters, digits and underscores, not starting with a digit, at most "
    f"{MOST_NAME} characters"
)


def shown(value: Any) -> str:
    """A value for a message: one line, printable ASCII, at most ``MOST_SHOWN`` characters.

    >>> shown("a\\nb"), shown(10**5000)
    ("'a\\\\nb'", 'an integer of 16610 bits')
    """
    try:
        if hasattr(type(value), "__opweave_apply__"):  # a traced value has no text
            return shown(value.example) if hasattr(value, "example") else "a traced array"
        if isinstance(value, int) and int.bit_length(value) > 256:
            return f"an integer of {int.bit_length(value)} bits"
        if isinstance(value, str | bytes):
            value = value[: MOST_SHOWN + 1]
        text = ascii(value)
    except Exception:  # a __repr__ of the user's own
        text = f"an object of type {type(value).__name__}"
    text = "".join(c if c.isprintable() and c.isascii() else "?" for c in text)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


_accepted: set[str] = set()  # names that were accepted before: the same few come again and again
MOST_ACCEPTED = 4096


def check_name(name: Any, what: str) -> None:
    """Refuse names that may not enter generated source.

    Raises:
        NameRefusedError: not a plain ASCII identifier of at most 64 characters, a C keyword, or
            reserved for the compiler.
    """
    if type(name) is str and name in _accepted:
        return
    if type(name) is not str or not is_c_name(name) or len(name) > MOST_NAME:
        raise NameRefusedError(f"{what} name {shown(name)} refused: {NAME_RULE}")
    if name in C_KEYWORDS:
        raise NameRefusedError(f"{what} name {name!r} refused: it is a C++ keyword; pick another")
    if RESERVED.match(name):
        raise NameRefusedError(
            f"{what} name {name!r} refused: C++ reserves names that begin with two underscores, "
            "or with one and a capital; pick another"
        )
    if len(_accepted) < MOST_ACCEPTED:
        _accepted.add(name)


def is_number(value: Any) -> bool:
    """True for a number in a kernel: Python's bool, int, float and complex, NumPy's scalars."""
    if hasattr(type(value), "__opweave_traced__"):  # its __class__ is that of the value behind it
        return type(value).__opweave_traced__ == "number" and _is_of_kernels(value.__class__)
    return _is_of_kernels(type(value))


def _is_of_kernels(kind: type) -> bool:
    """True for the types of numbers that kernels take."""
    if issubclass(kind, np.timedelta64):  # NumPy derives it from np.number
        return False
    if issubclass(kind, np.generic):
        return issubclass(kind, np.number | np.bool_) or kind is dtypes.BF16.numpy.type
    return issubclass(kind, bool | int | float | complex)


def plain_number(value: Any) -> Any:
    """A number of exactly one of Python's or NumPy's own types; a subclass loses what it added.

    Raises:
        DTypeError: not a number.
    """
    if type(value) in (bool, int, float, complex):
        return value
    if issubclass(type(value), np.generic) and is_number(value):
        return np.asarray(value)[()]
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, complex):
        return complex.__complex__(value)
    raise DTypeError(
        f"{shown(value)} of type {type(value).__name__} is no number: expected bool, int, float, "
        "complex or a NumPy scalar"
    )


def _axis(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(index, value))
    return value if value is None else index(value)


def _axes(value: Any) -> tuple[int | None, ...]:
    return tuple(None if a is None else index(a) for a in value)


def _amount(value: Any) -> Any:
    if hasattr(type(value), "__opweave_apply__"):
        return value
    plain = plain_number(value)
    if isinstance(plain, complex | np.complexfloating):
        raise TypeError
    return plain.item() if isinstance(plain, np.generic) else plain  # it widens nothing


def _dtype(value: Any) -> str | None:
    return None if value is None else dtypes.of(value).numpy_name


def _flag(value: Any) -> bool:
    if not isinstance(value, bool | int | np.bool_):
        raise TypeError
    return bool(value)


# Attributes of the built-in operators: the function that makes each plain, and what it expects.
ATTRIBUTES: Mapping[str, tuple[Any, str]] = {
    "axis": (_axis, "an integer, a tuple of integers or None"),
    "axes": (_axes, "a tuple of integers"),
    "shape": (lambda value: tuple(map(index, value)), "a tuple of integers"),
    "extent": (index, "an integer"),
    "step": (index, "an integer"),
    "keepdims": (_flag, "True or False"),
    "dtype": (_dtype, "a dtype or None"),
    "ddof": (_amount, "a number"),
}


def plain_attribute(operator: str, name: str, value: Any) -> Any:
    """A static attribute as a plain value.

    Raises:
        ArgumentError: not what that attribute takes; of a user's own attribute, not None, a
            number or a name.
        DTypeError: an unknown dtype.
    """
    check, expected = ATTRIBUTES.get(name, (_own, "None, a number, or a name as text"))
    try:
        return check(value)
    except NameRefusedError:
        raise
    except Exception as error:  # an __index__ of the user's own may raise anything
        if isinstance(error, DTypeError) and name == "dtype":
            raise
        raise ArgumentError(f"{operator}: {name}={shown(value)}: expected {expected}") from None


def _own(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        check_name(value, "attribute")
        return value
    return plain_number(value)


def check_flag(value: Any, name: str) -> None:
    """Refuse a value that is not exactly True or False.

    Raises:
        ArgumentError: names the option.
    """
    if value is not True and value is not False:
        raise ArgumentError(f"{name}={shown(value)}: expected True or False")


def check_attrs(operator: str, known: Sequence[str], attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an operator as plain values, in the order of those that it has.

    Raises:
        ArgumentError: an attribute that the operator does not have, or a value that it does not
            take.
    """
    for name in attrs:
        if name not in known:
            raise ArgumentError(
                f"{operator}: unknown attribute {shown(name)}: expected one of {known or 'none'}"
            )
    return {name: plain_attribute(operator, name, attrs[name]) for name in known if name in attrs}
