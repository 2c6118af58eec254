"""A stand-in of CuPy, whose kernels run in the C++ shim."""

import pytest

from opweave.compiler.pipeline import specialise
from tests.rounds.cupy_by_shim import stand_in


@pytest.fixture
def gpu(monkeypatch):
    """CuPy, and one device; its executor says what was launched."""
    return stand_in(monkeypatch)


@pytest.fixture
def rolled(gpu, monkeypatch):
    """Likewise, and every loop that can be is no part of a whole."""
    monkeypatch.setattr(specialise, "UNASKED", 1)
    return gpu
