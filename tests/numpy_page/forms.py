"""python -m tests.numpy_page.forms [PATTERN]: NumPy's functions and methods in each form of a call.

The forms come from NumPy's own signatures: each argument by name, by position and left out, with
what is usual for its name; arrays as lists, ranges, tuples and numbers.  A fused function gives
NumPy's result, or an exception where NumPy raises one; whole functions refuse by our exceptions
alone.  Some ten minutes; ``tests/numpy_api/test_numpy_forms.py`` takes a sample.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import multiprocessing
import os
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice, product
from typing import Any

import numpy as np

import opweave as ow

from .judge import compared, function_of
from .rows import APART, APART_METHODS, OPERANDS

# What is tried for an argument of a name; of a needed one the first that NumPy takes.
USUAL: dict[str, tuple[str, ...]] = {
    "axis": ("0", "1", "-1", "(0, 1)", "None", "np.int64(0)", "5", "True", "1.0", "np.array(0)"),
    "axes": ("(1, 0)", "1", "[0, 1]"),
    "axis1": ("0", "1"), "axis2": ("1", "0"), "axisa": ("0",), "axisb": ("0",), "axisc": ("0",),
    "dtype": ("np.float64", "'f4'", "int", "np.complex64", "np.float16"),
    "keepdims": ("True", "False", "1", "np.True_"),
    "initial": ("2", "0.5", "None"),
    "where": ("m", "True", "x > 0"),
    "ddof": ("1", "0.5", "np.array(1)"), "correction": ("1",), "mean": ("np.full((1, 1), 0.5)", "None"),
    "order": ("'C'", "'F'", "'A'", "'K'", "None"),
    "copy": ("True", "False", "None"),
    "subok": ("True", "False"),
    "casting": ("'unsafe'", "'same_kind'", "'no'"),
    "mode": ("'clip'", "'wrap'", "'raise'", "'full'", "'same'", "'valid'", "'edge'", "'reduced'"),
    "side": ("'right'", "'left'"), "sorter": ("None",), "method": ("'linear'", "'lower'"),
    "decimals": ("1", "2", "0", "1.0", "np.int64(1)"), "offset": ("1", "-1"), "k": ("1", "-1", "0", "1.5", "True"), "n": ("2", "1", "0"),
    "prepend": ("0.0",), "append": ("1.0",), "to_end": ("0.0", "[1.0]"), "to_begin": ("0.0",),
    "deg": ("True", "2"), "rtol": ("0.1",), "atol": ("0.1",), "equal_nan": ("True",),
    "nan": ("1.0",), "posinf": ("2.0",), "neginf": ("-2.0",), "left": ("0.0",), "right": ("True",),
    "period": ("3.0",), "weights": ("abs(x)", "None"), "returned": ("True",),
    "rowvar": ("False",), "bias": ("True",), "fweights": ("None",), "aweights": ("None",),
    "edge_order": ("1", "2"), "dx": ("0.5",), "indexing": ("'ij'",), "sparse": ("True",),
    "shape": ("(6, 8)", "(2, 24)", "48", "-1", "(4, -1)", "(-2, 6)", "x.shape"),
    "newshape": ("(2, 24)",), "new_shape": ("(2, 3)", "5"), "reps": ("2", "(2, 1)"),
    "repeats": ("2", "[2]"), "shift": ("1", "(1, 2)", "[1]", "True", "1.5"), "source": ("0",),
    "destination": ("1",), "indices": ("[0, 1]", "j", "1", "(0, 1)"),
    "indices_or_sections": ("2", "[1, 2]", "(1, 2)"), "pad_width": ("1", "(1, 2)", "[1, 2]"),
    "mask": ("m",), "obj": ("1", "[0, 1]", "slice(1, 3)"), "start": ("1", "0"),
    "N": ("3",), "increasing": ("True",), "tol": ("10", "None"), "M": ("5",), "q": ("0.3", "30"),
    "kth": ("2",), "bins": ("4", "[-1.0, 0.0, 1.0]"), "ord": ("1", "2", "'fro'", "np.inf"),
    "UPLO": ("'U'",), "minlength": ("3",), "include_initial": ("True",),
    "assume_unique": ("True",), "invert": ("True",), "device": ("'cpu'", "None"),
    "min": ("-0.5", "y", "None"), "max": ("0.5", "None"), "a_min": ("-0.5", "None"),
    "a_max": ("0.5", "y", "None"), "fill_value": ("2.0", "s"), "default": ("1.0",),
    "condition": ("x > 0", "[True, False]"), "condlist": ("[x > 0, x > 1]",), "choicelist": ("[x, 2.0]",),
    "funclist": ("[1.0, 2.0]",), "vals": ("7.0", "[7.0]"), "val": ("3.0",), "value": ("2", "2.5"),
    "values": ("0.5", "x", "[1.0]"), "choices": ("[v] * 6", "[v, w]"), "rcond": ("None", "1e-9"),
    "hermitian": ("True",), "full_matrices": ("False",), "compute_uv": ("False",),
    "kind": ("None",), "trim": ("'f'",), "return_index": ("True",), "return_counts": ("True",),
    "return_inverse": ("True",), "sorted": ("False",), "density": ("True",), "range": ("(0, 1)",),
    "interpolation": ("'linear'",), "overwrite_input": ("False",), "discont": ("1.0",),
    "ind": ("1", "-1"), "wrap": ("True",), "arrays": ("[x, y]", "[x, x[:2]]", "(v, w)", "[v, 1.0]"),
    "tup": ("[x, y]", "(v, w)", "[v, [1.0] * 8]"), "arys": ("x",), "xi": ("v",), "operands": ("'ij->j', x",),
    "subscripts": ("'ij->j'",), "func1d": ("np.sum",), "func": ("np.sum",), "repeat": ("2",),
    "xp": ("w",), "fp": ("v",), "optimize": ("True", "'greedy'"), "seq_of_zeros": ("v",),
    "deg_": ("2",), "b": ("b", "y", "w", "x", "v"), "signature": ("None",),
    "test_elements": ("[1, 2]", "x"), "element": ("x", "i"), "c_or_r": ("v",), "p": ("[1.0, 2.0]", "v"),
    "ary": ("x", "d", "v"), "f": ("x", "v"), "y": ("y", "w"), "a1": ("v",), "a2": ("w",), "m": ("1", "x"),
    "ma": ("x",), "axis_": ("0",), "edges": ("1",), "size": ("3",), "nbins": ("3",), "sep": ("''",),
    "dims": ("(6, 8)",), "multi_index": ("(j, j)",), "dimensions": ("(2, 3)",), "prototype": ("x",),
    "dst": ("z",), "arr": ("x", "v"), "args": ("0",), "varargs": ("0.5", "w", "range(8)"), "kwargs": (),
}  # fmt: skip
ARRAYS = ("x", "v", "i", "a", "d", "n", "u", "c", "m")
# Of these functions: what is sorted.
NEEDS: dict[str, tuple[str, ...]] = {".searchsorted": ("w",), "np.searchsorted": ("w",)}
# What stands for an array where others are traced.
LIKE = (
    "[0.5, 1.5]", "[1.0] * 8", "range(8)", "range(6)", "(1, 2, 3, 4, 5, 6, 7, 8)", "2.5", "3", "True",
    "np.float32(2)", "np.arange(8.0)", "np.array(2.0)", "[v[0]] * 8", "s", "t", "range(3)", "np.ones((5, 5))",
)  # fmt: skip
# What writes into its first argument.
WRITING = frozenset("copyto putmask place put fill_diagonal put_along_axis".split())
METHODS_THAT_WRITE = frozenset("fill put sort partition".split())
# Not of arrays, or of a world of their own.
LEFT_OUT = APART | frozenset(
    """apply_along_axis apply_over_axes vectorize piecewise fromfunction indices nditer ndenumerate
    asarray_chkfinite asmatrix block bmat broadcast einsum empty empty_like insert mask_indices
    nested_iters ravel_multi_index save unravel_index vander_ empty_ histogramdd""".split()
)
CALLS_OF_A_PROCESS = 200
# Documented differences (docs/differences.md), by what is called.
KNOWN = {
    "np.average": "ZeroDivisionError",  # weights that add up to 0
    "np.power": "PowerError", "np.pow": "PowerError",
}  # fmt: skip


def targets() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Functions and methods: how a call begins, the function, what the call writes to."""
    for prefix, module in (("np.", np), ("np.linalg.", np.linalg)):
        for name in sorted(set(module.__all__) - LEFT_OUT):
            function = getattr(module, name)
            is_function = callable(function) and not isinstance(function, type)
            if is_function and not name.startswith("_"):
                yield f"{prefix}{name}", function, "z" if name in WRITING else ""
    for name in sorted(n for n in dir(np.ndarray) if not n.startswith("_")):
        function = getattr(np.ndarray, name)
        if callable(function) and name not in APART_METHODS:
            yield f".{name}", function, "z" if name in METHODS_THAT_WRITE else ""


