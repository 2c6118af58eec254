"""Processes of their own, with a cache of their own, and what they leave behind."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache folder that has the executor's own library, and no kernel."""
    root = tmp_path_factory.mktemp("warm") / "cache"
    python(
        "from opweave.runtime.host.launcher import runtime_library; runtime_library()",
        OPWEAVE_CACHE_DIR=str(root),
    )
    return root


@pytest.fixture
def root(warm, tmp_path):
    return shutil.copytree(warm, tmp_path / "cache")


def python(code, **environment):
    """Run a program to its end, which prints what happened."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def left_behind(root):
    return [p.name for p in root.glob(".tmp-*")]
