"""How many threads a kernel takes: what the user, the environment and the system say."""

import os
import time

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.process import share
from tests.support.processes import python

V2, V1 = "0::/jobs/mine\n", "4:cpu,cpuacct:/jobs/mine\n3:memory:/other\n0::/\n"
V2_FOLDER, V1_FOLDER = "sys/fs/cgroup/jobs", "sys/fs/cgroup/cpu,cpuacct/jobs"
ENDLESS = float("inf")
# Lines of /proc/self/cgroup, files, cores.
GROUPS = {
    "version 2": (V2, {f"{V2_FOLDER}/mine/cpu.max": "150000 100000\n"}, 1.5),
    "version 2 without a limit": (V2, {f"{V2_FOLDER}/mine/cpu.max": "max 100000\n"}, ENDLESS),
    "a limit of the group around it": (
        V2, {f"{V2_FOLDER}/mine/cpu.max": "800000 100000\n", f"{V2_FOLDER}/cpu.max": "300000 100000"},
        3),
    "version 1": (
        V1, {f"{V1_FOLDER}/mine/cpu.cfs_quota_us": "50000\n",
             f"{V1_FOLDER}/mine/cpu.cfs_period_us": "100000\n"}, 0.5),
    "version 1 without a limit": (
        V1, {f"{V1_FOLDER}/mine/cpu.cfs_quota_us": "-1\n",
             f"{V1_FOLDER}/mine/cpu.cfs_period_us": "100000\n"}, ENDLESS),
    "a container that sees its own group alone": (
        V2, {"sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
    "version 1, mounted under one name": (
        "4:cpuacct,cpu:/jobs\n", {"sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us": "50000",
                                  "sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us": "100000"}, 0.5),
    "lines of another kind": ("nonsense\n0::\n", {}, ENDLESS),
    "a name that is no text": ("0::/jobs/\udcff\n", {}, ENDLESS),
    "no period": (V2, {f"{V2_FOLDER}/mine/cpu.max": "200000 0\n"}, ENDLESS),
    "no cgroups": (None, {}, ENDLESS),
}  # fmt: skip


@pytest.mark.parametrize("case", GROUPS)
def test_a_cgroup_gives_a_share(case, tmp_path):
    lines, files, expected = GROUPS[case]
    for name, text in (files | ({"proc/self/cgroup": lines} if lines else {})).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, errors="surrogateescape")

    assert share.cgroup_quota(tmp_path) == expected


# Variables, whether a child of multiprocessing, what is asked for; threads of eight cores.
WANTED = [
    ({}, False, 0, 8),
    ({"OMP_NUM_THREADS": "3"}, False, 0, 3),
    ({"OMP_NUM_THREADS": "4,2"}, False, 0, 4),
    ({"OMP_NUM_THREADS": "64"}, False, 0, 8),
    ({"OMP_NUM_THREADS": "9" * 60}, True, 0, 8),
    ({"OMP_NUM_THREADS": "0"}, False, 0, 8),
    ({"OMP_NUM_THREADS": "many"}, False, 0, 8),
    ({"OMP_NUM_THREADS": "3"}, False, 5, 5),
    ({"SLURM_CPUS_PER_TASK": "2"}, False, 0, 2),
    ({"SLURM_CPUS_PER_TASK": "2", "OMP_NUM_THREADS": "4"}, False, 0, 2),
    ({}, True, 0, 1),
    ({"OMP_NUM_THREADS": "2"}, True, 0, 2),
    ({}, True, 3, 3),
]


@pytest.mark.parametrize(("variables", "child", "asked", "expected"), WANTED)
def test_who_says_how_many(variables, child, asked, expected, monkeypatch):
    for name in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(share, "_quota", lambda: 99)
    monkeypatch.setattr(share, "_is_a_child", lambda: child)

    assert share.threads(asked) == expected


@pytest.mark.parametrize("value", [-1, 1.5, "2", True])
def test_no_number_of_threads(value):
    with pytest.raises(ArgumentError, match="threads=.*an integer"):
        ow.config.threads = value


COUNTED = """
import os, sys, time, numpy as np, opweave as ow
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
x = np.full((900, 1000), 4, np.float32)
f = ow.fuse(lambda x: np.sin(np.sqrt(x)) * 2 + 1)
f(x[:1])  # compiled, and run by one thread
time.sleep(0.1)  # threads of the compiler end
def threads():
    return len(os.listdir("/proc/self/task"))
def added(number=0):
    before = threads()
    for _ in range(20):
        f(x)
    return threads() - before
"""
CASES = {
    "two": ("print(added())", {"OMP_NUM_THREADS": "2"}, "1"),
    "one": ("print(added())", {"OMP_NUM_THREADS": "1"}, "0"),
    "the setting": ("ow.config.threads = 1; print(added())", {}, "0"),
    "the setting, against the variable": (
        "ow.config.threads = 2; print(added())", {"OMP_NUM_THREADS": "1"}, "1"),
    "a pool of forked processes": (
        "f(x)\nwith ProcessPoolExecutor(2, get_context('fork')) as p:\n"
        "    print(*p.map(added, range(2)))", {}, "0 0"),
    "a pool that says so": (
        "f(x)\nwith ProcessPoolExecutor(1, get_context('fork')) as p:\n"
        "    print(*p.map(added, range(1)))", {"OMP_NUM_THREADS": "2"}, "1"),
    # too short each to wake a thread for, but for those that follow each other at once
    "short ones in a row": (
        "before = threads()\nfor _ in range(300): f(x[:60])\nprint(threads() - before)", {}, "1"),
    "a bare fork": (
        "f(x)\nchild = os.fork()\nif not child:\n    print(added(), flush=True)\n    os._exit(0)\n"
        "os.waitpid(child, 0)", {}, "0"),
    "a bare fork that changes a setting": (
        "f(x)\nchild = os.fork()\nif not child:\n    with ow.config(recompile_limit=99): pass\n"
        "    print(added(), flush=True)\n    os._exit(0)\nos.waitpid(child, 0)", {}, "0"),
    "a setting that is changed within a block": (
        "with ow.config(recompile_limit=99):\n    ow.config.threads = 1\nprint(added())", {}, "0"),
    "a pool of threads": (
        "f(x)\nbefore = threads()\nwith ThreadPoolExecutor(4) as p:\n"
        "    list(p.map(lambda n: f(x), range(64)))\n    print(threads() - before <= 4)",
        {}, "True"),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
@pytest.mark.parametrize("case", CASES)
def test_threads_that_a_kernel_takes(case):
    code, variables, expected = CASES[case]

    assert python(COUNTED + code, **variables).strip() == expected


@pytest.mark.host
def test_nothing_spins_while_it_waits_for_work():
    x = np.full((900, 1000), 4, np.float32)
    fused = ow.fuse(lambda x: np.sin(np.sqrt(x)) * 2 + 1)
    for _ in range(5):
        fused(x)
    before = time.process_time()
    time.sleep(0.2)

    assert time.process_time() - before < 0.05


@pytest.mark.host
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_short_kernels_of_a_long_call_give_the_bits_of_one_thread():
    """Each element follows from neighbours that another thread may have computed last."""
    steps = ow.repeat(lambda x: np.sin(x + np.roll(x, 20000)), 1000)
    x = np.linspace(0, 1, 40000, dtype=np.float32)
    with ow.config(threads=1):
        expected = steps(x)
    for _ in range(3):
        np.testing.assert_array_equal(steps(x), expected)
