"""Toggles that a list declares: chosen, shown, flipped and checked."""

import pickle
import re

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.toggled import (
    FLIP,
    NAMED,
    STATEMENTS,
    X,
    bits,
    leaky_of,
    own,
    swish,
    terms,
    toggled,
)

TARGETS = ("host", "sm_80")


def split(x):
    """The same of operators of one op-code each."""
    sigmoid = own("toggled_sigmoid", [FLIP, NAMED.replace("s = ", "")], lambda x: 1 / (1 + x))
    times = own("toggled_times", "x * s", lambda x, s: x * s)
    plain = own("toggled_plain", "x > 0 ? x : x * (T)0.25", leaky_of)
    first, second = x * 2, plain(x)
    return plain(times(first, sigmoid(first))) + 1, times(second, sigmoid(second)).sum(axis=1)


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
def test_fused_unfused_and_split_agree_with_every_value(target):
    expected = bits(ow.fuse(split).lower(X, target=target)(X))
    one = toggled.with_toggles(FLIPPED=1)

    for value, fused in ((0, toggled), (1, one), (1, one.unfused())):
        program = fused.lower(X, target=target)
        assert bits(program(X)) == expected
        assert {k.toggles.get("FLIPPED", value) for k in program.kernels} == {value}


FORMS = {
    "pixels": (
        lambda x: swish(ow.opcodes.saturation(x.reshape(10, 40)[:, :30].reshape(10, 10, 3), 0.5))),
    "a product": lambda x: swish(x @ X.T) / swish(x @ X.T).max(axis=1, keepdims=True),
    "columns": lambda x: x * swish(x.max(axis=0)),
    "a scan": lambda x: np.cumsum(swish(x), axis=1),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", FORMS)
def test_branches_stand_in_every_form_of_kernel(name):
    fused = ow.fuse(FORMS[name])
    for target in TARGETS:
        source = fused.lower(X, target=target).source
        assert source.count("#if FLIPPED") >= 2
        assert not re.search(r"^ +#", source, re.MULTILINE)

    assert bits(fused(X)) == bits(fused.with_toggles(FLIPPED=1)(X))


def test_a_toggle_is_in_the_header_the_list_and_the_explanation_once():
    program = toggled.with_toggles(FLIPPED=1).lower(X, target="sm_80")
    (kernel,) = program.kernels

    assert kernel.source.count("#define FLIPPED") == 1
    assert "#define FLIPPED           1    // operands the other way round" in kernel.source
    assert kernel.toggles["FLIPPED"] == 1
    assert "FLIPPED=1" in toggled.with_toggles(FLIPPED=1).explain(X, target="sm_80").text
    assert "FLIPPED=0" in toggled.explain(X, target="sm_80").text
    assert "#define FLIPPED           1" in kernel.raw_kernel().source
    assert str(kernel).count("#if FLIPPED") == 4  # two op-codes, used twice


def test_a_line_of_a_branch_has_its_comment():
    source = toggled.lower(X, target="host").source

    branches = re.findall(r"#if FLIPPED\n(.*)\n#else\n(.*)\n#endif", source)
    assert len(branches) == 5  # that of the function has no comment
    assert sum("// toggled_swish" in a and "// toggled_swish" in b for a, b in branches) == 4


def test_flat_resolves_it():
    for value, kept, gone in ((0, "0.25 * x", "x * (float)0.25"), (1, "x * (float)0.25", "5 * x")):
        flat = toggled.with_toggles(FLIPPED=value).lower(X, target="sm_80").kernels[0].flat
        assert "FLIPPED" not in flat
        assert kept in flat
        assert gone not in flat


def test_a_value_is_a_number_in_a_fragment():
    fused = ow.fuse(lambda x: terms(x) * 2)

    assert "i <= STEPS" in fused.lower(X).source
    assert "i <= 4" in fused.with_toggles(STEPS=4).lower(X).kernels[0].flat


def test_what_a_function_has_not_is_ignored_and_named():
    text = ow.fuse(lambda x: swish(x)).with_toggles(STEPS=4).explain(X).text

    assert "not in this template: STEPS" in text


# The compiler's choice

BY_SIZE = ow.toggle("BY_SIZE", 0, 1, rule=lambda device, result: result.size > 100)
LARGE = own("by_size", [BY_SIZE, "#if BY_SIZE\nx + x\n#else\nx * 2\n#endif"], lambda x: x * 2)
IN_THIRDS = "#if {0}\nx * (T)0.33333334\n#else\nx / 3\n#endif"
ROUNDED = ow.toggle(
    "ROUNDED", 0, 1, same_bits=False,
    rule=lambda device, result: not device.is_host and result.ndim == 2,
)  # fmt: skip
rounded = own("rounded_thirds", [ROUNDED, IN_THIRDS.format("ROUNDED")], lambda x: x / 3)


def test_a_rule_of_the_shape_is_a_part_of_what_is_specialised():
    fused = ow.fuse(lambda x: LARGE(x))
    found = {n: fused.lower(np.ones(n, np.float32)).lowered for n in (90, 91, 150, 151)}

    assert found[90] is found[91]
    assert found[150] is found[151]
    assert [found[n].kernels[0].toggles["BY_SIZE"] for n in (90, 150)] == [0, 1]


def test_the_operator_that_makes_most_decides_where_bits_are_the_same():
    (kernel,) = ow.fuse(lambda x: LARGE(LARGE(x).sum(axis=1))).lower(X, target="sm_80").kernels

    assert kernel.toggles["BY_SIZE"] == 1


@pytest.mark.host
def test_operators_whose_bits_would_change_are_not_fused():
    fused = ow.fuse(lambda x: rounded(rounded(x).sum(axis=1) + 1))
    program = fused.lower(X, target="sm_80")

    assert [k.toggles["ROUNDED"] for k in program.kernels] == [1, 0]
    assert "rounded_thirds has ROUNDED=1" in fused.explain(X, target="sm_80").text
    assert bits(program(X)) == bits(fused.unfused().lower(X, target="sm_80")(X))
    assert len(fused.lower(X, target="host").kernels) == 1
    assert len(fused.with_toggles(ROUNDED=1).lower(X, target="sm_80").kernels) == 1


def test_two_that_meet_by_an_edit_are_refused():
    program = ow.fuse(lambda x: rounded(x).sum(axis=1) + 1).lower(X, target="sm_80")

    with pytest.raises(e.ToggleError, match=r"ROUNDED: its rule chooses .*one kernel"):
        program.kernels[0].insert(rounded, before="store")


def needs_gpu(value, device, result):
    return "it needs a GPU" if value and device.is_host else ""


def test_what_cannot_hold_is_not_chosen_and_refused():
    held = ow.toggle("ON_GPUS", 1, 0, check=needs_gpu)
    plus = own("on_gpus", [held, "#if ON_GPUS\nx + x\n#else\nx * 2\n#endif"], lambda x: x * 2)
    fused = ow.fuse(lambda x: plus(x))

    chosen = [fused.lower(X, target=t).kernels[0].toggles["ON_GPUS"] for t in TARGETS]
    assert chosen == [0, 1]
    with pytest.raises(e.ToggleError, match="ON_GPUS=1 cannot hold: it needs a GPU"):
        fused.with_toggles(ON_GPUS=1).lower(X, target="host")


def raises(*_):
    raise KeyError("lost")


RULES = [
    ({"rule": lambda d, r: 3}, "its rule gives 3 for ruled .*expected one of 0, 1"),
    ({"rule": lambda d, r: "1"}, "its rule gives '1' for ruled"),
    ({"rule": lambda d: 1}, "its rule raised TypeError"),
    ({"rule": raises}, "its rule raised KeyError: 'lost', asked for ruled .*test_user_toggles"),
    ({"check": raises}, "its check raised KeyError"),
    ({"check": lambda v, d, r: True}, "its check gives True for 0"),
    ({"check": lambda v, d, r: f"no {v}"}, "no value of RULED can hold here: 0: no 0; 1: no 1"),
    ({"check": lambda v, d, r: "never" * v, "rule": lambda d, r: 1}, "RULED=1 cannot hold: never"),
]


@pytest.mark.parametrize(("given", "message"), RULES)
def test_a_rule_that_fails_says_so(given, message):
    ruled = own("ruled", [ow.toggle("RULED", 0, 1, **given), "x + RULED - RULED"], lambda x: x)

    with pytest.raises(e.ToggleError, match=message):
        ow.fuse(lambda x: ruled(x)).lower(X)


# Check


@pytest.mark.host
def test_check_runs_every_value():
    report = toggled.check(X)
    assert report.ok
    assert report.others == (("FLIPPED=1", None),)
    assert "FLIPPED=1: the same bits" in str(report)

    report = ow.fuse(lambda x: terms(x / 4)).check(X)
    ((name, other),) = report.others
    assert name == "STEPS=4"
    assert other.ok
    assert "STEPS=4: out: 400 elements, agrees" in str(report)


@pytest.mark.host
@pytest.mark.parametrize("target", TARGETS)
def test_check_refuses_other_bits_unless_they_are_declared(target):
    for same_bits in (True, False):
        close = ow.toggle("CLOSE", 0, 1, same_bits=same_bits)
        near = own("near", [close, IN_THIRDS.format("CLOSE")], lambda x: x / 3)
        fused = ow.fuse(lambda x, near=near: near(x) * 1)
        if not same_bits:
            assert fused.check(X, target=target).ok
            continue
        message = r"CLOSE=1 gives other bits than CLOSE=0: out\[\d, \d+\] is .*same_bits=False"
        with pytest.raises(e.CheckError, match=message):
            fused.check(X, target=target)


@pytest.mark.host
def test_check_holds_every_value_to_its_bound_in_an_edited_source_too():
    wrong = ow.toggle("WRONG", 0, 1, same_bits=False)
    near = own("near", [wrong, "#if WRONG\nx * (T)0.33\n#else\nx / 3\n#endif"], lambda x: x / 3)
    program = ow.fuse(lambda x: near(x) * 1).lower(X)
    with pytest.raises(e.CheckError, match="with WRONG=1: a result lies outside"):
        program.check(X)

    edited = program.compile(source=program.source.replace("(float)0.33", "(float)0.33333334"))
    assert [name for name, _ in edited.check(X).others] == ["WRONG=1"]


@pytest.mark.host
def test_a_branch_that_two_toggles_lead_to_is_run():
    inner, outer = ow.toggle("INNER", 0, 1), ow.toggle("OUTER", 0, 1, same_bits=False)
    text = "#if OUTER\n#if INNER\n{}\n#else\nx * 2\n#endif\n#else\nx + x\n#endif"
    for branch, message in (
        ("x * 3", "with INNER=1 and OUTER=1: a result lies outside"),
        ("x * (T)2.0000002", "INNER=1 and OUTER=1 gives other bits than OUTER=1: out"),
    ):
        nested = own("nested", [inner, outer, text.format(branch)], lambda x: x * 2)
        with pytest.raises(e.CheckError, match=message):
            ow.fuse(lambda x, nested=nested: nested(x)).check(X)


@pytest.mark.host
def test_values_that_cannot_hold_are_not_run():
    held = ow.toggle("ON_GPUS_TOO", 0, 1, check=needs_gpu)
    broken = own("broken_there", [held, "#if ON_GPUS_TOO\nno(x)\n#else\nx\n#endif"], lambda x: x)

    assert ow.fuse(lambda x: broken(x)).check(X).others == ()


# Where lists go


def test_a_list_prints_its_toggles():
    assert str(swish).split("\n")[:7] == [
        "map toggled_swish(x)",
        "toggle     FLIPPED        0, 1                operands the other way round",
        "epilogue   s              any                 #if FLIPPED",
        "                                              1 / (1 + exp(-x))",
        "                                              #else",
        "                                              1 / (exp(-x) + 1)",
        "                                              #endif",
    ]
    assert str(terms).split("\n")[1].endswith("2, 4                terms  (bits may differ)")
    assert [code.toggles for code in swish.opcodes] == [(FLIP,), (FLIP,)]
    assert swish.toggles == (FLIP,)


@pytest.mark.host
def test_op_codes_take_their_toggles_along():
    other = own(
        "toggled_square", [*swish.opcodes[:1], "s * s"], lambda x: (1 / (1 + np.exp(-x))) ** 2
    )
    assert other.toggles == (FLIP,)

    length = ow.opcodes.hypot.with_opcodes([
        ow.toggle("BY_FMA", 0, 1, same_bits=False),
        "#if BY_FMA\ns = fma(x, x, y * y)\n#else\ns = x * x + y * y\n#endif", "sqrt(s)"], ulp=2)  # fmt: skip
    again = length.with_opcodes([*length.opcodes], ulp=2)
    fused = ow.fuse(lambda x: (other(x), length(x, x + 1), again(x, x + 2)))
    assert [name for name, _ in fused.check(X).others] == [
        "BY_FMA=1", "FLIPPED=1", "FLIPPED=1 and BY_FMA=1",
    ]  # fmt: skip


@ow.fuse
def with_cuda(x):
    flip = ow.toggle("FLIPPED", 0, 1, doc="operands the other way round")
    return swish(ow.cuda([flip, STATEMENTS], x, numpy=leaky_of))


def stepped(x):
    return swish(x) * np.float32(0.5)


@pytest.mark.host
def test_loops_graphs_lists_and_pickles_have_them(monkeypatch):
    monkeypatch.setitem(ow.OPERATORS, swish.name, swish)
    once = ow.fuse(stepped).with_toggles(FLIPPED=1)
    assert bits(ow.repeat(once, 3)(X)) == bits(once(once(once(X))))

    graph = ow.Graph("g")
    graph.device_to_host(graph.toggled_swish(graph.host_to_device("x", X.shape)), name="y")
    kernel = ow.kernel([ow.load("x"), swish, ow.store()])
    flipped = pickle.loads(pickle.dumps(kernel.with_toggles(FLIPPED=1)))
    expected = bits(kernel(X))
    assert kernel.lower(X).toggles["FLIPPED"] == 0
    assert flipped.lower(X).kernels[0].toggles["FLIPPED"] == 1
    assert bits(flipped(X)) == bits(graph.runner("replay")(x=X)) == expected
    assert pickle.loads(pickle.dumps(swish)) == swish

    assert with_cuda.check(X).others == (("FLIPPED=1", None),)
    inserted = ow.fuse(lambda x: x * 2).lower(X).kernels[0].insert(swish, before="store")
    assert inserted.toggles["FLIPPED"] == 0


@pytest.mark.nvrtc
def test_nvrtc_takes_every_value():
    for value in FLIP.values:
        toggled.with_toggles(FLIPPED=value).lower(X, target="sm_80").compile()


@pytest.mark.host
def test_a_branch_that_does_not_compile_names_its_op_code():
    flawed = own("flawed", [FLIP, "#if FLIPPED\ns = no_such(x)\n#else\ns = x\n#endif", "s"], abs)

    assert ow.fuse(lambda x: flawed(x))(X).shape == X.shape
    with pytest.raises(e.CompileError, match="no_such") as caught:
        ow.fuse(lambda x: flawed(x)).with_toggles(FLIPPED=1)(X)
    assert caught.value.opcode == "flawed.s"
