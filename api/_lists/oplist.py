"""``kernel``: an op-code list as the program itself.

    k = ow.kernel([ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")])
    k = k.insert(ow.opcodes.relu, before="store")
    k(x)

Each op-code takes the running value as its first operand, unless all its operands are given.  An
operand is a number, the name of a loaded argument, or the name of an earlier result (``named``).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from opweave._functions.fused import Fused
from opweave._html.shown import Shown
from opweave._lists.checks import check_list
from opweave._lists.codes import (
    Called,
    Code,
    Store,
    arguments_of,
    at,
    code_of,
    in_place_of,
    is_operand,
    line_of,
)
from opweave._lists.functions import OwnFunction, function_of, returned
from opweave._lists.joining import feeds_of, join, renamed
from opweave._lists.pickled import restored, rows_of
from opweave._lists.running import run_list
from opweave._lists.structure import (
    ONCE,
    apart,
    by,
    check_structure,
    joined,
    put,
    refuse_within,
    structure_of,
    without,
)
from opweave._programs.kernel_view import KernelView
from opweave._tracebacks import fold, folded
from opweave.compiler.ir.values import Where
from opweave.compiler.pipeline.driver import Lowered, Options
from opweave.compiler.pipeline.specialise import Specialised
from opweave.compiler.traced.made import users_line
from opweave.configuration import config
from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.errors import ArgumentError, EditError
from opweave.opcodes.structural import Structural
from opweave.runtime.host.warm_layout import UNKNOWN


@folded
def kernel(codes: Sequence[Any], name: str = "kernel") -> OpcodeKernel:
    """Make one kernel from an op-code list.

    A list is a function: ``ow.fuse``, ``ow.repeat``, ``ow.Graph`` and other lists call it, and its
    operators fuse with their neighbours.  In a list it stands as an operator does, alone, with
    operands (``k("x", 2.0)``) or with names for its results (``k.named("y")``).  As an attribute
    of a class it stays what it is, as NumPy's functions do: no object becomes its argument.

    Raises:
        EditError: the list has no load or no store, names something that is not there, or uses
            it too early; names the op-code, the list and its line.
        NameRefusedError: a name may not enter source.
        ToggleError: two op-codes declare a toggle differently.
    """
    if not isinstance(codes, list | tuple):
        raise EditError(f"expected a list of op-codes, found {type(codes).__name__}")
    plain, once = apart(codes, name)
    return OpcodeKernel(tuple(map(code_of, plain)), name, None, once)


class OpcodeKernel(Shown, by="_programs.pieces:op_codes"):
    """A kernel that is its op-code list: print it, edit it, join it, call it."""

    __opweave_list__ = True
    # Whoever asks for the function behind a callable finds ``__wrapped__``.  It is ours, and reads
    # nothing from outside: traced functions call it as it is, there is nothing to copy.
    __opweave_fused__ = True

    def __init__(
        self, codes: tuple[Code, ...], name: str, where: Where | None = None,
        once: tuple[Structural, ...] = (),
    ):  # fmt: skip
        """``once`` are the structural op-codes that a list has once: an index, a guard."""
        check_name(name, "kernel")
        self.codes, self.once = codes, once
        self.name = self.__name__ = name
        self.where = users_line() if where is None else where
        self.arguments = arguments_of(codes)
        self.results = tuple(c.label for c in codes if isinstance(c, Store))
        check_list(self)
        check_structure(self)
        self.__wrapped__ = function_of(self)
        self.__signature__ = inspect.signature(self.__wrapped__)
        one_kernel = Options(library=False, fullgraph=True, structure=structure_of(self))
        self.fused = Fused(OwnFunction(self), (), one_kernel, self._check_prepared)
        self._calls = self.fused.prepared_calls

    def __str__(self) -> str:
        lines = [f"    {c.phase.value} {c.name}  // {c.text}" for c in self.once]
        lines += [f"{n:3} {line_of(c)}" for n, c in enumerate(self.codes)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<op-code kernel {self.name}({', '.join(self.arguments)})>\n{self}"

    def __reduce__(self) -> Any:
        """Pickled as its op-codes, operators by name; compiled where it is loaded."""
        return restored, (type(self), rows_of(self), self.name, self.where, self.once)

    # Editing

    @folded
    def insert(
        self, code: Any, *, before: str | None = None, after: str | None = None
    ) -> OpcodeKernel:
        """A new kernel with one more op-code before or after a name."""
        if (before is None) == (after is None):
            raise EditError("insert: expected either before= or after=")
        if isinstance(code, Structural):
            raise EditError(
                f"insert: {code.name} is structural, and stands there already: write "
                f"replace({code.phase.value!r}, ...)"
            )
        at = self._find(before or str(after)) + (after is not None)
        return self._edited(self.codes[:at], code_of(code), self.codes[at:])

    @folded
    def replace(self, name: str, code: Any) -> OpcodeKernel:
        """A new kernel with another op-code in the place of a name; its label stays."""
        if isinstance(code, Structural) and code.phase in ONCE:
            return OpcodeKernel(self.codes, self.name, None, put(code, name, self.once))
        at = self._find(name)
        place = by if isinstance(code, Structural) else in_place_of
        return self._edited(self.codes[:at], place(self.codes[at], code), self.codes[at + 1 :])

    @folded
    def remove(self, name: str) -> OpcodeKernel:
        """A new kernel without an op-code."""
        if name in [phase.value for phase in ONCE]:
            return OpcodeKernel(self.codes, self.name, None, without(name, self.once))
        at = self._find(name)
        return OpcodeKernel((*self.codes[:at], *self.codes[at + 1 :]), self.name, None, self.once)

    def _edited(self, before: Sequence[Code], code: Code, behind: Sequence[Code]) -> OpcodeKernel:
        return OpcodeKernel((*before, code, *behind), self.name, None, self.once)

    def _find(self, name: str) -> int:
        if type(name) is not str or not name:
            raise EditError(f"expected the name of an op-code, found {shown(name)}")
        at = [i for i, c in enumerate(self.codes) if name in (c.name, c.label, c.name.split()[0])]
        if not at:
            raise EditError(f"{shown(name)}: no such op-code; the list is\n{self}")
        if len(at) > 1:
            raise EditError(
                f"{shown(name)} stands {len(at)} times in the list; name one with "
                f".named(...), or give the whole name\n{self}"
            )
        return at[0]

    # Joining

    @folded
    def then(self, other: OpcodeKernel, /, **feeds: str) -> OpcodeKernel:
        """One list of two: what this one stores feeds what the other one loads.

        By name; where no name is in both, by position, if there are as many stores as loads.  What
        is left stays an argument or a result.  ``first + second`` is ``first.then(second)``.

        Args:
            other: the list behind this one.
            feeds: what feeds an argument of the other list: a result or an argument of this one.

        Raises:
            EditError: it is not certain what feeds what, a name would mean two things, or each
                list waits for the other; names both lists, and says what to do.
        """
        if not isinstance(other, OpcodeKernel):
            raise EditError(f"{self.name}: expected another op-code list, found {shown(other)}")
        codes, name = join(self, other, feeds)
        once = joined(self, other, feeds_of(self, other, feeds))
        return OpcodeKernel(codes, name, None, once)

    def __add__(self, other: Any) -> OpcodeKernel:
        return self.then(other) if isinstance(other, OpcodeKernel) else NotImplemented

    @folded
    def renamed(self, **names: str) -> OpcodeKernel:
        """The same list with other names: of arguments, results, and what is ``named``.

        Raises:
            EditError: the list has no such name, or has the new one already.
        """
        return OpcodeKernel(renamed(self, names), self.name, None, self.once)

    # As an op-code of another list

    @folded
    def bind(self, *operands: Any, **named: Any) -> Called:
        """This list as an op-code, with operands: numbers, and names in the other list.

        Raises:
            ArgumentError: an operand that this list has no argument for.
        """
        try:
            given = self.__signature__.bind_partial(*operands, **named).arguments
        except TypeError as error:
            raise ArgumentError(f"{self.name}: {error}{at(self)}") from None
        if named:
            operands = tuple(given.values())
            if tuple(given) not in (self.arguments, self.arguments[1:]):
                raise ArgumentError(
                    f"{self.name}: expected operands for {', '.join(self.arguments)}, or for all "
                    f"but the first, which the running value is then{at(self)}"
                )
        if not all(map(is_operand, operands)):
            raise ArgumentError(f"{self.name}: expected numbers and names{at(self)}")
        return Called(self, operands)

    def named(self, *labels: str) -> Called:
        """This list as an op-code, with a name for each result."""
        return Called(self).named(*labels)

    # Calling

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel; with names and numbers alone, ``bind`` it."""
        try:
            if config.quick and "out" not in kwargs and len(args) <= len(self.arguments):
                if (found := self._calls.by_c(args, kwargs)) is not UNKNOWN:
                    return found
                if (known := self._calls.quickly(args, kwargs)) is not None:
                    return known[0](known[1])
            return self._slowly(args, kwargs)
        except Exception as error:
            fold(error)
            raise

    def _slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Any call but one on arrays that was prepared before."""
        operands = [*args, *kwargs.values()]
        has_place = "out" in kwargs and "out" not in self.arguments
        if any(hasattr(type(o), "__opweave_apply__") for o in operands) and not has_place:
            refuse_within(self)
            given = self.fused.signature.in_order(args, kwargs)
            return returned(run_list(self, dict(zip(self.arguments, given, strict=True))))
        if operands and all(map(is_operand, operands)):
            return self.bind(*args, **kwargs)
        if config.errors == "numpy":  # which prepares kernels of its own
            self.lower(*args, **{k: v for k, v in kwargs.items() if k != "out" or not has_place})
        return self.fused(*args, **kwargs)

    # What was made of it

    @folded
    def lower(self, *args: Any, target: Any = None, **kwargs: Any) -> KernelView:
        """The lowered kernel.

        Raises:
            EditError: the list does not fit one kernel; says why.
        """
        program = self.fused.lower(*args, target=target, **kwargs)
        self._check_one(program.lowered)
        return program.kernels[0]

    @folded
    def check(self, *args: Any, **kwargs: Any) -> Any:
        """See ``Fused.check``."""
        return self.fused.check(*args, **kwargs)

    @folded
    def with_toggles(self, **toggles: int) -> Fused:
        """The kernel as a function with other toggle values; see ``Fused.with_toggles``."""
        return self.fused.with_toggles(**toggles)

    def _check_prepared(self, found: Specialised) -> None:
        self._check_one(found.lowered)

    def _check_one(self, lowered: Lowered) -> None:
        """Check that the list is one kernel.

        Raises:
            EditError: says what does not fit.
        """
        if len(lowered.kernels) == 1:
            return
        reasons = "\n".join(str(d) for d in lowered.schedule.decisions if not d.fused)
        reasons = reasons or f"it makes {len(lowered.kernels)} kernels"
        raise EditError(
            f"{self.name}: the list does not fit one kernel here{at(self)}:\n{reasons}\n"
            "call it in an opweave.fuse function, which may have several kernels"
        )
