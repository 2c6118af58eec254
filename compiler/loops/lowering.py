"""A loop of Python, lowered for the kinds of what its names hold: its source in C."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from opweave.compiler.captures.kinds import is_made_anew, is_row_by_row, is_served
from opweave.compiler.captures.source import NoLoopError, stored_in
from opweave.compiler.kernels.render import rendered
from opweave.compiler.lines.applied import bounds_of, dense_strides
from opweave.compiler.lines.products import LIBRARY, Sizes
from opweave.compiler.lines.values import (
    LONGEST,
    AgainError,
    Held,
    Listed,
    Mixed,
    Number,
    Size,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.calls import LoopCalls
from opweave.compiler.loops.given import (
    FUNCTION,
    LARGEST_GIVEN,
    NUMBERS,
    OWN,
    LoopCall,
    LoweredLoop,
    OutsideNames,
    Parameter,
    Result,
    computed_outside,
    constant,
    found_in,
    locals_of,
    number_type,
    places_of,
    value_of,
)
from opweave.compiler.loops.joining import of_numpy
from opweave.compiler.scheduling.vendors import is_for_blas


class Lowering(LoopCalls):
    """Lowers one loop."""

    def __init__(
        self,
        function: FunctionType,
        values: Mapping[str, Any],
        known: Mapping[str, frozenset[str]] = MappingProxyType({}),
    ):
        """``known``: names of which an earlier lowering has found out, see ``AgainError``."""
        self.asked = OutsideNames()
        self.call, self.changed = LoopCall(values), set[str]()
        super().__init__(self.resolver(function), self._outside, self._require)
        self.known, self.locals = known, locals_of(function)
        self.parameters: list[Parameter] = []
        self.required: dict[tuple[Size, int], None] = {}
        self.first: dict[str, Held] = {}
        self.products: dict[Sizes, bool] = {}
        self.writes: set[str] = set()
        self.names: dict[str, str] = {}  # of Python, by the C names of arrays

    def lowered(self, node: ast.For | ast.While, wanted: Sequence[str]) -> LoweredLoop:
        """The loop in C.

        Args:
            wanted: names that are read outside of the loop.

        Raises:
            NoLoopError: it has what loops do not compile.
        """
        self.changed = stored_in(node)
        for name, value in self.call.values.items():
            self.first[name] = self.env[name] = self._given(name, value, name in self.changed)
        self.given |= {p.c_name for p in self.parameters} | set(self.call.extents)
        self.is_entered = True
        self.statements([node])
        results = self._results([name for name in wanted if name in self.changed])
        linked = self.linked(node, {result.name for result in results}, self.writes)
        text = rendered(
            "host/loop.cu.j2",
            name=FUNCTION,
            has_products=any(p.part == "library" for p in self.parameters),
            about=[f"the loop at line {node.lineno}: one core runs its rounds"],
            functions=list(self.functions),
            parameters=[(p.c_type, p.c_name) for p in self.parameters],
            variables=[(c_type, name) for name, c_type in self.text.declared.items()],
            guards=self._guards(),
            lines=self.text.lines,
            results=[word for result in results for word in result.words],
            lists=[
                (a.c_type, a.c_name, place, [size.text for size in a.sizes])
                for a, place in places_of(results, self.lists.appended.values())
            ],
        )
        return LoweredLoop(
            text,
            tuple(self.parameters),
            tuple(results),
            self.asked.all,
            tuple(self.lists.appended.values()),
            linked,
        )

    def _guards(self) -> list[str]:
        """What must not hold of a call, or else C leaves it at once."""
        found = [f"{size.text} < {least}" for size, least in self.required]
        found += [f"{'!' * by}{sizes.by_library}" for sizes, by in self.products.items()]
        found += [f"!{p.c_name}" for p in self.parameters if p.part == "library"]
        written = [base for base in self.names if base in self.writes]
        for base in written:
            if not self.call.values[self.names[base]].flags.writeable:
                raise NoLoopError(f"{self.names[base]}, which is read-only")
        pairs = {tuple(sorted((a, b))) for a in written for b in self.names if a != b}
        return found + [f"loop_overlap({', '.join(map(self._span, p))})" for p in sorted(pairs)]

    def _span(self, base: str) -> str:
        """C text of the memory of an array."""
        array = self.first[self.names[base]]
        assert isinstance(array, Strided)
        sizes, strides = ", ".join(s.text for s in array.sizes), ", ".join(array.strides)
        return f"loop_span({base}, {{{sizes}}}, {{{strides}}})"

    def _results(self, names: Sequence[str]) -> list[Result]:
        found = []
        for name in names:
            held = self.env.get(name)
            if isinstance(held, Mixed):
                raise AgainError("either", name)
            if isinstance(held, Number):
                found.append(self._number_left(name, held))
            elif isinstance(held, Strided) and held.base in self.held_by:
                found.append(self._array_left(name, held))
            elif held is None:
                found.append(self._perhaps_left(name))
            elif held != self.first.get(name):
                raise NoLoopError(f"{name}, which is read behind the loop")
        self.check_copies({result.name for result in found}, self.writes)
        rooms = [result.words[0] for result in found if result.rank >= 0]
        if len(set(rooms)) < len(rooms):
            raise NoLoopError("two names for one array that the loop makes")
        return found

    def _number_left(self, name: str, number: Number) -> Result:
        if not number.is_word:
            raise NoLoopError(f"{name}, whose type a loop does not return")
        words = (number.text, number.maybe) if number.maybe else (number.text,)
        return Result(name, number.type, words)

    def _perhaps_left(self, name: str) -> Result:
        """A number that may be unbound, where it has one type wherever it is bound."""
        if not self.is_known("perhaps", name):
            raise AgainError("perhaps", name)
        kinds = [kind for before, own, kind in self.variables if (before, own) == ("", name)]
        left = [t for t in NUMBERS if Number(t, "").type_name in kinds]
        if len(kinds) != 2 or len(left) != 1:  # the other one says whether it is bound
            raise NoLoopError(f"{name}, which is read behind the loop")
        variable, bound = (self.variables["", name, k] for k in sorted(kinds, key="bound".__eq__))
        found = self._number_left(name, Number(left[0], variable))
        return found._replace(words=(variable, bound), perhaps=True)

    def _array_left(self, name: str, array: Strided) -> Result:
        """An array that the loop has made, if it is all of it."""
        if self.may_be_turned(array.base):
            raise NoLoopError(f"{name}, which NumPy may lay out in another order")
        if array.pointer != array.base or array.strides != dense_strides(array.sizes):
            raise NoLoopError(f"{name}, a part of an array that the loop makes")
        taken = f"{self.held_by[array.base]}.taken()"
        return Result(name, array.dtype, (taken, *(s.text for s in array.sizes)), array.rank)

    def written(self, target: Strided) -> None:
        self.writes.add(target.base)

    def _given(self, name: str, value: Any, changes: bool) -> Held:
        """What a name holds before the loop."""
        if type(value) is np.ndarray:
            return self._array(name, value)
        if type(value) is list:
            others = [v for n, v in self.call.values.items() if n != name]
            if changes or any(other is value for other in others):
                raise NoLoopError(f"{name}, a list that has other names, too")
            return Listed(name)
        number = number_type(value)
        if number is None:
            return Unchanging(value) if changes else constant(value)
        wish = f"{name}_given" if changes else name
        text = self._parameter(Number(number, "").c_type, wish, "number", name, type=number)
        _, low, high = bounds_of(number)
        if number is int:
            low, high = -LARGEST_GIVEN, LARGEST_GIVEN
        outside = None if changes or not isinstance(number, type) else ast.Name(name, ast.Load())
        size = Size.of(text) if number is int else None
        held = Number(number, text, size, low, high, None, outside)
        if not changes:
            return held
        self.bind(name, held)
        return self.env[name]

    def _parameter(self, c_type: str, wish: str, part: str, name: str, **more: Any) -> str:
        text = self.text.unused(wish)
        self.parameters.append(Parameter(c_type, text, part, name, **more))
        self.given.add(text)
        return text

    def _array(self, name: str, value: np.ndarray[Any, Any]) -> Strided:
        dtype = of_numpy(value.dtype)
        if not value.ndim or not is_served(value):
            raise NoLoopError(f"{name}, an array without dimensions, or not aligned")
        base = self._parameter(f"{dtype.storage}*", name, "pointer", name)
        self.names[base] = name
        sizes = tuple(self._extent(name, axis, extent) for axis, extent in enumerate(value.shape))
        where = tuple((Size.of(0), size.plus(-1)) for size in sizes)
        if value.flags.c_contiguous:
            return Strided(base, dtype, base, sizes, dense_strides(sizes), where, is_whole=True)
        strides = []
        for axis, (extent, stride) in enumerate(zip(value.shape, value.strides, strict=True)):
            if extent == 1 or stride == value.itemsize:
                strides.append("0" if extent == 1 else "1")
            else:
                wish = f"{base}_s{axis}"
                strides.append(self._parameter("int64", wish, "stride", name, axis=axis))
        turned = not is_row_by_row(value)
        return Strided(base, dtype, base, sizes, tuple(strides), where, True, turned)

    def _extent(self, name: str, axis: int, extent: int) -> Size:
        known = set(self.call.extents)
        size = self.call.size(extent)
        for text in set(self.call.extents) - known:
            self.parameters.append(Parameter("int64", text, "size", name, axis))
            self.given.add(text)
            self.text.used.add(text)
            self.facts.learn(text, Size.of(0), Size.of(LONGEST))
        return size

    def _outside(self, expression: ast.expr) -> Number:
        """A number that Python computes before the loop."""
        text = ast.unparse(expression)
        for known in self.parameters:
            if known.part == "outside" and known.name == text:
                return self._of_outside(known, expression)
        code = compile(ast.fix_missing_locations(ast.Expression(expression)), text, "eval")
        try:
            value = computed_outside(code, self.call.values)
        except Exception:  # which Python may never come to
            raise NoLoopError(f"{text}, which raises") from None
        number = number_type(value)
        if number not in (bool, int, float):
            raise NoLoopError(f"{text}, which is no number that a loop computes with")
        wish = f"p{sum(p.part == 'outside' for p in self.parameters)}"
        self._parameter(Number(number, "").c_type, wish, "outside", text, code=code, type=number)
        return self._of_outside(self.parameters[-1], expression)

    def _of_outside(self, known: Parameter, expression: ast.expr) -> Number:
        low, high = (-LARGEST_GIVEN, LARGEST_GIVEN) if known.type is int else (0, 1)
        size = Size.of(known.c_name) if known.type is int else None
        return Number(known.type, known.c_name, size, low, high, None, expression)

    def by_library(self, sizes: Sizes) -> bool | None:
        if any(name not in self.call.extents for size in sizes for name, _ in size.terms):
            return None
        rows, depth, columns = (value_of(size, self.call.extents) for size in sizes)
        self.products[sizes] = is_for_blas(rows, depth, columns)
        return self.products[sizes]

    def library(self) -> str:
        known = [p.c_name for p in self.parameters if p.part == "library"]
        return known[0] if known else self._parameter(LIBRARY, "library", "library", "")

    def _require(self, size: Size, least: int) -> bool:
        """Ask that a sum of extents is at least a number; False where this call has less."""
        if any(name not in self.call.extents for name, _ in size.terms):
            return False
        if value_of(size, self.call.extents) < least:
            return False
        self.required[size, least] = None
        return True

    def resolver(self, function: FunctionType) -> Callable[[str], Any]:
        for name in OWN:
            self.asked.value(function, name)
        is_given = any(function is v for v in self.call.values.values() if is_made_anew(v))

        def resolve(name: str) -> Any:
            is_own = is_given and name in function.__code__.co_freevars and name in self.first
            if not is_own or found_in(function, name) is not self.call.values[name]:
                return self.asked.value(function, name)
            if name in self.changed:
                raise NoLoopError(f"{name}, which a function has, too")  # perhaps by chance
            return self.first[name]

        return resolve

    def resolve_attribute(self, owner: Any, name: str) -> Any:
        if not isinstance(owner, ModuleType | np.ufunc):
            raise NoLoopError(f".{name} of {type(owner).__name__} inside a loop")
        return self.asked.value(owner, name)
