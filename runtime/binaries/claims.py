"""A lock on the folder of a cache entry: one process makes the entry, others wait for it.

The lock belongs to an open file.  So the system drops it when its holder ends, in whatever way,
and there is nothing to clean up.  It only saves work: an entry is moved to its place in one step.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Longer than any kernel compiles.  A holder may have been stopped (Ctrl-Z), and then nobody waits
# for it longer than this.
MOST_SECONDS = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.05


@contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Hold a folder against other processes and threads; gives True if somebody else had it.

    Where the lock cannot be taken (no folder, a file system without locks, a holder that does
    not end) the work is done without it.
    """
    handle = -1
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if handle < 0:
        yield False
        return
    try:
        yield _wait(handle)
    finally:
        with suppress(OSError):  # a child that was forked meanwhile has the same open file
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _wait(handle: int) -> bool:
    """Take the lock, or give up; True if it was not free."""
    end, pause, waited = time.monotonic() + MOST_SECONDS, FIRST_PAUSE, False
    while time.monotonic() < end:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            waited = True
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        except OSError:
            break
    return waited
