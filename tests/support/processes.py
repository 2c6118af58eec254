"""Processes of their own, with a cache of their own, and what they leave behind."""

import os
import subprocess
import sys
import textwrap


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
