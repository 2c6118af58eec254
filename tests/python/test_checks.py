"""Checks of what a call takes for granted: joined to one expression, in which no value is text."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.captures import checks
from opweave.compiler.captures.assumptions import Assumptions
from opweave.compiler.captures.places import Missing, Place

ODD = ["x", "", "a; import os", "None)", "{}", "v0", "__import__('os')", "'\"\\\n"]


@pytest.mark.parametrize(
    "ask", [checks.joined, lambda c: lambda: checks._function_of((c[0][0],))(*c[0][1:])]
)
@pytest.mark.parametrize("name", ODD)
def test_a_name_is_a_value_and_never_code(name, ask):
    scope, value = {name: name}, name
    holds = ask([(checks.IN_SCOPE, scope, name, value)])
    assert holds()
    scope[name] = object()
    assert not holds()
    del scope[name]
    assert not holds()
    assert ask([(checks.IN_SCOPE, scope, name, Missing)])()


def test_texts_are_made_of_forms_and_numbered_names(monkeypatch):
    texts = []
    monkeypatch.setattr(checks, "_COMPILED", {})
    monkeypatch.setattr(checks, "eval", lambda text, scope: texts.append(text), raising=False)
    asked = [(checks.IN_SCOPE, {}, name, name) for name in ODD] + [(checks.CODE, max, ODD)]
    with pytest.raises(TypeError):
        checks.joined(asked)
    names = [f"v{number}" for number in range(3 * len(ODD) + 2)]
    met = [f"v{k}.get(v{k + 1}, Missing) is v{k + 2}" for k in range(0, 3 * len(ODD), 3)]
    last = f"{names[-2]}.__code__ is {names[-1]}"
    assert texts == [f"lambda {', '.join(names)}: {' and '.join(['True', *met, last])}"]


def test_checks_of_the_same_forms_are_joined_at_the_first_question(monkeypatch):
    class Some(checks.Checked):
        def __init__(self, *names):
            self.scope = dict.fromkeys(names, 1)
            self.all = [(checks.IN_SCOPE, self.scope, name, 1) for name in names]

        all = ()

    monkeypatch.setattr(checks, "_COMPILED", {})
    monkeypatch.setattr(checks, "MOST", 2)
    first, second, third = Some("a", "b"), Some("c", "d"), Some("e")
    assert [first.hold() for _ in range(checks.OFTEN - 1)] == [True] * (checks.OFTEN - 1)
    assert first.holds is None
    assert first.hold() is (first.holds is not None)
    assert second.hold() is (second.holds is not None)
    second.scope["d"] = 2
    assert [first.hold(), second.hold()] == [True, False]
    for other in (third, Some("f", "g", "h")):  # and no more texts are kept than MOST
        assert all(other.hold() for _ in range(checks.OFTEN))
        assert len(checks._COMPILED) <= 2


def test_checks_that_are_added_are_asked_at_the_next_question():
    found, scope = Assumptions(), {"k": 1}
    found.add_name(scope, "k")
    assert found.hold()
    found.add_name(scope, "q")
    scope["q"] = 3
    assert not found.hold()


def test_a_function_that_is_replaced_is_seen_at_the_next_call(monkeypatch):
    def body(xp, x, flag):
        return xp.cos(x) if flag else xp.sin(x)

    fused, x = ow.fuse(body), np.ones(3)
    for flag in (False, False, True):
        fused(np, x, flag)
    monkeypatch.setattr(np, "cos", np.tanh)
    np.testing.assert_allclose(fused(np, x, True), np.tanh(x))


def test_an_empty_cell_is_another_value():
    def cell_of():
        value = 1
        return (lambda: value).__closure__[0]

    cell = cell_of()
    holds = checks.joined([checks.of_place(Place.of("value", cell), 1)])
    assert holds()
    del cell.cell_contents
    assert not holds()


def test_a_look_at_leaves_is_made_of_forms_and_numbered_names(monkeypatch):
    texts = []
    monkeypatch.setattr(checks, "eval", lambda text: texts.append(text), raising=False)
    checks.looking.cache_clear()
    checks.looking((checks.ON_GPU, checks.OF_TYPE, checks.IS_SAME, checks.EQUAL[str]))
    checks.looking.cache_clear()
    asked = "type(x0) is Array and type(x1) is v1 and x2 is v2 and type(x3) is str and x3 == v3"
    assert texts == [
        "lambda get, holds, Array, v0, v1, v2, v3: lambda x0, x1, x2, x3: "
        f"get(({checks.LIES.format('x0')})) if {asked} and holds() else None"
    ]


@pytest.mark.parametrize("text", ODD)
def test_a_text_among_the_leaves_is_a_value_and_never_code(text):
    look = checks.looking((checks.EQUAL[str], checks.IS_SAME))(tuple, lambda: True, None, text, 5)
    assert look("".join(text), 5) == ()
    assert look(text + " ", 5) is look(text, "5") is look(5, text) is None
