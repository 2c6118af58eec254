"""Places of extremes: one pass over memory, and NumPy's first place whoever joins the parts."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.passes.places import LONG
from opweave.opcodes import OPERATORS
from tests.support.data import dtype_of

pytestmark = pytest.mark.host

# One below and above: a chunk, a search of several, rows in one pass, rows of few and many parts.
LENGTHS = (1, 31, 33, 255, 257, LONG - 1, LONG, LONG + 1, 65537, (1 << 20) + 5)
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "bool",
)  # fmt: skip


def both(x):
    return x.argmax(), x.argmin()


def along_rows(x):
    return x.argmax(axis=-1), x.argmin(axis=-1)


def down(x):
    return x.argmax(axis=0), x.argmin(axis=0)


def numbers(dtype, *shape):
    """Few different numbers, so that most extremes are there several times."""
    made = np.random.default_rng(len(shape)).integers(0, 5, shape)
    return made.astype(dtype_of(dtype))


def kernels_of(function, *args, target="host"):
    return len(ow.fuse(function).lower(*args, target=target).kernels)


def same(found, expected):
    found, expected = (r if isinstance(r, tuple) else (r,) for r in (found, expected))
    return all(
        np.asarray(f).dtype == np.asarray(e).dtype and np.array_equal(f, e)
        for f, e in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_equal_elements_the_first_place_is_found(dtype):
    fused = ow.fuse(both)

    for length in (LONG + 1, 70_001):
        x = numbers(dtype, length)
        assert same(fused(x), both(x))
        assert same(fused(np.ones_like(x)), (0, 0))


@pytest.mark.parametrize("length", LENGTHS)
def test_an_extreme_is_found_wherever_it_stands(length):
    fused, base = ow.fuse(both), np.zeros(length, np.float32)

    for place in {0, 1, 30, 31, 32, 1023, 1024, length // 2, length - 33, length - 1}:
        if 0 <= place < length:
            x = base.copy()
            x[place] = 1
            assert same(fused(x), both(x))
            assert same(fused(-x), both(-x))


@pytest.mark.parametrize("length", [257, LONG, 70_001])
def test_the_first_nan_is_found_before_all_numbers(length):
    fused = ow.fuse(both)

    for place in (0, 31, 40, length // 2, length - 1):
        x = np.full(length, -np.inf, np.float32)
        x[length // 3] = np.inf
        assert same(fused(x), both(x))
        x[place:] = np.nan
        assert same(fused(x), (np.argmax(x), np.argmin(x)))


def test_zeros_of_both_signs_are_equal():
    x = np.zeros(70_000)
    x[5:] = -0.0
    fused = ow.fuse(both)

    assert same(fused(x), (0, 0))
    assert same(fused(-x), (0, 0))


@pytest.mark.parametrize("length", [LONG, 70_001])
def test_rising_and_falling_numbers_are_searched_again_and_again(length):
    fused, x = ow.fuse(both), np.arange(length, dtype=np.float64)

    assert same(fused(x), (length - 1, 0))
    assert same(fused(x[::-1]), (0, length - 1))


BESIDE = {
    "the extreme itself": lambda x: (x.max(), x.argmax()),
    "a sum": lambda x: (x.sum(dtype=np.int64) if x.dtype.kind in "iu" else x.max(), x.argmin()),
    "a map that is stored": lambda x: (x + x, (x + x).argmax()),
    "truths": lambda x: (x > 3, (x > 3).argmax()),
    "another axis": lambda x: (x.reshape(10, -1).argmax(axis=1), x.argmin()),
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_what_is_computed_beside_a_place_is_computed_of_all_elements(beside, dtype):
    function, x = BESIDE[beside], numbers(dtype, 70_000)

    assert same(ow.fuse(function)(x), function(x))


def test_an_index_behind_the_place_is_still_checked():
    table, x = np.arange(4, dtype=np.uint8), np.zeros(LONG, np.int64)
    table[0], x[-1] = 255, 9
    fused = ow.fuse(lambda t, i: t[i].argmax())

    with pytest.raises(IndexError):
        fused(table, x)


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -np.inf, 1e-40, 700.0])
def test_functions_are_those_of_any_number(value):
    x = np.linspace(-3, 3, 70_001, dtype=np.float32)
    x[[5, 40_000]] = value
    fused = ow.fuse(lambda x: (np.exp(x).argmax(), (np.exp(x) + 1).argmin(), np.exp(x)))
    with np.errstate(all="ignore"):
        largest, smallest, made = fused(x)

    assert largest == made.argmax()
    assert smallest == (made + 1).argmin()


def test_a_long_row_is_read_once():
    x = np.ones(70_000, np.float32)

    assert kernels_of(both, x) == 1
    assert kernels_of(lambda x: x.argmax(), x, target="sm_90a") == 1
    assert kernels_of(lambda x: np.abs(x - 0.5).argmin(), x) == 1
    (kernel,) = ow.fuse(lambda x: x.argmax()).lower(x, target="host").kernels
    assert kernel.source.count("load_chunk(") == 2  # by several chunks at a time, or one


def test_a_host_keeps_to_two_passes_where_the_nearest_cache_has_the_row():
    short, columns = np.ones((40, LONG - 1), np.float32), np.ones((LONG, 40), np.float32)

    for function, x in ((along_rows, short), (down, columns)):
        kernels = ow.fuse(function).lower(x, target="host").kernels
        assert "Largest" not in "".join(k.source for k in kernels)
        assert "Largest" in ow.fuse(function).lower(x, target="sm_80").kernels[0].source


def test_places_that_are_no_first_ones_stay_as_they_are_written():
    def others(x):
        i = np.arange(x.shape[0], dtype=np.int32)
        return np.where(x == x.max(), i, 0).min(), np.where(x == x.max(), i, x.shape[0]).max()

    x = numbers("int32", 70_000)

    assert same(ow.fuse(others)(x), others(x))


def test_an_operator_of_a_users_may_have_the_name():
    own = ow.reduction("argmax", ["acc = 0", "acc + x"], "same", np.add)
    try:
        x = numbers("int64", 70_000)
        assert ow.fuse(lambda x: own(x))(x) == x.sum()
    finally:
        del OPERATORS["argmax"]


GPU = {
    "rows of a warp": (along_rows, (5, 100)),
    "rows of a block": (along_rows, (3, 2500)),
    "rows of several blocks": (both, (39_001,)),
    "columns": (down, (150, 36)),
    "columns of several blocks": (down, (1100, 20)),
    "a product's rows": (lambda x: (x @ x.T).argmax(axis=1), (33, 20)),
    "a view": (lambda x: x[::-1, ::2].argmin(axis=1), (7, 200)),
    "all of several dimensions": (lambda x: x.argmax(), (30, 50)),
}


@pytest.mark.parametrize("case", GPU)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int64", "bool"])
def test_the_threads_and_blocks_of_a_gpu_find_the_first_place(case, dtype):
    function, shape = GPU[case]
    x = numbers(dtype, *shape)
    if x.dtype.kind == "f":
        x.reshape(-1)[shape[-1] // 2 :: 97] = np.nan

    for target, toggles in (("sm_80", {}), ("sm_90a", {"USE_WARP_SHUFFLE": 0})):
        program = ow.fuse(function).with_toggles(**toggles).lower(x, target=target)
        assert same(program(x), function(x))


@pytest.mark.parametrize("case", GPU)
def test_places_are_found_under_every_schedule(case):
    function, shape = GPU[case]
    program = ow.fuse(function).lower(numbers("float32", *shape), target="sm_80")

    for schedule in (0, 1, 7):
        assert program.check(numbers("float32", *shape), schedule=schedule).ok
