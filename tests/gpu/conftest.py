"""CuPy for the tests of a GPU: itself, or where there is no device its stand-in."""

import pytest

from tests.gpu.standing_in import has_gpu
from tests.rounds.cupy_by_shim import stand_in
from tests.support.cells import CELLS


@pytest.fixture(autouse=True)
def cp(request, monkeypatch):
    """The module; what the stand-in lowers is no cell, since a device's tests note none."""
    if has_gpu():
        yield pytest.importorskip("cupy")
        return
    before = set(CELLS)
    yield stand_in(monkeypatch).cupy
    CELLS.intersection_update(before)
