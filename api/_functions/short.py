"""Functions in parts on short arrays: NumPy is done with all of them before they are noted.

Who runs a call follows from the function's code, from the types and from how long the arrays are,
never from a clock or from what an earlier call took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from functools import cache
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from opweave._functions.layout import Call, by_lengths
from opweave._functions.preparing import Preparing, is_on_gpu
from opweave.compiler.captures.bytecode import names_in
from opweave.compiler.captures.capture import helpers_of
from opweave.compiler.captures.operations import (
    MASK,
    RESHAPING,
    TURNING,
    attributes_in,
    integers_in,
    lengthening_lines,
    operations_in,
    writes_in_place,
)
from opweave.compiler.ir.bits import has_numpys_bits
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.pace import ELEMENT, IN_PARTS, PAYS, ROLLED, STEADY_LINES, saved_by_names
from opweave.compiler.numpy_api.dispatch import CREATORS, FUNCTIONS, METHODS, PROPERTIES, UFUNCS
from opweave.compiler.pipeline.specialise import symbol_extents
from opweave.compiler.traced.lengths import Reached, rounded
from opweave.opcodes.errors import AlignmentError, OpweaveError, RecompileError
from opweave.runtime.calls.arguments import argument_key, is_scalar
from opweave.runtime.calls.arrays import layout_of

# Where the names of NumPy's functions are, and those of Python's that ask for a number.
NUMPY = (np, np.fft, np.linalg, np.ndarray)
ASKING = frozenset({"float", "int", "bool", "complex", "print", MASK})
RANDOM = frozenset(
    "normal uniform integers standard_normal choice permutation shuffle rand randn randint".split()
)
# Modules of functions that compute, the others move elements.
COMPUTING = ("math", "math_complex", "math_sums", "statistics", "statistics_correlating", "linalg",
             "linalg_einsum", "linalg_products", "logic")  # fmt: skip
# Why NumPy runs a call that has loops, none of which C runs, and no lines of which kernels run.
NOT_WORTH = "C runs none of its loops, and no lines between are worth a kernel"
COPIES = (
    "In parts a reshape of what does not lie in rows would share memory where NumPy copies: pass "
    "np.ascontiguousarray(x), or write to a .copy()"
)
# What is remembered, of kinds of calls that NumPy runs and the like.
MOST_PLAIN = 256
# What tells of the line that calls the function: no frame of ours may stand between.
OF_THE_CALLER = frozenset({"warn", "warn_explicit"})


class ByNumPy(Exception):
    """The plain function has to run; the text says why.

    Attributes:
        once: what it is told once for.
        again: so do all calls like this one, as an earlier one did.
        exact: those with the same numbers.
        rolled: the kinds of a call whose loops C may run; it is told of if none does.
        learns: the arrays of a call that learns whether C does; if not, the call is a whole.
        stays: calls of these kinds are NumPy's from now on, if C runs none of their loops.
        lines: kernels may run lines of it, too.
        on_gpu: the kinds of a call whose rounds are launched one after the other.
        silent: NumPy gives no warning and raises none, as in other calls kernels do not.
    """

    def __init__(
        self,
        why: str,
        once: Any = None,
        exact: bool = False,
        again: bool = False,
        rolled: Any = None,
        learns: Sequence[Any] | None = None,
        stays: bool = False,
        lines: bool = False,
        on_gpu: Any = None,
        silent: bool = False,
    ):
        super().__init__(why)
        self.once = why if once is None else once
        self.exact, self.again, self.rolled, self.learns = exact, again, rolled, learns
        self.stays, self.lines, self.on_gpu, self.silent = stays, lines, on_gpu, silent


class Pace:
    """How fast NumPy runs a function, by a model, and what follows for a call that is no whole."""

    def __init__(self, preparing: Preparing):
        self.fn = preparing.fn
        self.calls = preparing.calls
        self.has_own_structure = bool(preparing.options.structure)  # which NumPy does not know
        self._codes: dict[Any, tuple[CodeType, ...]] = {}
        self._saved: dict[Any, float] = {}

    def codes(self, call: Call) -> tuple[CodeType, ...]:
        """The code of the function, and of the user's functions that it calls."""
        state = call.layout.state  # another one where any of them is redefined
        found = self._codes.get(state)
        if found is None:
            found = tuple(function.__code__ for function in helpers_of(self.fn))
            keep(self._codes, state, found)
        return found

    def why_numpy(self, call: Call, error: OpweaveError) -> str:
        """Why NumPy runs a call that is no whole; "" where it runs in parts."""
        if self._may_copy(call):
            return f"{error}. {COPIES}"
        if (seconds := error.mean_seconds) is not None:
            told = f"NumPy has an operation in some {seconds * 1e6:.0f} us"
            return "" if seconds >= IN_PARTS else _longer(error, told, "compiles all of it")
        # other calls of this kind are wholes, with the same bits as in parts
        if error.asks and self.calls.knows(call):
            return ""
        if isinstance(error, AlignmentError | RecompileError) or is_on_gpu(call):
            return ""
        if self._is_bound(call) or (saved := self.saved(call, error.reached)) >= PAYS:
            return ""
        told = f"kernels would save some {saved * 1e6:.0f} us an operation"
        return _longer(error, told, "refuses such lines")

    def is_as_well(self, call: Call, graph: FunctionGraph) -> bool:
        """Whether NumPy runs a whole that kernels may not run: with their bits, and sooner."""
        is_short = not is_on_gpu(call) and self.saved(call) < PAYS
        is_free = is_short and not self._is_bound(call) and not self._may_copy(call)
        return is_free and all(map(has_numpys_bits, graph.nodes))

    def _is_bound(self, call: Call) -> bool:
        """Whether the plain function, called from here, does something else."""
        codes = self.codes(call)
        asks_caller = any(not OF_THE_CALLER.isdisjoint(names_in(code)) for code in codes)
        return self.has_own_structure or asks_caller

    def _may_copy(self, call: Call) -> bool:
        """Whether a reshape that is written to may be a copy in NumPy, and no view.

        NumPy computes arrays in the order of their operands, kernels row by row.
        """
        if self.has_own_structure or is_on_gpu(call):
            return False
        codes = self.codes(call)
        names = {name for code in codes for name in operations_in(code)}
        if RESHAPING.isdisjoint(names) or not any(map(writes_in_place, codes)):
            return False
        return not (TURNING.isdisjoint(names) and all(a.flags.c_contiguous for a in call.arrays))

    def is_short(self, call: Call, error: Any) -> bool:
        """Whether C may run the loops of a call that is no whole for what is outside of them.

        Its arrays are so short that it would not run in parts; where it is given none, its numbers
        are taken to be extents.
        """
        if error.mean_seconds is not None or self.has_own_structure or is_on_gpu(call):
            return False
        if call.arrays:
            return self.saved(call, error.reached) < PAYS
        integers = [rounded(value) for value in call.values if type(value) is int]
        return max(integers, default=0) * ELEMENT < ROLLED

    def saved(self, call: Call, reached: Reached | None = None) -> float:
        """Seconds that kernels save for an operation: the same for all calls of a size class.

        ``reached``: how far a trace of it has come.
        """
        longest = self._longest(call, reached)
        key = call.layout.state, size_class(call), longest
        if key not in self._saved:
            keep(self._saved, key, self._saved_by_model(call, longest))
        return self._saved[key]

    def may_have_lines(self, call: Call, reached: Reached | None = None) -> bool:
        """Whether kernels may save enough to run some lines of a call."""
        operations = sum(len(operations_in(code)) for code in self.codes(call))
        return operations * self.saved(call, reached) >= STEADY_LINES

    def _saved_by_model(self, call: Call, longest: int) -> float:
        codes = self.codes(call)
        names = [name for code in codes for name in operations_in(code)]
        known = tables()
        breaks = sum(name in known.breaking for name in names)
        is_seen = all(attributes_in(code) <= known.numpys for code in codes)
        operations = (name for name in names if name in known.computing)
        return saved_by_names(operations, breaks if is_seen else None, longest)

    def _longest(self, call: Call, reached: Reached | None) -> int:
        """How long an array of a call may get, rounded to powers of two.

        Where a trace has seen all lines that lengthen arrays, it is as long as these got.
        """
        arrays = call.arrays
        integers = [value for value in call.values if type(value) is int]
        if not arrays:
            integers += [n for code in self.codes(call) for n in integers_in(code)]
        extents = [extent for array in arrays for extent in array.shape]
        longest = max((rounded(int(array.size)) for array in arrays), default=0)
        widest = max(map(rounded, (*extents, *integers)), default=0)
        lines = frozenset[tuple[str, int]]().union(*map(lengthening_lines, self.codes(call)))
        if reached is not None and lines and lines <= reached.lines:
            with suppress(ArithmeticError, LookupError, ValueError):  # extents of another trace
                return max(longest, reached.longest(symbol_extents([*call.types.values()])))
        # of a call without arrays an integer is taken to be how long they get
        return max(longest, widest if lines or not arrays else 0) * (widest if lines else 1)


