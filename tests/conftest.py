"""Tests are sorted by what they need: nothing, a host compiler, NVRTC, a GPU."""

from __future__ import annotations

import os

import numpy as np
import pytest

import opweave as ow


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")


def pytest_configure(config):
    # Kernels of the tests are kept beside pytest's own cache, not in the user's.
    folder = config.cache.mkdir("opweave")
    os.environ["OPWEAVE_CACHE_DIR"] = str(folder)


def _has_host():
    from opweave.runtime.binaries.hostcc import host_compiler

    try:
        host_compiler()
    except ow.errors.NoCompilerError:
        return False
    return True


def _has_nvrtc():
    try:
        import cuda.core  # noqa: F401

        from opweave.runtime.binaries.disassembly import tool

        tool("nvdisasm")
    except (ImportError, ow.errors.NoCompilerError):
        return False
    return True


def _has_gpu():
    try:
        from opweave.runtime.cuda.executor import cupy

        cupy()
    except ow.errors.NoDeviceError:
        return False
    return True


NEEDS = {"host": _has_host, "nvrtc": _has_nvrtc, "gpu": _has_gpu}


def pytest_collection_modifyitems(config, items):
    have = {}
    for item in items:
        for name, check in NEEDS.items():
            if item.get_closest_marker(name):
                if name not in have:
                    have[name] = check()
                if not have[name]:
                    item.add_marker(pytest.mark.skip(reason=f"needs {name}"))


@pytest.fixture(autouse=True)
def registry():
    """Operators that a test adds are gone after it."""
    from opweave.opcodes import OPERATORS

    before = dict(OPERATORS)
    yield
    OPERATORS.clear()
    OPERATORS.update(before)


@pytest.fixture
def rng():
    return np.random.default_rng(7)
