"""What the processor can do."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
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


@cache
def processor() -> str:
    """The name of the processor, or its kind."""
    with suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


# Of a processor that does not say it.
USUAL_LAST_CACHE = 32 << 20


@cache
def last_cache_bytes() -> int:
    """Bytes of the last cache before the memory, of all cores that share it."""
    try:
        found = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (OSError, ValueError, AttributeError):  # another system's, or another C library's
        found = 0
    return found if found > 0 else USUAL_LAST_CACHE
