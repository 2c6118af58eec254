"""Mutants that change nothing: patterns over their descriptions, with the reason."""

from __future__ import annotations

import re

from mutants.make import Mutant

# pattern over "file:line: change: `before` -> `after`", reason
EXPLAINED: tuple[tuple[str, str], ...] = ()


def reason_of(mutant: Mutant) -> str:
    """Why a mutant may survive; "" if nobody has said."""
    return next((reason for pattern, reason in EXPLAINED if re.search(pattern, str(mutant))), "")
