"""Row 27 of docs/trust.md: a fragment that does not compile says which, where, and why."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import CompileError, FragmentError
from opweave.opcodes.operators.registry import BUILT_IN, OPERATORS

X = np.ones((4, 8), np.float32)

# What no compiler has to say, because it is seen when the operator is made.
REFUSED = {
    "parenthesis open": "x * (1 + x",
    "parenthesis closed": "x * 1) + x",
    "bracket": "x[0",
    "brace": "if (x > 0) { return x; return 0;",
    "crossed": "(x + [1)]",
    "string open": 'x + "abc',
    "comment open": "x /* one",
    "comment open in statements": "T y = x; /* y\nreturn y;",
    "unknown name": "x * scael",
    "no result": "T y = x;",
    "empty": " ",
    "comment only": "// x",
    "preprocessor": "\n#define y 3\nx",
    "digraph": "\n%:define y 3\nx",
    "line joined": "x \\\n + 1",
    "no ascii": "x \u00d7 2",
}
# What passes the rules, and a compiler refuses.
BROKEN = {
    "unknown function": "undefined_thing(x)",
    "unknown function in statements": "T y = undefined_thing(x); return y;",
    "unknown name in statements": "T y = x * scael; return y;",
    "unknown type": "vec3 y = x; return y.r;",
    "wrong type": "x.r * 2",
    "wrong type returned": 'return "text";',
    "too few arguments": "fmaf(x, 1.0f)",
    "dangling operator": "x +",
    "doubled operator": "x * / 2",
    "missing semicolon": "T y = x return y;",
    "missing semicolon in a loop": "T y = x; for (int i = 0; i < 3 ++i) y += x; return y;",
    "operand assigned": "x = 1; return x;",
    "declared twice": "T y = x; T y = x; return y;",
    "keyword as a value": "x + class",
    "number that is none": "x * 1.0.0f",
    "missing condition": "x > 0 ? x",
}


def broken(fragment):
    operator = ow.operator("seeded", fragment, "float", lambda x: x, replace=True)
    return ow.fuse(lambda x: operator(x * 2) + 1)


@pytest.mark.parametrize("name", REFUSED)
def test_a_fragment_that_cannot_be_code_is_refused_when_it_is_given(name):
    with pytest.raises(FragmentError, match="seeded|may not stand"):
        broken(REFUSED[name])


def holds(error, fragment):
    """The error names op-code, line, source and log, and they fit together."""
    assert error.opcode == "seeded", error.log
    assert "'seeded'" in str(error)
    assert "test_broken_fragments.py:" in str(error)
    line = error.source.split("\n")[error.line - 1]
    assert line.startswith(f"{error.line:4} ")
    words = re.findall(r"\w{3,}", fragment) or fragment.split()
    near = error.source.split("\n")[error.line - 5 : error.line + 5]
    assert any(w in text for w in words for text in near)
    assert "error" in error.log


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("name", BROKEN)
def test_the_host_compiler_s_complaint_names_the_op_code(name, target):
    program = broken(BROKEN[name]).lower(X, target=target)

    with pytest.raises(CompileError) as caught:
        program(X)
    holds(caught.value, BROKEN[name])


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", BROKEN)
def test_nvrtc_s_complaint_names_the_op_code(name):
    program = broken(BROKEN[name]).lower(X, target="sm_80")

    with pytest.raises(CompileError) as caught:
        program.compile()
    holds(caught.value, BROKEN[name])


@pytest.mark.host
@pytest.mark.parametrize("fragment", ["x * 2 // twice", "x * 2 /* twice; */", "T y = x; // } \nreturn y * 2;"])  # fmt: skip
def test_a_comment_of_a_fragment_swallows_nothing(fragment):
    operator = ow.operator("noted", fragment, "float", lambda x: x * 2, replace=True)
    fused = ow.fuse(lambda x: operator(x) + 1)

    np.testing.assert_array_equal(X * 2 + 1, fused(X))


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_our_own_op_codes_keep_the_rules_that_a_users_has_to(name):
    """They are not asked at import, where only what a user makes is checked."""
    OPERATORS[name].check_list()
    for code in OPERATORS[name].opcodes:
        code.check()
