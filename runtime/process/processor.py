"""What the processor can do."""

from __future__ import annotations

import os
from functools import cache


@cache
def cpu_features() -> str:
    """What ``-march=native`` depends on: the flags of the first processor."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return " ".join(sorted(line.split(":", 1)[1].split()))
    except OSError:
        pass
    return " ".join(os.uname())
