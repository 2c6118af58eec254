"""``kernel``: an op-code list as the program itself.

    k = ow.kernel([ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")])
    k = k.insert(ow.opcodes.relu, before="store")
    k(x)

Each op-code takes the running value as its first operand, unless all its operands are given.  An
operand is a number, the name of a loaded argument, or the name of an earlier result (``named``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opweave._functions.fused import Fused
from opweave._programs.kernel_view import KernelView
from opweave._tracebacks import fold, folded
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.scheduling.edit import bound
from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.core import BoundOperator
from opweave.opcodes.errors import EditError


@dataclass(frozen=True)
class Load:
    """Make an argument of the kernel the running value: an array or a number."""

    label: str

    def __post_init__(self) -> None:
        check_name(self.label, "argument")

    @property
    def name(self) -> str:
        return f"load {self.label}"


@dataclass(frozen=True)
class Store:
    """Return the running value, or the named one."""

    label: str
    value: str = ""

    def __post_init__(self) -> None:
        check_name(self.label, "output")
        if type(self.value) is not str or self.value:
            check_name(self.value, "stored value")

    @property
    def name(self) -> str:
        return f"store {self.label}"


def load(name: str) -> Load:
    """An argument of an op-code list.

    Raises:
        NameRefusedError: the name may not enter source.
    """
    return Load(name)


def store(name: str = "out", value: str = "") -> Store:
    """An output of an op-code list: the running value, or the result called ``value``.

    Raises:
        NameRefusedError: the name may not enter source.
    """
    return Store(name, value)


Code = Load | Store | BoundOperator


def kernel(codes: Sequence[Any], name: str = "kernel") -> OpcodeKernel:
    """Make one kernel from an op-code list.

    Raises:
        EditError: the list has no load or no store, or names something that is not there.
        NameRefusedError: a name may not enter source.
    """
    if not isinstance(codes, list | tuple):
        raise EditError(f"expected a list of op-codes, found {type(codes).__name__}")
    made = tuple(c if isinstance(c, Load | Store) else bound(c) for c in codes)
    return OpcodeKernel(made, name)


class OpcodeKernel:
    """A kernel that is its op-code list: print it, edit it, call it."""

    def __init__(self, codes: tuple[Code, ...], name: str):
        check_name(name, "kernel")
        self.codes = codes
        self.name = name
        self.arguments = tuple(dict.fromkeys(c.label for c in codes if isinstance(c, Load)))
        if not self.arguments:
            raise EditError(f"{name}: the list loads nothing; begin with load('x')")
        if not any(isinstance(c, Store) for c in codes):
            raise EditError(f"{name}: the list stores nothing; end with store()")
        _check_operands(codes, self.arguments)
        self.fused = Fused(_function(self), (), Options(library=False))  # a list is one kernel

    def __str__(self) -> str:
        return "\n".join(f"{n:3} {_shown(c)}" for n, c in enumerate(self.codes))

    def __repr__(self) -> str:
        return f"<op-code kernel {self.name}({', '.join(self.arguments)})>\n{self}"

    @folded
    def insert(
        self, code: Any, *, before: str | None = None, after: str | None = None
    ) -> OpcodeKernel:
        """A new kernel with one more op-code before or after a name."""
        if (before is None) == (after is None):
            raise EditError("insert: expected either before= or after=")
        at = self._find(before or str(after)) + (after is not None)
        made = code if isinstance(code, Load | Store) else bound(code)
        return OpcodeKernel((*self.codes[:at], made, *self.codes[at:]), self.name)

    @folded
    def replace(self, name: str, code: Any) -> OpcodeKernel:
        """A new kernel with another op-code in the place of a name."""
        at = self._find(name)
        made = code if isinstance(code, Load | Store) else bound(code)
        return OpcodeKernel((*self.codes[:at], made, *self.codes[at + 1 :]), self.name)

    @folded
    def remove(self, name: str) -> OpcodeKernel:
        """A new kernel without an op-code."""
        at = self._find(name)
        return OpcodeKernel((*self.codes[:at], *self.codes[at + 1 :]), self.name)

    def _find(self, name: str) -> int:
        if type(name) is not str or not name:
            raise EditError(f"expected the name of an op-code, found {shown(name)}")
        found = [
            i for i, c in enumerate(self.codes) if name in (c.name, c.label, c.name.split()[0])
        ]
        if not found:
            raise EditError(f"{shown(name)}: no such op-code; the list is\n{self}")
        if len(found) > 1:
            raise EditError(
                f"{shown(name)} stands {len(found)} times in the list; name one with "
                f".named(...), or give the whole name\n{self}"
            )
        return found[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel."""
        try:
            given = {k: v for k, v in kwargs.items() if k != "out"}
            call = self.fused.signature.bind(args, given)
            ready = self.fused.ready_for(call) or self.fused.prepare(call)
            if len(ready.prepared.steps) != 1:
                self.lower(*args, **given)  # says why
            return self.fused(*args, **kwargs)
        except Exception as error:
            fold(error)
            raise

    @folded
    def lower(self, *args: Any, target: Any = None, **kwargs: Any) -> KernelView:
        """The lowered kernel.

        Raises:
            EditError: the list does not fit one kernel; says why.
        """
        program = self.fused.lower(*args, target=target, **kwargs)
        if len(program.kernels) != 1:
            reasons = "\n".join(str(d) for d in program.lowered.schedule.decisions if not d.fused)
            reasons = reasons or f"it makes {len(program.kernels)} kernels"
            raise EditError(
                f"{self.name}: the list does not fit one kernel here:\n{reasons}\n"
                "use opweave.fuse for a function of several kernels"
            )
        return program.kernels[0]

    @folded
    def check(self, *args: Any, **kwargs: Any) -> Any:
        """See ``Fused.check``."""
        return self.fused.check(*args, **kwargs)


