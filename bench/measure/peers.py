"""The others: what a user would pick instead, each by its best public path.

A problem is plain NumPy code, a function whose global name ``np`` is NumPy.  A peer runs the same
code with its own namespace in the place of ``np``, compiled as its manual says.
"""

from __future__ import annotations

import importlib
import os
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bench.measure import triton_peer
from bench.measure.clock import Run, Sets
from bench.measure.executors import reason
from bench.measure.harness import Runner

Function = Callable[..., Any]
# Threads of a peer that spin while they wait would take the cores from whoever is timed next.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")


class Absent(Exception):
    """A peer that is not here, or has nothing for a problem; says why."""


@dataclass(frozen=True)
class Task:
    """What a peer is asked for.

    Attributes:
        fn: plain NumPy code.
        sets: the executor's arrays.
        xp: the executor's library.
        expr: the same as an expression of arrays of one shape, for numexpr and Triton; "" where
            it is none.
        constants: numbers that the expression names, of the type that they are to have.
        unfused: bytes that one pass an operator moves; None where nobody counted.
        own: for some peers, by name, the same in functions that only they have: code whose ``np``
            is the peer's library.
    """

    fn: Function
    sets: Sets
    xp: Any
    expr: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)
    unfused: int | None = None
    own: Mapping[str, Sequence[Function]] = field(default_factory=dict)


def rebound(
    fn: Function, namespace: Any, wrap: Callable[[Function], Function] = lambda fn: fn
) -> Function:
    """The same code with another library under the name ``np``, helpers of its module included.

    ``wrap`` is applied to the helpers, for a compiler that takes compiled functions only.
    """
    scope = {**fn.__globals__, "np": namespace}

    def copied(f: Function) -> Function:
        # a code of its own: Dynamo keeps what it compiled, eight times at most, with the code
        code = f.__code__.replace()
        made = types.FunctionType(code, scope, f.__name__, f.__defaults__, f.__closure__)
        made.__kwdefaults__ = f.__kwdefaults__
        return made

    for name in fn.__code__.co_names:
        helper = fn.__globals__.get(name)
        if isinstance(helper, types.FunctionType) and helper.__globals__ is fn.__globals__:
            scope[name] = wrap(copied(helper))
    return copied(fn)


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
    return Runner("", rebound(task.fn, task.xp), task.unfused)


def cupy_fuse(task: Task) -> Runner:
    return Runner("", task.xp.fuse(rebound(task.fn, task.xp)))


def numexpr(task: Task) -> Runner:
    ne = module("numexpr")
    if not task.expr:
        raise Absent("has no expression for it")
    names = task.fn.__code__.co_varnames[: task.fn.__code__.co_argcount]

    def run(*args: Any) -> Any:
        given = dict(zip(names, args, strict=True)) | task.constants
        return ne.evaluate(task.expr, local_dict=given)

    return Runner("", run)


def numba(task: Task) -> Runner:
    numba_module = module("numba")
    return Runner("", numba_module.njit(parallel=True)(rebound(task.fn, np, numba_module.njit)))


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


def torch_eager(task: Task) -> Runner:
    """PyTorch without TF32 and without gradients, on the same memory."""
    torch = module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)
    run = by_identity(task.sets, torch.from_dlpack)(rebound(task.fn, TorchNamespace(torch)))
    return Runner("", run, task.unfused, read=task.xp.from_dlpack)


def torch_compile(task: Task, mode: str = "default") -> Runner:
    torch, dynamo = module("torch"), module("torch._dynamo")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)
    dynamo.config.fail_on_recompile_limit_hit = True  # else it becomes eager, in silence
    plain = rebound(task.fn, TorchNamespace(torch))
    fn = torch.compile(plain, dynamic=False, fullgraph=True, mode=mode)

    def tensor(array: Any) -> Any:
        made = torch.from_dlpack(array)
        # the graphs of max-autotune would copy what may move, at every call
        dynamo.mark_static_address(made)
        return made

    run = by_identity(task.sets, tensor)(fn)
    return Runner("", run, read=task.xp.from_dlpack)


def jax(task: Task) -> Runner:
    """JAX without TF32; it waits for its results, and takes memory as it needs it."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax_module, jnp = module("jax"), module("jax.numpy")
    jax_module.config.update("jax_default_matmul_precision", "highest")
    run = jax_module.jit(rebound(task.fn, jnp))
    on = by_identity(task.sets, lambda a: jax_module.block_until_ready(jnp.from_dlpack(a)))
    return Runner(
        "", on(lambda *args: jax_module.block_until_ready(run(*args))), None,
        read=task.xp.from_dlpack, waits=True,
    )  # fmt: skip


def triton(task: Task) -> Runner:
    """A kernel written from the expression, into memory of PyTorch's."""
    torch, triton_module = module("torch"), module("triton")
    if not task.expr:
        raise Absent("no kernel is written for what is no expression of arrays of one shape")
    names = task.fn.__code__.co_varnames[: task.fn.__code__.co_argcount]
    kernel = triton_peer.compiled(triton_module, task.expr, names, task.constants)
    run = by_identity(task.sets, torch.from_dlpack)(kernel)
    return Runner("", run, read=task.xp.from_dlpack)


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
        "torch.compile max-autotune": partial(torch_compile, mode="max-autotune"),
        "JAX": jax,
        "Triton": triton,
    },
}
SLOW = ("numba", "torch.compile", "torch.compile max-autotune", "JAX", "Triton")


def chosen(device: str, wanted: Sequence[str] | None, *, quick: bool) -> tuple[str, ...]:
    """Names of the peers to run on a device.

    Args:
        wanted: names; None for all, in a quick run for those that compile in no time.

    Raises:
        ValueError: names a peer that nobody knows.
    """
    known = dict.fromkeys(n for table in PEERS.values() for n in table)
    asked = {n.lower() for n in wanted or ()} - {"none"}
    unknown = [n for n in wanted or () if n.lower() in asked - {k.lower() for k in known}]
    if unknown:
        raise ValueError(
            f"unknown peer {', '.join(unknown)}: expected {', '.join(known)}, or none"
        )
    if wanted is not None:
        return tuple(n for n in PEERS[device] if n.lower() in asked)
    return tuple(n for n in PEERS[device] if not (quick and n in SLOW))


def runners(
    device: str,
    names: Sequence[str],
    task: Task,
    absent: dict[str, str],
    refuse: Callable[[str, Exception], None],
) -> list[Runner]:
    """A runner for each peer that is here; why others are not goes to ``absent``.

    ``refuse`` is told of a peer that is here and fails before it runs.
    """
    found = []
    for name in names:
        tasks = {name: task}
        tasks |= {f"{name}, {fn.__name__}": replace(task, fn=fn) for fn in task.own.get(name, ())}
        for called, asked in tasks.items():
            try:
                made = PEERS[device][name](asked)
            except Absent as error:
                absent[called] = str(error)
                continue
            except Exception as error:  # a library raises what it likes
                refuse(called, error)
                continue
            found.append(replace(made, name=called, role="peer"))
    return found