def parameters_of(begin: str, function: Any) -> list[inspect.Parameter]:
    """NumPy's; of a method those that it hides, too."""
    from opweave.compiler.numpy_api.dispatch import METHODS

    row = METHODS.get(begin[1:]) if begin.startswith(".") else None
    found = function if row is None else row.like
    try:
        return list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return []


def forms(begin: str, function: Any, target: str) -> Iterator[str]:
    """Calls of a function, each once."""
    parameters = parameters_of(begin, function)
    needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD,)]
    optional = [p for p in parameters if p.default is not p.empty]
    if isinstance(function, np.ufunc):  # without out= the other elements are undefined
        optional = [p for p in optional if p.name != "where"]
    found: dict[str, None] = {}
    for base in islice(_bases(begin, needed, target), 3):
        for call in _variants(begin, base, needed, optional, target):
            found.setdefault(call)
    yield from found


def _bases(begin: str, needed: Sequence[inspect.Parameter], target: str) -> Iterator[list[str]]:
    """Values of what is needed that NumPy takes."""
    tried = [_tried(p, n, target) for n, p in enumerate(needed)]
    tried[:1] = [NEEDS.get(begin, tried[0])] if tried else []
    for values in islice(product(*tried), 400):
        if _is_traced(values) and _holds(_call(begin, values, {}, target)):
            yield list(values)


