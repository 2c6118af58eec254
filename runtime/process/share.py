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

from opweave.runtime.process import environment


class _Process:
    """What this process has been told of itself."""

    is_fork = False


_process = _Process()


def cores() -> int:
    """Cores that this process may keep busy, at least one."""
    scheduled = environment.cores_of_a_job() or sys.maxsize
    return max(1, min(len(os.sched_getaffinity(0)), scheduled, _quota()))


def threads(asked: int = 0) -> int:
    """How many threads a kernel may take: as many as are asked for, and no more than cores.

    With 0 ``OMP_NUM_THREADS`` decides.  Without it the child of another process of Python's, one
    of many as a rule, takes one.
    """
    told = asked or environment.openmp_threads()
    return min(told, cores()) if told else 1 if _is_a_child() else cores()


def forked() -> None:
    """Note that this process is a fork of one that runs kernels."""
    _process.is_fork = True


def _is_a_child() -> bool:
    """Whether it is such a fork, or ``multiprocessing`` has started it: a pool, or its like."""
    module = sys.modules.get("multiprocessing.process")
    return _process.is_fork or (module is not None and module.parent_process() is not None)


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
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        named = controllers.split(",")
        if not path or (controllers and "cpu" not in named):
            continue
        place = Path("/") / path
        # version 1 mounts a controller under its own name, too, in whatever order others stand
        for mount in {controllers, "cpu" if controllers else ""}:
            for around in (place, *place.parents):
                yield root / "sys/fs/cgroup" / mount / str(around).lstrip("/")


def _quotas(folder: Path) -> Iterator[float]:
    """What a cgroup sets: of version 2 in one file, of version 1 in two."""
    one = _text(folder / "cpu.max").split()
    two = [_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    for found in (one, two):
        if len(found) == 2 and all(number.isdecimal() for number in found) and int(found[1]):
            yield int(found[0]) / int(found[1])


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape")
    except OSError:
        return ""
