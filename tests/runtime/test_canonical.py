"""Kernels that are the same but for names compile once, and no others are taken for one."""

import json

import numpy as np
import pytest

import opweave as ow
import opweave.runtime.binaries.build as build
from opweave.runtime.binaries.cache import DiskCache
from opweave.runtime.binaries.canonical import FUNCTION, NAME, Canonical, canonical
from opweave.runtime.binaries.loads import with_bytes
from opweave.runtime.binaries.ordinary import (
    runs_twice,
    with_short_functions,
    without_second_rounding,
)
from opweave.templates import TEMPLATES

X = np.linspace(-2, 2, 640, dtype=np.float32).reshape(64, 10)
Y = X[:, 0].copy()


def scaled(x, y):
    return np.exp(x) * 3 + y[:, None]


def as_named_otherwise(image, threadIdx_, /):
    made = np.exp(image) * 3
    # a comment, and other lines
    return made + threadIdx_[:, None]


def keys(function, *arguments, **options):
    return [k.binary.key for k in ow.fuse(function, **options).lower(*arguments).kernels]


@pytest.mark.host
def test_functions_that_differ_in_names_and_lines_have_one_binary():
    assert keys(scaled, X, Y) == keys(as_named_otherwise, X, Y)


OTHERS = {
    "a constant": (lambda x, y: np.exp(x) * 4 + y[:, None], (X, Y)),
    "an operator": (lambda x, y: np.exp(x) * 3 - y[:, None], (X, Y)),
    "a function": (lambda x, y: np.exp2(x) * 3 + y[:, None], (X, Y)),
    "the order of operands": (lambda x, y: y[:, None] + np.exp(x) * 3, (X, Y)),
    "which operand it is": (lambda x, y: np.exp(y)[:, None] * 3 + x, (X, Y)),
    "a dtype": (scaled, (X.astype(np.float64), Y)),
    "a layout": (scaled, (np.asfortranarray(X), Y)),
    "an axis": (lambda x, y: np.exp(x) * 3 + y[None, :10], (X, Y)),
    "one more output": (lambda x, y: (np.exp(x) * 3 + y[:, None], np.exp(x)), (X, Y)),
    "one operand for two": (lambda x, y: np.exp(x) * 3 + x, (X, Y)),
}


@pytest.mark.host
@pytest.mark.parametrize("what", OTHERS)
def test_kernels_that_differ_in_more_than_names_have_binaries_of_their_own(what):
    function, arguments = OTHERS[what]

    assert not set(keys(function, *arguments)) & set(keys(scaled, X, Y))


def boosted():
    """A function of an operator of one's own, which is there for one test."""
    codes = [ow.toggle("BOOST_IT", 0, 1), "x * 3\n#if BOOST_IT\n* 2\n#endif"]
    operator = ow.operator("boosted", codes, "float", lambda x: x * 3)
    return lambda x, y: operator(x)


# a function, None for that of the test; its options, its toggles
VARIANTS = {
    "as chosen": (scaled, {}, {}),
    "fast math": (scaled, {"fast": True}, {}),
    "a toggle": (scaled, {}, {"USE_64BIT_INDEX": 1}),
    "a number of a template": (scaled, {}, {"VECTOR": 16}),
    "another number": (scaled, {}, {"VECTOR": 4}),
    "a user's toggle": (None, {}, {"BOOST_IT": 0}),
    "the same with another value": (None, {}, {"BOOST_IT": 1}),
}


@pytest.mark.host
def test_toggles_and_numbers_of_their_own_are_told_apart():
    own = boosted()
    made = [
        ow.fuse(f or own, **options).with_toggles(**toggles)
        for f, options, toggles in VARIANTS.values()
    ]
    found = [k.binary.key for f in made for k in f.lower(X, Y).kernels]

    assert len(set(found)) == len(found) == len(VARIANTS)


