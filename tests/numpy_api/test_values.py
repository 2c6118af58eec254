"""Values, types and characters of results are NumPy's, however the function runs."""

import warnings

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host

RNG = np.random.default_rng(21)
T = np.sort(RNG.standard_normal(7))
X = np.concatenate([RNG.standard_normal(20) * 2, T, [np.nan, np.inf, -np.inf]])
Z = T + 1j * RNG.standard_normal(7)
W = Z.copy()
W[2], W[3], W[5] = complex(np.nan, 1), complex(1, np.inf), complex(np.inf, 1)


def in_parts(function):
    """The same function with a line in front that no kernel does."""

    def function_in_parts(*args):
        np.sort(args[0], axis=0)
        return function(*args)

    return function_in_parts


def outcome(function, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return type(error)


def kinds(found):
    """The Python types of results, and their dtypes by character."""
    if isinstance(found, tuple | list):
        return type(found), tuple(map(kinds, found))
    return type(found), getattr(getattr(found, "dtype", None), "char", None)


def same(function, *args, fullgraph=False, parts=True):
    """Hold whole and in parts to NumPy: values, Python types, characters of dtypes."""
    expected = outcome(function, *args)
    for given in (function, *([in_parts(function)] if parts and not fullgraph else [])):
        found = outcome(ow.fuse(given, fullgraph=fullgraph), *args)
        assert kinds(found) == kinds(expected)
        np.testing.assert_equal(found, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t, z: np.interp(x, t, z),
        lambda x, t, z: np.interp(x, t, z, 1, 2.5),
        lambda x, t, z: np.interp(x, t, z, -1j, right=3 + 2j),
        lambda x, t, z: np.interp(x, t, z.astype(np.complex64)),
        lambda x, t, z: np.interp(0.25, t, z) + x[0],
        lambda x, t, z: np.interp(x, t, [1, 2, 3, 4j, 5, 6, 7]),
        lambda x, t, z: np.interp(x[:0], t, z),
        lambda x, t, z: np.interp(x, t, z.real, left=z[0].real),
    ],
)
@pytest.mark.parametrize("z", [Z, W])
def test_interp_of_complex_values(function, z):
    same(function, X, T, z, fullgraph=True)
    same(function, X, T, z)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t, z: np.interp(x, t, t, 1j),
        lambda x, t, z: np.interp(x, t, t, right=np.complex64(1)),
        lambda x, t, z: np.interp(x, t, t, z[0]),
        lambda x, t, z: np.interp(x + 0j, t, t),
        lambda x, t, z: np.interp(x, z, t),
        lambda x, t, z: np.interp(x, z, z),
    ],
)
def test_interp_of_complex_places_and_ends_is_left_to_numpy(function):
    """Which raises, or drops a NumPy number's imaginary part with a warning."""
    same(function, X, T, Z)
    with pytest.raises(ow.errors.UnsupportedError, match="interp: complex numbers"):
        ow.fuse(function, fullgraph=True)(X, T, Z)


