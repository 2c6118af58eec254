"""A random program as data: arguments, steps, outputs.  It prints as the Python that it means.

program  ::= argument* step* output*
argument ::= name dtype shape layout values      an array
           | name number                         a Python scalar
step     ::= name+ "=" text                      text is Python over earlier names
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import opweave as ow

from . import arrays


@dataclass(frozen=True)
class Array:
    """An array argument.

    Attributes:
        name: of the parameter.
        dtype: NumPy's name.
        shape: of what the function sees.
        layout: a key of ``arrays.LAYOUTS``.
        fill: a key of ``arrays.FILLS``, or "given".
        seed: of the values.
        values: with the fill "given", the values in C order.
        of: for the layouts "same" and those of ``arrays.ALIASES``: the argument that shares memory.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: str = "C"
    fill: str = "normal"
    seed: int = 0
    values: tuple[Any, ...] = ()
    of: str = ""


@dataclass(frozen=True)
class Number:
    """A Python scalar argument."""

    name: str
    value: Any


@dataclass(frozen=True)
class Step:
    """One line of the program.

    Attributes:
        results: the names that it makes.
        op: the operator, or the function of a view: what the coverage counts.
        form: its text, with ``{0}``, ``{1}``... in the places of the operands.
        operands: names as ``str``, or Python numbers.
    """

    results: tuple[str, ...]
    op: str
    form: str
    operands: tuple[Any, ...]

    @property
    def text(self) -> str:
        return self.form.format(*map(operand_text, self.operands))

    def __str__(self) -> str:
        return f"{', '.join(self.results)} = {self.text}"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(o for o in self.operands if isinstance(o, str))


def operand_text(operand: Any) -> str:
    """A name, or a number as Python source; negative numbers in parentheses."""
    if isinstance(operand, str):
        return operand
    text = number_text(operand)
    return f"({text})" if text.startswith("-") else text


def number_text(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({number_text(value.real)}, {number_text(value.imag)})"
    if isinstance(value, float) and not np.isfinite(value):
        return {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}[str(value)]
    return repr(value)


SCOPE: dict[str, Any] = {"np": np, "ow": ow}


@dataclass(frozen=True)
class Program:
    """A program.  ``toggles`` are what it is compiled with besides."""

    arguments: tuple[Array | Number, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    toggles: tuple[tuple[str, int], ...] = ()

    @property
    def scope(self) -> dict[str, Any]:
        """What its steps know besides earlier names."""
        return SCOPE

    @property
    def flat(self) -> Program:
        """What it means by NumPy, as a program of operators alone."""
        return self

    @property
    def is_bounded(self) -> bool:
        """Bounds say how far its results may be from NumPy's."""
        return True

    @property
    def is_exact(self) -> bool:
        """Its results have NumPy's bits."""
        return False

    @property
    def ops(self) -> set[str]:
        """Names of its operators, by which oracles know what has other bits by NumPy."""
        return {step.op for step in self.steps}

    @cached_property
    def source(self) -> str:
        """The function, as Python source."""
        lines = [f"def f({', '.join(a.name for a in self.arguments)}):"]
        lines += [f"    {step}" for step in self.steps]
        return "\n".join([*lines, f"    return {self._returned()}", ""])

    def _returned(self) -> str:
        return ", ".join(self.outputs) + ("," if len(self.outputs) == 1 else "")

    @cached_property
    def function(self) -> Any:
        """The function itself, with its lines where tracebacks find them."""
        return self._compiled(self.source)

    def parted(self, breaks: Sequence[bool]) -> Any:
        """The function with lines, behind some of its steps, that no kernel holds."""
        head, *steps, tail = self.source.splitlines()
        asked = [f"    np.asarray({s.results[-1]})" if b else "" for s, b in
                 zip(self.steps, breaks, strict=True)]  # fmt: skip
        between = [line for pair in zip(steps, asked, strict=True) for line in pair if line]
        return self._compiled("\n".join([head, *between, tail, ""]))

    def _compiled(self, source: str) -> Any:
        file = f"<fuzz {id(self)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        scope = dict(self.scope)
        exec(compile(source, file, "exec"), scope)
        del linecache.cache[file]
        return scope["f"]

    def given(self) -> list[Any]:
        """Fresh arguments, in order."""
        made: dict[str, Any] = {}
        for item in self.arguments:
            made[item.name] = item.value if isinstance(item, Number) else arrays.make(item, made)
        return list(made.values())

    def evaluate(self) -> dict[str, Any]:
        """Every name and its value by NumPy alone, step by step.

        Raises:
            Exception: what NumPy says of a program that is not valid.
        """
        held = dict(zip((a.name for a in self.arguments), self.given(), strict=True))
        for step in self.steps:
            held |= step_values(step, held, self.scope)
        return held

    def pruned(self) -> Program:
        """Without steps, arguments and toggles that no output needs."""
        needed = set(self.outputs)
        steps = []
        for step in reversed(self.steps):
            if needed & set(step.results):
                steps.append(step)
                needed |= set(step.names)
        owners = {a.name: a.of for a in self.arguments if isinstance(a, Array)}
        for name in [n for n in needed if n in owners]:
            while owners[name]:
                name = owners[name]
                needed.add(name)
        kept = tuple(a for a in self.arguments if a.name in needed)
        return replace(self, arguments=kept, steps=tuple(reversed(steps)))

    @property
    def deviates(self) -> bool:
        """It uses bfloat16, for which opweave's types and sums are not NumPy's (differences.md)."""
        return any(getattr(a, "dtype", "") == "bfloat16" for a in self.arguments) or any(
            "bfloat16" in s.form for s in self.steps
        )

    def __str__(self) -> str:
        lines = [f"# {describe(a)}" for a in self.arguments]
        lines += [f"# toggles {dict(self.toggles)}"] * bool(self.toggles)
        return "\n".join([*lines, self.source])


def describe(argument: Array | Number) -> str:
    if isinstance(argument, Number):
        return f"{argument.name} = {number_text(argument.value)}"
    of = f" of {argument.of}" * bool(argument.of)
    return (
        f"{argument.name}: {argument.dtype}{list(argument.shape)}, {argument.layout}{of}, "
        f"{argument.fill} values"
    )


def swapped(shape: tuple[int, ...], old: int, new: int) -> tuple[int, ...]:
    """A shape with one extent in the place of another."""
    return tuple(new if e == old else e for e in shape)


def resized(program: Program, shape_of: Callable[[Array], tuple[int, ...]]) -> Program:
    """The program with arrays of other shapes; given values are cut to them."""
    made = []
    for item in program.arguments:
        if isinstance(item, Array) and shape_of(item) != item.shape:
            shape = shape_of(item)
            values = item.values
            if item.fill == "given" and values:  # its first ones along each dimension
                whole = np.empty(len(values), object)
                whole[:] = values
                taken = whole.reshape(item.shape)
                if len(shape) < len(item.shape):
                    taken = taken[:1].reshape(item.shape[1:])
                values = tuple(taken[(*(slice(0, e) for e in shape), ...)].reshape(-1).tolist())
            item = replace(item, shape=shape, values=values)
        made.append(item)
    return replace(program, arguments=tuple(made))


def step_values(step: Step, held: dict[str, Any], scope: dict[str, Any] = SCOPE) -> dict[str, Any]:
    """What a step makes, by NumPy."""
    used = {n: held[n] for n in step.names}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = eval(step.text, scope, used)
    results = made if len(step.results) > 1 else (made,)
    return dict(zip(step.results, results, strict=True))
