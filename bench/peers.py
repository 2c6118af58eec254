"""The others: what a user would pick instead, each by its best public path.

A problem is plain NumPy code, a function whose global name ``np`` is NumPy.  A peer runs the same
code with its own namespace in the place of ``np``, compiled as its manual says.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from executors import reason
from harness import Run, Runner, Sets

Function = Callable[..., Any]


class Absent(Exception):
    """A peer that is not here, or has nothing for a problem; says why."""


@dataclass(frozen=True)
class Task:
    """What a peer is asked for.

    Attributes:
        fn: plain NumPy code.
        sets: the executor's arrays.
        xp: the executor's library.
        expr: the same as an expression of numexpr; "" where it has none.
    """

    fn: Function
    sets: Sets
    xp: Any
    expr: str = ""


def rebound(fn: Function, namespace: Any) -> Function:
    """The same code with another library under the name ``np``."""
    scope = {**fn.__globals__, "np": namespace}
    made = types.FunctionType(fn.__code__, scope, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__ = fn.__kwdefaults__
    return made


def module(name: str) -> Any:
    """A peer's module.

    Raises:
        Absent: it is not installed, or does not import.
    """
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken install raises what it likes
        raise Absent(reason(error)) from None


def by_identity(sets: Sets, convert: Callable[[Any], Any]) -> Callable[[Run], Run]:
    """Run on arguments that were converted beforehand: the conversion is not timed."""
    made = {id(a): convert(a) for args in sets for a in args}

    def wrapped(run: Run) -> Run:
        return lambda *args: run(*(made[id(a)] for a in args))

    return wrapped


def numpy_like(task: Task) -> Runner:
    return Runner("", rebound(task.fn, task.xp))


def cupy_fuse(task: Task) -> Runner:
    return Runner("", task.xp.fuse(rebound(task.fn, task.xp)))


def numexpr(task: Task) -> Runner:
    ne = module("numexpr")
    if not task.expr:
        raise Absent("has no expression for it")
    names = task.fn.__code__.co_varnames[: task.fn.__code__.co_argcount]

    def run(*args: Any) -> Any:
        return ne.evaluate(task.expr, local_dict=dict(zip(names, args, strict=True)))

    return Runner("", run)


def numba(task: Task) -> Runner:
    return Runner("", module("numba").njit(parallel=True)(rebound(task.fn, np)))


class TorchNamespace:
    """PyTorch under NumPy's names, where the two differ."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.max, self.min = torch.amax, torch.amin
        self.transpose = torch.t

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def maximum(self, x: Any, y: Any) -> Any:
        return (
            self.torch.clamp_min(x, y) if isinstance(y, int | float) else self.torch.maximum(x, y)
        )


def torch_eager(task: Task, compiled: Callable[[Any, Function], Function] | None = None) -> Runner:
    torch = module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    fn = rebound(task.fn, TorchNamespace(torch))
    run = fn if compiled is None else compiled(torch, fn)
    on = by_identity(task.sets, torch.from_dlpack)
    inference = torch.inference_mode()

    def without_gradients(*args: Any) -> Any:
        with inference:
            return run(*args)

    return Runner("", on(without_gradients), read=task.xp.from_dlpack)


def torch_compile(task: Task, **options: Any) -> Runner:
    return torch_eager(task, lambda torch, fn: torch.compile(fn, dynamic=False, **options))


def jax(task: Task) -> Runner:
    jax_module, jnp = module("jax"), module("jax.numpy")
    run = jax_module.jit(rebound(task.fn, jnp))
    on = by_identity(task.sets, lambda a: jax_module.block_until_ready(jnp.asarray(a)))
    return Runner(
        "", on(lambda *args: jax_module.block_until_ready(run(*args))), read=task.xp.asarray,
        waits=True,
    )  # fmt: skip


Make = Callable[[Task], Runner]
# In the order of the legends.  A quick run leaves out those that take seconds to compile.
PEERS: dict[str, dict[str, Make]] = {
    "host": {
        "NumPy": numpy_like,
        "numexpr": numexpr,
        "numba": numba,
        "PyTorch": torch_eager,
        "torch.compile": torch_compile,
        "JAX": jax,
    },
    "cuda": {
        "CuPy": numpy_like,
        "cupy.fuse": cupy_fuse,
        "PyTorch": torch_eager,
        "torch.compile": torch_compile,
        "torch.compile, max-autotune": partial(torch_compile, mode="max-autotune"),
        "JAX": jax,
    },
}
SLOW = ("numba", "torch.compile", "torch.compile, max-autotune", "JAX")


def chosen(device: str, wanted: Sequence[str] | None, *, quick: bool) -> tuple[str, ...]:
    """Names of the peers to run on a device.

    Args:
        wanted: names; None for all, in a quick run for those that compile in no time.

    Raises:
        ValueError: names a peer that nobody knows.
    """
    known = dict.fromkeys(n for table in PEERS.values() for n in table)
    unknown = [n for n in wanted or () if n not in known]
    if unknown:
        raise ValueError(f"unknown peer {', '.join(unknown)}: expected {', '.join(known)}")
    if wanted is not None:
        return tuple(n for n in PEERS[device] if n in wanted)
    return tuple(n for n in PEERS[device] if not (quick and n in SLOW))


def runners(device: str, names: Sequence[str], task: Task, absent: dict[str, str]) -> list[Runner]:
    """A runner for each peer that is here; why others are not goes to ``absent``."""
    found = []
    for name in names:
        try:
            made = PEERS[device][name](task)
        except Absent as error:
            absent[name] = str(error)
            continue
        found.append(replace(made, name=name, role="peer"))
    return found
