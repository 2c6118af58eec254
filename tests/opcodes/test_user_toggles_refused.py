"""Toggles that a list declares wrongly are refused, with the reason, before any compiler runs."""

from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.toggles.choose import KNOWN
from opweave.opcodes import errors as e
from tests.support.toggled import X, bits, own, swish, toggled

NAMES = [
    ("use_table", "expected capitals"), ("Use", "expected capitals"), ("1X", "refused"),
    ("A B", "refused"), ("", "refused"), (3, "refused"), ("_USE", "reserves"),
    ("T", "something else in a fragment"), ("S", "something else"), ("N", "a header uses it"),
    ("EACH_CHANNEL", "a header uses it"), ("OW_COPY", "a header uses it"), ("NULL", "uses it|macro"),
    ("CUDART_PI_F", "uses it|macro"), ("NV_IF_TARGET", "macro of C or CUDA"),
    ("INT64_MIN", "macro of C or CUDA"), ("M_PIl", "expected capitals"), ("EOF", "macro of C"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "message"), NAMES)
def test_a_name_that_cannot_stand_in_source_is_refused(name, message):
    with pytest.raises(e.NameRefusedError, match=message):
        ow.toggle(name, 0, 1)


def test_our_own_toggles_are_refused():
    for name in KNOWN:
        with pytest.raises(e.NameRefusedError, match="the compiler, a template or a header"):
            ow.toggle(name, 0, 1)


VALUES = [
    ((), {}, "2 to 32 values"), ((1,), {}, "2 to 32 values"), ((1, 1), {}, "that differ"),
    ((0, False), {}, "that differ"), ((0, 1.0), {}, "value 1.0"), ((0, -1), {}, "value -1"),
    ((0, 2**31), {}, "from 0 to"), ((0, "1"), {}, "value '1'"), (range(40), {}, "2 to 32"),
    ((0, 1), {"doc": "a\nb"}, "doc='a"), ((0, 1), {"doc": "\\"}, "backslashes"),
    ((0, 1), {"doc": "ends in ??/"}, "and '[?][?]'"), ((0, 1), {"doc": "x" * 101}, "up to 100"), ((0, 1), {"doc": None}, "doc=None"),
    ((0, 1), {"rule": 1}, "rule=1: expected a function"), ((0, 1), {"check": "x"}, "check='x'"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "more", "message"), VALUES)
def test_a_declaration_that_is_not_whole_is_refused(values, more, message):
    with pytest.raises(e.ToggleError, match=message):
        ow.toggle("REFUSED", *values, **more)
    with pytest.raises(e.ArgumentError, match="same_bits=1: expected True or False"):
        ow.toggle("REFUSED", 0, 1, same_bits=1)


def test_bools_and_numpys_integers_are_values():
    assert ow.toggle("PLAIN", False, np.True_, np.uint8(7)).values == (0, 1, 7)


