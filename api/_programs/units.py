"""Figures with their units, for people."""

from __future__ import annotations


def size(count: int) -> str:
    """Bytes for people.

    >>> size(512), size(3 * 2**20)
    ('512 B', '3.0 MiB')
    """
    if count < 1024:
        return f"{count} B"
    power = min((int(count).bit_length() - 1) // 10, 4)
    return f"{count / (1 << 10 * power):.1f} {'KMGT'[power - 1]}iB"
