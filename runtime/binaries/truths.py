"""Bools that were loaded as bytes, of which g++ makes vectors."""

from __future__ import annotations

import re

ARRAY = re.compile(r"\bbool (?=(?:\(&)?(?P<name>\w+)\)?\[)")
# By the loads of templates/host/chunks.cuh and templates/rows.cuh.
LOADS = "load_chunk load_strided load_places load_window load_runs read_chunk hold_row".split()
LOADED = re.compile(rf"\b(?:{'|'.join(LOADS)})\((\w+)")
# Several in one declaration, which are of one type, as a product's factors are.
TOGETHER = re.compile(r"\bbool (\w+\[[^;()]*, [^;()]*);")


def with_bytes(text: str) -> str:
    """A kernel's text in which bools that were loaded are bytes."""
    loaded = set(LOADED.findall(text)) if "bool " in text else set()
    loaded -= {
        name for names in TOGETHER.findall(text) for name in re.findall(r"\w+(?=\[)", names)
    }

    def byte(match: re.Match[str]) -> str:
        return "unsigned char " if match["name"] in loaded else match[0]

    return ARRAY.sub(byte, text) if loaded else text