def _shown(code: Code) -> str:
    if isinstance(code, BoundOperator):
        operands = ", ".join(map(str, code.operands))
        attrs = "".join(
            f", {k}={v}" for k, v in code.attrs if v != dict(code.operator.attrs).get(k)
        )
        label = f" -> {code.label}" if code.label else ""
        fragment = code.operator.text
        return f"{code.name:<14} ({(operands + attrs).lstrip(', ')}){label}  // {fragment}"
    value = f" <- {code.value}" if isinstance(code, Store) and code.value else ""
    return f"{code.name}{value}"


def _check_operands(codes: Sequence[Code], arguments: Sequence[str]) -> None:
    known = set(arguments)
    running = False
    labels = [c.label for c in codes if isinstance(c, Store)]
    if len(set(labels)) < len(labels):
        raise EditError(f"two stores have one name: {', '.join(labels)}; name each output")
    for code in codes:
        if isinstance(code, Load):
            running = True
            continue
        operands = code.operands if isinstance(code, BoundOperator) else (code.value or None,)
        for operand in operands:
            if isinstance(operand, str) and operand not in known:
                raise EditError(
                    f"{code.name}: operand {shown(operand)} is neither a loaded argument nor an "
                    f"earlier result; known are {', '.join(sorted(known))}"
                )
        if isinstance(code, Store):
            continue
        missing = code.operator.arity - len(code.operands)
        if missing > 1 or (missing and not running):
            raise EditError(
                f"{code.name}: takes {code.operator.arity} operands, {len(code.operands)} given; "
                f"the running value supplies one, name the others: {code.name}('x', ...)"
            )
        running = True
        if code.label:
            known.add(code.label)


def _function(kernel: OpcodeKernel) -> Callable[..., Any]:
    """The Python function that interprets the list on arrays or traced values."""

    def run(**given: Any) -> Any:
        named: dict[str, Any] = dict(given)
        outputs: dict[str, Any] = {}
        running: Any = None
        for code in kernel.codes:
            if isinstance(code, Load):
                running = given[code.label]
            elif isinstance(code, Store):
                outputs[code.label] = named[code.value] if code.value else running
            else:
                running = _apply(code, running, named)
                if code.label:
                    named[code.label] = running
        values = list(outputs.values())
        return values[0] if len(values) == 1 else tuple(values)

    run.__name__ = kernel.name
    parameters = [
        inspect.Parameter(a, inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in kernel.arguments
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _apply(code: BoundOperator, running: Any, named: dict[str, Any]) -> Any:
    operands = [named[o] if isinstance(o, str) else o for o in code.operands]
    if len(operands) < code.operator.arity:
        operands.insert(0, running)
    attrs = dict(code.attrs)
    for operand in operands:
        if is_traced(operand):
            return operand.__opweave_apply__(code.operator, operands, attrs)
    return code.operator.numpy(*operands, **attrs)
