# ruff: noqa: RUF001  (characters that look like others are what is tested)
"""Hostile values are refused before rendering, or the kernel is, token for token, a benign one.

``python -m tests.trust.test_hostile`` prints how many values went which way.
"""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opweave as ow
from opweave.compiler.ir.literals import c_literal
from opweave.compiler.ir.names import c_names
from opweave.compiler.kernels import render
from opweave.compiler.pipeline import driver
from opweave.compiler.toggles.facts import Declared
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.defines import Define
from opweave.opcodes.errors import DTypeError, NameRefusedError, OpweaveError
from opweave.opcodes.tokens import is_c_name
from opweave.runtime.binaries.build import builder
from tests.support.ctokens import code_tokens
from tests.support.data import DTYPES
from tests.support.hostile import ENTRIES, NAMES, NUMBERS, OBJECTS, TEXTS, X

LITERAL = re.compile(
    r"[0-9.]+(e[-+]?\d+)?f?|\d+(u|LL|ULL)?|true|false|nan|infinity|u?int\d+|float|double|[<>()-]|1"
)
NUMBER = re.compile(r"[\d.]+(e[-+]?\d+)?f?|\d+(u|LL|ULL)|s\d+")


# What Python, or the object itself, says to a number in the user's own function.
PYTHONS = re.compile(
    r"unsupported operand|as an integer|^no$|positional argument but|cannot use operands|Cannot compare|did not contain a loop|int too large"
)


def made(entry, value, meets=False):
    """The source for a value, or the error that refuses it; nothing else may be raised."""
    rendered = []
    real = render.render

    def watched(kernel):
        rendered.append(kernel)
        return real(kernel)

    driver.render = watched
    found = None
    try:
        return entry(value)
    except OpweaveError as error:
        found = error
    except (TypeError, RuntimeError, OverflowError) as error:
        if not meets or not PYTHONS.search(str(error)):
            raise
        return OpweaveError()
    finally:
        driver.render = real
    assert not rendered, "refused after something was rendered"
    assert len(str(found)) < 2000, "the message repeats all of it"
    return found


def same_code(source, benign, may_differ):
    """Token by token: equal, or different only in what the entry point may choose."""
    found, expected = code_tokens(source), code_tokens(benign)
    if may_differ == NAMES:
        pairs = list(zip(found, expected, strict=True))
        return all(a == b or (is_c_name(a) and is_c_name(b)) for a, b in pairs)
    if may_differ == NUMBERS:
        found = [t for t in found if not NUMBER.fullmatch(t)]
        expected = [*expected, *"()<>-", "nan", "infinity"]
    if may_differ:
        return set(found) <= KNOWN_TOKENS | set(expected)
    return found == expected


def converting(name):
    return ow.fuse(lambda x: x.astype(name))


def summing(name):
    return ow.fuse(lambda x: np.sum(x, dtype=name))


def known_tokens():
    """What the compiler writes by itself, over dtypes, toggles, architectures and places."""
    out = set()
    for name in DTYPES:
        for function in (converting(name), summing(name)):
            out |= set(code_tokens(function.lower(X, target="sm_80").source))
    for target in ("host", "sm_90a"):
        out |= set(code_tokens(ow.fuse(lambda x: x + 1).lower(X, target=target).source))
    for function in (lambda x: ow.softmax(x, axis=0), lambda x: x.T + 1, lambda x: x.sum(axis=0),
                     lambda x: ow.softmax(x, axis=None), lambda x: ow.softmax(x),
                     lambda x: x.sum(), lambda x: x.sum(axis=1, keepdims=True), lambda x: x + 1,
                     lambda x: np.exp(ow.relu(x)) + 1, lambda x: ow.relu(np.exp(x) + 1)):  # fmt: skip
        out |= set(code_tokens(ow.fuse(function).lower(X, target="sm_80").source))
    kernels = {f"kernel_{form}_{d.name}" for form in ("map", "row") for d in dtypes.ALL}
    return out | kernels | {str(n) for n in range(1025)}


KNOWN_TOKENS = known_tokens()


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_a_hostile_value_is_refused_or_changes_no_token(name):
    entry, benign, may_differ = ENTRIES[name]
    expected = "" if benign in ("", None) else entry(benign)
    sources = set()  # the longest of which is compiled
    for value in [*TEXTS, *OBJECTS]:
        found = made(entry, value, may_differ == NUMBERS)
        if isinstance(found, OpweaveError):
            continue
        if may_differ != "code":
            assert same_code(found, expected or found, may_differ), shown(value)
        sources.add(found)
    for source in sorted(sources, key=len)[-1:]:
        if may_differ != "code":
            kernel = re.search(r'^extern "C".*\n?(\w+)\($', source, re.MULTILINE)
            builder().build(source, kernel[1], "host", mode="verify")


PIECES = st.sampled_from([
    *"abxT_09;:#\"'\\\n\r\t\0{}()[]/*?%<>$`@&|^~!=+-.,",
    "/*", "*/", "//", "??/", "??=", "%>", "%:", "$(", "{{", "}}", "{%", "{#", "\u2028", "\u200f",
    "х", "ｘ", "é", "\ud800", "int", "__", "float32", "BLOCK", "sm_80",
])  # fmt: skip
HOSTILE = st.lists(PIECES, max_size=8).map("".join)
FUZZED = ["operator name", "argument", "function name", "load", "kernel name", "label", "operand",
          "dtype", "toggle", "target", "device name", "file name", "text that a number meets",
          "name of an output", "insert before", "attribute of one's own"]  # fmt: skip
BENIGN = {name: ENTRIES[name][0](ENTRIES[name][1]) for name in FUZZED}
EXAMPLES = {"text": 0, "number": 0}


