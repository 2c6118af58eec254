"""Arrays of short rows that are moved as wholes: read one row behind the other, not by element."""

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
RNG = np.random.default_rng(20261128)
SHAPES = [
    (300, 2), (50, 40, 3), (9, 6, 5, 3), (7, 1, 3), (1, 40, 3), (40, 3, 1), (2, 3, 2), (0, 4, 3),
    (4, 0, 3), (5, 4, 0), (70, 7),
]  # fmt: skip


I = np.array([0, 1, 1])


def raised(x):
    y = x.copy()
    y[1:] += x[:-1]
    y[:-1] -= y[1:] * 2
    return y


def between(x):
    y = x.copy()
    y[1:-1] = x[2:] + x[:-2]
    y[:, 1:] = x[:, :-1]
    return y


def places(x):
    return np.roll(x, 1, 0) + np.arange(x.shape[1]).reshape(-1, *[1] * (x.ndim - 2))


def turned(x):
    return np.roll(x, 1, 0) * np.roll(np.swapaxes(x.T.copy().T, 0, 0), 2, 0)


def chosen(x):
    n = len(x)
    i = np.arange(n)
    return x[np.minimum(i + 1, n - 1)] - x[i // 2], x[n - 1 - i]


# name: (function, whether of ordinary rows all is read in chunks)
CASES = {
    "rolled": (lambda x: np.roll(x, 3, 0), True),
    "rolled back": (lambda x: np.roll(x, -2, 0) * 2, True),
    "rolled beside itself": (lambda x: np.roll(x, 1, 0) + np.roll(x, -1, 0) - 2 * x, True),
    "rolled inside": (lambda x: np.roll(x, 1, 1), False),
    "rolled twice": (lambda x: np.roll(x, (1, 2), (0, 1)), False),
    "joined": (lambda x: np.concatenate([x, x * 2, x[:1]]), False),
    "joined as they are": (lambda x: np.concatenate([x, x]), True),
    "joined inside": (lambda x: np.concatenate([x, x], 1), False),
    "repeated": (lambda x: np.repeat(x, 3, 0), False),
    "tiled": (lambda x: np.tile(x, (2,) + (1,) * (x.ndim - 1)), False),
    "padded": (lambda x: np.pad(x, 1), False),
    "raised": (raised, False),
    "between": (between, False),
    "places beside": (places, False),
    "turned": (turned, False),
    "chosen": (chosen, False),
    "by indices": (lambda x: x[I % max(len(x), 1)], False),
    "by one index": (lambda x: x[I[:1]] * 2, False),
    "by places of each element": (lambda x: x[I[:, None] % max(len(x), 1), :2], False),
    "places that are a result": (lambda x: (np.roll(x, 1, 0), np.arange(len(x)) - 1), False),
}
# Those that are tried with all layouts.
ANY = ("rolled beside itself", "joined inside", "raised", "turned")
LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "of every other": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "of every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "rows of longer ones": lambda x: np.concatenate([x, x], -1)[..., : x.shape[-1]],
    "backwards": lambda x: x[::-1, ..., ::-1],
}


@pytest.mark.parametrize(("name", "layout"), [
    *((name, "C") for name in CASES), *((name, layout) for name in ANY for layout in LAYOUTS),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_elements_are_numpys(name, layout):
    function = CASES[name][0]
    fused = ow.fuse(function)
    for shape in SHAPES if layout == "C" else SHAPES[1:6]:
        x = LAYOUTS[layout](RNG.standard_normal(shape).astype(np.float32))
        try:
            expected = function(x)
        except (ValueError, IndexError) as error:  # of arrays without elements
            with pytest.raises(type(error)):
                fused(x)
        else:
            for found, wanted in zip(_all(fused(x)), _all(expected), strict=True):
                np.testing.assert_array_equal(found, wanted)


def _all(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("shape", [(300, 2), (300, 7), (50, 40, 3), (9, 6, 5, 3)])
@pytest.mark.parametrize("name", [name for name, (_, in_chunks) in CASES.items() if in_chunks])
def test_rows_are_read_in_chunks(name, shape):
    program = ow.fuse(CASES[name][0]).lower(np.ones(shape, np.float32), target="host")
    for kernel in program.kernels:
        source = kernel.source
        assert "load_window(" in source
        assert "read_at" not in source
        assert "divided(" not in source


def test_a_picture_is_walked_by_its_rows():
    """The condition on the row is asked once a row, the channels are one with the columns."""
    program = ow.fuse(raised).lower(np.ones((50, 40, 3), np.float32), target="host")
    assert "divided(" not in "".join(kernel.source for kernel in program.kernels)


@pytest.mark.parametrize("x", [0.7, np.float32(0.7), np.array(0.7), np.array([0.7])])
def test_one_element_of_a_table(x):
    table = np.array([0.2, 0.5, 1.0])
    fused = ow.fuse(
        lambda x: (np.searchsorted(table, x), np.roll(table, 1)[np.asarray(x > 0.5) * 1])
    )
    found, expected = fused(np.asarray(x)), (np.searchsorted(table, x), table[0 if x > 0.5 else 2])
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1].reshape(()), expected[1])
    np.testing.assert_array_equal(
        ow.fuse(lambda x: np.digitize(x, [2.0, 0.5, -1.0]))(x), np.digitize(x, [2.0, 0.5, -1.0])
    )


def test_the_second_of_two_results_is_joined():
    def joined(x):
        whole = np.modf(x)[1]
        return np.concatenate([whole[1:], whole])

    x = RNG.standard_normal(100).astype(np.float32) * 3
    np.testing.assert_array_equal(ow.fuse(joined)(x), joined(x))
    np.testing.assert_array_equal(ow.fuse(joined).unfused()(x), joined(x))
