"""Truth values as g++ makes vectors of them: loaded ones as bytes, two without a branch."""

from __future__ import annotations

import re

ARRAY = re.compile(r"\bbool (?=(?:\(&)?(?P<name>\w+)\)?\[)")
LOADED = re.compile(r"\b(?:load|read|hold)_\w+\((\w+)")
PLACE = r"(?:\[\w+\])*"
BOTH = re.compile(
    rf"(?P<x>(?<=const bool )\w+ = (?P<first>\w+){PLACE}) (?P<how>[&|]){{2}} "
    rf"(?P<y>(?P<second>\w+){PLACE};)"
)
IS_BOOL = re.compile(r"\b(?:bool|Chunk<bool, \w+>) (?:\(&)?(\w+)")


def with_bytes(text: str) -> str:
    """A kernel's text in which bools that were loaded are bytes."""
    loaded = set(LOADED.findall(text)) if "bool " in text else set()

    def byte(match: re.Match[str]) -> str:
        return "unsigned char " if match["name"] in loaded else match[0]

    return ARRAY.sub(byte, text) if loaded else text


def without_branches(text: str) -> str:
    """A kernel's text that asks both of two bools, as vectors do, where it has their values."""
    known = set(IS_BOOL.findall(text))

    def both(match: re.Match[str]) -> str:
        are_bools = {match["first"], match["second"]} <= known
        return f"{match['x']} {match['how']} {match['y']}" if are_bools else match[0]

    return BOTH.sub(both, text) if known else text