def _tried(parameter: inspect.Parameter, place: int, target: str) -> tuple[str, ...]:
    if place == 0 and target:
        return (target,)
    if parameter.name == "self":
        return ARRAYS
    return USUAL.get(parameter.name, ARRAYS)


def _is_traced(values: Sequence[str]) -> bool:
    names = set(re.findall(r"\b[a-z]\b", " ".join(values)))
    return bool(names & (set(OPERANDS) - {"s", "t"} | {"z"}))


def _call(begin: str, values: Sequence[str], named: dict[str, str], target: str) -> str:
    """The text of a call; of a method on its first value."""
    first, *rest = values if begin.startswith(".") else ("", *values)
    given = ", ".join([*rest, *(f"{k}={v}" for k, v in named.items())])
    text = f"{first}{begin}({given})"
    if "z" in (target, *values, *named.values()):
        return f"z = x * 2; {text}"
    return text


def _variants(
    begin: str, base: list[str], needed: Sequence[inspect.Parameter],
    optional: Sequence[inspect.Parameter], target: str,
) -> Iterator[str]:  # fmt: skip
    yield _call(begin, base, {}, target)
    names = [p.name for p in needed]
    if all(p.kind is p.POSITIONAL_OR_KEYWORD for p in needed) and not begin.startswith("."):
        yield _call(begin, [], dict(zip(names, base, strict=True)), target)
        if len(base) > 1:
            yield _call(begin, base[:1], dict(zip(names[1:], base[1:], strict=True)), target)
    placed = [p for p in optional if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not any(p.kind is p.VAR_POSITIONAL for p in needed):
        for last, parameter in enumerate(placed):
            before = [_shown(p.default) for p in placed[:last]]
            if None in before:
                before = ["None" if b is None else b for b in before]
            for value in (_shown(parameter.default), *USUAL.get(parameter.name, ())):
                if value is not None:
                    yield _call(begin, [*base, *map(str, before), value], {}, target)
    for parameter in optional:
        if parameter.kind is not parameter.POSITIONAL_ONLY and parameter.name != "out":
            for value in USUAL.get(parameter.name, ()):
                yield _call(begin, base, {parameter.name: value}, target)
    if any(p.name == "out" for p in optional) and not target:
        yield from _outs(
            begin, base, [p.name for p in placed], [_shown(p.default) for p in placed]
        )
    yield from _array_likes(begin, base, needed, target)
    yield from _pairs(begin, base, optional, target)


def _outs(
    begin: str, base: list[str], names: list[str], defaults: Sequence[str | None]
) -> Iterator[str]:
    """An array for the result: by name, by position, none at all."""
    made = f"z = np.array({_call(begin, base, {}, '')}); "
    yield _call(begin, base, {"out": "None"}, "")
    yield made + _call(begin, base, {"out": "z"}, "").removeprefix("z = x * 2; ")
    if "out" in names:
        before = ["None" if d is None else d for d in defaults[: names.index("out")]]
        yield made + _call(begin, [*base, *before, "z"], {}, "").removeprefix("z = x * 2; ")


def _array_likes(
    begin: str, base: list[str], needed: Sequence[inspect.Parameter], target: str
) -> Iterator[str]:
    for place, value in enumerate(base):
        if value in OPERANDS and not (place == 0 and (begin.startswith(".") or target)):
            for like in LIKE:
                changed = [*base[:place], like, *base[place + 1 :]]
                if _is_traced(changed):
                    yield _call(begin, changed, {}, target)


def _pairs(
    begin: str, base: list[str], optional: Sequence[inspect.Parameter], target: str
) -> Iterator[str]:
    """Two arguments by name, in the reverse of NumPy's order."""
    usual = {p.name: USUAL[p.name][0] for p in optional if USUAL.get(p.name) and p.name != "out"}
    named = [p.name for p in optional if p.name in usual and p.kind is not p.POSITIONAL_ONLY]
    for first, second in zip(named[1:], named, strict=False):
        yield _call(begin, base, {first: usual[first], second: usual[second]}, target)


def _shown(default: Any) -> str | None:
    """A default as text, None for NumPy's own mark of nothing given."""
    return None if default is np._NoValue else repr(default)


def _holds(call: str) -> bool:
    return _run(function_of(call)[0], call)[1] is None


def _run(function: Callable[..., Any], call: str) -> tuple[Any, Exception | None]:
    args = copy.deepcopy(function_of(call)[1])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args), None
        except Exception as error:
            return None, error


