"""What tests of ``ow.repeat`` look at."""

import pytest

from opweave.runtime.host.native import NativeSteps


@pytest.fixture
def calls_of_c(monkeypatch):
    """How often steps were to run, for each call of C from then on; cleared by who asks."""
    calls, run = [], NativeSteps.start
    monkeypatch.setattr(NativeSteps, "start", lambda self, *a: calls.append(a[1]) or run(self, *a))
    return calls
