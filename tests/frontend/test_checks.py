"""Checks of what a call takes for granted: joined to one expression, in which no value is text."""

import pytest

from opweave.compiler.tracing import checks
from opweave.compiler.tracing.places import Missing, Place

ODD = ["x", "", "a; import os", "None)", "{}", "v0", "__import__('os')", "'\"\\\n"]


@pytest.mark.parametrize(
    "ask", [checks.joined, lambda c: lambda: checks._asking(c[0][0])(*c[0][1:])]
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
    monkeypatch.setattr(checks, "_made", lambda text, names: texts.append(text))
    checks.joined([(checks.IN_SCOPE, {}, name, name) for name in ODD] + [(checks.CODE, max, ODD)])
    assert texts == [
        "lambda: True and " + " and ".join(
            f"v{3 * k + 2}.get(v{3 * k + 3}, Missing) is v{3 * k + 4}" for k in range(len(ODD))
        ) + f" and v{3 * len(ODD) + 2}.__code__ is v{3 * len(ODD) + 3}"
    ]  # fmt: skip


def test_an_empty_cell_is_another_value():
    def cell_of():
        value = 1
        return (lambda: value).__closure__[0]

    cell = cell_of()
    holds = checks.joined([checks.of_place(Place.of("value", cell), 1)])
    assert holds()
    del cell.cell_contents
    assert not holds()
