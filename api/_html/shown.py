"""What a notebook asks of an object, answered by a module that is imported then."""

from __future__ import annotations

import importlib
from typing import ClassVar


class Shown:
    """Has a notebook show an object by a function of it: ``by="_programs.pieces:program"``.

    Nothing is compiled for it, and it never raises: what cannot be shown says why.
    """

    __slots__ = ()
    _shown_by: ClassVar[str] = ""

    def __init_subclass__(cls, by: str = "", **rest: object):
        super().__init_subclass__(**rest)
        if by:
            cls._shown_by = by

    def _repr_html_(self) -> str:
        from opweave._html.markup import failed, fragment

        module, _, function = self._shown_by.partition(":")
        try:
            made = getattr(importlib.import_module(f"opweave.{module}"), function)(self)
        except Exception as error:  # a notebook would print our frames in the object's place
            made = failed(self, error)
        return fragment(made)
