"""What C and Python say of the tables between them is the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opweave.opcodes import dtypes
from opweave.runtime.host import native, warm_layout
from opweave.templates import RUNTIME

HEADERS = "".join(
    (Path(RUNTIME).parent / name).read_text()
    for name in ("python.h", "numbers.h", "arguments.h", "results.h", "calls.h")
)
ENUMS = {
    name: [part.strip() for part in names.split(",")]
    for name, names in re.findall(r"enum (\w+) \{([^}]*)\};", HEADERS)
}
LIMITS = dict(re.findall(r"\b((?:MOST|DEEPEST)_\w+) = (\d+)", HEADERS))
# What a name of C is called in Python, where two have one name or Python has the word.
RENAMED = {"from": "origin"}


@pytest.mark.parametrize("name", ["Kind", "Where", "From", "Form"])
def test_names_count_alike(name):
    assert [getattr(warm_layout, each) for each in ENUMS[name]] == [*range(len(ENUMS[name]))]


def test_numbers_are_packed_by_the_same_forms():
    names = (
        "DOUBLE SINGLE LONG INT SHORT BYTE ULONG UINT USHORT UBYTE YES_OR_NO HALF BRAIN".split()
    )
    assert [*names, "OF_PYTHON", "BY_TYPE"] == ENUMS["Register"]
    assert [*warm_layout.FORMS.values()] == [*range(len(names))]
    assert len(names) == warm_layout.OF_PYTHON == warm_layout.BY_TYPE - 1
    sizes = [dtypes.of(name).itemsize for name in warm_layout.FORMS]
    assert sizes == [*map(int, re.search(r"HELD_BYTES\[\] = \{([^}]*)", HEADERS)[1].split(","))]
    assert len(warm_layout.READS) <= warm_layout.MOST_TYPES


def test_limits_are_the_same():
    assert len(LIMITS) == 6
    assert {name: getattr(warm_layout, name) for name in LIMITS} == {
        name: int(limit) for name, limit in LIMITS.items()
    }


def test_a_call_that_a_kernel_cannot_compute_ends_alike():
    text = Path(RUNTIME).read_text()
    assert int(re.search(r"FIRST_REFUSED = (-?\d+)", text)[1]) == native.FIRST_REFUSED


def members(name):
    """The members of a structure in C, in order."""
    text = re.search(rf"struct {name} \{{(.*?)\}};", HEADERS, re.DOTALL)[1]
    lines = (line.split("//")[0] for line in text.splitlines())
    for part in re.split(r"[;,]", " ".join(lines)):
        if words := re.findall(r"\w+", part):
            yield RENAMED.get(words[-1], words[-1])


@pytest.mark.parametrize(
    "name",
    [
        "Node",
        "Root",
        "Number",
        "Span",
        "Made",
        "Shape",
        "Store",
        "Put",
        "Op",
        "Known",
        "Table",
        "NumberType",
    ],
)
def test_members_stand_in_the_same_order(name):
    given = {"operands": "count"}
    fields = [given.get(field, field) for field, *_ in getattr(warm_layout, f"C{name}")._fields_]
    assert [*members(name)] == fields


def test_functions_of_python_are_as_many():
    text = re.search(r"struct Python \{(.*?)\};", HEADERS, re.DOTALL)[1]
    pointers = len(re.findall(r"\(\*\w+\)\(", text))
    assert pointers == len(warm_layout.FUNCTIONS) + 2  # of NumPy's
    sizes = warm_layout.CPython.number_types.offset // 8
    assert sizes == pointers + len(warm_layout.OBJECTS) + 2
