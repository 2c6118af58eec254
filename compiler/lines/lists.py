"""Lists of Python that a loop appends numbers to."""

from __future__ import annotations

from dataclasses import dataclass

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import Held, Number, NumberType


@dataclass(frozen=True)
class Appended:
    """What a loop appends to one list.

    Attributes:
        name: of the list, in Python.
        c_name: of what C appends to; it hands over what it has, however the loop ends.
        type: of the numbers.
    """

    name: str
    c_name: str
    type: NumberType
    c_type: str


class Lists:
    """The lists that a loop appends to."""

    def __init__(self, text: Text):
        self.text = text
        self.appended: dict[str, Appended] = {}

    def append(self, name: str, value: Held) -> None:
        """Append a number to the list of a name.

        Raises:
            NoLoopError: what is appended is no number, or not always of one type.
        """
        if not isinstance(value, Number) or value.maybe:
            raise NoLoopError("a list of other than numbers of one type")
        if not value.is_word:
            raise NoLoopError(f"a list of {value.type_name}")
        found = self.appended.get(name)
        if found is None:
            c_name = self.text.unused(f"{name}_appended")
            found = Appended(name, c_name, value.type, value.c_type)
            self.appended[name] = found
        if found.type is not value.type:
            raise NoLoopError(f"{name}, a list of numbers of several types")
        line = f"{found.c_name}.append({value.text})"
        self.text.add(f"if (!{line}) LOOP_FAULT(LOOP_NO_MEMORY, {self.text.line}, 0, 0, 0);")
