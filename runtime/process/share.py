"""What share of the machine's cores this process has, and how many threads it is to take of them.

A container is given its share by a cgroup, a job of a cluster by its scheduler.  Who starts many
processes shares the cores out among them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from opweave.runtime.process import environment


class Threads(NamedTuple):
    """How many threads, and whether somebody has said so, so that it holds in a fork, too."""

    most: int
    told: bool


def cores() -> int:
    """Cores that this process may keep busy, at least one."""
    scheduled = environment.cores_of_a_job() or sys.maxsize
    return max(1, min(len(os.sched_getaffinity(0)), scheduled, _quota()))


def threads(asked: int = 0) -> Threads:
    """How many threads a kernel may take: as many as are asked for, and no more than cores.

    With 0 ``OMP_NUM_THREADS`` decides.  Without it the child of another process of Python's, one
    of many as a rule, takes one.
    """
    told = asked or environment.openmp_threads()
    if told:
        return Threads(min(told, cores()), True)
    return Threads(1 if _is_a_child() else cores(), False)


def _is_a_child() -> bool:
    """Whether ``multiprocessing`` has started this process: a pool, or one of its like."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


@cache
def _quota() -> int:
    return int(min(cgroup_quota(Path("/")), sys.maxsize))


def cgroup_quota(root: Path) -> float:
    """Cores whose whole time the cgroups of this process allow, infinite if they set no limit."""
    quotas = [quota for folder in _folders(root) for quota in _quotas(folder)]
    return min(quotas, default=float("inf"))


def _folders(root: Path) -> Iterator[Path]:
    """The process's cgroups with those around them; within a container some are not to be seen."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        place = Path("/") / path
        for around in (place, *place.parents):
            yield root / "sys/fs/cgroup" / controllers / str(around).lstrip("/")


def _quotas(folder: Path) -> Iterator[float]:
    """What a cgroup sets: of version 2 in one file, of version 1 in two."""
    one = _text(folder / "cpu.max").split()
    two = [_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    for found in (one, two):
        if len(found) == 2 and all(number.isdecimal() for number in found) and int(found[1]):
            yield int(found[0]) / int(found[1])


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
