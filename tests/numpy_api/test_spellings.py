"""NumPy's spellings of what is fused: keywords, lists, places, and functions made of others."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.numpy_api.dispatch import FUNCTIONS
from opweave.opcodes import dtypes
from opweave.opcodes import errors as e
from tests.support.data import like_numpy

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 40)).astype(np.float32)
V = RNG.standard_normal(40)
TABLE = np.sort(RNG.standard_normal(37))
D = RNG.standard_normal((3, 4, 5))
I = RNG.integers(-50, 50, (6, 40)).astype(np.int32)
U = RNG.integers(0, 256, (6, 40)).astype(np.uint8)
O = np.array(3)
HOLES = np.where(RNG.random(40) < 0.3, np.nan, V)

# Each was wrong or refused once: function, arguments.
ONCE_WRONG = {
    "trace of stacks": (lambda d: (np.linalg.trace(d), np.trace(d)), D),
    "diagonal of stacks": (lambda d: np.linalg.diagonal(d, offset=1), D),
    "a product of small integers": (lambda i: np.vecdot(i, i), I),
    "einsum of small integers": (lambda u: (np.einsum("ij->j", u), np.einsum("ij,ij->i", u, u)), U),
    "a whole number that begins a sum of fractions": (lambda i: i.sum(initial=1.7), I),
    "logaddexp of bytes": (lambda u: np.logaddexp(u, np.uint8(7)), U),
    "no freedom": (lambda x: (x[:2].var(axis=0, ddof=2), x[:1].std(axis=0, ddof=3)), X),
    "the largest of nothing": (lambda x: x[:0].max(axis=0, initial=2.5), X),
    "the smallest of no rows": (lambda i: np.min(i[:, :0], axis=1, initial=7), I),
    "the largest of all that is no NaN": (lambda h: np.nanmax(h), HOLES),
    "a product to one number": (lambda v: np.tensordot(v, v, 1), V),
    "conj of truths": (lambda i: (i > 0).conj(), I),
    "a sum into another type": (lambda i: np.sum(i, axis=0, out=i[0] * 2), I),
    "a clip into itself": (lambda x: np.clip(y := x * 2, 0, 1, out=y) + y, X),
    "a list as a kernel": (lambda v: np.convolve(v, [1.0, 2.0, 1.0], "same"), V),
    "lists beside arrays": (lambda x: x[:, :3] * [1, 2, 3] + [0.5] * 3, X),
    "steps between arrays": (lambda v: np.linspace(v, v + 1, 5), V),
    "filled by a mean": (lambda v: np.full((2, 3), v.mean()), V),
    "an array of elements": (lambda v: np.array([v[0], v.max(), 2.0]), V),
    "an element of the best": (lambda v: v[v.argmax()] - v[np.argmin(v)], V),
    "a written element": (lambda x, o: (y := x * 2).__setitem__((o, slice(None)), 7) or y, X, O),
    "whole parts of a number": (lambda x: np.imag(np.round(x[0, 0])), I),
    "membership of a number": (lambda x: np.isin(x[0, 0], [0, 1, 3]), I),
    "a table of integers for bfloat16": (
        lambda v: np.searchsorted(np.array([-3, 0, 7]), v, "right"),
        V.astype(dtypes.BF16.numpy),
    ),
    "no float to NumPy": (lambda h: np.nan_to_num(h, nan=2), HOLES.astype(dtypes.BF16.numpy)),
    "nothing, resized": (lambda x: (np.resize(x[:, :0], (3, 2)), np.resize(x, (0, 4))), X),
    "rounds of eigenvalues": (lambda d: np.linalg.matrix_power(d[:, :4, :4], 5), D),
}  # fmt: skip


def wider(a):
    """Results that ``out=`` repeats."""
    y, z, w = (np.stack([a, a]) * 2 for _ in range(3))
    np.add(a, a, out=y)
    np.clip(a, 0, 1, out=z)
    np.abs(a[:1], out=w, where=a > 0)
    return y, z, w


def of_numbers(a, s):
    """Results of numbers alone, with an array for ``out=`` only."""
    y, i = a * 2, np.zeros_like(a, dtype=np.int64)
    pair = np.divmod(7, 2, out=(a * 1, a * 1))
    found = [np.square(3, out=a * 1), np.multiply(s, 2, out=a * 1), np.add(1, 2, out=i)]
    clips = [np.clip(5, 0, 2, out=a * 1), np.clip(s, 0, 2, out=a * 1), np.sqrt(2.0, out=y)]
    return *pair, *found, *clips, np.exp([1.0] * 40, out=a * 1), np.add(s, 1, out=y, where=y > 0)


def square_in_place(x, m):
    y = x * 1.5
    rows = y[:2]
    y @= m.astype(np.float32)
    return y, rows


ONCE_WRONG |= {
    "out= that is wider than the result": (wider, V),
    "out= of numbers": (of_numbers, V, 2.5),
    "out= of NumPy's numbers": (of_numbers, V, np.float32(2.5)),
    "a square product in place": (square_in_place, X, np.ones((40, 40))),
    "elements stacked": (lambda v: np.stack([v.min(), v.mean(), v[0], 1.5], axis=-1), V),
    "elements joined": (lambda v: np.concatenate([v.min(), v], axis=None), V),
}


def same(found, expected):
    pairs = [r if isinstance(r, tuple) else (r,) for r in (found, expected)]
    for a, b in zip(*pairs, strict=True):
        assert type(a) is type(b)
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.host
@pytest.mark.parametrize("name", ONCE_WRONG)
@pytest.mark.filterwarnings("ignore")
def test_what_was_wrong_once_is_numpys(name):
    function, *args = ONCE_WRONG[name]
    same(ow.fuse(function)(*args), function(*args))


# name, function, arguments, kernels at most
FUSED = [
    ("searchsorted", lambda t, v: np.searchsorted(t, v), (TABLE, V), 1),
    ("searchsorted from the right", lambda t: np.searchsorted(t, t, "right"), (TABLE,), 1),
    ("searchsorted by NaN", lambda t, h: np.searchsorted(t, h), (TABLE, HOLES), 1),
    ("searchsorted of integers", lambda i: np.searchsorted(np.array([-9, 0, 30]), i), (I,), 1),
    ("digitize", lambda x: np.digitize(x * 2, [-1.0, 0.0, 0.5]), (X,), 1),
    ("digitize downwards", lambda x: np.digitize(x, [1, 0, -1], right=True), (X,), 1),
    ("interp", lambda x, t: np.interp(x * 2, t, np.exp(t)) + 1, (X, TABLE), 2),
    ("interp with ends", lambda h, t: np.interp(h, t, t * t, -1.0, np.inf), (HOLES, TABLE), 2),
    ("interp at the points", lambda t: np.interp(t, t, t * 3), (TABLE,), 2),
    ("a place", lambda x, o: x[o] * 2 + x[:, o][:, None], (X, O), 1),
    ("a place from the end", lambda x, o: x[-o, 1:] + x[0, o], (X, O), 1),
    ("nextafter", lambda x: np.nextafter(x, x * 2) - np.spacing(x), (X,), 1),
    ("logsumexp", lambda x: ow.logsumexp(x * 200, axis=1), (X,), 1),
    ("logsumexp of nothing but -inf", lambda x: ow.logsumexp(x[:, :2] - np.inf, axis=1), (X,), 1),
    ("a computation in float64", lambda x: np.add(x, 1, dtype=np.float64), (X,), 1),
    ("a table of products", lambda v, x: np.multiply.outer(v, x) + 1, (V, X), 1),
    ("norms", lambda x: np.linalg.norm(x, 3, axis=1) + np.linalg.norm(x, np.inf), (X,), 2),
    ("inserted", lambda v: np.insert(v * 2, [1, 5, 5], [7.0, 8.0, 9.0]), (V,), 1),
    ("deleted", lambda v: np.delete(v * 2, [0, -1 + 40, 7]), (V,), 1),
    ("in blocks", lambda x: np.block([[x, x * 2], [np.zeros((1, 80))]]), (X,), 1),
]


@pytest.mark.host
@pytest.mark.parametrize("case", FUSED, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.filterwarnings("ignore")
def test_it_is_numpys_in_few_kernels(case, target):
    _, function, arguments, kernels = case
    program = like_numpy(function, *arguments, target=target)

    assert len(program.kernels) <= kernels


@pytest.mark.host
def test_extents_share_a_compilation():
    def function(x, table):
        first, *_ = np.array_split(x, 3)
        places = np.searchsorted(table, x)
        return first, places, np.diag(x, 1), np.resize(x, 50), np.append(x, first)

    fused = ow.fuse(function, fullgraph=True)
    for count in (40, 41, 77):
        x = RNG.standard_normal(count)
        table = np.sort(RNG.standard_normal(64 + count // 2))
        same(fused(x, table), function(x, table))
    assert fused._specialised.traces == 1


@pytest.mark.host
def test_places_that_there_are_not_raise():
    fused = ow.fuse(lambda x, o: x[o] * 2)
    written = ow.fuse(lambda x, o: (y := x * 2).__setitem__(o, 1) or y)
    for place in (6, -7):
        for function in (fused, written):
            with pytest.raises(IndexError):
                function(X, np.array(place))
    np.testing.assert_array_equal(fused(X, np.array(-6)), X[-6] * 2)


@pytest.mark.host
def test_functions_of_scipy_that_ask_no_array_are_fused():
    special = pytest.importorskip("scipy.special")
    import scipy

    found = special.logsumexp
    for function in (
        lambda x: special.logsumexp(x, axis=1) + 1,
        lambda x: scipy.special.softmax(x * 2, axis=1),
        lambda x: found(x),
    ):
        program = ow.fuse(function, fullgraph=True)
        np.testing.assert_allclose(program(X), function(X), rtol=1e-5)
    weighted = ow.fuse(lambda x: special.logsumexp(x, b=x * x))
    np.testing.assert_allclose(weighted(X), special.logsumexp(X, b=X * X), rtol=1e-5)


def test_a_function_is_numpys_by_itself_and_not_by_its_name():
    def trace(a):
        return a

    assert trace not in FUNCTIONS
    assert FUNCTIONS[np.trace] is not FUNCTIONS[np.linalg.trace]


@pytest.mark.parametrize(("function", "error", "piece"), [
    (lambda x: np.linalg.norm(x, "max", axis=1), e.ShapeError, "'max' is no order"),
    (lambda x: np.linalg.norm(x, 7), e.ShapeError, "7 is no order of a norm of matrices"),
    (lambda x: np.linalg.norm(x[None], 1), e.ShapeError, "one axis or two"),
    (lambda x: np.split(x, 4), e.ShapeError, "equal division"),
    (lambda x: np.insert(x, 50, 0, axis=1), e.BoundsError, "insert: index 50"),
    (lambda x: np.delete(x, 6, axis=0), e.BoundsError, "index 6 is out of bounds"),
    (lambda x: np.block([x, [x]]), e.ShapeError, "lists of one depth"),
    (lambda x: np.interp(x, x[0], x[0, :3]), e.ShapeError, "not of the same length"),
    (lambda x: np.digitize(x, [0.0, 2.0, 1.0]), e.ShapeError, "monotonically"),
    (lambda x: np.searchsorted(x, 1.0), e.ShapeError, "expected a vector"),
    (lambda x: np.add(x, 1, casting="no", dtype=np.int32), e.DTypeError, "np.add"),
    (lambda x: np.add(x, x, where=x > 0), e.UnsupportedError, "without out="),
    (lambda x: np.copyto(np.diagonal(x), 1), e.UnsupportedError, "argument"),
    (lambda x: np.fill_diagonal(x[0] * 1, 1), e.ShapeError, "at least 2-d"),
    (lambda x: np.diag(x[None]), e.ShapeError, "1 or 2 dimensions"),
    (lambda x: np.array([x, x[0]]), e.ShapeError, "different shapes"),
    (lambda x: np.sum(x, axis=0, out=x[0] * 2.0 > 0), e.UnsupportedError, "out= of bool"),
])  # fmt: skip
def test_mistakes_are_named(function, error, piece):
    with pytest.raises(error) as caught:
        ow.fuse(function, fullgraph=True)(X)

    assert piece in str(caught.value)
    assert "test_spellings.py:" in str(caught.value)


@pytest.mark.nvrtc
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_gpus_compiler_takes_the_new_operators(dtype):
    def function(x, t):
        near = np.nextafter(x, x * 2) - np.spacing(x)
        return near, ow.lgamma(x), np.searchsorted(t, x), np.interp(x, t, t)

    for target in ("sm_75", "sm_90a"):
        program = ow.fuse(function).lower(X.astype(dtype), TABLE.astype(dtype), target=target)
        assert all(kernel.spill_bytes == 0 for kernel in program.kernels)


def test_a_norm_of_bfloat16_is_float64_as_numpys():
    x = np.arange(6).reshape(2, 3).astype("bfloat16")
    for axis in (None, 0):
        found = ow.fuse(lambda x, axis=axis: np.linalg.norm(x, axis=axis))(x)
        assert found.dtype == np.linalg.norm(x, axis=axis).dtype == np.float64
