"""How a graph runs.

immediate   each kernel alone: its operands travel to the device, it runs, its results travel back
graph       all inputs travel to the device, all kernels run, all outputs travel back
replay      as graph, prepared once: on the host a plan that reads the inputs where they are; on a
            GPU a CUDA graph over fixed memory, into which the inputs are copied

On the host nothing travels: kernels read NumPy's arrays where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from opweave._functions.fused import Fused
from opweave._functions.preparing import constants_of
from opweave._graphs.entries import GraphLike, Typed
from opweave._tracebacks import fold
from opweave.compiler.ir.values import Value
from opweave.compiler.pipeline.driver import Options
from opweave.configuration import config
from opweave.opcodes.allowed import check_flag, shown
from opweave.opcodes.errors import ArgumentError, UnsupportedError
from opweave.runtime.backends import Backend, backend_of
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.starts import StepwiseStart
from opweave.runtime.host.replays import HeldArrays
from opweave.runtime.process import locks

MODES = ("immediate", "graph", "replay")


class Runner:
    """Runs a graph.  Call it with arrays by the names of the inputs; those of earlier calls stay.

    Whoever changes the elements of an array passes it again: what was copied stays as it was, to a
    GPU, or because the array is not C-contiguous or begins at no multiple of 16 bytes, as does
    ``x[1:]``; where nothing is copied kernels read it where it is.  Results are new arrays.

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
        staging: a replay on a GPU copies its inputs through pinned memory, which it keeps.

    Raises:
        GraphError: the graph means nothing; see ``Graph.check``.
        ArgumentError: no such mode.
        UnsupportedError: the device has no such mode.
    """

    def __init__(
        self, graph: GraphLike, mode: str = "graph", *, fused: bool = True, cached: bool = True,
        device: str | None = None, fast: bool = False, staging: bool = True,
    ):  # fmt: skip
        if mode not in MODES:
            raise ArgumentError(f"mode={shown(mode)}: expected one of {', '.join(MODES)}")
        flags = {"fused": fused, "cached": cached, "fast": fast, "staging": staging}
        for name, flag in flags.items():
            check_flag(flag, name)
        self.mode, self.cached, self.staging = mode, cached, staging
        self.device = config.device if device is None else device
        self.function = graph.function()
        self.name, self.inputs, self.outputs = graph.name, graph.inputs, tuple(graph.outputs)
        self.options = Options(fused=fused, fast=fast, fullgraph=True, writes=False)
        backend = self._backend()
        if mode == "replay" and backend.replay is None:
            raise UnsupportedError(
                f"mode='replay': {self.device} runs in verify mode, which checks each launch; "
                "use 'graph'"
            )
        self._graph = copy(graph)
        self._copies = mode == "replay" and backend.travels
        self._fused = Fused(self.function, (), self.options)
        self._order = {name: number for number, name in enumerate(self.inputs)}
        # what the caller passed, or a copy that kernels can take
        self._fitted: dict[str, Any] = {}
        self._held: HeldArrays | None = None
        self._ready: Any = None
        self._shared: Set[int] = frozenset()
        self._lock = locks.rlock()

    def __reduce__(self) -> Any:
        """Pickled as the graph that it runs, without the inputs of earlier calls."""
        made = partial(
            type(self), device=self.device, fused=self.options.fused, fast=self.options.fast,
            cached=self.cached, staging=self.staging,
        )  # fmt: skip
        return made, (self._graph, self.mode)

    def _backend(self) -> Backend:
        return backend_of(self.device, self.options.fast, self.cached, self.staging)

    def __call__(self, /, **arrays: Any) -> Any:
        """Run with these inputs, and with those of earlier calls for the others.

        Raises:
            ArgumentError: an input is missing, unknown, of another shape or dtype, or was
                reshaped in place since it was passed.
        """
        try:
            with self._lock:  # so that the call takes what is bound here
                self._bind(arrays)
                if not self.cached:
                    self._fused, self._ready = Fused(self.function, (), self.options), None
                if self._ready is None:
                    self._ready = self._prepared()
                run, shared = self._ready.taken(), self._shared
            found = [a.copy() if n in shared else a for n, a in enumerate(run())]
            if len(self.outputs) == 1:
                return found[0]
            return dict(zip(self.outputs, found, strict=True))
        except Exception as error:
            fold(error)
            raise

    def _bind(self, arrays: Mapping[str, Any]) -> None:
        """Bind all of some arrays, or none if one does not fit."""
        fitted = {n: self._fitting(n, a) for n, a in arrays.items() if not self._is_bound(n, a)}
        known = self._fitted | fitted
        missing = ", ".join(name for name in self.inputs if name not in known)
        if missing:
            raise ArgumentError(f"{self.name}: missing {missing}: pass arrays by name")
        self._fitted = known
        if self._held is None:
            self._held = HeldArrays([known[name] for name in self.inputs])
            return
        for name, array in fitted.items():
            self._held.bind(self._order[name], array)
            if self.mode == "replay" and self._ready is not None:
                self._ready.bind(self._order[name], array)
        number = self._held.changed()
        if number >= 0:
            raise ArgumentError(
                f"{self.name}: input {[*self.inputs][number]} was reshaped or given another dtype "
                "since it was bound; pass an array as it was"
            )

    def _is_bound(self, name: str, array: Any) -> bool:
        """True for an array that is read where it is; one that was copied is copied again."""
        return self._fitted.get(name) is array and not self._copies

    def _fitting(self, name: str, array: Any) -> Any:
        if name not in self.inputs:
            known = ", ".join(self.inputs)
            raise ArgumentError(f"{self.name}: no input is called {name!r}: it has {known}")
        return _fitting(f"{self.name}: input {name}", array, self.inputs[name])

    def _prepared(self) -> Replay | Launched:
        """The object that gives a call with the arrays that are bound."""
        assert self._held is not None
        arrays, backend = self._held.arrays, self._backend()
        call = self._fused.signature.bind(tuple(arrays), {})
        found = self._fused.found_for(call, backend.device)
        constants = tuple(map(backend.upload, constants_of(found, arrays, False)))
        apart = self.mode == "immediate"
        prepared = Prepared(
            found.lowered, backend.executor, found.extents, arrays, constants, apart=apart
        )
        self._shared = shared_outputs(prepared)
        if self.mode == "replay":
            assert backend.replay is not None
            made: Replay = backend.replay(prepared, arrays)
            return made
        run = immediately if self.mode == "immediate" else at_once
        return Launched(run, prepared, arrays, backend)


class Replay(Protocol):
    """Protocol of a prepared call whose arguments are bound one by one."""

    def bind(self, number: int, array: Any) -> None:
        """Another array for an input, or the same with other elements."""

    def taken(self) -> Callable[[], list[Any]]:
        """A call with the arrays that are bound now; later ones do not change it."""


class Launched(NamedTuple):
    """A prepared call that reads its arguments from a ``HeldArrays`` anew at each call."""

    run: Callable[..., list[Any]]
    prepared: Prepared
    arrays: list[Any]
    backend: Backend

    def taken(self) -> Callable[[], list[Any]]:
        """See ``Replay``."""
        return partial(self.run, self.prepared, tuple(self.arrays), self.backend)


def shared_outputs(prepared: Prepared) -> Set[int]:
    """The outputs that lie in an input, or where an earlier output does."""
    graph, found = prepared.graph, set()
    seen = {item.value.id for item in graph.inputs}
    for number, output in enumerate(graph.outputs):
        base = graph.base(output).id if isinstance(output, Value) else -1
        if base in seen:
            found.add(number)
        seen.add(base)
    return found


def at_once(prepared: Prepared, arrays: Sequence[Any], backend: Backend) -> list[Any]:
    """All inputs to the device, all kernels, all outputs back."""
    if not backend.travels:
        return prepared(arrays, {})
    return [backend.result(a) for a in prepared([backend.upload(a) for a in arrays], {})]


def immediately(prepared: Prepared, arrays: Sequence[Any], backend: Backend) -> list[Any]:
    """Run the kernels one by one, each between transfers of its own."""
    plan, env, executor = prepared.plan, prepared.extents, prepared.executor
    held = [*arrays, *prepared.constants, *[None] * len(plan.makes), prepared.new_faults()]
    own = dict(enumerate((held[-1], *StepwiseStart(prepared).memory()), plan.faults))
    numbers = plan.numbers(env)
    for step in plan.steps:
        there, made = dict(own), []
        for _, place, _ in step.arrays:
            if place < plan.faults and held[place] is not None:
                there[place] = backend.upload(held[place])
            elif place < plan.faults:
                there[place] = plan.makes[place - plan.inputs][1]()
                made.append(place)
        step.start(there, numbers, executor.address)
        for place in made:
            held[place] = backend.download(there[place])
    return [backend.result(a) for a in prepared.results(held, env)]


def _fitting(what: str, array: Any, kind: Typed) -> Any:
    """An input as kernels take it: C-contiguous and aligned, copied where it is not.

    Raises:
        ArgumentError: no array, or one of another shape or dtype.
    """
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray | np.matrix):
        raise ArgumentError(f"{what}: expected a NumPy array, found {type(array).__name__}")
    if array.shape != kind.shape or array.dtype != kind.dtype:
        raise ArgumentError(
            f"{what}: expected {kind}, found {array.dtype}{list(array.shape)}; a graph has the "
            "shapes that host_to_device was given"
        )
    if array.flags.c_contiguous and pointer(array) % 16 == 0:
        return array
    return np.array(array, order="C")