A = np.array([[1.0, 2, 3], [4, 5, 6]])
B = A + 1
F = A.astype(np.float32)
# What the lines below name: x, y float64 and f float32 [2, 3], c complex, o without dimensions,
# e empty, s a number.
OPERANDS = (A, B, F, A + 1j, np.array(2.5), A[:0], 1.5)
WHOLE = """
np.allclose(x, y); np.allclose(x, x); np.allclose(o, 2.5); np.allclose(e, e); np.allclose(c, c)
np.allclose(x, [1.0, 2, 3]); np.array_equal(x, y); np.array_equal(x, x, equal_nan=True)
np.array_equal(x, x[0]); np.array_equal(x, [1, 2]); np.array_equiv(x, x[0]); np.array_equiv(f, x)
(np.allclose(x, y), x * 2); [np.array_equal(o, o)]; np.where(np.allclose(x, x), f, f + 1)
f * np.array_equal(x, x); np.allclose(x, x) | (x > 2); np.logical_not(np.allclose(x, x))
np.add(np.allclose(x, x), 1); x.sum() * np.allclose(x, x); np.float32(2) * np.allclose(x, x)
isinstance(np.allclose(x, y), bool); isinstance(np.allclose(x, y), (int, float))
isinstance(np.array_equal(x, y), np.ndarray); isinstance(np.allclose(x, x), np.bool_)
type(np.array_equal(x, y)) == bool; hasattr(np.allclose(x, y), "dtype")
np.sum(np.array_equal(x, x)); np.array([np.allclose(x, x), np.allclose(x, y)])
np.all(x > 0); np.any(x > 9); (x > 0).all(); np.all(np.array_equal(x, y)); np.isclose(x, y).all()
np.ndim(x); np.size(x); np.size(x, 0); np.shape(x); x.ndim; x.size; x.shape; len(x); x.nbytes
np.iscomplexobj(x); np.iscomplexobj(c); np.isrealobj(x); x.dtype.char
np.can_cast(f.dtype, x.dtype); np.count_nonzero(x); np.count_nonzero(x, axis=0); x.sum(); f.sum()
np.vdot(x, x); np.searchsorted(x[0], 2); np.digitize(1.5, [1.0, 2]) + x; np.iscomplex(o)
np.isnan(o); np.trace(x); np.linalg.norm(f); np.ptp(x); x.argmax(); np.allclose(s, 1.5)
"""
PARTS = """
type(np.allclose(x, y)) is bool; np.allclose(x, x) is True; not np.allclose(x, y)
np.allclose(x, y) and np.allclose(x, x); np.allclose(x, y) + 1; (np.allclose(x, x) + 1) * f
~np.allclose(x, x); np.allclose(x, x) & np.array_equal(x, y); np.allclose(x, x) == True
-np.allclose(x, x); abs(np.allclose(x, x)); np.allclose(x, x) / 2; 2 - np.allclose(x, x)
np.allclose(x, x) < 2; np.allclose(x, x).real; np.allclose(x, x).bit_length()
np.allclose(x, x) + np.allclose(x, x); True & np.allclose(x, x); s * np.allclose(x, x)
sum([np.allclose(x, x), np.allclose(x, y)]); max(np.allclose(x, x), 0); str(np.allclose(x, x))
f"{np.array_equiv(x, x)}"; 1 if np.array_equal(x, y) else 2; x[np.allclose(x, x)]
int(np.allclose(x, x)); {np.allclose(x, x): 1}[True]; round(x.sum()); round(f.sum(), 1)
x[0, 0].item(); x.sum().item(); o.item(); x.item(3); x.tolist(); o.tolist(); x.sum().tolist()
float(x.sum()); int(x.sum()); bool(x.sum()); complex(x.sum()); np.shares_memory(x, x)
np.may_share_memory(x, y); np.result_type(x, f).name; np.median(x); np.linalg.matrix_rank(x); np.unravel_index(3, (2, 3))
np.allclose(x, x).dtype; np.allclose(x, x).sum(); np.allclose(x, x).nothing
"""


def lines(table):
    return [line.strip() for line in table.replace("\n", ";").split(";") if line.strip()]


def function_of(line):
    return eval(f"lambda x, y, f, c, o, e, s: {line}", {"np": np})


@pytest.mark.parametrize("line", lines(WHOLE))
def test_results_have_the_types_of_numpy(line):
    same(function_of(line), *OPERANDS)
    ow.fuse(function_of(line), fullgraph=True)(*OPERANDS)


@pytest.mark.parametrize("line", lines(PARTS))
def test_what_only_python_knows_has_its_types_in_parts(line):
    same(function_of(line), *OPERANDS)


def test_a_helpers_bool_is_asked_for_what_it_is():
    def is_true(value):
        return value is True

    truth = True
    same(lambda x: is_true(np.array_equal(x, x)), A)
    same(lambda x: np.array_equal(x, x) is truth, A)
    same(lambda x: [t is not True for t in (np.allclose(x, x), np.allclose(x, x + 1))], A)


def test_programs_give_pythons_bool():
    program = ow.fuse(lambda x: (np.array_equal(x, x), x.all())).lower(A)

    assert kinds(program(A)) == (tuple, ((bool, None), (np.bool_, "?")))
    assert kinds(program.reference(A)) == (tuple, ((bool, None), (np.bool_, "?")))


