"""``kernel.beside``: where two kernels differ, in two columns."""

import numpy as np
import pytest

import opweave as ow
from opweave._programs.side_by_side import WIDTH, side_by_side

X = np.ones(8, np.float32)
EDGE = ["a;", "b;", "c;", "d;", "e;", "f;"]


def text(lines):
    return "\n".join(f"    {line}  // a comment" for line in lines)


@pytest.mark.parametrize(("before", "after", "expected"), [
    (EDGE, EDGE, "(the same)"),
    (EDGE, [*EDGE, "g;"], "    e;       e;\n    f;       f;\n       >     g;"),
    (EDGE, EDGE[1:], "    a; <\n    b;       b;\n    c;       c;"),
    (["x = 1;"], ["x = 2;"], "    x = 1; |     x = 2;"),
    (["out = v3;"], ["v4 = f(u);", "out = v4;"],
     "              >     v4 = f(u);\n    out = v3; |     out = v4;"),
    (["v4 = f(u);", "out = v4;"], ["out = v3;"],
     "    v4 = f(u); <\n    out = v4;  |     out = v3;"),
    ([*EDGE, *EDGE], ["z;", *EDGE, *EDGE, "z;"],
     "       >     z;\n    a;       a;\n    b;       b;\n...\n"
     "    e;       e;\n    f;       f;\n       >     z;"),
], ids=["same", "more", "less", "changed", "before it", "gone before it", "two places"])  # fmt: skip
def test_lines_stand_beside_what_they_became(before, after, expected):
    assert side_by_side(text(before), text(after)) == expected


def test_a_long_line_goes_on_below_within_the_page():
    words = " + ".join(f"word{i}" for i in range(30))
    found = side_by_side(f"x = {words};", f"y = {words};")

    assert all(len(line) <= WIDTH for line in found.splitlines())
    assert found.split().count("word29;") == 2


def test_a_kernel_beside_an_edit_of_it():
    kernel = ow.fuse(lambda x: np.exp(x)).lower(X, target="sm_80").kernels[0]
    edited = kernel.insert(ow.opcodes.clip(0.5, 1.5), before="store")
    changed = [line for line in kernel.beside(edited).splitlines() if line[49:50] in "<>|"]

    assert kernel.beside(kernel) == "(the same)"
    assert ">" in changed[0]
    assert "min_nan" in changed[0]
    assert "out_v[l] = v0;" in changed[-1]
    assert "out_v[l] = v1;" in changed[-1]


def test_it_takes_a_kernel():
    kernel = ow.fuse(lambda x: np.exp(x)).lower(X, target="sm_80").kernels[0]

    with pytest.raises(ow.errors.ArgumentError, match="beside: expected a kernel, found str"):
        kernel.beside(kernel.source)
