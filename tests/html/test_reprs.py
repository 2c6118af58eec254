"""What notebooks show: well-formed, escaped, lines linked, never an error, nothing compiled."""

import re
import subprocess
import sys

import numpy as np
import pytest

import opweave as ow
from opweave._html import code, markup
from opweave._html.shown import Shown
from opweave._programs import kernel_view
from opweave._programs.branches import left_out
from opweave._programs.pieces import kernel_lines
from opweave._programs.users_source import UsersSource
from tests.html.markup import Read

X = np.ones((64, 1000), np.float32)
EVIL = "</span><script>alert('&')</script>"


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)  # </span><script>alert('&')</script>


def in_parts(x):
    return x[: int(x.sum())] if x.sum() < 0 else x


def lowered():
    return ow.fuse(softmax).lower(X, target="sm_90a")


def looked_at():
    fused = ow.fuse(softmax)
    fused.lower(X, target="sm_90a")
    return fused


def graph(wrong=False):
    g = ow.Graph("mlp")
    x = g.host_to_device("x", (8, 64))
    g.device_to_host(g.softmax(g.exp("nowhere" if wrong else x)), name="y")
    return g


def listed():
    codes = [ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")]
    return ow.kernel(codes)


# What is shown, and what its text must say.
SHOWN = {
    "a fused function": (lambda: ow.fuse(softmax), ["fused softmax(x)", "e.sum(axis=-1", ".lower(...)"]),
    "one that was lowered": (looked_at, ["for sm_90a", "softmax_row_f32(", "#define USE_VECTOR_IO"]),
    "a program": (lowered, ["softmax for sm_90a", "1 kernel(s)", "10 toggles", "pairs fused", "graph: "]),
    "a kernel": (lambda: lowered().kernels[0], ["softmax_row_f32", "fused: max", "const float v1 ="]),
    "an explanation": (lambda: ow.fuse(softmax).explain(X, target="sm_90a"), ["memory traffic", "kernels:"]),
    "one of parts": (lambda: ow.fuse(in_parts).explain(X), ["in parts"]),
    "a list": (listed, ["op-code kernel kernel(x)", "multiply"]),
    "a graph": (graph, ["graph mlp", "float32[8, 64]", "def mlp(x):"]),
    "a graph that is wrong": (lambda: graph(wrong=True), ["there is no value 'nowhere'", "softmax_0"]),
}  # fmt: skip


def read(made):
    return Read(made._repr_html_())


@pytest.mark.host
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_shows_it(name):
    make, says = SHOWN[name]
    found = read(make())

    assert found.faults == []
    assert [text for text in says if text not in found.text] == []
    assert "script" not in found.tags
    assert "cannot be shown" not in found.text


@pytest.mark.host
def test_a_check_is_a_table_of_verdicts():
    found = read(ow.fuse(softmax).check(X))

    assert found.faults == []
    assert "holds" in found.text
    assert "agrees" in found.text


@pytest.mark.nvrtc
def test_a_profile_has_bars_counters_and_a_margin():
    made = ow.profile(softmax_fused := ow.fuse(softmax), X)
    found = read(made)

    assert found.faults == []
    assert "nothing was measured" in found.text
    assert "launch__registers_per_thread" in found.text
    assert "script" not in found.tags
    assert softmax_fused.__wrapped__ is softmax
    assert read(made.kernels[0]).text in found.text


@pytest.mark.parametrize("name", ["a program", "one that was lowered", "a kernel"])
def test_a_line_of_the_function_is_linked_with_its_lines_of_the_kernel(name):
    found = read(SHOWN[name][0]())
    by_line = {n: [t.strip() for t in texts if t.strip()] for n, texts in found.linked.items()}

    assert set(by_line) == {2, 3}
    assert by_line[2][0].startswith("e = np.exp(")
    assert any(text.startswith("const float v1 = ") for text in by_line[2])
    assert all(text.rpartition("line ")[2][:1] == "3" for text in by_line[3] if "// " in text)


def test_a_line_is_lit_with_the_others_without_a_script():
    made = lowered()._repr_html_()

    assert ':has([data-l="2"]:is(:hover,:focus)) [data-l="2"]' in made


def test_what_a_user_wrote_stands_there_as_text():
    found = read(ow.fuse(softmax))

    assert EVIL in found.text


@pytest.mark.parametrize("piece", [
    lambda: markup.table([EVIL], [[EVIL]]), lambda: markup.outline(f"{EVIL}\n  {EVIL}"),
    lambda: markup.folded(EVIL, markup.listing([])), lambda: markup.failed(X, ValueError(EVIL)),
    lambda: markup.gauges([markup.Gauge(EVIL, EVIL, 0.5, EVIL)]),
    lambda: markup.listing([markup.MarkedLine(t) for t in code.highlighted(EVIL, "cuda")]),
    lambda: markup.listing([markup.MarkedLine(t) for t in code.highlighted(EVIL, "none")], label=EVIL),
])  # fmt: skip
def test_every_piece_escapes(piece):
    found = Read(piece())

    assert found.faults == []
    assert "script" not in found.tags


def test_without_pygments_the_text_is_plain_and_one_line_says_so(monkeypatch):
    coloured = lowered()._repr_html_()
    monkeypatch.setattr(code.COLOURS, "there", lambda: False)
    plain = lowered()._repr_html_()

    assert '<span class="k">' in coloured
    assert "pygments" not in coloured
    assert plain.count("pygments is not installed") == 1
    assert read(lowered()).text.replace(markup.PLAIN, "").split() == Read(coloured).text.split()


def test_an_error_is_shown_and_not_raised():
    class Broken(Shown, by="_html.markup:gauges"):
        """Gauges are not made of it."""

    found = Read(Broken()._repr_html_())

    assert "cannot be shown here: TypeError" in found.text
    assert found.faults == []


def test_nothing_is_compiled_to_be_shown(monkeypatch):
    monkeypatch.setattr(kernel_view, "build_kernel", None)
    for name in ("a fused function", "a program", "a kernel", "a graph", "a list"):
        assert "cannot be shown" not in SHOWN[name][0]()._repr_html_()


def test_importing_opweave_imports_none_of_it():
    text = (
        "import sys, opweave; print([m for m in sys.modules if '_html' in m or m == 'markupsafe'])"
    )
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


# What toggles leave to the compiler


@pytest.mark.parametrize(("text", "toggles", "out"), [
    ("#if A\nx\n#else\ny\n#endif\nz", {"A": 1}, [3]),
    ("#if A\nx\n#else\ny\n#endif\nz", {"A": 0}, [1]),
    ("#if A\n#if B\nx\n#endif\n#elif B\ny\n#endif", {"A": 0, "B": 1}, [1, 2, 3]),
    ("#if A == 1\nx\n#elif A == 2\ny\n#else\nz\n#endif", {"A": 2}, [1, 5]),
    ("#ifdef OTHER\nx\n#else\ny\n#endif", {}, []),
    ("#define B (A * 2)\n#if B > 3\nx\n#endif", {"A": 2}, []),
    ("#define B (A * 2)\n#if B > 3\nx\n#endif", {"A": 1}, [2]),
    ("#define A 1  // what\n#if A\nx\n#else\ny\n#endif", {"A": 0}, [2]),
    ("#endif\nx", {}, []),
])  # fmt: skip
def test_lines_that_toggles_leave_out(text, toggles, out):
    assert sorted(left_out(text.split("\n"), toggles)) == out


# Programs of several forms and templates, and their arguments.
LINKED = {
    "rows": (softmax, (X,)),
    "windows": (lambda x: x[1:-1] * 2 + x[:-2] - x[2:], (X,)),
    "edges": (lambda x: np.pad(x, 1, mode="edge")[1:] + 1, (X,)),
    "scans": (lambda x: np.cumsum(x, axis=1) / 2, (X,)),
    "products": (lambda x, w: np.maximum(x @ w, 0) + 1, (X[:, :64], X[:, :64])),
    "sums": (lambda x: np.sqrt((x * x).sum()), (X,)),
    "pixels": (lambda x: ow.pixels.hue(x, 0.5) * 2, (np.ones((64, 3), np.float32),)),
}
SAYS = re.compile(r"// \w[\w.]*: .*, line (\d+)")


@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("name", LINKED)
def test_every_comment_that_names_a_line_is_linked_with_it(name, target):
    function, arguments = LINKED[name]
    lowered, users = (
        ow.fuse(function).lower(*arguments, target=target).lowered,
        UsersSource.of(function),
    )
    rows = [
        (row.line, int(said[1]) if (said := SAYS.search(text)) else 0, text)
        for kernel, source in zip(lowered.kernels, lowered.sources, strict=True)
        for row, text in zip(
            kernel_lines(kernel, source, lowered, users), source.split("\n"), strict=False
        )
    ]

    assert [row for row in rows if row[0] != row[1]] == []
    assert any(line for line, *_ in rows)
