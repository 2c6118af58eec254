"""Tests are sorted by what they need: nothing, a host compiler, NVRTC, a GPU; and in two tiers."""

from __future__ import annotations

import gc
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave._loops import sites
from tests.gpu import standing_in
from tests.support import cells, tiers
from tests.support.slow import SLOW
from tests.warm import by_c


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")
    parser.addoption(
        "--tier", choices=tiers.TIERS, default="default", help="which tests, see docs/testing.md"
    )
    parser.addoption("--by-c", action="store_true", help="run calls by C, too: warm/by_c.py")
    parser.addoption("--share", type=tiers.a_share, help="2/5: the third fifth of the slow tests")
    parser.addoption(
        "--hold-cells", action="store_true", help="hold what is lowered to the default tier's"
    )


def pytest_configure(config):
    # Kernels of the tests are kept beside pytest's own cache, not in the user's.
    folder = config.cache.mkdir("opweave")
    os.environ["OPWEAVE_CACHE_DIR"] = str(folder)
    os.environ.setdefault("OPWEAVE_LOGS", "quiet")  # no line on kernels that compile for long
    cells.watch()
    if config.getoption("by_c"):
        by_c.watch()


def _has_host():
    from opweave.runtime.binaries.hostcc import host_compiler

    try:
        host_compiler()
    except ow.errors.NoCompilerError:
        return False
    return True


def _has_nvrtc():
    try:
        from opweave.runtime.binaries import nvrtc
        from opweave.runtime.binaries.disassembly import tool

        nvrtc.compile_cuda("", "sm_80", {}, Path())
        tool("nvdisasm")
    except ow.errors.NoCompilerError:
        return False
    return True


NEEDS = {"host": _has_host, "nvrtc": _has_nvrtc, "gpu": standing_in.has_gpu}


@pytest.hookimpl(tryfirst=True)  # before -k, so that a table of cases is whole
def pytest_collection_modifyitems(config, items):
    tiers.select(config, items, standing_in.table_for(items, SLOW))
    have = cache(lambda name: NEEDS[name]())
    for item in items:
        for name in filter(item.get_closest_marker, NEEDS):
            if have(name):
                continue
            reason = standing_in.why_skipped(item) if name == "gpu" else f"needs {name}"
            # the stand-in's kernels run in the shim
            reason = reason or ("" if have("host") and have("nvrtc") else "needs host and nvrtc")
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


# Under pytest-xdist workers alone collect and lower; the controller sums up.
def pytest_collection_finish(session):
    """Other tests take tables and random programs from the operators that there are."""
    from opweave.opcodes.operators.registry import BUILT_IN, OPERATORS

    if added := sorted(OPERATORS.keys() - BUILT_IN):
        raise pytest.UsageError(f"a test module adds operators as it is imported: {added}")
    # The tests themselves are a million objects, which no collection of garbage has to visit.
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["left out"] = config.stash.get(tiers.LEFT_OUT, 0)
        config.workeroutput["cells"] = sorted(cells.CELLS)
        return
    cells.keep(config, session.exitstatus)
    if cells.lacking(config) and session.exitstatus == 0:
        session.exitstatus = 1


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    found = getattr(node, "workeroutput", {})
    node.config.stash[tiers.LEFT_OUT] = found.get("left out", 0)
    cells.CELLS.update(map(tuple, found.get("cells", ())))


def pytest_terminal_summary(terminalreporter, config):
    if by_c.COUNT[0]:
        terminalreporter.write_line(f"{by_c.COUNT[0]} calls ran by C, too")
    for line in (*tiers.summary(config), *cells.lacking(config)):
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def registry():
    """Operators that a test adds are gone after it."""
    from opweave.opcodes import OPERATORS

    before = dict(OPERATORS)
    yield
    OPERATORS.clear()
    OPERATORS.update(before)


@pytest.fixture(autouse=True)
def refused(monkeypatch):
    """What compilers said of texts that are ours and that they refused, which a user never sees.

    The kernel is compiled as it reads then, to the same results, and only slower.
    """
    from opweave.runtime.binaries import build

    found: list[str] = []
    told = build.log_refused
    monkeypatch.setattr(
        build, "log_refused", lambda source, log: (found.append(log), told(source, log))
    )
    yield found
    assert not found, found[0]


@pytest.fixture(autouse=True)
def faults(monkeypatch):
    """Loops that Python runs for a fault of ours, which a user hardly sees."""
    found: list[Exception] = []
    told = sites.fault
    monkeypatch.setattr(sites, "fault", lambda n, e: (found.append(e), told(n, e))[1])
    yield found
    assert not found, repr(found[0])


@pytest.fixture(autouse=True)
def pays(monkeypatch, request):
    """Functions run in parts, or call NumPy's library, however short their arrays are.

    A module with ``AS_FOR_USERS`` has it as it is.
    """
    if not getattr(request.module, "AS_FOR_USERS", False):
        monkeypatch.setattr("opweave._functions.short.PAYS", 0)
        monkeypatch.setattr("opweave.compiler.ir.pace.NOTICED", 0)
        monkeypatch.setattr("opweave._loops.stretches.LINES", -1)
        monkeypatch.setattr("opweave._loops.stretches.STEADY_LINES", -1)


@pytest.fixture(autouse=True)
def library_in_parts(request):
    """In a module with ``LIBRARY_IN_PARTS`` calls of NumPy's library are lines between kernels.

    So ``np.sort(x)`` stands for whatever is not compiled.
    """
    with ow.config(library=not getattr(request.module, "LIBRARY_IN_PARTS", False)):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def loops_of_python():
    """Loops that C does not run: as where they have what it cannot do."""
    with ow.config(loops=False):
        yield