def difference(call: str) -> str:
    """How a fused function differs from NumPy; "" where it does not.

    A whole one is judged by its graph, which NumPy walks; one that has to run in parts may refuse
    to be whole by our exceptions alone.
    """
    function, _ = function_of(call)
    expected, error = _run(function, call)
    whole = ow.fuse(function, fullgraph=True)
    found, refusal = _run(lambda *args: whole.lower(*args).reference(*args), call)
    if not _is_ours(refusal, error):
        return f"whole: {type(refusal).__name__}: {refusal}"
    if refusal is not None or error is not None:
        found, refusal = _run(ow.fuse(function), call)
    if (
        not isinstance(expected, type(found))
        and type(found) is np.bool_
        and expected is bool(found)
    ):
        return ""  # a graph walked by NumPy knows no bools of Python
    return (
        "" if _is_known(call, refusal, error) else _compared_with(found, refusal, expected, error)
    )


def _compared_with(
    found: Any, ours: Exception | None, expected: Any, error: Exception | None
) -> str:
    if ours is not None:
        same = error is not None and _is_ours(ours, error)
        return "" if same else f"{type(ours).__name__}: {ours}"
    if error is not None:
        return f"gives {found!r:.60} where NumPy raises {type(error).__name__}: {error}"
    return compared(found, expected)


def _is_ours(found: Exception | None, error: Exception | None) -> bool:
    return found is None or isinstance(found, ow.errors.OpweaveError) or type(found) is type(error)


def _is_known(call: str, ours: Exception | None, error: Exception | None) -> bool:
    said = repr(ours) + repr(error)
    return any(call.startswith(name) and piece in said for name, piece in KNOWN.items())


def differences(calls: Sequence[str]) -> list[tuple[str, str]]:
    """The calls that differ, with how."""
    found = [(call, difference(call)) for call in calls]
    return [(call, text) for call, text in found if text]


def calls(pattern: str = "") -> list[str]:
    """All forms of the functions whose name holds a piece."""
    chosen = (target for target in targets() if re.search(pattern, target[0]))
    return [call for target in chosen for call in forms(*target)]


def sample(count: int, seed: int = 0) -> list[str]:
    """So many forms, spread over all functions; the same for a seed."""
    rng, made = random.Random(seed), {t[0]: [*forms(*t)] for t in targets()}
    names = [name for name, found in made.items() if found]
    each = [
        rng.sample(made[name], min(len(made[name]), 1 + count // len(names))) for name in names
    ]
    found = [call for of_one in each for call in of_one]
    return rng.sample(found, min(count, len(found)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.numpy_page.forms", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="of functions' names")
    parser.add_argument("--sample", type=int, help="so many calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    tried = (
        calls(options.pattern) if options.sample is None else sample(options.sample, options.seed)
    )
    parts = [tried[n : n + CALLS_OF_A_PROCESS] for n in range(0, len(tried), CALLS_OF_A_PROCESS)]
    wrong = 0
    # what is compiled stays in memory as long as its process
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context, max_tasks_per_child=1) as pool:
        for number, found in enumerate(pool.map(differences, parts), 1):
            wrong += len(found)
            print("".join(f"{call}: {text[:300]}\n" for call, text in found), end="")
            print(f"{number} of {len(parts)} parts", file=sys.stderr, flush=True)
    print(f"{len(tried)} calls, {wrong} other than NumPy's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