class Tables(NamedTuple):
    """Names of NumPy's: all of them, what computes in kernels, and what no kernel does."""

    numpys: frozenset[str]
    computing: frozenset[str]
    breaking: frozenset[str]


@cache
def tables() -> Tables:
    """The names of NumPy's functions, by what becomes of them."""
    rows = [row for table in (FUNCTIONS, METHODS, CREATORS) for row in table.values()]
    known = {row.name for row in rows} | UFUNCS.keys() | PROPERTIES.keys()
    computing = {row.name for row in rows if row.handler.__module__.endswith(COMPUTING)}
    numpys = {name for owner in (*NUMPY, np.random) for name in dir(owner)} | known
    left = {name for owner in NUMPY for name in dir(owner) if _is_left(owner, name, known)}
    return Tables(frozenset(numpys), frozenset({"", *computing, *UFUNCS}), ASKING | RANDOM | left)


def _is_left(owner: Any, name: str, known: Set[str]) -> bool:
    """Whether a name is of a function that no kernel does, by no other name of it either."""
    part = getattr(owner, name)
    is_function = callable(part) and not isinstance(part, type) and not name.startswith("_")
    is_module = isinstance(getattr(np, name, None), ModuleType)  # as np.fft
    return is_function and not is_module and getattr(part, "__name__", name) not in known