# What x and y are, by their characters; s is a number of x's type.
CHARACTERS = ("ql", "Qq", "iq")
ALIASED = """
x + y; x + 1; x + np.int64(1); x + np.longlong(1); x * np.uint8(2); -x; divmod(x, y); x ** 2; x / y
x << 1; ~x; np.maximum(x, y); np.clip(x, y, y + 2); x.sum(axis=0); x.sum(); x.prod(); x.max()
x.cumsum(); x.mean(); x.argmax(); x @ y.T; np.vdot(x, y); np.dot(x, x[0]); np.einsum("ij,ij->i", x, y)
np.where(x > 2, x, y); np.where(x > 2, x, 0); np.where(x > 2, np.longlong(1), np.longlong(2))
(np.where(x > 2, np.int64(1), np.int64(2)), np.where(x > 2, np.longlong(1), np.longlong(2)))
x.T; x[0, 1]; x.reshape(-1); np.concatenate([x, y]); np.diff(x); np.roll(x, 1); np.copy(x)
x.astype("q"); x.astype(np.int64); x.astype("Q"); x.astype("l", copy=False); x.astype("q", copy=False)
np.zeros_like(x); np.full_like(x, 3); np.zeros(x.shape, "q") + x; np.ones(3, "Q"); x.dtype.char
np.arange(3, dtype="q") + x; np.sum(x, dtype="q"); np.add(x, y, dtype="l"); np.add(x, x, dtype="q")
np.sign(x); np.gcd(x, y); np.interp(x, [0.0, 1, 2], [1.0, 2, 3]); x == y; x.sum() * y; s * y; s + 1
s + x.max(); np.full(x.shape, s); np.array([s, s]) + x[0, :2]; s.astype("l"); np.sort(x); x.item(0)
"""


@pytest.mark.parametrize("line", lines(ALIASED))
def test_dtypes_keep_their_characters(line):
    function = eval(f"lambda x, y, s: {line}", {"np": np})
    for first, second in CHARACTERS:
        x = (np.arange(6).reshape(2, 3) + 1).astype(first)
        same(function, x, (x % 4 + 1).astype(second), x[1, 1], parts=first + second == "ql")


def test_a_prepared_call_serves_its_own_character():
    fused = ow.fuse(lambda x: (x + 1, x.sum()))
    arrays = [np.arange(4, dtype=c) for c in "lqLQlqLQ"]

    assert [kinds(fused(x)) for x in arrays] == [kinds((x + 1, x.sum())) for x in arrays]
    assert fused.check(arrays[1]).ok


H = np.ones((4, 5), np.float16)
WIDENING = [
    (
        lambda h, s: h * np.float32(2),
        "a NumPy number of float32 makes float16 float32 in multiply",
    ),
    (lambda h, s: (h + 1) * s + 2.0, "a NumPy number of float32 makes float16 float32"),
    (lambda h, s: h * np.sqrt(2), "a NumPy number of float64 makes float16 float64 in multiply"),
    (lambda h, s: np.where(h > 1, h, np.float64(2)), "makes float16 float64 in where"),
    (lambda h, s: h - h.astype(np.float32).mean(), "a result without dimensions makes float16"),
    (lambda h, s: h * 2.0, None),
    (lambda h, s: h * 2.0 > np.float32(1), None),
    (lambda h, s: h - h.mean(), None),
    (lambda h, s: h.astype(np.float32) * 2.0, None),
    (lambda h, s: h * np.float16(2), None),
    (lambda h, s: h * np.ones((4, 5), np.float32), None),
]


@pytest.mark.parametrize(("function", "note"), WIDENING)
def test_explain_names_the_line_where_a_number_widens_float16(function, note):
    for given in (function, in_parts(function)):
        found = ow.fuse(given).explain(H, np.float32(3))
        assert len(found.notes) == (note is not None)
        if note is not None:
            line = function.__code__.co_firstlineno
            assert f"test_values.py:{line}: " in found.notes[0]
            assert note in found.notes[0]
            assert f"note: {found.notes[0]}" in " ".join(str(found).split())
