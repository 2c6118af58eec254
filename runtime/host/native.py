"""Kernels of a call plan that run one after the other by one call of C."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from opweave.runtime.calls.steps import Step
from opweave.runtime.host.launcher import HostLaunch, planner


class _NativeStep(ctypes.Structure):
    """``Step`` of runtime.cpp."""

    _fields_ = (
        ("run", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("args", "zero", "zero_bytes")),
    )


class Patch(ctypes.Structure):
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
        ("arena", ctypes.c_int),
    )


class Turn(ctypes.Structure):
    """``Turn`` of runtime.cpp."""

    _fields_ = (("in_", ctypes.c_int), ("out", ctypes.c_int), ("spare", ctypes.c_uint64))


class NativeSteps:
    """Kernels, one after the other, by one call."""

    def __init__(self, patched: Sequence[tuple[Step, list[Patch]]], arena: int):
        """``arena``: the word with its address."""
        args = bytearray()
        steps, patches = [], []
        for step, fills in patched:
            at = len(args)
            filled = [0 if value is None else value for value in step.fixed]
            args += step.pack(*filled)
            assert isinstance(step.launch, HostLaunch)
            steps.append(_NativeStep(ctypes.addressof(step.launch.run), at, *step.zeroed))
            patches += [Patch(at + p.at, p.word, p.held, 0, p.offset) for p in fills]
        all_steps, all_patches = (
            (_NativeStep * len(steps))(*steps),
            (Patch * len(patches))(*patches),
        )
        self.kernels = len(steps)
        self._plan = _NativePlan(
            ctypes.addressof(all_steps), ctypes.addressof(all_patches), bytes(args),
            len(steps), len(patches), len(args), arena,
        )  # fmt: skip
        self._alive = all_steps, all_patches, [step.launch for step, _ in patched]
        self._start, self._address = planner(), ctypes.addressof(self._plan)

    def start(self, words: Any, times: int = 1, turns: Sequence[Turn] = ()) -> None:
        """Run them, or several times; ``turns``: the words that change in between, see ``Turn``.

        Raises:
            MemoryError: there is none for their arguments.
        """
        given = (Turn * len(turns))(*turns) if turns else None
        if self._start(self._address, words, times, given, len(turns)):
            raise MemoryError(f"no memory for the arguments of {self.kernels} kernels")
