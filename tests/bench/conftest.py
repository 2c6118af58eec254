"""What the tests of the benchmarks share: a case, a host, and experiments that are small."""

import numpy as np
import pytest

from bench import run
from bench.experiments import load
from bench.measure import (
    clock,
    executors,
    harness,
    record,
)
from tests.support.benched import ROOFS


@pytest.fixture
def host(monkeypatch):
    """The host, timed for a moment only."""
    found = executors.Host()
    monkeypatch.setattr(executors.Host, "effort", clock.Effort(0.001, 4, 6))
    return found


@pytest.fixture
def case():
    x = np.linspace(1, 2, 1000, dtype=np.float32)
    value = x.astype(np.float64) * 2
    return record.Case({"n": 1000}, [(x,)], np.float32, harness.Expected(value, 1e-6), 8000, 1000)


@pytest.fixture
def small(monkeypatch, host):
    """Every experiment at its smallest; roofs that nobody measured."""
    monkeypatch.setattr(run, "measured_roofs", lambda executor: dict(ROOFS))
    monkeypatch.setattr(record, "QUICK_SECONDS", 0.001)
    monkeypatch.setattr(executors, "PRODUCTS", {"host": (8,), "cuda": (8,)})
    monkeypatch.setattr(load("fusion"), "LENGTHS", (1, 2))
    monkeypatch.setattr(load("fusion"), "QUICK", {"host": (64, 128), "cuda": (64, 128)})
    monkeypatch.setattr(load("intensity"), "REPEATS", (1, 2))
    monkeypatch.setattr(load("network"), "LAYERS", (1,))
    monkeypatch.setattr(load("shapes"), "QUICK", (1, 8))
    monkeypatch.setattr(load("tiles"), "QUICK", (0.03125,))
    monkeypatch.setattr(load("histogram"), "BINS", load("histogram").PEERS_AT[:1])
    monkeypatch.setattr(load("transformer"), "QUICK", ((8, 16),))
    for name in ("traffic", "intensity", "transpose", "convolution", "histogram"):
        monkeypatch.setattr(load(name), "QUICK", (64,))
    monkeypatch.setattr(load("memory"), "QUICK", (1 << 12,))
    monkeypatch.setattr(load("overhead"), "QUICK", (1, 2, 4))
    monkeypatch.setattr(load("products"), "QUICK", {"host": (16,), "cuda": (16,)})
    monkeypatch.setattr(load("pixels"), "QUICK", 8000)
    monkeypatch.setattr(load("graphs"), "QUICK", (4,))
    monkeypatch.setattr(load("graphs"), "QUICK_DEPTH", 3)
    monkeypatch.setattr(load("graphs"), "DEPTHS", (3,))
    monkeypatch.setattr(load("loop"), "QUICK_LARGE", 1 << 13)
    monkeypatch.setattr(load("calls"), "QUICK_CALLS", 8)
    few = {name: load("programs").PROGRAMS[name] for name in ("bounce", "softmax_rows")}
    monkeypatch.setattr(load("programs"), "PROGRAMS", few)
    monkeypatch.setattr(load("torch"), "ONLY", ("mlp", "similarities"))
    monkeypatch.setattr(load("allocator"), "QUICK", (2,))
    monkeypatch.setattr(load("allocator"), "QUICK_PRODUCTS", 4)
    return host