A, B = ow.toggle("AXIS_A", 0, 1), ow.toggle("AXIS_B", 0, 1, 2)
WIDE = [ow.toggle(f"WIDE_{c}", *range(32)) for c in "ABC"]
ALL_WIDE = "x + WIDE_A + WIDE_B + WIDE_C"
LISTS = [
    (["#if AXIS_A\nx\n#else\ny\n#endif"], "tests 'AXIS_A', which nothing declares.*ow.toggle"),
    ([A, "#if OTHER\nx\n#else\ny\n#endif"], "tests 'OTHER', which nothing declares"),
    ([A, "#if USE_VECTOR_IO + AXIS_A\nx\n#else\ny\n#endif"], "tests 'USE_VECTOR_IO'"),
    ([A, "#if AXIS_A\nx\n#else\ny"], "an #if is not closed"),
    ([A, "x + AXIS_A\n#endif"], "#endif without an #if"),
    ([A, "#if AXIS_A\nx\n#else\ny\n#else\nx\n#endif"], "#else behind #else"),
    ([A, "#if AXIS_A\nx\n#else\ny\n#elif AXIS_A\nx\n#endif"], "#elif behind #else"),
    ([A, "#else\nx + AXIS_A\n#endif"], "#else without an #if"),
    ([A, "#ifdef AXIS_A\nx\n#else\ny\n#endif"], "but #if, #elif, #else and #endif, found #ifdef"),
    ([A, "#define AXIS_A 1\nx"], "found #define"),
    ([A, "#pragma unroll\nx + AXIS_A"], "found #pragma"),
    ([A, "x # AXIS_A"], "each in a line of its own"),
    ([A, "#if defined(AXIS_A)\nx\n#else\ny\n#endif"], "always defined: test its value"),
    ([A, "#if AXIS_A(1)\nx\n#else\ny\n#endif"], "no condition of whole numbers"),
    ([A, "#if AXIS_A +\nx\n#else\ny\n#endif"], "no condition of whole numbers"),
    (["x *\n#if 1\n2\n#endif"], "'#if 1' tests no toggle"),
    ([A, "#if\nx + AXIS_A\n#else\ny\n#endif"], "no condition of whole numbers"),
    ([A, "#if AXIS_A == 2\nx\n#else\ny\n#endif"], "holds with no value"),
    ([A, "#if AXIS_A\n#if !AXIS_A\nx\n#endif\nx\n#else\ny\n#endif"], "holds with no value"),
    ([A, "#if AXIS_A\nx\n#else AXIS_A\ny\n#endif"], "expected #else alone in its line"),
    ([A, "#if AXIS_A\nx\n#endif"], "empty with AXIS_A=0"),
    ([B, "#if AXIS_B == 1\nx\n#elif AXIS_B\ny\n#endif"], "empty with AXIS_B=0"),
    ([A, "#if AXIS_A\nx\n#else\n(y\n#endif"], "unclosed.*with AXIS_A=0"),
    ([A, "#if AXIS_A\nx\n#else\nz\n#endif"], "'z' in fragment.*none of its operands.*AXIS_A=0"),
    ([A, "#if AXIS_A\nreturn x;\n#else\ny\n#endif"],
     "statements with AXIS_A=1|an expression with AXIS_A=0"),
    ([A, "#if AXIS_A\nreturn x;\n#endif\nT s = x;"], "must return their result with AXIS_A=0"),
    ([A, "s = x\n#if AXIS_A\n+ 1\n#endif", "#if AXIS_A\ns\n#else\nq\n#endif"], "op-code 2 of 2"),
    ([A, "#if AXIS_A\ns = x\n#endif", "s"], "1 of 2: 's' is bound with AXIS_A=1, and nothing with"),
    ([A, "#if AXIS_A\ns = x\n#else\nx + 1\n#endif", "s"], "'s' is bound with AXIS_A=1, and nothing"),
    ([A, "#if AXIS_A\ns = x\n#else\nt = x\n#endif", "s"], "and 't' is with AXIS_A=0: bind one name"),
    ([A, "#if AXIS_A\ns = x\n#else\nx\n#endif"], "leave out 's ='"),
    ([A, "#if AXIS_A\nx\n#else\ny\n#endif", "x"], "expected 'name = expression'"),
    ([A, "AXIS_A = 1; return x;"], "a toggle, to which nothing is assigned"),
    ([*WIDE, ALL_WIDE], "at most 1024 values of its toggles together, found 32768"),
    ([A], "expected a fragment, or a list of them; found none"),
]  # fmt: skip


@pytest.mark.parametrize(("fragments", "message"), LISTS)
def test_a_list_that_breaks_the_rules_is_refused(fragments, message):
    with pytest.raises(e.FragmentError, match=message):
        own("refused", fragments, lambda x, y: x)


def test_a_toggle_that_nothing_tests_is_refused():
    with pytest.raises(e.ToggleError, match="refused: no op-code of the list tests AXIS_A: write"):
        own("refused", [A, "x + 1"], abs)
    code = own("kept", [A, "x + AXIS_A"], abs).opcodes[0]
    with pytest.raises(e.ToggleError, match="kept: no fragment tests AXIS_B"):
        replace(code, toggles=(A, B))


def test_a_toggle_belongs_to_an_operator_with_fragments():
    code = ow.opcodes.matmul.opcodes[0]
    with pytest.raises(e.FragmentError, match="load, which a template supplies"):
        replace(code, toggles=(A,))
    with pytest.raises(
        e.EditError, match="toggle AXIS_A: expected it in the list of the operator"
    ):
        ow.kernel([A, ow.load("x"), ow.store()])


