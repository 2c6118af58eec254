"""Hold a script to NumPy: results, what was written, what shares memory, and what is raised.

script     results and arguments have NumPy's dtypes, shapes and values
sharing    results share memory with arguments and with each other where NumPy's do
error      where NumPy raises, opweave raises the same or a class of it
crash      where NumPy does not raise, nor does opweave, but for what the documents name
repeat     ``ow.repeat`` is the loop by NumPy

Integers, truth and moved data are held to NumPy's bits.  Numbers are held to NumPy's own with what
they may differ by: the script is run in a wider type, too, and where NumPy's result differs from
that, a multiple of the difference is forgiven in the whole array; where nothing differs, nothing
was rounded.  Where NumPy's own result is far from the wider one (a cancellation, an overflow, a
comparison on the edge), an element is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import opweave as ow
from opweave.opcodes import errors

from ..oracles import Failure, Verdict, bits_of
from ..program import Array, Number
from .draw import quiet
from .forms import MOVES
from .script import Script, compiled, given

# How a script is called: what makes the function of it.
MODES: dict[str, Callable[[Any], Any]] = {
    "fuse": ow.fuse,
    "replay": ow.fuse(replay=True),
    "repeat": ow.fuse,
}
ROUNDS = 3  # of ow.repeat
AGAIN = 4  # of the last call, so often
# What is forgiven: a multiple of NumPy's own error, and of the last place of the largest value.
TIMES, PLACES = 16, 32
# Of its size, an error of NumPy's beyond which an element is undecided.
FAR = 1e-2
# By how many units the arguments are off, of which each may come upon another index or branch.
MOVED = (-7, -5, -3, -2, 2, 3, 5, 7)
# What opweave refuses by design: the error's text, and the page that names it.
DOCUMENTED = (
    (
        r"Python integer .* out of bounds",
        "differences.md: an integer of a call that a type cannot hold",
    ),
)
READ_ONLY = re.compile("read-only")
# Where it shows that results lie in rows.
RESHAPES = re.compile("ravel|reshape|contiguous|fortran")
IN_COLUMNS = ("Fortran", "moved", "repeated", "repeated rows")
GATHERED_COLUMNS = re.compile(r"\b\w+\[\.\.\., \[0, 0, -1\]\]")  # NumPy's lie in columns
# What a script has whose results may be arrays of their own where NumPy's are views; so may those
# that NumPy gives out to read only (differences.md).
SPREAD = re.compile(
    r"broadcast|meshgrid|einsum|rot90|contiguousarray|fortran|reshape|ravel|\.(real|imag)\b"
)
NARROW = re.compile(r"np\.float(16|32|64)\b|\bfloat\b(?=\))")


class Wrong(Exception):
    """An oracle does not hold."""

    def __init__(self, oracle: str, message: str):
        super().__init__(message)
        self.oracle = oracle


@dataclass
class Ran:
    """One call: what was given, what came back, or what was raised."""

    values: list[Any]
    result: Any = None
    error: Exception | None = None
    leaves: list[Any] = field(default_factory=list)

    @property
    def all(self) -> list[Any]:
        return [*self.leaves, *self.values]


def run(function: Any, script: Script, values: list[Any]) -> Ran:
    """Call a function of a script on values, which it may write to."""
    args, named = script.bound(values)
    made = Ran(values)
    try:
        with quiet():
            made.result = function(*args, **named)
    except Exception as error:  # to be compared with what NumPy raises
        made.error = error
    made.leaves = list(leaves(made.result))
    return made


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def skeleton(value: Any) -> Any:
    """A result without its arrays: containers, None and texts."""
    if isinstance(value, dict):
        return {key: skeleton(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(skeleton, value))
    return None if value is None else "leaf"


def judge_script(script: Script) -> Verdict:
    """Make all calls of a script, in order, by one fused function; the first fault is kept.

    What NumPy computes of columns lies in columns, so that a reshape of it is a copy; ours lies in
    rows (differences.md).  Such a script is judged by what it is given, and gathers, in rows.
    """
    verdict = _judged(script)
    if verdict.failures and RESHAPES.search(script.source):
        rows = tuple(tuple(map(_in_rows, c)) for c in script.calls)
        lines = tuple(
            replace(line, text=GATHERED_COLUMNS.sub(r"np.ascontiguousarray(\g<0>)", line.text))
            for line in script.lines
        )
        straight = replace(script, calls=rows, lines=lines)
        if straight != script:
            verdict = _judged(straight)
            verdict.refused = verdict.refused or "layout (results are C-contiguous)"
    return verdict


def _in_rows(argument: Array | Number) -> Array | Number:
    if isinstance(argument, Array) and argument.layout in IN_COLUMNS:
        return replace(argument, layout="C")
    return argument


def _judged(script: Script) -> Verdict:
    verdict = Verdict(ran=["scripts"])
    try:
        _judge_calls(script, verdict)
        if script.mode == "repeat":
            _judge_repeat(script)
    except Wrong as wrong:
        verdict.failures.append(Failure(wrong.oracle, str(wrong)))
    return verdict


def _judge_calls(script: Script, verdict: Verdict) -> None:
    """The last call is made again, as often as C takes to begin it, and its loops, itself."""
    plain, globals_ = script.function(lambda f: f)
    other, others_globals = script.function(ow.fuse)
    fused = MODES[script.mode](other)
    for number, call in enumerate(script.calls):
        for scope in (globals_, others_globals):
            if number == 1 and "G_NUMBER" in scope:
                scope["G_NUMBER"] = 2
        wide = None
        for again in range(AGAIN if number == len(script.calls) - 1 else 1):
            want = run(plain, script, given(call))
            got = run(fused, script, given(call))
            try:
                if _has_answer(script, want, got, verdict):
                    wide = wide or widened(script, number)
                    _check(script, number, want, got, wide, verdict)
                    _check_sharing(script, want, got)
            except Wrong as wrong:
                where = f"call {number}, time {again + 1}" if again else f"call {number}"
                raise Wrong(wrong.oracle, f"{where}: {wrong}") from got.error


def _has_answer(script: Script, want: Ran, got: Ran, verdict: Verdict) -> bool:
    """Both gave a result; where NumPy raised, opweave raised the like of it."""
    if want.error is not None:
        if not isinstance(got.error, _public(type(want.error))):
            is_own = READ_ONLY.search(shown(want.error)) and SPREAD.search(script.source)
            if got.error is None and is_own:
                verdict.refused = "an array of its own (differences.md)"
                return False
            ours = "nothing" if got.error is None else shown(got.error)
            raise Wrong("error", f"NumPy raised {shown(want.error)}, opweave {ours}")
        return False
    if got.error is not None:
        text = shown(got.error)
        for pattern, page in DOCUMENTED:
            if isinstance(got.error, errors.OpweaveError) and re.search(pattern, text):
                verdict.refused = f"{type(got.error).__name__} ({page})"
                return False
        raise Wrong("crash", f"opweave raised {text}")
    return True


def _public(kind: type) -> type:
    """The nearest class that a user can name: NumPy's UFuncTypeError is none of numpy.exceptions."""
    return next(c for c in kind.__mro__ if "._" not in c.__module__)


def shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


@dataclass(frozen=True)
class Wide:
    """What a script gives in a wider type, leaf by leaf; None where it cannot be run so."""

    values: list[Any] | None

    def of(self, place: int, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        if self.values is None or place >= len(self.values):
            return None
        found = np.asarray(self.values[place])
        return found if found.shape == like.shape else None


def widened(script: Script, number: int, moved: int = 0) -> Wide:
    """A call with its numbers in a wider type, the text of the script likewise.

    ``moved``: by how many units in the last place, about, the floats among the arguments are off.
    """
    source = NARROW.sub("np.longdouble", script.source).replace("np.complex64", "np.clongdouble")
    function, scope = compiled(source, lambda f: f)
    if number and "G_NUMBER" in scope:
        scope["G_NUMBER"] = 2
    values = given(script.calls[number])
    wide: list[Any] = []
    for value in values:  # an argument that comes twice stays one
        known = [n for n, v in enumerate(values[: len(wide)]) if v is value]
        wide.append(wide[known[0]] if known else _wider(value, moved))
    found = run(function, script, wide)
    return Wide(None if found.error is not None else found.all)


def _wider(value: Any, moved: int) -> Any:
    kind = np.asarray(value).dtype.kind
    if kind not in "fc" or isinstance(value, float):
        return value
    wide = value.astype(np.longdouble if kind == "f" else np.clongdouble)
    return wide * (1 + moved * np.finfo(value.dtype).eps) if moved else wide


def _check(script: Script, number: int, want: Ran, got: Ran, wide: Wide, verdict: Verdict) -> None:
    if skeleton(want.result) != skeleton(got.result):
        raise Wrong(
            "script", f"{skeleton(want.result)} by NumPy, {skeleton(got.result)} by opweave"
        )
    moves = all(kind in MOVES for kind, _ in script.forms)
    exact = _is_exact(want.all, wide)
    place = _last_place(script, want.all)
    # of what was rounded, an index or a branch may be another: "x[int(x.sum()) % 3] = -1"
    moved = [widened(script, number, by) for by in MOVED if not exact]
    for n, (one, other) in enumerate(zip(want.all, got.all, strict=True)):
        name = f"result {n}" if n < len(want.leaves) else script.names[n - len(want.leaves)]
        x, y = np.asarray(one), np.asarray(other)
        if kind_of(one) != kind_of(other):
            raise Wrong("script", f"{name}: {kind_of(one)} by NumPy, {kind_of(other)} by opweave")
        if x.dtype == object:
            continue
        open_ = _undecided(x, wide.of(n, x))
        if any((_undecided(x, other.of(n, x)) & ~open_).any() for other in moved):
            open_ = np.ones(x.shape, bool)
        verdict.elements += x.size
        verdict.undecided += int(open_.sum())
        if moves and x.dtype.kind in "fc":
            wrong = bits_differ(x, y)
        else:
            allowed = 0 if x.dtype.kind in "biu" else _allowed(x, wide.of(n, x), exact, place)
            wrong = (differs(x, y, allowed) & ~open_).reshape(-1)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise Wrong("script", f"{name}: {int(wrong.sum())} of {x.size} elements differ, the "
                        f"first at {at}: {x.reshape(-1)[at]!r} by NumPy, "
                        f"{y.reshape(-1)[at]!r} by opweave")  # fmt: skip


def bits_differ(x: Any, y: Any) -> np.ndarray[Any, Any]:
    """Of each element, in C order, whether a bit of a part of it differs."""
    differ: np.ndarray[Any, Any] = bits_of(x) != bits_of(y)
    return differ.reshape(x.size, 2).any(axis=-1) if x.dtype.kind == "c" else differ


def kind_of(value: Any) -> str:
    """What a value is, with its dtype and shape; NumPy's own numbers and Python's apart."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__


def _is_exact(values: list[Any], wide: Wide) -> bool:
    """All numbers were computed in a wider type, and none is other there: nothing was rounded."""
    if wide.values is None or len(wide.values) != len(values):
        return False
    pairs = [(np.asarray(v), np.asarray(w)) for v, w in zip(values, wide.values, strict=True)]
    if any(v.dtype.kind in "fc" and w.dtype.itemsize <= v.dtype.itemsize for v, w in pairs):
        return False  # integers became numbers in the script, of the same type in both
    return all(v.shape == w.shape and not differs(v, w, 0).any()
               for v, w in pairs if v.dtype != object)  # fmt: skip


def _last_place(script: Script, values: list[Any]) -> float:
    """A unit in the last place, in the narrowest type of the script, of its largest number."""
    numbers = [np.asarray(v) for v in values]
    numbers = [v for v in numbers if v.dtype.kind in "biufc" and v.size]
    types = {v.dtype for v in numbers if v.dtype.kind in "fc"}
    types |= {np.dtype(f"f{int(b) // 8}") for b in NARROW.findall(script.source) if b}
    with quiet():
        sizes = [np.abs(v.astype(np.complex128)) for v in numbers]
    largest = max((float(s[np.isfinite(s)].max(initial=0)) for s in sizes), default=0)
    return max((float(np.finfo(t).eps) for t in types), default=2e-16) * max(largest, 1)


def _undecided(x: Any, wide: Any) -> np.ndarray[Any, Any]:
    """Where NumPy's result is far from the wider one."""
    # annex G leaves the parts of complex numbers open that are not finite
    strange = np.asarray(~np.isfinite(x) if x.dtype.kind == "c" else np.zeros(x.shape, bool))
    if wide is None or wide.dtype == object or x.dtype.kind not in "biufc":
        return strange
    if x.dtype.kind in "biu":
        return strange | differs(x, wide, 0)
    return strange | differs(x, wide, FAR * np.maximum(np.abs(x), FAR))


def _allowed(x: Any, wide: Any, exact: bool, place: float) -> Any:
    """By how much elements may differ."""
    if exact:
        return 4 * np.finfo(x.dtype).eps * np.abs(x)
    own = 0.0
    if wide is not None and x.size:
        with quiet():
            apart = np.abs(np.asarray(x, np.clongdouble) - wide)
        own = float(apart[np.isfinite(apart)].max(initial=0))
    return TIMES * own + PLACES * place


def differs(x: Any, y: Any, allowed: Any) -> np.ndarray[Any, Any]:
    """Where two arrays differ by more than is allowed; NaN is like NaN."""
    with quiet():
        same = (x == y) | ((x != x) & (y != y))
        if x.dtype.kind in "fc":
            same |= np.abs(x - y) <= allowed
    return np.asarray(~same)


def _check_sharing(script: Script, want: Ran, got: Ran) -> None:
    is_spread = SPREAD.search(script.source) is not None
    for n in range(len(want.leaves)):
        for k in range(n + 1, len(want.all)):
            ours, theirs = _share(got.all[n], got.all[k]), _share(want.all[n], want.all[k])
            is_own = is_spread or any(map(_is_read_only, (want.all[n], want.all[k])))
            if ours != theirs and not (theirs and is_own):
                raise Wrong("sharing", f"results and arguments {n} and {k}: shared "
                            f"{theirs} by NumPy, {ours} by opweave")  # fmt: skip


def _share(a: Any, b: Any) -> bool:
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return False
    return np.may_share_memory(a, b) and np.shares_memory(a, b)


def _is_read_only(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.flags.writeable


def _judge_repeat(script: Script) -> None:
    """``ow.repeat`` of a script whose first result can be its first argument."""
    plain, _ = script.function(lambda f: f)
    other, _ = script.function(ow.fuse)

    def first(function: Any) -> Any:
        return lambda *args: next(leaves(function(*args)))

    values = given(script.calls[0])
    if script.packing not in ("positions", "stars"):
        return
    state = run(plain, script, given(script.calls[0]))
    fits = list(leaves(state.result))[:1]
    if not fits or kind_of(fits[0]) != kind_of(values[0]) or _writes(script, state):
        return
    try:
        with quiet():
            found = ow.repeat(first(other), ROUNDS)(*given(script.calls[0]))
    except errors.OpweaveError:
        return  # it would run in parts, or the state does not fit
    with quiet():
        for _ in range(ROUNDS):
            values[0] = first(plain)(*values)
    x, y = np.asarray(values[0]), np.asarray(found)
    near = 1e-2 * np.abs(x) + 1e-2 if x.dtype.kind in "fc" else 0
    if kind_of(x) != kind_of(y) or (np.isfinite(x) & differs(x, y, near)).any():
        raise Wrong("repeat", f"{x!r:.200} by NumPy, {y!r:.200} by opweave")


def _writes(script: Script, state: Ran) -> bool:
    """It changes its arguments, which a repeated step may not."""
    before = given(script.calls[0])
    return any(
        not np.array_equal(np.asarray(a), np.asarray(b))
        for a, b in zip(before, state.values, strict=True)
    )