@pytest.mark.host
def test_a_canonical_source_that_a_compiler_refuses_is_told_of(
    tmp_path, monkeypatch, capsys, refused
):
    monkeypatch.setenv("OPWEAVE_LOGS", "compile")
    wrong = Canonical("void ow_function() { undefined(); }", FUNCTION)
    monkeypatch.setattr(build, "canonical", lambda *_, **__: wrong)
    made = build.BinaryBuilder(DiskCache(tmp_path, 1 << 30))
    kernel = ow.fuse(scaled).lower(X, Y).kernels[0]
    names = build.params_of(kernel.data)
    binary = made.build(kernel.source, kernel.name, "host", params=names)

    told = capsys.readouterr().err
    assert f"opweave: {kernel.name} compiled as it reads" in told
    assert "undefined" in told
    assert made.compiled == 2
    assert binary.source.startswith(kernel.source[:20])
    assert len(refused) == 1
    refused.clear()


@pytest.mark.host
def test_a_complaint_is_of_the_text_that_was_written():
    wrong = ow.fuse(lambda a: ow.cuda("nowhere(exp(x))", a, numpy=lambda x: x))
    with pytest.raises(ow.errors.CompileError) as caught:
        wrong(np.ones(100))
    assert "nowhere" in caught.value.log
    assert "oted" not in caught.value.log


def train(w, x, y, rate):
    for _ in range(12):
        p = 1 / (1 + np.exp(-(x @ w)))
        w = w - rate * (x.T @ (p - y)) / len(y)
    return w


@pytest.mark.host
def test_twelve_unrolled_steps_of_logistic_regression_need_five_binaries_at_most():
    program = ow.fuse(train).lower(np.zeros(10, np.float32), X, Y, np.float32(0.1))
    found = {kernel.binary.key for kernel in program.kernels if not kernel.data.by_numpy}

    assert len(program.kernels) >= 24
    assert len(found) <= 5


@pytest.mark.host
@pytest.mark.usefixtures("loops_of_python")
def test_a_program_compiles_each_kind_of_kernel_once(tmp_path, monkeypatch):
    made = build.BinaryBuilder(DiskCache(tmp_path, 1 << 30))
    monkeypatch.setattr(build, "builder", lambda: made)
    graph = ow.fuse(train)
    arguments = np.zeros(10, np.float32), X, Y, np.float32(0.1)
    first = graph(*arguments)

    assert 1 <= made.compiled <= 6  # one may be the scheduler
    np.testing.assert_allclose(first, train(*arguments), rtol=1e-4)


@pytest.mark.host
def test_kernels_that_share_a_binary_are_read_with_their_own_names():
    one, two = (ow.fuse(f).lower(X, Y).kernels[0] for f in (scaled, as_named_otherwise))

    assert "scaled" in one.binary.source
    assert "y" in one.source.split("fused")[1]
    assert "as_named_otherwise" in two.binary.source
    assert "image" in two.source
    assert one.binary.payload == two.binary.payload


@pytest.mark.host
def test_a_complaint_of_the_compiler_has_the_names_that_a_person_reads():
    wrong = ow.operator("no_such", "undefined(x)", "float", lambda x: x, replace=True)
    with pytest.raises(ow.errors.CompileError) as caught:
        ow.fuse(lambda my_array: wrong(my_array))(X)

    assert "my_array" in caught.value.source
    assert NAME not in caught.value.log


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_on_a_gpu_the_function_keeps_its_name(arch):
    kernel = ow.fuse(scaled).lower(X, Y, target=arch).kernels[0]
    names = tuple(p.name for p in kernel.data.params)
    found = canonical(kernel.source, kernel.name, names, keeps_name=True)

    assert found.name == kernel.name
    assert f"{kernel.name}(" in found.source
    assert f"{NAME}0" in found.source
    assert "//" not in found.source


SOURCE = """extern "C" void k(const float* x, float* out0)
{
    out0[blockIdx.x] = f(x_v.y[1.0e5f]);
}
"""