def _longer(error: OpweaveError, told: str, whole: str) -> str:
    """What is said of a call that NumPy runs."""
    return f"{error}. In parts it would take longer: {told}, by a model; fullgraph=True {whole}"


def size_class(call: Call) -> tuple[Any, ...]:
    """How long each array is, and how large each integer, by powers of two."""
    sizes = [(int(a.size).bit_length(), *(n.bit_length() for n in a.shape)) for a in call.arrays]
    return (*sizes, *(n.bit_length() for n in call.values if type(n) is int))


def alike(call: Call, exact: bool) -> Any:
    """A key of calls whose traces are refused alike; ``exact``: where these ask for numbers."""
    arrays = call.arrays
    size = "short", size_class(call), tuple(map(layout_of, arrays))
    if not exact:
        return size
    numbers = tuple(argument_key(v, True, False) for v in call.values if is_scalar(v))
    return size, tuple(array.shape for array in arrays), numbers


class LeftToNumPy(dict[Any, tuple[str, Any, bool]]):
    """Calls that NumPy runs, by their kinds: why, what it is told once for, for which numbers."""

    def __init__(self, kinds: Callable[[Call], Any]):
        super().__init__()
        self._kinds = kinds

    def by_size(self, call: Call) -> Any:
        """A key of calls; longer arrays may take another way."""
        found = by_lengths(call)
        return found if found is not None else (self._kinds(call), size_class(call))

    def found(self, call: Call) -> tuple[str, Any, bool] | None:
        """Why NumPy runs a call, if that is known; see ``ByNumPy``."""
        kinds = self._kinds(call)
        short = ((kinds, alike(call, exact)) for exact in (False, True))
        keys = (kinds, self.by_size(call), *short)
        return next((self[key] for key in keys if key in self), None)

    def left(
        self, call: Call, why: str, once: Any = None, key: Any = None, exact: bool = False
    ) -> ByNumPy:
        """What calls of this kind, or of a ``key``, are told from now on, without a trace."""
        keep(self, key or self._kinds(call), (why, once, exact))
        return ByNumPy(why, once)

    def short(self, call: Call, why: str, error: OpweaveError) -> ByNumPy:
        """What calls of this kind and size are told from now on."""
        key = self._kinds(call), alike(call, error.asks)
        return self.left(call, why, "short", key, error.asks)


def keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Remember something; where there is too much, forget what is oldest."""
    if len(known) >= MOST_PLAIN:
        for oldest in tuple(known)[:1]:  # which another thread may have done
            known.pop(oldest, None)
    known[key] = value
