"""Toggles in the lists of reductions, scans and products: declared, shown, flipped and checked."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.toggled import X, bits

TARGETS = ("host", "sm_80")
TURNED = ow.toggle("TURNED", 0, 1, doc="operands the other way round")
SUM = [TURNED, "acc = 0", "#if TURNED   // which way\nx + acc\n#else\nacc + x\n#endif"]
RUN = [TURNED, "acc = -0.0f", SUM[-1]]
STEP = [TURNED, "acc = -0.0f", "acc +\n#if TURNED\ny * x\n#else\nx * y\n#endif"]
PLAIN = {
    "reduction": (["acc = 0", "acc + x"], "same", np.add),
    "scan": (["acc = -0.0f", "acc + x"], "same", np.add),
    "product": (["acc = -0.0f", "acc + x * y"], "same", (np.multiply, np.add)),
}


def own(kind, fragments, name=None, meaning=None):
    """An operator that no other test finds in the table of all."""
    name, (_, rule, meant) = name or f"turned_{kind}", PLAIN[kind]
    before = dict(ow.OPERATORS)
    made = getattr(ow, kind)(name, fragments, rule, meaning or meant, replace=True)
    ow.OPERATORS.clear()
    ow.OPERATORS.update(before)
    return made


summed, running, times = own("reduction", SUM), own("scan", RUN), own("product", STEP)
plain = {kind: own(kind, PLAIN[kind][0], f"plain_{kind}") for kind in PLAIN}
LONG = np.random.default_rng(1).standard_normal((2, 70_000)).astype(np.float32)
HALVES = X.astype(np.float16)
# Forms of kernels: the kind of the operator, a function of it, what it is called with.
FORMS = {
    "rows": ("reduction", lambda f, x: f(x * 2, axis=1) + 1, X),
    "rows of halves": ("reduction", lambda f, x: f(x, axis=1), HALVES),
    "columns": ("reduction", lambda f, x: f(x * x, axis=0), X),
    "several blocks": ("reduction", lambda f, x: f(x, axis=1), LONG),
    "behind a product": ("reduction", lambda f, x: f(x @ x.T, axis=1), X),
    "scanned rows": ("scan", lambda f, x: f(x * 2) + 1, X),
    "scanned halves": ("scan", lambda f, x: f(x), HALVES),
    "scanned columns": ("scan", lambda f, x: f(x, axis=0), X),
    "scanned by several blocks": ("scan", lambda f, x: f(x), LONG),
    "a product": ("product", lambda f, x: f(x, x.T) * 2, X),
    "rows of a product": ("product", lambda f, x: f(x, x.T).max(axis=1), X),
    "products of halves": ("product", lambda f, x: f(x.T, x), HALVES),
}
OWN = {"reduction": summed, "scan": running, "product": times}


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMS)
def test_a_running_value_has_the_same_bits_with_every_value_in_every_form(name, target):
    kind, form, x = FORMS[name]
    fused = ow.fuse(lambda x: form(OWN[kind], x), fullgraph=True)
    expected = bits(ow.fuse(lambda x: form(plain[kind], x)).lower(x, target=target)(x))

    for value in TURNED.values:
        flipped = fused.with_toggles(TURNED=value)
        program = flipped.lower(x, target=target)
        kernels = [k for k in program.kernels if "TURNED" in k.toggles]
        assert kernels
        for kernel in kernels:
            assert f"#define TURNED            {value}    // operands the" in kernel.source
            assert re.search(r"\n#if TURNED\n    return .*\n#else\n    return ", kernel.source)
            assert "TURNED" not in kernel.flat
        assert bits(program(x)) == expected
        assert bits(flipped.unfused().lower(x, target=target)(x)) == expected


@pytest.mark.host
@pytest.mark.parametrize("kind", PLAIN)
def test_check_explain_list_and_pickle_have_it(kind):
    form, x = next(row[1:] for row in FORMS.values() if row[0] == kind)
    fused = ow.fuse(lambda x: form(OWN[kind], x))

    assert fused.check(x).others == (("TURNED=1", None),)
    assert "TURNED=1" in fused.with_toggles(TURNED=1).explain(x, target="sm_80").text
    assert OWN[kind].toggles == (TURNED,)
    assert str(OWN[kind]).split("\n")[1] == str(TURNED)
    assert pickle.loads(pickle.dumps(OWN[kind].opcodes)) == OWN[kind].opcodes
    kernel = fused.lower(x, target="sm_80").kernels[0]
    assert kernel.raw_kernel().source.count("#define TURNED") == 1


@pytest.mark.host
def test_the_function_stands_once_however_often_it_is_called():
    (kernel,) = (
        ow.fuse(lambda x: summed(x - summed(x, axis=1, keepdims=True), axis=1))
        .lower(X, target="sm_80")
        .kernels
    )
    names = re.findall(r"__forceinline__ float (\w+)\(", kernel.source)

    assert names == [f"op_turned_reduction_{p}_f32_f32" for p in ("accumulate", "reduce")]


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", FORMS)
def test_nvrtc_takes_every_value(name):
    kind, form, x = FORMS[name]
    for value in TURNED.values:
        fused = ow.fuse(lambda x: form(OWN[kind], x)).with_toggles(TURNED=value)
        fused.lower(x, target="sm_80").compile()


# Who chooses

ROUNDED = ow.toggle("ROUNDED_STEP", 0, 1, same_bits=False, rule=lambda d, r: r.ndim == 1)
ROUGH = "#if ROUNDED_STEP\nacc + x\n#else\nfma(acc, (T)1.0000001, x)\n#endif"
rough = own("reduction", [ROUNDED, "acc = 0", ROUGH], "rough_sum")
capped = own("reduction", [ow.opcodes.square, *SUM, ow.opcodes.sqrt], "turned_norm")
BY_KIND = [TURNED, "acc = 0", {"iu": "acc ^ x", "f": SUM[-1]}]


@pytest.mark.host
def test_a_rule_chooses_by_what_is_reduced_and_other_bits_are_not_fused():
    fused = ow.fuse(lambda x: (rough(x, axis=1), rough(x)))
    program = fused.lower(X, target="sm_80")
    found = {k.toggles["ROUNDED_STEP"] for k in program.kernels if "ROUNDED_STEP" in k.toggles}

    assert found == {0, 1}
    assert bits(program(X)) == bits(fused.unfused().lower(X, target="sm_80")(X))
    assert fused.with_toggles(ROUNDED_STEP=1).check(X).ok


@pytest.mark.host
def test_what_is_not_the_same_is_found():
    wrong = own(
        "reduction",
        [TURNED, "acc = 0", "#if TURNED\nfma(acc, (T)1.0000001, x)\n#else\nacc + x\n#endif"],
    )
    with pytest.raises(e.CheckError, match="TURNED=1 gives other bits than TURNED=0"):
        ow.fuse(lambda x: wrong(x, axis=1)).check(X)

    flawed = own(
        "reduction", [TURNED, "acc = 0", "#if TURNED\nno(acc, x)\n#else\nacc + x\n#endif"]
    )
    with pytest.raises(e.CompileError, match="no") as caught:
        ow.fuse(lambda x: flawed(x)).with_toggles(TURNED=1)(X)
    assert caught.value.opcode == "turned_reduction"


@pytest.mark.host
def test_composites_kinds_and_edits_take_toggles():
    assert ow.fuse(lambda x: capped(x, axis=1)).check(X).others == (("TURNED=1", None),)

    mixed = own("reduction", [TURNED, {"u": "acc = 0"}, {"u": "#if TURNED\nx ^ acc\n#else\nacc ^ x\n#endif"}],
                meaning=np.bitwise_xor)  # fmt: skip
    assert ow.fuse(lambda x: mixed(x)).check(X.view(np.uint32)).others == (("TURNED=1", None),)

    for row, text in ((ow.opcodes.sum, SUM[-1]), (ow.opcodes.cumsum, RUN[-1])):
        edited = row.with_opcodes([TURNED, text])
        again = edited.with_opcodes(list(edited.opcodes))
        fused = ow.fuse(lambda x, a=edited, b=again: (a(x), b(x * 2)))
        assert fused.check(X).others == (("TURNED=1", None),)
    plus = ow.OPERATORS["matmul"].with_opcodes([TURNED, {"f": STEP[-1]}])
    assert ow.fuse(lambda x: plus(x, x.T)).check(X).others == (("TURNED=1", None),)


def test_a_kind_whose_text_tests_nothing_has_no_toggle():
    code = own("reduction", [TURNED, "acc = 0", SUM[-1]]).opcodes[0]
    other = replace(code, rows=(code.rows[0]._replace(kinds="f"), code.rows[0]._replace(
        kinds="iu", text="acc + x")))  # fmt: skip

    assert other.of_kinds("f").toggles == (TURNED,)
    assert other.of_kinds("u").toggles == ()


# What is refused

OTHER = ow.toggle("OTHER_WAY", 0, 1)
REFUSED = [
    ("reduction", [TURNED, "acc = 0", "acc + x"], e.ToggleError, "no op-code .* tests TURNED"),
    ("scan", [TURNED, "acc = 0", "acc + x"], e.ToggleError, "no op-code .* tests TURNED"),
    ("product", [TURNED, "acc = 0", "acc + x * y"], e.ToggleError, "no op-code .*tests TURNED"),
    ("reduction", SUM[1:], e.FragmentError, "tests 'TURNED', which nothing declares"),
    ("reduction", [TURNED, "#if TURNED\nacc = 0\n#else\nacc = -0\n#endif", SUM[-1]],
     e.FragmentError, "op-code 1 of 2: expected what it begins with, the same with every value"),
    ("scan", [TURNED, "acc = TURNED", SUM[-1]], e.FragmentError, "1 of 2: .*the same with every"),
    ("reduction", [TURNED, "acc = 0", "#if TURNED\nacc + x\n#else\nacc\n#endif"],
     e.FragmentError, r"an expression that reads acc and x; found 'acc' with TURNED=0"),
    ("reduction", [TURNED, "acc = 0", "#if TURNED\nacc + x\n#else\nacc - x\n#endif"],
     e.FragmentError, "associative expression.*'acc - x' with TURNED=0"),
    ("reduction", [TURNED, "acc = 0", "#if TURNED\nacc = acc + x\n#else\nacc + x\n#endif"],
     e.FragmentError, "op-code 2 of 2: expected how two values are joined"),
    ("reduction", [TURNED, "acc = 0", "#if TURNED\nreturn acc + x;\n#else\nreturn acc;\n#endif"],
     e.FragmentError, "expected an expression; found statements"),
    ("product", [TURNED, "acc = 0", "acc + x *\n#if TURNED\nx\n#else\ny\n#endif"],
     e.FragmentError, "reads acc, x and y; found .* with TURNED=1"),
    ("reduction", [TURNED, OTHER, *SUM[1:]], e.ToggleError, "tests OTHER_WAY"),
    ("reduction", [ow.opcodes.square, TURNED, "acc = 0", "acc + x"], e.ToggleError, "TURNED"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fragments", "error", "message"), REFUSED)
def test_a_list_that_breaks_the_rules_is_refused(kind, fragments, error, message):
    with pytest.raises(error, match=message):
        own(kind, fragments)


def test_what_cannot_hold_is_refused_with_the_reason():
    held = ow.toggle("TURNED_THERE", 0, 1, check=lambda v, d, r: "no path" * (v and d.is_host))
    only = own("scan", [held, "acc = -0.0f", SUM[-1].replace("TURNED", "TURNED_THERE")])
    fused = ow.fuse(lambda x: only(x)).with_toggles(TURNED_THERE=1)

    assert fused.lower(X, target="sm_80").kernels[0].toggles["TURNED_THERE"] == 1
    with pytest.raises(e.ToggleError, match="TURNED_THERE=1 cannot hold: no path"):
        fused.lower(X, target="host")