def test_a_name_that_is_a_toggle_and_a_value_is_refused():
    with pytest.raises(e.NameRefusedError, match="AXIS_A names a toggle and a value"):
        own("refused", [A, "x + AXIS_A"], lambda x, AXIS_A: x)
    with pytest.raises(e.NameRefusedError, match="AXIS_A names a toggle and a value"):
        own("refused", [A, "AXIS_A = x", "#if AXIS_A\nx\n#else\nAXIS_A\n#endif"], abs)


other_flip = ow.toggle("FLIPPED", 0, 1, 2)


def test_two_that_declare_a_toggle_differently_are_refused():
    three = own("of_three", [other_flip, "x + FLIPPED - FLIPPED"], abs)
    found = r"declare FLIPPED differently: its values \(0, 1\) and \(0, 1, 2\); declare it once"
    with pytest.raises(e.ToggleError, match=rf"toggled_swish \(.*:\d+\) and of_three \(.*{found}"):
        ow.fuse(lambda x: three(swish(x))).lower(X)

    k = [ow.load("x"), swish, three, ow.store()]
    within = ow.kernel([ow.load("x"), swish, ow.store()], name="within")
    found = rf"op-code 2, of_three: op-code 1 of {{}} and op-code 2 {found}.* \(.*:\d+\)"
    with pytest.raises(e.ToggleError, match="both: " + found.format("both")):
        ow.kernel(k, name="both")
    with pytest.raises(e.ToggleError, match="both: " + found.format("both")):
        ow.kernel([k[0], within, *k[2:]], name="both")
    with pytest.raises(e.ToggleError, match="declare FLIPPED differently"):
        within + ow.kernel([ow.load("x"), three, ow.store()], name="behind")

    found = r"declare FLIPPED differently: its doc"
    with pytest.raises(e.ToggleError, match=f"the list refused and op-code s {found}"):
        own("refused", [ow.toggle("FLIPPED", 0, 1), swish.opcodes[0], "s + FLIPPED"], abs)
    with pytest.raises(e.ToggleError, match="op-code s and refused: op-code refused declare FLIP"):
        own("refused", [swish.opcodes[0], three.opcodes[0]], abs)
    ruled = [ow.toggle("OF_RULES", 0, 1, rule=lambda d, r: 0) for _ in range(2)]
    with pytest.raises(e.ToggleError, match="its rule is another function"):
        own("refused", [*ruled, "x + OF_RULES"], abs)


def test_a_name_that_is_something_else_in_the_function_is_refused():
    taken = own("takes_it", "const T FLIPPED = x; return FLIPPED;", abs)
    with pytest.raises(e.ToggleError, match="FLIPPED is a toggle of .*in a fragment of takes_it"):
        ow.fuse(lambda x: taken(swish(x))).lower(X)

    @ow.fuse
    def late(x, LATER):
        later = ow.toggle("LATER", 0, 1)
        return ow.cuda([later, "x + LATER"], x, numpy=lambda x: x) * LATER

    with pytest.raises(e.ToggleError, match="LATER is a toggle, and an argument of late"):
        late.lower(X, 2.0)


@pytest.mark.host
def test_an_argument_of_the_same_name_gets_another_one():
    @ow.fuse
    def scaled(x, FLIPPED):
        return swish(x) * FLIPPED

    assert bits(scaled(X, X)) == bits(ow.fuse(lambda x, y: swish(x) * y)(X, X))


def test_an_unknown_value_is_refused_at_once():
    with pytest.raises(e.ToggleError, match="STEPS=3: expected 2 or 4"):
        toggled.with_toggles(STEPS=3)
    with pytest.raises(e.ToggleError, match="unknown toggle STEPZ: expected one of .*STEPS"):
        toggled.with_toggles(STEPZ=2)
    three = own("of_three", [other_flip, "x + FLIPPED"], abs)
    assert ow.fuse(lambda x: three(x)).with_toggles(FLIPPED=2).lower(X)
    with pytest.raises(e.ToggleError, match="FLIPPED=2 cannot hold: it is 0 or 1"):
        toggled.with_toggles(FLIPPED=2).lower(X)
