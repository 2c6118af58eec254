"""The test suite of the standard, which lies outside: where it is, and how it is run."""

import os
import subprocess
import sys
from pathlib import Path

COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
EXAMPLES = 100
PLACE = "OPWEAVE_ARRAY_API_TESTS"
ROOT = Path(__file__).parents[2]
FETCH = f"""\
git clone https://github.com/data-apis/array-api-tests outside/array-api-tests
git -C outside/array-api-tests checkout {COMMIT}
git -C outside/array-api-tests submodule update --init
pip install 'hypothesis>=6.151' 'ndindex>=1.8' pytest-json-report
"""


def folder():
    """Where the suite lies: by the environment, or in ``outside/array-api-tests``; or None."""
    found = Path(os.environ.get(PLACE) or ROOT / "outside" / "array-api-tests").resolve()
    has_standard = any((found / "array-api").glob("spec/*"))
    return found if (found / "array_api_tests").is_dir() and has_standard else None


def commit(place):
    """Of which commit it is; "" where nobody knows."""
    asked = ["git", "-C", str(place), "rev-parse", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def run(place, outcomes, examples=EXAMPLES, kernels=False, only=()):
    """What became of each test, by its id: passed, failed or skipped.

    The examples are the same at each run.  ``kernels`` makes kernels run arrays of any length.
    """
    command = [
        sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "tests.xp.outcomes",
        "-p", "no:cacheprovider", "--disable-deadline", "--derandomize",
        "--max-examples", str(examples), *(only or ["array_api_tests"]),
    ]  # fmt: skip
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    given = {
        **os.environ, "PYTHONPATH": paths, "ARRAY_API_TESTS_MODULE": "opweave.xp",
        "OUTCOMES": str(outcomes), "KERNELS": "1" * kernels, "PYTHONHASHSEED": "0",
    }  # fmt: skip
    done = subprocess.run(command, cwd=place, env=given, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout[-4000:] + done.stderr[-4000:]
    lines = (line.split(" ", 1) for line in outcomes.read_text().splitlines())
    found = {}
    for outcome, test in lines:  # one that fails while it is set up has two
        found[test] = outcome if found.get(test) != "failed" else "failed"
    return found
