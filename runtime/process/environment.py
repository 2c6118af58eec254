"""The environment, read in one place: our variables, and those of others."""

from __future__ import annotations

import os
from pathlib import Path

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError

# Variables that a compiler may read: where its parts are and where it may write.  All others, such
# as flags and search paths, could change a binary without changing its cache key.
FOR_COMPILERS = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


def for_compilers() -> dict[str, str]:
    """The environment of a compiler or disassembler; messages in English, for their readers."""
    found = {name: os.environ[name] for name in FOR_COMPILERS if name in os.environ}
    return found | {"LC_ALL": "C"}


def openmp_threads() -> int:
    """``OMP_NUM_THREADS``, of its list the first; 0 where it says nothing."""
    return _number(os.environ.get("OMP_NUM_THREADS", "").split(",")[0])


def cores_of_a_job() -> int:
    """``SLURM_CPUS_PER_TASK``: cores of a task of a cluster's; 0 where it says nothing."""
    return _number(os.environ.get("SLURM_CPUS_PER_TASK", ""))


def _number(text: str) -> int:
    text = text.strip()
    return min(int(text), 1 << 30) if text.isascii() and text.isdecimal() and len(text) < 99 else 0


def memory_bytes() -> int:
    """Memory of this machine; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0


def cache_folder() -> Path:
    """``OPWEAVE_CACHE_DIR``, else ``opweave`` in the XDG cache folder; an absolute path.

    ``~`` stands for the home folder; a relative path counts from the folder that is current now.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    given = os.environ.get("OPWEAVE_CACHE_DIR") or os.path.join(base, "opweave")
    return Path(os.path.abspath(os.path.expanduser(given)))


def cache_bytes(default: int) -> int:
    """``OPWEAVE_CACHE_SIZE``: bytes, or with a suffix K, M or G.

    Raises:
        ArgumentError: not a size.
    """
    text = os.environ.get("OPWEAVE_CACHE_SIZE", "").strip()
    if not text:
        return default
    factors = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    digits, factor = (
        (text[:-1], factors[text[-1].upper()]) if text[-1].upper() in factors else (text, 1)
    )
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        raise ArgumentError(
            f"OPWEAVE_CACHE_SIZE={shown(text)}: expected bytes such as 500000000, 500M or 2G"
        )
    return int(digits) * factor


def device() -> str:
    """``OPWEAVE_DEVICE``: where NumPy arrays run, "host" (the default) or "cuda".

    Raises:
        ArgumentError: another word.
    """
    found = os.environ.get("OPWEAVE_DEVICE", "host").lower()
    if found not in ("host", "cuda"):
        raise ArgumentError(f"OPWEAVE_DEVICE={shown(found)}: expected 'host' or 'cuda'")
    return found


def logs() -> frozenset[str]:
    """``OPWEAVE_LOGS``: a comma-separated set of topics.

    "recompiles" says what was traced, "breaks" which functions run in parts, and why, "compile"
    how long each kernel compiled, "quiet" leaves out the line on kernels that compile for long;
    "traceback" keeps the frames of opweave in the tracebacks of errors.
    """
    return frozenset(filter(None, os.environ.get("OPWEAVE_LOGS", "").split(",")))
