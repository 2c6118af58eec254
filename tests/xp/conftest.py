"""Arrays of opweave.xp: what every test of them needs."""

import pytest

from opweave.xp import programs


@pytest.fixture
def kept(monkeypatch):
    """Programs of this test alone; kernels run arrays of any length."""
    made = programs.Programs()
    monkeypatch.setattr("opweave.xp.looks.PROGRAMS", made)
    monkeypatch.setattr(programs, "LEAST_ELEMENTS", 0)
    return made


@pytest.fixture
def at_once(monkeypatch):
    """Programs of this test alone; NumPy runs them."""
    made = programs.Programs()
    monkeypatch.setattr("opweave.xp.looks.PROGRAMS", made)
    monkeypatch.setattr(programs, "LEAST_ELEMENTS", 2**40)
    return made
