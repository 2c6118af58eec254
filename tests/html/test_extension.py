"""``%load_ext opweave``: what the magic answers, of plain and fused functions, and mistakes."""

import numpy as np
import pytest

import opweave as ow
from opweave._profiler.report import ProfileReport
from opweave._programs.explain import Explanation
from opweave._programs.report import Report
from opweave.cli.notebook import USAGE, Framed
from opweave.opcodes.errors import RequestError
from tests.html.markup import Read


def halved(x, by=2.0, *, more=0):
    return x / by + more


def some(x):
    return x[: int(x.sum())] if x.sum() > 0 else x


class Shell:
    """What the extension asks of IPython."""

    def __init__(self):
        self.magics = {}
        self.names = {"x": np.ones(64, np.float32), "halved": halved, "fused": ow.fuse(halved), "np": np,
                      "listed": ow.kernel([ow.load("x"), ow.opcodes.exp, ow.store("y")]),
                      "some": some}  # fmt: skip

    def ev(self, expression):
        return eval(expression, self.names)

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function


@pytest.fixture
def magic():
    shell = Shell()
    ow.load_ipython_extension(shell)
    return shell.magics["line", "opweave"]


@pytest.mark.host
@pytest.mark.parametrize(("line", "kind"), [
    ("explain halved(x)", Explanation), ("explain fused(x, by=np.float32(3))", Explanation),
    ("explain listed(x)", Explanation), ("kernels halved(x, target='sm_80')", ow.Program),
    ("check halved(x * 2, 1.5)", Report), ("view halved(x)", Framed), ("view some(x)", Framed),
    pytest.param("profile halved(x)", ProfileReport, marks=pytest.mark.nvrtc),
])  # fmt: skip
def test_a_question_has_an_answer_that_a_notebook_shows(magic, line, kind):
    found = magic(line)

    assert type(found) is kind
    assert Read(found._repr_html_()).faults == []


@pytest.mark.host
def test_a_view_is_a_page_in_a_frame_that_reaches_nothing(magic):
    found = Read(magic("view halved(x, 4.0, target='sm_80')")._repr_html_())
    ((tag, attributes),) = found.attributes

    assert (tag, attributes["sandbox"]) == ("iframe", "allow-scripts")
    assert Read(attributes["srcdoc"]).faults == []
    assert "halved for sm_80: 1 kernel(s)" in Read(attributes["srcdoc"]).text


@pytest.mark.parametrize(
    "line", ["", "explain", "show halved(x)", "explain halved", "explain halved(", "explain 1 +"]
)
def test_a_mistake_says_what_is_expected(magic, line):
    with pytest.raises(RequestError) as error:
        magic(line)
    assert USAGE in str(error.value)


def test_a_view_refuses_what_has_no_place(magic):
    with pytest.raises(RequestError, match="by keyword alone: more"):
        magic("view halved(x, more=1)")


def test_what_the_notebook_raises_is_raised(magic):
    with pytest.raises(NameError, match="nowhere"):
        magic("explain halved(nowhere)")
