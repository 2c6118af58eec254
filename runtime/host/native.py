"""Kernels of a call plan that run one after the other by one call of C."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from opweave.runtime.calls.arrays import held_at
from opweave.runtime.calls.steps import Step
from opweave.runtime.host.launcher import HostLaunch, planner

# What ``ow_plan`` returns where the first kernel could not compute the call; below it, of others.
FIRST_REFUSED = -2


class _NativeStep(ctypes.Structure):
    """``Step`` of runtime.cpp."""

    _fields_ = (
        ("run", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("args", "zero", "zero_bytes", "refused")),
    )


class _Patch(ctypes.Structure):
    """``Patch`` of runtime.cpp."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("at", "word", "held", "unused")),
        ("offset", ctypes.c_longlong),
    )


class _NativePlan(ctypes.Structure):
    """``CallPlan`` of runtime.cpp."""

    _fields_ = (
        ("steps", ctypes.c_void_p),
        ("patches", ctypes.c_void_p),
        ("args", ctypes.c_char_p),
        *((name, ctypes.c_longlong) for name in ("step_count", "patch_count", "args_bytes")),
        *((name, ctypes.c_int) for name in ("arena", "held")),
    )


class Turn(ctypes.Structure):
    """``Turn`` of runtime.cpp."""

    _fields_ = (("in_", ctypes.c_int), ("out", ctypes.c_int), ("spare", ctypes.c_uint64))


class NativeSteps:
    """Kernels, one after the other, by one call.

    Attributes:
        address: of what C takes of them.
    """

    def __init__(self, kernels: Sequence[Step], arena: int):
        """``arena``: the word of the arena, behind those of all other arrays."""
        args, held = bytearray(), held_at()
        steps, patches = [], []
        for step in kernels:
            at = len(args)
            args += step.pack(*(0 if value is None else value for value in step.fixed))
            assert isinstance(step.launch, HostLaunch)
            refused = -1 if step.refused is None else step.refused.at
            run = ctypes.addressof(step.launch.run)
            steps.append(_NativeStep(run, at, *step.zeroed, refused))
            for slot, array, offset in step.arrays:
                patches.append(_Patch(at + 8 * slot, array, held, 0, offset))
            for slot, number in step.numbers:
                patches.append(_Patch(at + 8 * slot, arena + 1 + number, 0, 0, 0))
        all_steps, all_patches = (
            (_NativeStep * len(steps))(*steps),
            (_Patch * len(patches))(*patches),
        )
        self._refusals = [step.refused for step in kernels]
        self._plan = _NativePlan(
            ctypes.addressof(all_steps), ctypes.addressof(all_patches), bytes(args),
            len(steps), len(patches), len(args), arena, held,
        )  # fmt: skip
        self._alive = all_steps, all_patches, [step.launch for step in kernels]
        self._start, self.address = planner(), ctypes.addressof(self._plan)

    def start(
        self,
        words: Any,
        times: int = 1,
        turns: Sequence[Turn] = (),
        rows: bytes = b"",
        enough: int | None = None,
    ) -> int:
        """Run them, or several times; returns how often.

        Args:
            turns: the words that change in between, see ``Turn``.
            rows: the numbers of each time, where they differ.
            enough: the address of a bool that ends it.

        Raises:
            MemoryError: there is none for their arguments.
            Unwritten: one of them could not compute the call; none behind it has run.
        """
        given = (Turn * len(turns))(*turns) if turns else None
        row = len(rows) // (8 * times)
        ran = self._start(self.address, words, times, given, len(turns), rows, row, enough)
        if ran == -1:
            raise MemoryError(f"no memory for the arguments of {len(self._refusals)} kernels")
        if ran < 0 and (refusal := self._refusals[FIRST_REFUSED - ran]) is not None:
            raise refusal.error()
        return ran
