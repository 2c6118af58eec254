"""What C and Python say of the tables between them is the same."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from opweave.runtime.host import native, warm_layout
from opweave.templates import RUNTIME

HEADERS = "".join(
    (Path(RUNTIME).parent / name).read_text() for name in ("arguments.h", "results.h", "calls.h")
)
ENUMS = {
    name: [part.strip() for part in names.split(",")]
    for name, names in re.findall(r"enum (\w+) \{([^}]*)\};", HEADERS)
}
LIMITS = dict(re.findall(r"\b((?:MOST|DEEPEST)_\w+) = (\d+)", HEADERS))
# What a name of C is called in Python, where two have one name or Python has the word.
RENAMED = {"from": "origin"}


@pytest.mark.parametrize("name", ["Kind", "Where", "From", "Form", "Read"])
def test_names_count_alike(name):
    assert [getattr(warm_layout, each) for each in ENUMS[name]] == [*range(len(ENUMS[name]))]


def test_numbers_are_packed_by_the_same_forms():
    names = {"float64": "DOUBLE", "float32": "SINGLE", "int64": "LONG", "int32": "INT"}
    found = {names[dtype]: form for dtype, form in warm_layout.FORMS.items()}
    assert found == {name: n for n, name in enumerate(ENUMS["Register"])}


def test_limits_are_the_same():
    assert len(LIMITS) == 5
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
    ["Node", "Root", "Number", "Span", "Made", "Shape", "Store", "Put", "Op", "Known", "Table"],
)
def test_members_stand_in_the_same_order(name):
    given = {"operands": "count"}
    fields = [given.get(field, field) for field, *_ in getattr(warm_layout, f"C{name}")._fields_]
    assert [*members(name)] == fields


def test_functions_of_python_are_as_many():
    text = re.search(r"struct Python \{(.*?)\};", HEADERS, re.DOTALL)[1]
    pointers = len(re.findall(r"\(\*\w+\)\(", text))
    assert pointers == len(warm_layout.FUNCTIONS) + 2  # of NumPy's
    sizes = ctypes.sizeof(warm_layout.CPython) // 8
    assert sizes == pointers + len(warm_layout.OBJECTS) + 2