@pytest.mark.parametrize(
    ("changed", "names", "same"),
    [
        ([("k(", "other(")], ("other", "x", "out0"), True),
        ([("x,", "z,"), ("x_v", "z_v")], ("k", "z", "out0"), True),
        ([("x,", "z,")], ("k", "z", "out0"), False),  # x_v then is derived of no parameter
        ([("out0", "t7")], ("k", "x", "t7"), True),
        ([("{", "\n{ // comment\n /* one more */\n")], ("k", "x", "out0"), True),
        ([("x_v", "x_w")], ("k", "x", "out0"), True),
        ([("x_v.y", "x_v.z")], ("k", "x", "out0"), False),
        ([("blockIdx.x", "blockIdx.y")], ("k", "x", "out0"), False),
        ([("1.0e5f", "1.0e6f")], ("k", "x", "out0"), False),
        ([("f(", "g(")], ("k", "x", "out0"), False),
        ([("out0[", "x[")], ("k", "x", "out0"), False),
        ([("float* x", "double* x")], ("k", "x", "out0"), False),
        ([('"C"', '"C++"')], ("k", "x", "out0"), False),
    ],
)
def test_what_is_a_name_and_what_is_not(changed, names, same):
    text = SOURCE
    for old, new in changed:
        text = text.replace(old, new)

    found = canonical(text, names[0], names[1:]).source
    assert (found == canonical(SOURCE, "k", ("x", "out0")).source) is same


@pytest.mark.parametrize(
    "text",
    [
        "#define SHOW(a) #a\nvoid k(float* x) { SHOW(x); }",
        "#define JOIN(a, b) a ## b\nvoid k(float* x) { JOIN(x, _v); }",
        "void k(float* x) { report(__LINE__, x); }",
        "void k(float* x) { x[0] = x(1); }",
        "void k(float* x) { x[0] = pair.x; }",
        'void k(float* x) { asm volatile("mov %0, x"); }',
        "void k(float* x) { char c = 'x'; }",
        f"void k(float* x) {{ float {NAME}0 = *x; }}",
        f"void {FUNCTION}(); void k(float* x) {{ }}",
        'void k(float* x) { const char* s = R"(x // y)"; }',
    ],
)
def test_a_source_in_which_a_name_may_mean_more_stays_as_it_is(text):
    assert canonical(text, "k", ("x",)) == (text, "k")


def test_toggles_and_names_of_the_templates_stay_where_a_parameter_begins_like_them():
    text = "#define USE_IT 1\nvoid k(float* USE, float* load) { load_chunk(USE_IT, USE, load); }"
    found = canonical(text, "k", ("USE", "load")).source

    assert f"load_chunk(USE_IT, {NAME}1, {NAME}2)" in found


def test_no_template_and_no_header_has_the_canonical_names():
    for path in [*TEMPLATES.glob("*.*"), *TEMPLATES.glob("host/**/*.*h")]:
        text = path.read_text() if path.is_file() else ""
        assert FUNCTION not in text
        assert NAME not in text


@pytest.mark.host
def test_a_cached_entry_is_the_readable_source(tmp_path):
    kernel = ow.fuse(lambda pressure: np.sinh(pressure) * 7.25).lower(X).kernels[0]
    key, root = kernel.binary.key, build.builder().disk.root
    folder = root / key[:2] / key
    manifest = json.loads((folder / "manifest.json").read_text())

    assert "pressure" in (folder / "kernel.cu").read_text()
    assert manifest["parts"]["source"] != manifest["source_sha256"]


LOOP = """#include "opweave.cuh"
    const float16* __restrict__ x,
    float16* __restrict__ out,
    const float scale)
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            BODY
        }
        store_chunk(out + j0, out_v[c], cols - j0);
float out_v[CHUNKS][VECTOR];
"""
STORED = "out_v[c][l] = v0;"
SHORT = {
    "const float v0 = exp(x_v[c][l]);": "const float v0 = exp(ow_noted, x_v[c][l]);",
    "const float v0 = exp(sin(x)) + y.log(x);": "const float v0 = exp(ow_noted, sin(ow_noted, x)) + y.log(x);",
    "const float v0 = erf(x) + own_exp(x);": None,
    "const float v0 = std::exp(x);": None,
    "const float v0 = x_v[c][l] / scale;": "const float v0 = row_quotient(ow_noted, x_v[c][l], scale);",
    "const float v0 = round_f16(x / -0.1f);": "const float v0 = round_f16(row_quotient(ow_noted, x, -0.1f));",
    "const double v0 = x / 1.5e-07;": "const double v0 = row_quotient(ow_noted, x, 1.5e-07);",
    "const float v0 = x / 0.25f;": None,
    "const float v0 = x / other;": None,
    "const int v0 = x / 3;": None,
    "const float v0 = 1.0f / scale;": None,
    "const float v0 = x / scale * 2.0f;": None,
    "const float v0 = y - x / scale;": None,
}  # fmt: skip