@pytest.mark.filterwarnings("ignore:Data type alias")  # of NumPy, about letters that are drawn
@pytest.mark.parametrize("name", FUZZED)
@settings(max_examples=25, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(text=HOSTILE)
def test_any_text_is_refused_or_changes_no_token(name, text):
    entry, _, may_differ = ENTRIES[name]
    EXAMPLES["text"] += 1
    found = made(entry, text)

    assert isinstance(found, OpweaveError) or same_code(found, BENIGN[name], may_differ)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(value=st.one_of(st.floats(), st.integers(), st.integers(-(2**70), 2**70), st.booleans()),
       dtype=st.sampled_from(dtypes.ALL))  # fmt: skip
def test_a_literal_is_the_number_and_nothing_else(value, dtype):
    EXAMPLES["number"] += 1
    try:
        text = c_literal(value, dtype)
    except DTypeError:
        return
    pair = {dtype.register, "{", ",", "}"} if dtype.is_complex else set()
    assert all(LITERAL.fullmatch(t) for t in code_tokens(text) if t not in pair), text
    if dtype.is_complex:
        assert (
            text
            == f"{dtype.register}{{{c_literal(value, dtype.part)}, {c_literal(0, dtype.part)}}}"
        )
        return
    with np.errstate(all="ignore"):
        held = dtype.numpy.type(value)
    plain = re.sub(r"\(u?int\d+\)", "", text).strip("()").rstrip("fuUL")
    if dtype.is_float and np.isfinite(held):
        assert dtype.numpy.type(float(plain)) == held
    elif dtype.kind in "iu" and " " not in plain:
        assert int(plain) == held


@pytest.mark.parametrize("legacy", ["1.13", "1.25"])
def test_numpys_print_options_change_no_constant(legacy):
    values = [1 / 3, 16777217.5, 1e-45, 1e20, 123456.7]
    before = [c_literal(v, dtypes.F32) for v in values]
    with np.printoptions(legacy=legacy, precision=2):
        assert before == [c_literal(v, dtypes.F32) for v in values]


@pytest.mark.host
def test_numbers_that_print_alike_stay_apart():
    narrow, wide = np.float32(0.1), 0.1
    fused = ow.fuse(lambda x, s: (x * (s * narrow), x * (s * wide)))
    x = np.ones(3, np.float64)

    for expected, found in zip(fused.__wrapped__(x, 3.0), fused(x, 3.0), strict=True):
        np.testing.assert_array_equal(expected, found)


CONFUSABLE = ["größe", "π", "ﬁeld", "变量", "x" * 48, "x" * 49, "_X", "__x", "_LP64", "linux", "unix",
              "NULL", "main", "exit", "malloc", "assert", "half", "min", "EOF", "stdin", "errno",
              "and", "not_eq", "asm", "wchar_t", "signbit", "INFINITY", "NAN", "va_start", "bool"]  # fmt: skip


@pytest.mark.parametrize("target", [
    pytest.param("host", marks=pytest.mark.host), pytest.param("sm_80", marks=pytest.mark.host),
    pytest.param("nvrtc", marks=pytest.mark.nvrtc),
])  # fmt: skip
def test_pythons_identifiers_compile_under_names_that_c_has(target):
    names = c_names(CONFUSABLE)
    assert len(set(names)) == len(CONFUSABLE)
    assert all(map(is_c_name, names))
    legal = [n for n in CONFUSABLE if n.isidentifier() and n not in ("and", "assert")]
    scope = {}
    exec(f"def malloc({', '.join(legal)}):\n    return {' + '.join(legal)}", scope)
    arguments = [np.full(8, i, np.float32) for i in range(len(legal))]
    arch = "sm_80" if target == "nvrtc" else target
    program = ow.fuse(scope["malloc"]).lower(*arguments, target=arch)
    if target == "nvrtc":
        program.compile()
    else:
        np.testing.assert_array_equal(sum(arguments), program(*arguments))


def kernel_with(**changes):
    from dataclasses import replace

    return replace(ow.fuse(lambda x: x + 1).lower(X, target="sm_80").kernels[0].data, **changes)


GATE = [
    {"name": "k; }"}, {"name": "int"}, {"name": "k\n"}, {"title": ("fused\n#include",)},
    {"title": ("ends in \\",)}, {"title": ("é",)}, {"target": "sm_80 -G"}, {"template": "../x"},
    {"declared": (Declared(Define("A\n", (0, 1)), 0, (0, 1), {}),)},
    {"declared": (Declared(Define("A", (0, 1), "a\nb"), 0, (0, 1), {}),)},
    {"toggles": {"BLOCK\n": 1}}, {"toggles": {"BLOCK": "1;"}}, {"toggles": {"BLOCK": True}},
]  # fmt: skip


@pytest.mark.parametrize("changes", GATE, ids=str)
def test_the_gate_refuses_what_no_allow_list_has(changes):
    with pytest.raises(NameRefusedError, match="kernel refused"):
        render.render(kernel_with(**changes))


if __name__ == "__main__":
    refused = kept = 0
    for entry, _, may_differ in ENTRIES.values():
        for value in [*TEXTS, *OBJECTS]:
            found = isinstance(made(entry, value, may_differ == NUMBERS), OpweaveError)
            refused, kept = refused + found, kept + (not found)
    for name in FUZZED:
        test_any_text_is_refused_or_changes_no_token(name)
    test_a_literal_is_the_number_and_nothing_else()
    print(f"{len(ENTRIES)} entry points x {len(TEXTS) + len(OBJECTS)} values: "
          f"{refused} refused, {kept} harmless; besides {EXAMPLES['text']} random texts at "
          f"{len(FUZZED)} entry points and {EXAMPLES['number']} random numbers")  # fmt: skip
