"""A hash of generated sources, to compare processes: python -m fuzz.sources COUNT."""

from __future__ import annotations

import hashlib
import sys

import opweave as ow

from .generate import generate


def digest_of_sources(count: int) -> str:
    """A hash of the kernels of some programs, for the host and for a GPU."""
    found = hashlib.sha256()
    for number in range(count):
        program = generate(99, number)
        given = program.given()
        for target in ("host", "sm_90a"):
            found.update(ow.fuse(program.function).lower(*given, target=target).source.encode())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest_of_sources(int(sys.argv[1])))
