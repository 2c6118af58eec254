"""Loops that are lowered once more, with something known that was found out."""

from __future__ import annotations

from opweave.compiler.captures.source import NoLoopError


class UnknownError(NoLoopError):
    """Too little is known of a number in any round; of that in the first one it may be enough."""


class AgainError(NoLoopError):
    """The loop has to be lowered once more, with something known of a name.

    Attributes:
        name: as Python has it, behind the prefix of a function that is called.
        what: a number of one of several types, by the way that led there, with the group of
            these; "perhaps", a number that is read behind the loop and may be unbound; "copies",
            another name for an array that is made anew while it holds it; "sizes", an array whose
            extents change; "items", a list that items of several types are appended to;
            "turns", an array of the call that another name gets, too, as in ``u, v = v, u``;
            "enters", a name that holds an array of the call, or of the loop, when it ends;
            "wide", a list that gets integers that may be long.
    """

    def __init__(self, what: str, name: str):
        super().__init__(f"{name}, {AGAIN[what]}")
        self.what, self.name = what, name


AGAIN = {
    "either": "which is a float of Python or of NumPy",
    "whole": "which is an integer of Python or of NumPy",
    "pair": "which is a complex number of Python or of NumPy",
    "truth": "which is a truth of Python or of NumPy",
    "real": "which is an integer or a float",
    "perhaps": "which is read behind the loop",
    "sizes": "an array whose extents change from round to round",
    "turns": "an array that another name gets",
    "enters": "which may hold an array of the call behind the loop",
    "items": "a list of several types",
    "wide": "a list that gets integers that may be long",
    "copies": "another name for an array that the loop makes anew",
}
