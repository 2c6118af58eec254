"""Row 12 of docs/trust.md: the same bits at every run: 1,000 schedules, and threads of the host."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.simt.executors import VerifyExecutor
from tests.support.variants import layer_norm, softmax

pytestmark = pytest.mark.host

SEEDS = 100


def array(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


# Thirteen kernels: each way in which threads and blocks meet.
KERNELS = {
    "map": (lambda x: np.exp(x) * 1.1, [array(600)], {}),
    "row of a warp": (softmax, [array(3, 70)], {}),
    "row of a block": (layer_norm, [array(2, 700), array(700), array(700)], {}),
    "row through memory": (softmax, [array(2, 300)], {"USE_WARP_SHUFFLE": 0}),
    "columns": (lambda x: x.sum(axis=0), [array(37, 21)], {}),
    "row values": (lambda x: x.max(axis=1) - x.mean(axis=1), [array(5, 90)], {}),
    "blocks that meet": (lambda x: (x * x).sum(), [array(9000)], {"PARTS": 4}),
    "scan of a block": (lambda x: np.cumsum(x, axis=1), [array(2, 2100)], {}),
    "scan through memory": (
        lambda x: np.cumsum(x, axis=1),
        [array(3, 300)],
        {"USE_WARP_SHUFFLE": 0},
    ),
    "scan of parts": (lambda x: np.cumsum(x), [array(33000)], {"PARTS": 4, "LANES": 2}),
    "product": (lambda x, w: x @ w, [array(21, 17), array(17, 19)], {}),
    "product of rows": (lambda x, w: softmax(x @ w), [array(9, 7), array(7, 20)], {}),
    "tile": (lambda x, y: x.T * y, [array(33, 30), array(30, 33)], {}),
}


def bits(result):
    return hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()


@pytest.mark.parametrize("name", KERNELS)
def test_a_hundred_random_schedules_give_one_result(name):
    function, arguments, toggles = KERNELS[name]
    fused = ow.fuse(function).with_toggles(**toggles)
    program = fused.lower(*arguments, target="sm_80")
    call = program.arguments(tuple(arguments), {})
    found = set()
    for seed in range(SEEDS):
        executor = VerifyExecutor(seed)
        made = Prepared(program.lowered, executor, call.extents, [*call.arrays.values()])
        found.add(bits(made(list(call.arrays.values()), call.env)[0]))

    assert len(found) == 1


ON_HOST = {
    "map": (lambda x: np.exp(x) * 1.1, [array(200_000)]),
    "row": (softmax, [array(300, 400)]),
    "reduce": (lambda x: (x * x).sum(), [array(300_000)]),
    "columns": (lambda x: x.sum(axis=0), [array(500, 300)]),
    "scan": (lambda x: np.cumsum(x, axis=1), [array(300, 400)]),
    "scan of columns": (lambda x: np.cumsum(x, axis=0), [array(500, 300)]),
    "product": (lambda x, w: ow.relu(x @ w), [array(40, 20), array(20, 30)]),
}


@pytest.mark.parametrize("name", ON_HOST)
def test_a_hundred_runs_on_all_cores_give_one_result(name):
    function, arguments = ON_HOST[name]
    fused = ow.fuse(function)

    assert len({bits(fused(*arguments)) for _ in range(100)}) == 1


SCRIPT = """
import sys; sys.path.insert(0, {root!r})
from tests.trust.test_repeatable import ON_HOST, bits, ow
print([bits(ow.fuse(f)(*a)) for f, a in ON_HOST.values()])
"""


def test_the_number_of_cores_and_the_process_change_no_bit():
    script = SCRIPT.format(root=str(Path(__file__).parents[2]))
    one = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, {{{one}}})\n{script}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    here = f"{[bits(ow.fuse(f)(*a)) for f, a in ON_HOST.values()]}\n"

    assert here == ran.stdout, ran.stderr
