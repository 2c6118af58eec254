"""``opweave cache``: list, prune, verify and clear the compiled kernels on disk."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from typing import Any

from opweave._programs.units import size
from opweave.cli.terminal import duration, print_json, print_table
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import FileError, RequestError
from opweave.runtime.binaries.cache import DEFAULT_BYTES, DiskCache
from opweave.runtime.binaries.entry import CachedEntry
from opweave.runtime.process import environment

SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def opened() -> DiskCache:
    """The cache folder of the environment; it is not made here.

    Raises:
        FileError: it cannot be used; says why.
    """
    cache = DiskCache(environment.cache_folder(), environment.cache_bytes(DEFAULT_BYTES))
    problem = cache.problem()
    if problem:
        raise FileError(
            f"cache folder {cache.root} cannot be used ({problem}): set OPWEAVE_CACHE_DIR to a "
            "folder of your own"
        )
    return cache


def ls(options: Namespace) -> int:
    """List the entries, last used first."""
    cache = opened()
    found = sorted(cache.entries(), key=lambda e: e.used, reverse=True)
    total = sum(e.bytes for e in found)
    if options.json:
        about = {"folder": str(cache.root), "bytes": total, "cap": cache.most_bytes}
        print_json(about | {"entries": [described(e) for e in found]})
        return 0
    if found:
        now = time.time()
        rows = [
            (e.key[:12], e.kind, e.kernel or "-", size(e.bytes), duration(now - e.made),
             duration(now - e.used))
            for e in found
        ]  # fmt: skip
        print_table(("key", "target", "kernel", "size", "age", "last used"), rows, "lllrrr")
    print(f"{counted(len(found))}, {size(total)} of {size(cache.most_bytes)} in {cache.root}")
    return 0


def described(entry: CachedEntry) -> dict[str, Any]:
    """An entry as JSON has it; times in seconds since the epoch."""
    return {
        "key": entry.key,
        "target": entry.kind,
        "kernel": entry.kernel,
        "bytes": entry.bytes,
        "made": entry.made,
        "used": entry.used,
        "path": str(entry.path),
    }


def prune(options: Namespace) -> int:
    """Remove the least recently used entries down to a cap, and those unused for long."""
    most = None if options.size is None else parse_size(options.size)
    older = None if options.older_than is None else parse_age(options.older_than)
    cache = opened()
    return _remove(cache, options, lambda: cache.prune(most, older))


def clear(options: Namespace) -> int:
    """Remove every entry; what is not an entry stays."""
    cache = opened()
    return _remove(cache, options, cache.clear)


def _remove(cache: DiskCache, options: Namespace, run: Any) -> int:
    before = {e.key: e for e in cache.entries()}
    run()
    after = {e.key for e in cache.entries()}
    gone = [e for e in before.values() if e.key not in after]
    freed, kept = sum(e.bytes for e in gone), sum(before[k].bytes for k in after & before.keys())
    if options.json:
        about = {"folder": str(cache.root), "removed": [e.key for e in gone], "freed": freed}
        print_json(about | {"kept": sorted(after), "bytes": kept})
    else:
        print(f"removed {counted(len(gone))}, {size(freed)}; kept {len(after)}, {size(kept)}")
    return 0


def verify(options: Namespace) -> int:
    """Check every entry; exit status 1 if one does not verify."""
    cache = opened()
    good, broken = cache.verify()
    removed = [k for k in broken if options.remove and cache.discard(k)]
    kept = [k for k in broken if k not in removed]
    if options.json:
        print_json({"folder": str(cache.root), "good": good, "removed": removed, "broken": kept})
        return 1 if broken else 0
    for key in broken:
        print(f"{key}: does not verify; {'removed' if key in removed else 'kept'}")
    print(f"{counted(len(good))} verified, {len(broken)} broken in {cache.root}")
    if kept and not options.remove:
        print("a broken entry is never loaded; opweave cache verify --remove takes it away")
    return 1 if broken else 0


def counted(number: int) -> str:
    """
    >>> counted(1), counted(2)
    ('1 entry', '2 entries')
    """
    return f"{number} entr{'y' if number == 1 else 'ies'}"


def parse_size(text: str) -> int:
    """Bytes of ``100M``, ``1.5G``, ``2GiB`` or ``5000``.

    Raises:
        RequestError: not a size.
    """
    found = re.fullmatch(
        r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE
    )
    if found is None:
        raise RequestError(f"--size {shown(text)}: expected bytes such as 500000, 100M or 2G")
    return int(float(found[1]) * SIZES[found[2].upper()])


def parse_age(text: str) -> float:
    """Seconds of ``30d``, ``12h``, ``45m``, ``90s`` or ``2w``.

    Raises:
        RequestError: not a time.
    """
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhdw])", text.strip())
    if found is None:
        raise RequestError(
            f"--older-than {shown(text)}: expected a time such as 30d, 12h, 45m or 90s"
        )
    return float(found[1]) * SECONDS[found[2]]
