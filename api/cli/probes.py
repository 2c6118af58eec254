"""What ``opweave doctor`` really tries, each in a process of its own with an empty cache folder.

``python -m opweave.cli.probes host`` prints what it found as JSON.  A crash, a hang or a broken
driver ends the probe, not the doctor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_SECONDS = 180.0


@dataclass(frozen=True)
class Probed:
    """What a probe found.

    Attributes:
        name: the probe.
        ok: it worked, and the result was right.
        seconds: what it took, without the start of the process.
        detail: what was done, or why it failed.
        facts: what else it learned.
    """

    name: str
    ok: bool
    seconds: float
    detail: str
    facts: dict[str, Any] = field(default_factory=dict)


def probe(name: str) -> Probed:
    """Run a probe in a fresh process; never raises."""
    command = [sys.executable, "-P", "-m", "opweave.cli.probes", name]
    with tempfile.TemporaryDirectory(prefix="opweave-doctor-") as folder:
        given = os.environ | {"OPWEAVE_CACHE_DIR": folder, "OPWEAVE_DEVICE": "host"}
        given |= {"OPWEAVE_LOGS": "", "OPWEAVE_CACHE_SIZE": ""}
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, errors="replace", env=given,
                timeout=MOST_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Probed(name, False, 0.0, f"no answer within {MOST_SECONDS:g} s")
        except OSError as error:
            return Probed(name, False, 0.0, f"{sys.executable} does not start: {error}")
    return read(name, ran)


def read(name: str, ran: subprocess.CompletedProcess[str]) -> Probed:
    """What a finished probe printed; a crash by a signal has no last words."""
    try:
        data = json.loads(ran.stdout.splitlines()[-1])
        return Probed(name, data["ok"], data["seconds"], data["detail"], data["facts"])
    except (ValueError, IndexError, KeyError, TypeError):
        said = ran.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        return Probed(
            name, False, 0.0, f"the process ended with status {ran.returncode}: {said[0]}"
        )


def host() -> tuple[bool, str, dict[str, Any]]:
    """Compile and run one small kernel on the host."""
    import opweave

    x = np.arange(1000, dtype=np.float32)
    found = opweave.fuse(lambda x: x * 2 + 1)(x)
    right = bool(np.array_equal(found, x * 2 + 1))
    return right, "compiled and ran a kernel" if right else "the kernel gave wrong numbers", {}


def nvrtc() -> tuple[bool, str, dict[str, Any]]:
    """Compile one small kernel for a GPU that need not be there."""
    import opweave

    x = np.arange(1000, dtype=np.float32)
    program = opweave.fuse(lambda x: x * 2 + 1).lower(x, target="sm_90a").compile()
    size = len(program.kernels[0].binary.payload)
    return True, f"compiled a kernel for sm_90a, {size} bytes", {}


def gpu() -> tuple[bool, str, dict[str, Any]]:
    """Name the GPUs, then compile and run one small kernel on the first."""
    import opweave
    from opweave.runtime.cuda.executor import cupy, live_device

    module = cupy()
    count = int(module.cuda.runtime.getDeviceCount())
    facts: dict[str, Any] = {"gpus": [_described(module, index) for index in range(count)]}
    facts["driver"] = int(module.cuda.runtime.driverGetVersion())
    device = live_device(0)
    x = module.arange(1000, dtype=np.float32)
    right = bool((opweave.fuse(lambda x: x * 2 + 1)(x) == x * 2 + 1).all())
    detail = f"compiled and ran a kernel on {device.name}, {device.arch}"
    return right, detail if right else f"{device.name}: the kernel gave wrong numbers", facts


def _described(module: Any, index: int) -> dict[str, Any]:
    properties = module.cuda.runtime.getDeviceProperties(index)
    name = properties["name"]
    return {
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "bytes": int(properties["totalGlobalMem"]),
        "sms": int(properties["multiProcessorCount"]),
    }


PROBES = {"host": host, "nvrtc": nvrtc, "gpu": gpu}


def main(name: str) -> None:
    """Run a probe in this process and print what it found."""
    start = time.perf_counter()
    try:
        ok, detail, facts = PROBES[name]()
    except Exception as error:
        ok, facts = False, {}
        detail = " ".join(f"{type(error).__name__}: {error}".split())
    seconds = time.perf_counter() - start
    print(json.dumps({"ok": ok, "seconds": seconds, "detail": detail, "facts": facts}))


if __name__ == "__main__":
    main(sys.argv[1])
