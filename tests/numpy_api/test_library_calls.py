"""Calls of NumPy's library are steps of a whole: NumPy computes them, with the bits of NumPy."""

import contextlib
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.library.table import LIBRARY

pytestmark = pytest.mark.host
RNG = np.random.default_rng(5)
M = RNG.random((4, 4))
SQUARE = M @ M.T + 4 * np.eye(4)  # of full rank, and positive definite
OTHER = SQUARE + np.triu(np.ones((4, 4))) * 0.1
LONG, WAVE = RNG.standard_normal(200), np.cos(np.arange(64) / 3)


def assigned_by_places(x):
    y = x * 2
    y[[1, 1, -1], 2:] = x[:3, :2]
    return y


# A name for each call, the call, and what it is of.
CALLS = {
    "sort": (lambda x: np.sort(x), OTHER),
    "sort along 0": (lambda x: np.sort(x, 0, kind="stable"), OTHER),
    "sort of all": (lambda x: np.sort(x, axis=None), OTHER),
    "argsort": (lambda x: np.argsort(x, axis=0), OTHER),
    "method argsort": (lambda x: x.argsort(kind="stable"), OTHER),
    "partition": (lambda x: np.partition(x, 2), OTHER),
    "partition by several": (lambda x: np.partition(x, (0, 2), axis=0), OTHER),
    "argpartition": (lambda x: np.argpartition(x, x.shape[0] // 2), LONG),
    "lexsort of rows": (lambda x: np.lexsort(x), OTHER),
    "lexsort of keys": (lambda x: np.lexsort((x[0], x[1] // 1)), OTHER),
    "sort_complex": (lambda x: np.sort_complex(x), OTHER),
    "median": (lambda x: np.median(x), OTHER),
    "median of rows": (lambda x: np.median(x, axis=1), OTHER),
    "median that keeps": (lambda x: np.median(x, axis=(0, 1), keepdims=True), OTHER),
    "nanmedian": (lambda x: np.nanmedian(x, axis=0), np.where(OTHER > 4.5, np.nan, OTHER)),
    "nanargmax": (lambda x: np.nanargmax(x, axis=1), OTHER),
    "nanargmin": (lambda x: np.nanargmin(x), OTHER),
    "quantile": (lambda x: np.quantile(x, 0.3), OTHER),
    "quantiles": (lambda x: np.quantile(x, [0.3, 0.5], axis=1), OTHER),
    "quantile by a method": (lambda x: np.quantile(x, 0.3, method="lower"), OTHER),
    "percentiles": (lambda x: np.percentile(x, [[30, 50]], axis=1, keepdims=True), OTHER),
    "nanquantile": (lambda x: np.nanquantile(x, 0.3, axis=0), OTHER),
    "nanpercentile": (lambda x: np.nanpercentile(x, 30), OTHER),
    "unwrap": (lambda x: np.unwrap(x, axis=0, period=3), OTHER),
    "i0": (lambda x: np.i0(x), OTHER),
    "bincount of weights": (
        lambda x: np.bincount((x * x).astype(np.int64), x, minlength=40), LONG
    ),
    "digitize by what is computed": (lambda x: np.digitize(x, np.sort(x[:9])), LONG),
    "histogram of weights": (lambda x: np.histogram(x, 4, (-1, 1), weights=x * x), LONG),
    "histogram of a density": (lambda x: np.histogram(x, 4, density=True), LONG),
    "histogram_bin_edges": (lambda x: np.histogram_bin_edges(x, 5), LONG),
    "fft": (lambda x: np.fft.fft(x), WAVE),
    "fft of a length": (lambda x: np.fft.fft(x, n=7, norm="ortho"), WAVE),
    "fft of twice the length": (lambda x: np.fft.fft(x, n=2 * x.shape[0]), WAVE),
    "ifft": (lambda x: np.fft.ifft(x, axis=0), OTHER),
    "rfft": (lambda x: np.fft.rfft(x, 9, 0), OTHER),
    "irfft": (lambda x: np.fft.irfft(x), WAVE),
    "irfft of a length": (lambda x: np.fft.irfft(x, 5), OTHER),
    "hfft": (lambda x: np.fft.hfft(x), WAVE),
    "ihfft": (lambda x: np.fft.ihfft(x), WAVE),
    "fft2": (lambda x: np.fft.fft2(x), OTHER),
    "ifft2": (lambda x: np.fft.ifft2(x, s=(3, 5)), OTHER),
    "fftn": (lambda x: np.fft.fftn(x, s=(3,), axes=(0,)), OTHER),
    "ifftn": (lambda x: np.fft.ifftn(x), OTHER),
    "rfft2": (lambda x: np.fft.rfft2(x), OTHER),
    "rfftn": (lambda x: np.fft.rfftn(x, axes=(1, 0)), OTHER),
    "irfft2": (lambda x: np.fft.irfft2(x), OTHER),
    "irfftn": (lambda x: np.fft.irfftn(x, (4, 4), (0, 1)), OTHER),
    "inv": (lambda x: np.linalg.inv(x), OTHER),
    "inv of several": (lambda x: np.linalg.inv(np.stack([x, x + 1])), OTHER),
    "cholesky": (lambda x: np.linalg.cholesky(x), SQUARE),
    "cholesky, upper": (lambda x: np.linalg.cholesky(x, upper=True), SQUARE),
    "solve a vector": (lambda x: np.linalg.solve(x, x[0]), OTHER),
    "solve a matrix": (lambda x: np.linalg.solve(x, x[:, :2]), OTHER),
    "solve several": (lambda x: np.linalg.solve(np.stack([x, x + 1]), x[:, :2]), OTHER),
    "lstsq": (lambda x: np.linalg.lstsq(x[:, :2], x[:, 3]), OTHER),
    "lstsq of a matrix": (lambda x: np.linalg.lstsq(x[:, :2], x, rcond=1e-9), OTHER),
    "lstsq of few rows": (lambda x: np.linalg.lstsq(x[:2], x[:2, 0]), OTHER),
    "det": (lambda x: np.linalg.det(x), OTHER),
    "det of several": (lambda x: np.linalg.det(np.stack([x, x + 1])), OTHER),
    "slogdet": (lambda x: np.linalg.slogdet(x), OTHER),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(x), SQUARE),
    "eigh": (lambda x: np.linalg.eigh(x, "U"), SQUARE),
    "svd": (lambda x: np.linalg.svd(x[:, :3]), OTHER),
    "svd of few": (lambda x: np.linalg.svd(x[:3], full_matrices=False), OTHER),
    "svd without vectors": (lambda x: np.linalg.svd(x, compute_uv=False), OTHER),
    "svdvals": (lambda x: np.linalg.svdvals(x[:3]), OTHER),
    "qr": (lambda x: np.linalg.qr(x[:, :3]), OTHER),
    "qr, complete": (lambda x: np.linalg.qr(x[:, :3], mode="complete"), OTHER),
    "qr, r": (lambda x: np.linalg.qr(x[:3], mode="r"), OTHER),
    "qr, raw": (lambda x: np.linalg.qr(x[:3], mode="raw"), OTHER),
    "pinv": (lambda x: np.linalg.pinv(x[:3], rcond=0.1), OTHER),
    "matrix_rank": (lambda x: np.linalg.matrix_rank(x), OTHER),
    "cond": (lambda x: np.linalg.cond(x), OTHER),
    "eigvals of complex": (lambda x: np.linalg.eigvals(x), OTHER + 1j),
    "eig of complex": (lambda x: np.linalg.eig(x), OTHER + 1j),
    "tensorinv": (lambda x: np.linalg.tensorinv(x, 1), OTHER),
    "tensorsolve": (lambda x: np.linalg.tensorsolve(x, x[0]), OTHER),
    "norm, spectral": (lambda x: np.linalg.norm(x, 2), OTHER),
    "norm, nuclear": (lambda x: np.linalg.norm(x, "nuc", (1, 0), keepdims=True), OTHER),
    "histogram2d": (lambda x: np.histogram2d(x, x * x, (4, 3)), LONG),
    "polyfit": (lambda x: np.polyfit(x[0], x[1], 2), OTHER),
    "packbits": (lambda x: np.packbits(x > 4, axis=1, bitorder="little"), OTHER),
    "packbits of all": (lambda x: np.packbits(x > 4), OTHER),
    "unpackbits": (lambda x: np.unpackbits(x.astype(np.uint8), axis=-1), OTHER),
    "unravel_index": (lambda x: np.unravel_index(x, (40, 5)), np.arange(30).reshape(5, 6)),
    "ravel_multi_index": (lambda x: np.ravel_multi_index((x, x), (9, 9)), np.arange(9)),
    "interp of a period": (lambda x: np.interp(x, x[0], x[1], period=3.0), OTHER),
    "correlate, same": (lambda x: np.correlate(x, x[:5], "same"), LONG),
    "assigned": (assigned_by_places, OTHER),
    "reduceat": (lambda x: np.add.reduceat(x, [0, 3, 1, 5]) * 1, LONG),
    "reduceat of a matrix": (lambda x: np.maximum.reduceat(x, np.arange(0, 4, 2), axis=1), OTHER),
    "reduceat at an argument": (
        lambda x: np.add.reduceat(x, (np.abs(x[:5]) * 9).astype(np.int64), 0), LONG
    ),
}  # fmt: skip


def difference(found, expected):
    """How a result differs from NumPy's, in type, shape or bits; "" where it does not."""
    if type(found) is not type(expected):
        return f"{type(found)}, expected {type(expected)}"
    if isinstance(expected, tuple):
        pairs = zip(found, expected, strict=True)
        return next((text for pair in pairs if (text := difference(*pair))), "")
    kinds = [(one.dtype, one.shape) for one in (found, expected)]
    if kinds[0] != kinds[1]:
        return f"{kinds[0]}, expected {kinds[1]}"
    return "" if found.tobytes() == expected.tobytes() else f"{found!r}, expected {expected!r}"


def steps(fused, *args):
    """Names of the calls and kernels of a whole."""
    return [k.name if k.data.template != "library" else k.data.row.name
            for k in fused.lower(*args).kernels]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_a_step_of_a_whole_with_numpys_bits(name):
    function, x = CALLS[name]
    fused = ow.fuse(function, fullgraph=True)
    for _ in range(2):
        assert difference(fused(x), function(x)) == ""
    assert fused.lower(x).kernels[-1].data.template == "library"
    assert difference(fused.reference(x), function(x)) == ""


def test_each_function_of_the_table_is_called():
    called = {step for function, x in CALLS.values() for step in steps(ow.fuse(function), x)}
    names = {row.name for row in LIBRARY.values()} | {"np.percentile"}
    assert names <= called, names - called


def _typed(dtype):
    return (OTHER * 3).astype(dtype)


KINDS = {
    **{dtype: _typed(dtype) for dtype in ("f4", "f2", "c16", "c8", "i8", "i4", "u1")},
    "Fortran": np.asfortranarray(OTHER),
    "transposed": OTHER.T,
    "backwards": OTHER[::-1],
    "apart": np.repeat(np.repeat(OTHER, 2, 0), 2, 1)[::2, ::2],
    "NaN": np.where(np.eye(4) == 1, np.nan, OTHER),
    "zeros": np.zeros((4, 4)),
    "negative zeros": -np.zeros((4, 4)),
    "another extent": np.eye(6) + 0.1,
    "one element": np.ones((1, 1)),
    "no rows": np.zeros((0, 4)),
    "nothing": np.zeros((0, 0)),
    "several": np.stack([OTHER, OTHER + 1, OTHER + 2]),
    "read-only": OTHER.copy(),
}
KINDS["read-only"].flags.writeable = False
# Of these NumPy's results are not decided: an inverse transform of nothing is memory as it was.
UNDECIDED = {("irfftn", "nothing"), ("irfftn", "no rows"), ("ifft2", "nothing")}


def outcome(function, x):
    """What a call gives or raises, and the warnings of NumPy's with their lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(x)
        except Exception as error:
            found = error
    own = [w for w in caught if not issubclass(w.category, ow.OpweaveWarning)]
    return found, [(w.category, str(w.message), w.lineno) for w in own]


# Calls that are tried with all of these, one of each rule; others with some.
FULLY = (
    "sort along 0", "argsort", "partition by several", "median of rows", "quantiles", "histogram of weights",
    "rfft", "irfft", "fft2", "irfft2", "solve a vector", "lstsq", "svd", "qr", "slogdet", "eigh",
)  # fmt: skip
SOME = ("f4", "i8", "Fortran", "no rows")


@pytest.mark.parametrize("name", CALLS)
def test_any_type_and_layout_gives_what_numpy_gives(name):
    function, _ = CALLS[name]
    fused = ow.fuse(function)
    for kind in KINDS if name in FULLY else SOME:
        x = KINDS[kind]
        expected, told = outcome(function, x)
        found, ours = outcome(fused, x)
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected)), (kind, found)
        elif (name, kind) not in UNDECIDED:
            assert difference(found, expected) == "", kind
            assert ours == told, kind


def scaled(x, w):
    return np.fft.irfft(np.fft.rfft(x * w) * 2) + x


def centred(x, w):
    y = np.abs(x - np.median(x)) * 1.4826
    return y / np.sort(y)[-1] + w


def ranked(x, w):
    order = np.argsort(x * w)
    return x[order] - w, order


def halves(x, w):
    u, s, vt = np.linalg.svd(x[:60].reshape(6, 10) + w[:10], full_matrices=False)
    return (u * s) @ vt, s[0]


@pytest.mark.parametrize(("function", "calls"), [
    (scaled, ["np.fft.irfft", "np.fft.rfft"]), (centred, ["np.median", "np.sort"]),
    (ranked, ["np.argsort"]), (halves, ["np.linalg.svd"]),
])  # fmt: skip
def test_kernels_stand_before_between_and_behind_calls(function, calls):
    fused = ow.fuse(function, fullgraph=True)
    for count in (64, 200, 64):
        x, w = RNG.random(count), RNG.random(count) + 1
        for found, expected in zip(fused(x, w), function(x, w), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    assert fused.check(x, w).ok
    assert sorted(set(steps(fused, x, w)) & {*calls}) == calls
    assert any(step.startswith(function.__name__) for step in steps(fused, x, w))
    assert len(fused.traces) == 1 + (function is halves) * 0
    for found, expected in zip(fused.unfused()(x, w), fused(x, w), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_numbers_of_a_call_reach_numpy_at_every_call():
    def chosen(x, q, k):
        return np.quantile(x, q) + np.partition(x, k)[0] * 2

    fused = ow.fuse(chosen, fullgraph=True)
    for q, k in ((0.25, 3), (0.5, 100), (0.75, np.int64(7))):
        assert difference(fused(LONG, q, k), chosen(LONG, q, k)) == ""
    assert len(fused.traces) == 2  # another type
    x = LONG.astype(np.float32)
    for q in (0.25, np.float64(0.25)):  # of which only Python's number gives way
        assert difference(fused(x, q, 3), chosen(x, q, 3)) == ""


def test_equal_calls_are_one():
    fused = ow.fuse(lambda x: np.sort(x) + np.sort(x) * np.sort(x, axis=0))
    assert steps(fused, OTHER).count("np.sort") == 2


def test_another_result_than_planned_is_numpys():
    fused = ow.fuse(lambda x: np.linalg.lstsq(x, x[:, 0] + 1, rcond=None))
    full, deficient = RNG.random((6, 2)), np.ones((6, 2))
    for x in (full, deficient, full):
        assert difference(fused(x), fused.__wrapped__(x)) == ""
    with pytest.raises(ow.errors.ShapeError, match="planned were"):
        fused.lower(full)(deficient)


def write_around(x, u):
    u += 1
    y = np.linalg.inv(x)
    u *= 2
    return y @ u


def writes_between(x, u):
    u[0] = 5
    np.linalg.cholesky(x - u)
    u[1] = 7


def sorts_behind(x, u):
    u.sort()
    u -= np.linalg.solve(x, u)


SINGULAR = np.zeros((4, 4))


@pytest.mark.parametrize("function", [write_around, writes_between, sorts_behind])
@pytest.mark.parametrize("x", [SQUARE, SINGULAR], ids=["regular", "singular"])
def test_an_error_leaves_arguments_as_numpy_does(function, x):
    fused = ow.fuse(function)
    for _ in range(2):
        plain, own = np.array([3.0, 1, 2, 4]), np.array([3.0, 1, 2, 4])
        expected, _ = outcome(lambda x, u=plain: function(x, u), x)
        found, _ = outcome(lambda x, u=own: fused(x, u), x)
        assert type(found) is type(expected)
        assert str(found)[:12] == str(expected)[:12]
        np.testing.assert_allclose(own, plain, rtol=1e-12)
    assert "np." in str(steps(fused, SQUARE, own))


def test_an_error_is_numpys_at_the_line_of_the_user():
    def unread(x):
        np.linalg.inv(x)  # nobody reads it
        return x * 2

    fused = ow.fuse(unread)
    with pytest.raises(np.linalg.LinAlgError, match="Singular") as caught:
        fused(SINGULAR)
    assert any(entry.frame.code.name == "unread" for entry in caught.traceback)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        fused.lower(SINGULAR)(SINGULAR)


def test_an_error_comes_once_and_keeps_no_array():
    calls = []

    def noted(x):
        y = np.linalg.inv(x)
        return y * 2

    fused, inv = ow.fuse(noted), np.linalg.inv
    for _ in range(2):
        own = SINGULAR.copy()
        kept = weakref.ref(own)
        gc.disable()
        with pytest.MonkeyPatch.context() as patch:
            operator = fused.lower(own).graph.nodes[0].operator
            patch.setitem(vars(operator), "called", lambda a: calls.append(1) or inv(a))
            with contextlib.suppress(np.linalg.LinAlgError):
                fused(own)
        del own
        gc.enable()
        assert kept() is None
    assert len(calls) == 2


REFUSED = {
    "out=": lambda x: np.median(x, axis=0, out=x[0]),
    "written operand": lambda x: np.median(x * 2, overwrite_input=True),
    "a count of bits": lambda x: np.unpackbits(x.astype(np.uint8), count=0),
    "bins by a rule": lambda x: np.histogram(x, "auto"),
    "bins by an array": lambda x: np.histogram(x, np.array([0.0, 1, 2])),
    "a rank of a vector": lambda x: np.linalg.matrix_rank(x[0]),
    "eigenvalues, real or not": lambda x: np.linalg.eigvals(x),
    "no axis": lambda x: np.sort(x, axis=3),
}


def caught(x):
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return x


def silenced(x):
    with np.errstate(invalid="ignore"):
        return np.quantile(x, 0.5)


REFUSED |= {"caught": caught, "silenced": silenced}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_step_cannot_be_runs_in_parts(name):
    function = REFUSED[name]
    with pytest.raises(ow.errors.UnsupportedError):
        ow.fuse(function, fullgraph=True)(SQUARE.copy())
    for x in (SQUARE, SINGULAR):
        expected, _ = outcome(function, x.copy())
        found, _ = outcome(ow.fuse(function), x.copy())
        assert type(found) is type(expected)
        if not isinstance(expected, Exception | int):
            assert difference(found, expected) == ""


def test_gpus_and_a_setting_have_them_in_parts():
    fused = ow.fuse(lambda x: np.sort(x) + 1)
    with pytest.raises(ow.errors.UnsupportedError, match=r"np\.sort"):
        fused.lower(LONG, target="sm_80")
    with ow.config(library=False):
        assert "runs in parts" in str(ow.fuse(lambda x: np.sort(x) + 1).explain(LONG))


def test_a_call_is_explained_and_shown():
    fused = ow.fuse(lambda x, k: np.partition(x * 2, k) + 1)
    text, program = fused.explain(LONG, 3).text, fused.lower(LONG, 3)
    for piece in (
        "2 kernel(s), 1 call(s) of NumPy's library", "call: np.partition",
        "f64[n0] -> f64[n0]; called between kernels", "no kernel computes it; 3.1 KiB in and out",
        "NumPy's library is called between kernels: multiply -> np.partition",
    ):  # fmt: skip
        assert piece in text
    assert "// np.partition(a: f64[n0], kth: k" in program.source
    assert "np.partition(v" in str(program.graph)
    program.compile()


def test_a_node_names_its_function_where_it_is_pickled():
    nodes = ow.fuse(scaled).lower(WAVE, WAVE).graph.nodes
    operators = [node.operator for node in nodes if node.is_library]
    assert pickle.loads(pickle.dumps(operators)) == operators
    assert [o.name for o in operators] == ["np.fft.rfft", "np.fft.irfft"]
    assert b"numpy.fft" in pickle.dumps(operators)


def test_a_function_is_called_whatever_its_name_stands_for_now(monkeypatch):
    sort = np.sort
    fused = ow.fuse(lambda x: sort(x) + 1, fullgraph=True)
    monkeypatch.setattr(np, "sort", np.negative)
    np.testing.assert_array_equal(fused(LONG), sort(LONG) + 1)


def test_an_argument_that_is_sorted_is_written():
    def sorts(x):
        x.sort(axis=0)
        x.partition(2)
        return x

    fused = ow.fuse(sorts, fullgraph=True)
    own, plain = OTHER.copy(), OTHER.copy()
    assert fused(own) is own
    assert difference(own, sorts(plain)) == ""
    assert steps(fused, own) == ["np.sort", "np.partition"]
