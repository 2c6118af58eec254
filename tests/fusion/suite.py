"""CuPy's own tests of fusion, which lie outside: where they are, and how they are run."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

COMMIT = "6b6d9563c4f7410cd1866a11b2f71a60dd45a68c"
PLACE = "OPWEAVE_CUPY"
OUTCOMES = "OPWEAVE_FUSION_OUTCOMES"
INSIDE = "cupy_tests/core_tests/fusion_tests"
ROOT = Path(__file__).parents[2]
FETCH = f"""\
git clone --filter=blob:none https://github.com/cupy/cupy outside/cupy
git -C outside/cupy checkout {COMMIT}
"""


def folder():
    """Where CuPy's tests lie: by the environment, or in ``outside/cupy``; or None."""
    found = Path(os.environ.get(PLACE) or ROOT / "outside" / "cupy").resolve() / "tests"
    return found if (found / INSIDE).is_dir() else None


def run(place, notes, *only):
    """Run them.

    Returns what became of each test, by its id, and for each test what ``explain`` said of calls.
    """
    command = [
        sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "tests.fusion.cupy",
        "-p", "no:cacheprovider", *(only or [INSIDE]),
    ]  # fmt: skip
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    given = {**os.environ, "PYTHONPATH": paths, OUTCOMES: str(notes)}
    done = subprocess.run(command, cwd=place, env=given, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout[-4000:] + done.stderr[-4000:]
    outcomes, calls = {}, defaultdict(list)
    for line in notes.read_text().splitlines():
        about = json.loads(line)
        test = about.pop("test").removeprefix(INSIDE + "/")
        if "outcome" in about:
            outcomes[test] = about["outcome"]
        else:
            calls[test].append(about)
    return outcomes, calls
