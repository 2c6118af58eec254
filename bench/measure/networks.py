"""Random graphs of Linear, ReLU and a Softmax: as ``ow.Graph``, as NumPy code, and in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import WALK, Expected, gamma

# How a graph is drawn.  program: at each step of the depth a Linear, and by a coin a ReLU; a ReLU
# at the end if there is none.  text: of N nodes the two transfers, and N - 2 operators that are
# each a Linear or a ReLU by a coin.  Both close with a Softmax over the whole tensor.
RULES = ("program", "text")
LINEAR, RELU = "linear", "relu"
BIAS = np.float32(0.25)
# The largest magnitude of each layer lies in here: no layer fades, none grows without bound.
MAGNITUDES = (1e-2, 1e2)


@dataclass(frozen=True)
class Network:
    """Operators in their order, before the Softmax, and the extent of its square matrices."""

    operators: tuple[str, ...]
    size: int

    @property
    def linears(self) -> int:
        return self.operators.count(LINEAR)

    @property
    def flops(self) -> int:
        """Operations that any algorithm must do; the Softmax has four an element."""
        elements = self.size**2
        return elements * (self.linears * (2 * self.size + 1) + self.operators.count(RELU) + 4)


@dataclass(frozen=True)
class Planned:
    """Bytes of temporaries and of the result; ``naive`` if no memory served twice."""

    kernels: int
    arena: int
    naive: int
    result: int

    @property
    def peak(self) -> int:
        return self.arena + self.result


def drawn(depth: int, size: int, rule: str = "program", seed: int = 0) -> Network:
    """A random network; the same for the same seed.

    Raises:
        ValueError: no such rule.
    """
    rng = np.random.default_rng(seed)
    found: list[str] = []
    if rule == "program":
        for _ in range(depth):
            found += [LINEAR, RELU] if rng.random() < 0.5 else [LINEAR]
        found += [RELU] * (found[-1:] != [RELU])
    elif rule == "text":
        found += [LINEAR if rng.random() < 0.5 else RELU for _ in range(depth - 2)]
    else:
        raise ValueError(f"rule {rule!r}: expected {' or '.join(RULES)}")
    return Network(tuple(found), size)


def arguments(network: Network, seed: int = 0) -> dict[str, np.ndarray]:
    """Signed inputs by name: a Linear keeps the magnitude of what it reads, and so does its ReLU.

    Raises:
        ValueError: a layer faded or grew all the same; see ``MAGNITUDES``.
    """
    rng, n = np.random.default_rng(seed), network.size
    made = {"x": rng.standard_normal((n, n), np.float32)}
    held, number = made["x"], 0
    for at, operator in enumerate(network.operators):
        if operator == LINEAR:
            halved = network.operators[at + 1 : at + 2] == (RELU,)
            scale = np.float32(((1 + halved) / n) ** 0.5)
            w, b = (rng.standard_normal((n, n), np.float32) for _ in "wb")
            made |= {f"w{number}": w * scale, f"b{number}": b * BIAS}
            held = held @ made[f"w{number}"] + made[f"b{number}"]
            number += 1
        else:
            held = np.maximum(held, 0)
        largest = float(abs(held).max())
        if not MAGNITUDES[0] <= largest <= MAGNITUDES[1]:
            raise ValueError(f"size {n}, operator {at}: the largest magnitude is {largest:.3g}")
    return made


def graph_of(network: Network) -> ow.Graph:
    """The network between its transfers."""
    made, n = ow.Graph("network"), network.size
    held = made.host_to_device("x", (n, n))
    number = 0
    for operator in network.operators:
        if operator == LINEAR:
            w, b = (made.host_to_device(f"{name}{number}", (n, n)) for name in "wb")
            held, number = made.linear(held, w, b), number + 1
        else:
            held = made.relu(held)
    made.device_to_host(made.softmax(held, axis=None), name="y")
    return made


def plain(network: Network) -> Callable[..., Any]:
    """The same in NumPy, a line an operator, of the same arguments by position."""
    names = ["x"]
    lines: list[str] = []
    for operator in network.operators:
        number = (len(names) - 1) // 2
        if operator == LINEAR:
            names += [f"w{number}", f"b{number}"]
        lines.append(
            f"x = x @ w{number} + b{number}" if operator == LINEAR else "x = np.maximum(x, 0)"
        )
    lines += ["e = np.exp(x - np.max(x))", "return e / np.sum(e)"]
    text = "\n    ".join([f"def network({', '.join(names)}):", *lines])
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, "network.py", "exec"), scope)
    made: Callable[..., Any] = scope["network"]
    return made


def expected(network: Network, given: Sequence[np.ndarray]) -> Expected:
    """Float64, and how far float32 may lie from it.

    Roundings are taken as independent, since a bound of the worst case grows by sqrt(size) at each
    layer and means nothing at depth 64: their variances are carried through the squared weights.
    """
    unit = np.finfo(np.float32).eps / 2
    value, weights = given[0].astype(np.float64), iter(given[1:])
    variance = np.zeros_like(value)
    for operator in network.operators:
        if operator == LINEAR:
            w, b = (next(weights).astype(np.float64) for _ in "wb")
            sums = unit**2 * network.size * ((value * value) @ (w * w))
            value = value @ w + b
            variance = variance @ (w * w) + sums + (unit * value) ** 2
        else:
            may_pass = value > -WALK * np.sqrt(variance)
            value, variance = np.maximum(value, 0), variance * may_pass
    return softmax_of(value, WALK * np.sqrt(variance), network.linears * (network.size + 1))


def softmax_of(value: Any, error: Any, depth: int) -> Expected:
    """The Softmax of what is off by so much at most; its sum is a random walk of roundings too."""
    shifted = value - value.max()
    exps = np.exp(shifted)
    unit = np.finfo(np.float32).eps / 2
    # the largest element is off as well, and so is the difference, which exp() makes relative
    own = np.expm1(error + unit * abs(shifted)) + gamma(4, np.float32)
    total = (exps * own).sum() / exps.sum() + WALK * unit * value.size**0.5
    share = exps / exps.sum()
    return Expected(share, absolute=share * (own + total + np.expm1(error.max())), depth=depth)


def planned_for(network: Network, given: Mapping[str, Any], *, fused: bool = True) -> Planned:
    """What the compiled network takes beside its inputs; nothing is run."""
    function = ow.fuse(graph_of(network).function())
    ready = (function if fused else function.unfused()).bound(tuple(given.values()))[0]
    kernels, memory = ready.found.lowered.kernels, ready.prepared.plan.memory
    return Planned(len(kernels), memory.nbytes, memory.naive, 4 * network.size**2)
