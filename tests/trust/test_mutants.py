"""Taking out any one barrier of a kernel shows; and a part of what `python -m tests.mutants` does.

The tool changes each line of each template and helper (docs/mutants.md has its figures and its
survivors); here run all mutants that drop something, and every 40th of the others.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opweave.runtime.binaries.build import HOST_INCLUDE
from opweave.runtime.binaries.hostcc import host_compiler
from tests.mutants.cases import CASES
from tests.mutants.judge import expected, outcome, program, verdict, with_rows
from tests.mutants.make import mutants, of_helpers, of_templates
from tests.mutants.survivors import EXPLAINED

pytestmark = pytest.mark.host
ROOT = Path(__file__).parents[2]
BARRIERS = [("drop a barrier", r"__sync(?:threads|warp)\(\);", ";")]
# Barriers by their number in the source, of kernels that do not need them.
NOT_NEEDED = {
    # one tile along the inner dimension: nothing is written again
    "product in batches": {1},
    "product in whole tiles": {1},
    "turns of a product": {1},
    "turns of a product's rows": {8},
    # a join of several warps ends with a barrier, so that of flags which follows has nothing to do
    "scan of parts": {14},
    "scan of parts through memory": {14},
    "a scan of parts by elements": {14},
    "scan of rows of parts": {14},
    # before the one scan of a tile comes again, all threads meet at the next ticket
    "scan ahead": {8},
    "scan ahead of a product": {8},
    "scan ahead of groups": {8},
    # the only row of a block is joined once
    "stages of rows": {4},
    # sums of exponentials are joined once
    "row of exponentials": {1},
    # a block of one thread
    "turned through tiles": {0},
    # a copy of the counts for each thread
    "counts in chunks": {0},
    # between the two joins stands the barrier before the early return
    "reduce": {1},
    "places of blocks": {1},
    "reduce in four chunks": {1},
    "reduce of exponentials": {1},
    "complex reduce": {1},
    "reduce runs": {1},
    "reduce through memory": {4},
    "a reduction by elements": {1},
}


def live(source):
    """What the toggles of a source leave of it."""
    command = [*host_compiler().command, "-E", "-P", "-DOW_VERIFY", "-x", "c++", "-std=c++20"]
    include = [f"-I{path}" for path in HOST_INCLUDE]
    ran = subprocess.run(
        [*command, *include, "-"], input=source, capture_output=True, text=True, check=True
    )
    return ran.stdout


@pytest.mark.parametrize("case", CASES)
def test_every_barrier_of_a_kernel_is_needed(case):
    source = with_rows(program(case).source)
    if "__sync" not in source:
        return
    assert all(outcome(case, source, s) == expected(case) for s in (0, 1, 2, 3))
    plain = live(source)

    left = {
        number
        for number, mutant in enumerate(mutants("kernel", source, BARRIERS))
        if live(mutant.text) != plain and verdict([(case, mutant.text)]) == "survives"
    }
    assert left == NOT_NEEDED.get(case, set())


def run_tool(*options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "tests.mutants", "--jobs", "1", *options],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("options", [("--every", "80"), ("--only", ": drop a ", "--every", "3")])
def test_the_tool_leaves_no_survivor_without_a_reason(options):
    ran = run_tool(*options, "--cache", os.environ["OPWEAVE_CACHE_DIR"])

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "NOT EXPLAINED" not in ran.stdout


def test_every_reason_is_one_of_a_mutant_that_there_is():
    texts = [str(m) for m in (*of_templates(), *of_helpers())]
    for pattern, reason in EXPLAINED:
        assert any(re.search(pattern, text) for text in texts), reason


def test_the_page_has_the_figures_of_a_whole_run():
    page = (ROOT / "docs" / "mutants.md").read_text()
    made = int(re.search(r"(\d+) mutants that compile", page)[1])

    assert made >= 600
    assert "NOT EXPLAINED" not in page
