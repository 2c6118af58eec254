"""What is compiled, and random arguments."""

from __future__ import annotations

import numpy as np
import pytest

from opweave.runtime.host import loops

BY_SIDE = "loop_skewed<8, "


@pytest.fixture
def sources(monkeypatch):
    """The sources that are compiled."""
    found, build = [], loops.builder

    class Builder:
        def build_loop(self, source):
            found.append(source)
            return build().build_loop(source)

    monkeypatch.setattr(loops, "builder", Builder)
    return found


def drawn(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def whole(*shape):
    return np.random.default_rng(len(shape)).integers(0, 9, shape)