@pytest.mark.parametrize("line", SHORT)
def test_a_loop_with_a_function_is_run_for_ordinary_numbers_first(line):
    text = LOOP.replace("BODY", line)
    made, expected = with_short_functions(text), SHORT[line]
    if expected is None:
        assert made == text
        return

    assert expected in made
    assert "ow_run_lanes(" in made
    assert '"ordinary.cuh"' in made
    assert made.count("\n") == text.count("\n")
    assert [n for n, t in enumerate(made.split("\n")) if "v0 = " in t] == [6]


AGAIN = {
    "float v0 = exp(x_v[c][l]);\nout_v[c][l] = v0;": True,
    "const bool v0 = exp(x) <= 1.0f;  // note": True,
    "#pragma unroll\n\nout_v[c][l] = exp(x_v[c][l]);": True,
    "sum[l] = sum[l] + exp(x);": False,
    "out_v[c][l] = exp(x);\nconst float v1 = out_v[c][l];": False,
    "const float v1 = at_v[l];\nat_v[l] = exp(v1);": False,
    "out_v[at_v[l]] = exp(x);": False,
    "out_v[at][l] = exp(x);\nat[0] = 1;": False,
    "out_v[c][l] += exp(x);": False,
    "total += exp(x);": False,
    "++count;": False,
    "if (x > 0) out_v[c][l] = exp(x);": False,
    "else v = exp(x);": False,
    "return exp(x);": False,
    "const float v0 = (n = exp(x));": False,
    "store(out + l, exp(x));": False,
    "atomicAdd(out, exp(x));": False,
    "float v0;": False,
    "for (int k = 0; k < 3; ++k) {": False,
}


@pytest.mark.parametrize("body", AGAIN)
def test_a_loop_that_reads_what_it_has_changed_does_not_run_twice(body):
    assert runs_twice(body) == AGAIN[body]


LOADED = """
    bool m_v[LANES];
    bool kept[LANES];
    load_chunk(m_v, m + j0, width - j0);
    const auto n_load = [&](bool (&n_v)[LANES], const index_t j0) {
        load_chunk(n_v, n + j0, width - j0);
    };
    bool left[ROWS], right[PARTS][WIDTH];
    load_chunk(right, y + j0, width - j0);
    const auto join = [&](const bool (&left)[ROWS], const bool (&right)[PARTS][WIDTH]) {};
"""


def test_bools_that_are_loaded_are_bytes():
    made = with_bytes(LOADED)

    assert "unsigned char m_v[LANES];" in made
    assert "unsigned char (&n_v)[LANES]" in made
    assert "bool kept[LANES];" in made
    assert "bool left[ROWS], right[PARTS][WIDTH];" in made
    assert "const bool (&right)[PARTS][WIDTH]" in made


ROUNDED = {
    "const float v0 = round_f16(x + y);": "const float v0 = x + y;",
    "const float v0 = round_f16(x) + round_f16(y);": None,
    "const float v0 = round_f16(x); const float v1 = v0;": None,
    "const float v0 = round_f16(x); total += v0;": None,
}


@pytest.mark.parametrize("line", ROUNDED)
def test_what_is_only_stored_as_float16_is_rounded_there_alone(line):
    text = LOOP.replace("BODY", f"{line}\n            {STORED}")
    expected = ROUNDED[line]

    assert without_second_rounding(text) == (text.replace(line, expected) if expected else text)


def test_what_is_stored_as_float_is_still_rounded():
    text = LOOP.replace("BODY", f"const float v0 = round_f16(x);\n            {STORED}")
    wide = text.replace("float16* __restrict__ out", "float* __restrict__ out")
    again = text + "u_v[c][l] = out_v[c][l];\n"

    assert without_second_rounding(wide) == wide
    assert without_second_rounding(again) == again
