"""What a function that writes to its arguments returns and leaves behind, held to NumPy's."""

import numpy as np

from opweave.compiler.captures.tree import flatten


def backing(array):
    """All memory that an array lies in."""
    return array if getattr(array, "base", None) is None else array.base


def outcome(function, *args):
    """What a call returns or raises, how that lies to the arguments, and what they hold."""
    try:
        result = function(*args)
    except Exception as error:
        return type(error), [backing(a) for a in args]
    leaves, structure = flatten(result, "", (str,))
    told = [
        (
            type(leaf), np.asarray(leaf).dtype, np.shape(leaf), [leaf is a for a in args],
            [isinstance(leaf, np.ndarray) and np.shares_memory(leaf, a) for a in args],
        )
        for _, leaf in leaves
    ]  # fmt: skip
    return (structure, told), [*(leaf for _, leaf in leaves), *map(backing, args)]


def agree(function, fused, make):
    """Three calls: the one that compiles, one that is prepared, one with the same arrays."""
    given, wanted = make(), make()
    for args, likes in ((make(), make()), (given, wanted), (given, wanted)):
        shown, arrays = outcome(fused, *args)
        expected, values = outcome(function, *likes)
        assert shown == expected or issubclass(shown, expected)
        for array, value in zip(arrays, values, strict=True):
            np.testing.assert_allclose(array, value, rtol=1e-12, atol=1e-12)


def laid_in_rows(x):
    return x.copy()


def laid_in_columns(x):
    return np.asfortranarray(x)


def laid_apart(x):
    whole = np.zeros((2 * x.shape[0], 3 * x.shape[1]))
    whole[::2, ::3] = x
    return whole[::2, ::3]


def laid_backwards(x):
    return x[::-1, ::-1].copy()[::-1, ::-1]


def laid_turned(x):
    whole = np.zeros((x.shape[1] + 2, x.shape[0]))
    whole[1:-1] = x.T
    return whole[1:-1].T


LAYOUTS = [laid_in_rows, laid_in_columns, laid_apart, laid_backwards, laid_turned]
