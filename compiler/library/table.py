"""The functions of NumPy's library that a program calls, and what is known of their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.library import rules
from opweave.compiler.library import rules_linalg as linalg
from opweave.compiler.library.rules import LibraryRequest, Rule
from opweave.compiler.numpy_api.signatures import NumpyParameters
from opweave.compiler.numpy_api.statistics_correlating import asked_of_histogram
from opweave.opcodes.cached import cached_property
from opweave.opcodes.errors import UnsupportedError
from opweave.opcodes.operators.library_calls import name_of
from opweave.opcodes.operators.unnamed_calls import assigned, reduced_at

Small = Mapping[str, Callable[[Any], Any]]
Options = Mapping[str, Any]
# Parameters that say which axes, how many bins and what shape.
STATIC = frozenset("axis axes bins range ind deg ord shape dims".split())


@dataclass(frozen=True, eq=False)
class LibraryRow:
    """A function of NumPy's library.

    Attributes:
        function: itself.
        rule: gives the shapes of its results.
        items: parameters whose sequences may hold arrays.
        static: parameters whose numbers belong to the guard.
        refused: parameters that a call may not give.
        small: what an argument becomes while small arrays are tried, see ``tried.py``.
        like: an argument whose type and rank the result has, so that nothing is tried.
        fills: see ``LibraryCall``.
        when: of a function that kernels compute, too: the calls that they do not.
        signature: a function with its parameters, where it does not tell them.
    """

    function: Callable[..., Any]
    rule: Rule
    items: tuple[str, ...] = ()
    static: frozenset[str] = STATIC
    refused: tuple[str, ...] = ("overwrite_input", "out", "full", "cov", "count")
    small: Small = field(default_factory=dict)
    like: str = ""
    fills: str = ""
    when: Callable[[LibraryRequest], bool] | None = None
    signature: Callable[..., Any] | None = None

    @cached_property
    def parameters(self) -> NumpyParameters:
        return NumpyParameters.of(self.signature or self.function)

    def asked(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> LibraryRequest:
        """What a call asks, as it is written."""
        return LibraryRequest(self.parameters.named(args, kwargs), self.parameters.defaults)

    def by_position(self, named: Collection[str]) -> tuple[str, ...]:
        """Parameters that go by position: the first ones, of those that a call has."""
        return tuple(takewhile(named.__contains__, self.parameters.names))

    @property
    def name(self) -> str:
        """As messages call it."""
        return name_of(self.function)


def _lexsort(keys: Any, axis: int = -1) -> Any:
    """The parameters of ``np.lexsort``, which is in C."""


def _bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """The parameters of ``np.bincount``, which is in C."""


def _takes_singular_values(asked: LibraryRequest) -> bool:
    """Whether a norm of matrices needs what no kernel computes."""
    axis, ord = asked["axis"], asked["ord"]
    is_matrix = len(asked.shape("x")) == 2 if axis is None else isinstance(axis, tuple)
    return is_matrix and ord in (2, -2, "nuc")


def _has_no_kernel(asked: LibraryRequest) -> bool:
    """Whether no kernel computes a histogram; NumPy warns of a density of nothing."""
    if not is_traced_array(asked["a"]) or asked["density"]:
        return True
    try:
        asked_of_histogram(*(asked[name] for name in ("a", "bins", "density", "weights", "range")))
    except UnsupportedError:
        return True
    return False


def _rows(*functions: Any, rule: Rule, **options: Any) -> dict[Any, LibraryRow]:
    """Rows of some functions; one that this version of NumPy has not is None."""
    return {f: LibraryRow(f, rule, **options) for f in functions if f is not None}


def _named(name: str) -> Any:
    """A function that not every version of NumPy has."""
    return getattr(np.linalg, name, None)


# What a call of small arrays says in the place of what refers to longer ones.
MOST = 4
PLACES: Small = {"kth": lambda kth: 0}
LENGTH: Options = {"small": {"n": lambda n: n and min(n, MOST)}, "fills": "out"}
LENGTHS: Options = {
    "small": {"s": lambda s: s and tuple(n and min(n, MOST) for n in s)}, "fills": "out",
}  # fmt: skip

LIBRARY: dict[Any, LibraryRow] = {
    **_rows(np.sort, rule=rules.ordered, fills="method"),
    **_rows(np.argsort, rule=rules.ordered),
    **_rows(np.partition, rule=rules.ordered, small=PLACES, fills="method"),
    **_rows(np.argpartition, rule=rules.ordered, small=PLACES),
    **_rows(np.lexsort, rule=rules.of_keys, items=("keys",), signature=_lexsort),
    **_rows(np.sort_complex, rule=rules.like()),
    **_rows(np.median, np.nanmedian, np.nanargmax, np.nanargmin, rule=rules.reduced),
    **_rows(
        np.quantile, np.percentile, np.nanquantile, np.nanpercentile, rule=rules.quantiles
    ),
    **_rows(np.unwrap, rule=rules.like("p")),
    **_rows(np.i0, rule=rules.like("x")),
    **_rows(np.histogram, rule=rules.counted((0, 1)), when=_has_no_kernel),
    **_rows(
        np.bincount, rule=rules.of_bins, when=lambda asked: asked["weights"] is not None,
        static=frozenset(["minlength"]), small={"minlength": lambda bins: MOST},
        signature=_bincount,
    ),
    **_rows(
        np.digitize, rule=rules.like("x"), when=lambda asked: is_traced_array(asked["bins"])
    ),
    **_rows(np.histogram_bin_edges, rule=rules.counted((1,))),
    **_rows(np.fft.fft, np.fft.ifft, rule=rules.along(rules.all_of), **LENGTH),
    **_rows(np.fft.rfft, np.fft.ihfft, rule=rules.along(rules.half_of), **LENGTH),
    **_rows(np.fft.irfft, np.fft.hfft, rule=rules.along(rules.twice), **LENGTH),
    **_rows(
        np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn, rule=rules.over(rules.all_of),
        **LENGTHS,
    ),
    **_rows(np.fft.rfft2, np.fft.rfftn, rule=rules.over(rules.half_of), **LENGTHS),
    **_rows(np.fft.irfft2, np.fft.irfftn, rule=rules.over(rules.twice), **LENGTHS),
    **_rows(np.linalg.inv, np.linalg.cholesky, rule=rules.like()),
    **_rows(np.linalg.solve, rule=linalg.solved),
    **_rows(np.linalg.lstsq, rule=linalg.least_squares),
    **_rows(np.linalg.det, rule=linalg.of_each_matrix(1)),
    **_rows(np.linalg.slogdet, rule=linalg.of_each_matrix(2)),
    **_rows(np.linalg.eigvalsh, rule=linalg.values_of()),
    **_rows(np.linalg.eigh, rule=linalg.pairs_of),
    **_rows(np.linalg.svd, rule=linalg.singular),
    **_rows(_named("svdvals"), rule=linalg.singular_values),
    **_rows(np.linalg.qr, rule=linalg.factored),
    **_rows(np.linalg.pinv, rule=linalg.transposed),
    **_rows(np.linalg.matrix_rank, rule=linalg.rank),
    **_rows(np.linalg.cond, rule=linalg.condition),
    **_rows(np.linalg.eigvals, rule=linalg.values_of_complex),
    **_rows(np.linalg.eig, rule=linalg.pairs_of_complex),
    **_rows(np.linalg.tensorinv, rule=linalg.turned),
    **_rows(np.linalg.tensorsolve, rule=linalg.solved_tensor, refused=("axes",)),
    **_rows(np.linalg.norm, rule=rules.reduced_of("x"), when=_takes_singular_values),
    **_rows(np.histogram2d, rule=rules.counted_twice),
    **_rows(np.polyfit, rule=rules.fitted),
    **_rows(np.packbits, rule=rules.eight_fold(True)),
    **_rows(np.unpackbits, rule=rules.eight_fold(False)),
    **_rows(np.unravel_index, rule=rules.unravelled),
    **_rows(np.ravel_multi_index, rule=rules.ravelled, items=("multi_index",)),
    **_rows(np.interp, rule=rules.like("x"), when=lambda asked: asked["period"] is not None),
    **_rows(np.correlate, rule=rules.longer, when=lambda asked: asked["mode"] == "same"),
    **_rows(reduced_at, rule=rules.at_indices, refused=()),
    **_rows(
        assigned, rule=rules.like(), items=("indices",), refused=(), like="a", fills="out"
    ),
}  # fmt: skip
# Methods of arrays that are such functions, and those that write what the function gives.
METHODS: dict[str, LibraryRow] = {f.__name__: LIBRARY[f] for f in (np.argsort, np.argpartition)}
IN_PLACE: dict[str, LibraryRow] = {f.__name__: LIBRARY[f] for f in (np.sort, np.partition)}
