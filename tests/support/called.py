"""What a function returns and what becomes of its arguments, compared."""

import copy

import numpy as np

from opweave.compiler.captures.tree import flatten


def leaves(result):
    return [leaf for _, leaf in flatten(result, "", (str,))[0]]


def same(found, expected):
    """Class, dtype, shape and value, leaf by leaf."""
    assert flatten(found, "", (str,))[1] == flatten(expected, "", (str,))[1]
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert type(a) is type(b)
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def called(function, *args):
    """The result, and the arguments afterwards."""
    given = copy.deepcopy(args)
    return function(*given), given
