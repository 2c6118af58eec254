"""How a graph runs.

immediate   each kernel alone: its operands travel to the device, it runs, its results travel back
graph       all inputs travel to the device, all kernels run, all outputs travel back
replay      as graph, prepared once: on the host a plan that reads the inputs where they are; on a
            GPU a CUDA graph over fixed memory, into which the inputs are copied

On the host nothing travels: kernels read NumPy's arrays where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.compiler.device import Device, device_for
from opweave.compiler.driver import Options
from opweave.configuration import config
from opweave.fused import Fused
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError, UnsupportedError
from opweave.runtime.arrays import pointer
from opweave.runtime.executors import HostExecutor, VerifyExecutor
from opweave.runtime.launch import Prepared
from opweave.runtime.replays import Bound, HostReplay

if TYPE_CHECKING:
    from opweave.graphs import Graph, Typed

MODES = ("immediate", "graph", "replay")


class Runner:
    """Runs a graph.  Call it with arrays by the names of the inputs; those of earlier calls stay.

    An array is read where it is, at each call; one that is not C-contiguous is copied when it is
    passed.  Results are new arrays.

    >>> run = graph.runner("replay")                      # doctest: +SKIP
    >>> run(x=x, w=w, b=b)                                # doctest: +SKIP
    >>> run(x=other)                                      # doctest: +SKIP

    Returns the output, or of several outputs a dict by name.

    Args:
        graph: what to run; what is added to it afterwards is not run.
        mode: "immediate", "graph" or "replay".
        fused: False makes every operator a kernel of its own.
        cached: False traces and compiles at each call, and keeps nothing.
        device: "host", "cuda", or an architecture, whose kernels run in verify mode; None for
            where ``opweave.config.device`` says.
        fast: relaxed arithmetic, as of ``fuse``.

    Raises:
        GraphError: the graph means nothing; see ``Graph.check``.
        ArgumentError: no such mode.
        UnsupportedError: the device has no such mode.
    """

    def __init__(
        self,
        graph: Graph,
        mode: str = "graph",
        *,
        fused: bool = True,
        cached: bool = True,
        device: str | None = None,
        fast: bool = False,
    ):
        if mode not in MODES:
            raise ArgumentError(f"mode={shown(mode)}: expected one of {', '.join(MODES)}")
        for name, flag in (("fused", fused), ("cached", cached), ("fast", fast)):
            check_flag(flag, name)
        self.mode, self.cached = mode, cached
        self.device = config.device if device is None else device
        self.function = graph.function()
        self.name, self.inputs, self.outputs = graph.name, graph.inputs, tuple(graph.outputs)
        self.options = Options(fused=fused, fast=fast, fullgraph=True)
        target, self._executor = self._place()
        if mode == "replay" and not isinstance(target, str):
            raise UnsupportedError(
                f"mode='replay': {self.device} runs in verify mode, which checks each launch; "
                "use 'graph'"
            )
        self._fused = Fused(self.function, (), self.options)
        self._order = {name: number for number, name in enumerate(self.inputs)}
        self._given: dict[str, Any] = {}  # what the caller passed, and what runs in its place
        self._fitted: dict[str, Any] = {}
        self._bound: Bound | None = None
        self._ready: Callable[[], list[Any]] | None = None

    def _place(self) -> tuple[Any, Any]:
        """The target to lower for, by name where kernels run natively, and what runs them."""
        fast, cached = self.options.fast, self.cached
        if self.device == "host":
            return "host", HostExecutor(fast, cached)
        if self.device == "cuda":
            from opweave.runtime import cuda

            index = int(cuda.cupy().cuda.Device().id)
            return "cuda", cuda.executor(index, fast)
        return device_for(self.device), VerifyExecutor(0, fast, cached)

    def __call__(self, **arrays: Any) -> Any:
        """Run with these inputs, and with those of earlier calls for the others.

        Raises:
            ArgumentError: an input is missing, unknown, has another shape or dtype, or was given
                another since it was bound.
        """
        self._bind(arrays)
        if not self.cached:
            self._fused, self._ready = Fused(self.function, (), self.options), None
        if self._ready is None:
            self._ready = self._prepared()
        found = self._ready()
        if len(self.outputs) == 1:
            return found[0]
        return dict(zip(self.outputs, found, strict=True))

    def _bind(self, arrays: Mapping[str, Any]) -> None:
        for name, array in arrays.items():
            if name not in self.inputs:
                known = ", ".join(self.inputs)
                raise ArgumentError(f"{self.name}: no input is called {name!r}: it has {known}")
            # what is copied is copied again, because its elements may be others
            if self._given.get(name) is not array or self._fitted[name] is not array:
                self._bind_one(name, array)
        if self._bound is None:
            missing = ", ".join(n for n in self.inputs if n not in self._given)
            if missing:
                raise ArgumentError(f"{self.name}: missing {missing}: pass arrays by name")
            self._bound = Bound([self._fitted[name] for name in self.inputs])
        elif (number := self._bound.changed()) >= 0:
            name = [*self.inputs][number]
            raise ArgumentError(
                f"{self.name}: input {name} was reshaped or given another dtype since it was "
                "bound; pass an array as it was"
            )

    def _bind_one(self, name: str, array: Any) -> None:
        fitted = _fitting(f"{self.name}: input {name}", array, self.inputs[name])
        self._given[name], self._fitted[name] = array, fitted
        if self._bound is not None:
            number = self._order[name]
            self._bound.bind(number, fitted)
            if isinstance(self._ready, HostReplay):
                self._ready.bind(number, fitted)

    def _prepared(self) -> Callable[[], list[Any]]:
        """What runs a call with the arrays that are bound."""
        assert self._bound is not None
        arrays = self._bound.arrays
        call = self._fused.signature.bind(tuple(arrays), {})
        target, executor = self._place()
        device = target if isinstance(target, Device) else self._live(target)
        found = self._fused._specialise(call, device)
        constants = self._fused._constants(found, self.device == "cuda")
        by_value = {
            item.value.id: array
            for item, array in zip(found.variant.graph.inputs, [*arrays, *constants], strict=True)
        }
        prepared = Prepared(found.lowered, executor, found.extents, by_value, constants)
        if self.mode == "replay":
            return HostReplay(prepared, arrays)
        if self.mode == "graph":
            return lambda: prepared(arrays, {})
        return lambda: immediately(prepared, arrays)

    def _live(self, target: str) -> Device:
        if target == "host":
            return device_for("host")
        from opweave.runtime import cuda

        return cuda.live_device(self._executor.index)


def immediately(prepared: Prepared, arrays: Sequence[Any]) -> list[Any]:
    """Run the kernels one by one, each between transfers of its own."""
    executor, env = prepared.executor, prepared.extents
    held = dict(zip(prepared.inputs, (*arrays, *prepared.constants), strict=True))
    faults = executor.faults() if prepared.notes_faults else None
    for number in range(len(prepared.steps)):
        prepared.run_step(number, held, env, {}, faults)
    return prepared.results(held, env, faults)


def _fitting(what: str, array: Any, kind: Typed) -> Any:
    """An input as kernels take it: C-contiguous and aligned, copied where it is not.

    Raises:
        ArgumentError: no array, or one of another shape or dtype.
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"{what}: expected a NumPy array, found {type(array).__name__}")
    if array.shape != kind.shape or array.dtype != kind.dtype:
        raise ArgumentError(
            f"{what}: expected {kind}, found {array.dtype}{list(array.shape)}; a graph has the "
            "shapes that host_to_device was given"
        )
    if array.flags.c_contiguous and pointer(array) % 16 == 0:
        return array
    return np.array(array, order="C")
