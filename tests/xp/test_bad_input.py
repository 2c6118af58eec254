"""Bad input: an error of ours, that NumPy's users know by its kind too, with the user's line."""

import numpy as np
import pytest

import opweave as ow
import opweave.xp as xp

pytestmark = pytest.mark.usefixtures("at_once")
F, I, B = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1, 2, 3]), xp.asarray([True, False, True])
M, C = xp.ones((2, 3)), xp.asarray([1j, 2, 3])
U = xp.asarray([1, 2, 3], dtype=xp.uint64)

# By what is asked: the call, the class, and a part of the text.
CALLS = {
    "integers and floats": (lambda: I + F, TypeError, "do not promote"),
    "bool and integers": (lambda: B + I, TypeError, "do not promote"),
    "uint64 and int64": (lambda: U + I, TypeError, "do not promote"),
    "integers and a float": (lambda: I * 1.5, TypeError, "a Python float"),
    "integers and a bool": (lambda: I + True, TypeError, "a Python bool"),
    "an integer too large": (lambda: xp.asarray([1], dtype=xp.int8) + 300, OverflowError, "300"),
    "division of integers": (lambda: I / I, TypeError, "divide: expected real floats"),
    "sine of integers": (lambda: xp.sin(I), TypeError, "sin: expected"),
    "order of complex numbers": (lambda: C < C, TypeError, "less: expected"),
    "and of floats": (lambda: F & F, TypeError, "bitwise_and"),
    "sum of truths": (lambda: xp.sum(B), TypeError, "sum: expected"),
    "mean of integers": (lambda: xp.mean(I), TypeError, "mean: expected"),
    "shapes": (lambda: F + xp.ones((4,)), ValueError, "[3] and [4] do not broadcast"),
    "an axis": (lambda: xp.sum(F, axis=1), IndexError, "axis 1"),
    "an axis twice": (lambda: xp.sum(M, axis=(0, 0)), ValueError, "repeated"),
    "a maximum of nothing": (lambda: xp.max(xp.ones((0, 2)), axis=0), ValueError, "no element"),
    "a reshape": (lambda: xp.reshape(F, (2, 2)), ValueError, "3 elements"),
    "two holes": (lambda: xp.reshape(F, (-1, -1)), ValueError, "3 elements"),
    "a place": (lambda: F[3], IndexError, "index 3"),
    "a place by a list": (lambda: F[[0, 1]], IndexError, "expected integers"),
    "a place by NumPy's array": (lambda: F[np.asarray([0, 1])], IndexError, "found array([0, 1])"),
    "writing by NumPy's mask": (lambda: F.__setitem__(np.asarray([True] * 3), 0.0), IndexError, "arrays of opweave.xp"),
    "where of numbers": (lambda: xp.where(B, 1.0, 0.0), TypeError, "make one by xp.asarray"),
    "a place by a float": (lambda: F[1.0], IndexError, "expected integers"),
    "a place by floats": (lambda: F[F], IndexError, "expected arrays of integers or bool"),
    "a mask of another shape": (lambda: F[xp.asarray([True])], IndexError, "boolean"),
    "a place to take": (lambda: xp.take(F, I), IndexError, "place 3 of an axis of 3"),
    "concat of nothing": (lambda: xp.concat([]), ValueError, "expected an array"),
    "concat": (lambda: xp.concat([M, F[None, :2]]), ValueError, "do not fit"),
    "concat of kinds": (lambda: xp.concat([I, F]), TypeError, "do not promote"),
    "stack": (lambda: xp.stack([M, M[:1]]), ValueError, "do not fit"),
    "matmul": (lambda: M @ M, ValueError, "matmul: shapes [2, 3] and [2, 3]"),
    "matmul of a number": (lambda: M @ 2.0, TypeError, "unsupported operand"),
    "a list as operand": (lambda: F - [1.0, 2.0, 3.0], TypeError, "unsupported operand"),
    "NumPy's array as operand": (lambda: F + np.ones(3), TypeError, "make one by xp.asarray"),
    "NumPy's array before": (lambda: np.ones(3) * F, TypeError, "make one by xp.asarray"),
    "NumPy's array in a function": (lambda: xp.sin(np.ones(3)), TypeError, "of type ndarray"),
    "numbers alone": (lambda: xp.add(1, 2), TypeError, "expected an array"),
    "truth of many": (lambda: bool(F), TypeError, "bool: expected an array of no dimensions"),
    "a float of a complex": (lambda: float(C[0]), TypeError, "complex128"),
    "an index of a float": (lambda: [1][F[0]], TypeError, "float64"),
    "integers to a negative power": (lambda: np.asarray(I ** xp.asarray(-1)), ValueError, "negative"),
    "a dtype": (lambda: xp.zeros((2,), dtype="float16"), TypeError, "a dtype of the standard"),
    "elements": (lambda: xp.asarray(["a"]), TypeError, "the standard has no dtype"),
    "rows of two lengths": (lambda: xp.asarray([[1.0], [1.0, 2.0]]), TypeError, "asarray"),
    "floats as integers": (lambda: xp.asarray([1.5], dtype=xp.int64), TypeError, "cannot hold [1.5]"),
    "a mask": (lambda: xp.asarray(np.ma.masked_array([1.0, 2.0], mask=[0, 1])), NotImplementedError, "MaskedArray"),
    "no memory": (lambda: xp.zeros((2**50,)), MemoryError, "zeros: Unable to allocate"),
    "no memory for what NumPy makes": (lambda: xp.tile(F, (2**50,)), MemoryError, "tile: Unable to allocate"),
    "no memory at a look": (lambda: xp.compute(xp.broadcast_to(F, (2**50, 3))), MemoryError, "broadcast_to: Unable"),
    "an integer of 70 bits": (lambda: xp.asarray(2**70), TypeError, "no dtype object"),
    "memory in another order": (lambda: xp.asarray(np.ones(2, dtype=">f8"), copy=False), TypeError, ">f8"),
    "memory of a list": (lambda: xp.asarray([1.0], copy=False), TypeError, "copy"),
    "a cast without a copy": (lambda: xp.asarray(F, dtype=xp.float32, copy=False), TypeError, "copy"),
    "a device": (lambda: xp.zeros((2,), device="tpu"), TypeError, "expected one of cpu"),
    "complex to real": (lambda: xp.astype(C, xp.float64), TypeError, "xp.real"),
    "a negative extent": (lambda: xp.zeros(-1), ValueError, "zeros: negative dimensions"),
    "half a number of them": (lambda: xp.linspace(0, 1, 2.5), TypeError, "linspace: 'float'"),
    "a range of texts": (lambda: xp.arange("a"), TypeError, "arange: unsupported"),
    "a diagonal of a text": (lambda: xp.eye(2, k="a"), TypeError, "eye: "),
    "no DLPack": (lambda: xp.from_dlpack([1.0]), TypeError, "no __dlpack__"),
    "a kind": (lambda: xp.isdtype(xp.int8, "integer"), TypeError, "'integral'"),
    "a version": (lambda: F.__array_namespace__(api_version="2020.01"), TypeError, "2025.12"),
    "a class": (lambda: xp.Array(), TypeError, "xp.asarray"),
    "where of integers": (lambda: xp.where(I, F, F), TypeError, "where: expected bool"),
    "steps of zero": (lambda: xp.arange(0, 5, 0), TypeError, "expected a step"),
    "transpose of a vector": (lambda: F.T, ValueError, "2 dimensions"),
    "a singular matrix": (lambda: xp.linalg.inv(xp.zeros((2, 2))), ValueError, "Singular"),
    "a system that does not fit": (lambda: xp.linalg.solve(M, M), ValueError, "square"),
}  # fmt: skip
# What Python says itself, or NumPy's linear algebra.
NOT_OURS = {"a list as operand", "matmul of a number", "a singular matrix",
            "a system that does not fit"}  # fmt: skip
# What is asked of dtypes and devices, where no array is there.
WITHOUT_A_LINE = NOT_OURS | {"a kind", "a version", "a class", "complex to real"}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_means_nothing_is_refused(name):
    call, kind, text = CALLS[name]
    with pytest.raises(kind) as caught:
        call()

    assert text in str(caught.value)
    assert str(caught.value).count("test_bad_input.py:") < 2
    assert isinstance(caught.value, ow.OpweaveError) or name in NOT_OURS
    assert ("test_bad_input.py:" in str(caught.value)) != (name in WITHOUT_A_LINE)


ATTRIBUTES = {
    "mean": (lambda: F.mean(), "functions of opweave.xp: xp.mean(x)"),
    "reshape": (lambda: F.reshape(3, 1), "xp.reshape(x)"),
    "transpose": (lambda: M.transpose(), "xp.permute_dims(x)"),
    "ravel": (lambda: M.ravel(), r"xp.reshape(x, (-1,))"),
    "copy": (lambda: M.copy(), r"xp.asarray(x, copy=True)"),
    "tolist": (lambda: F.tolist(), "np.asarray(x).tolist"),
    "sahpe": (lambda: F.sahpe, "no attribute 'sahpe'"),
    "array": (lambda: xp.array([1]), "xp.asarray"),
    "concatenate": (lambda: xp.concatenate([F]), "the standard calls it xp.concat"),
    "arcsin": (lambda: xp.arcsin(F), "xp.asin"),
    "nanmean": (lambda: xp.nanmean(F), "np.nanmean"),
    "nothing": (lambda: xp.nothing, "no attribute 'nothing'"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_name_of_numpys_is_told_what_to_write(name):
    call, text = ATTRIBUTES[name]
    with pytest.raises(AttributeError) as caught:
        call()

    assert text in str(caught.value)
    assert caught.value.name == name
    assert not hasattr(F, name)


def test_an_error_at_a_look_names_the_line_that_recorded_it():
    power = I ** xp.asarray(-1)  # the line
    other = power + 1
    with pytest.raises(ow.errors.PowerError) as caught:
        xp.compute(other)

    assert str(caught.value).startswith("pow: ")
    line = test_an_error_at_a_look_names_the_line_that_recorded_it.__code__.co_firstlineno + 1
    assert f"test_bad_input.py:{line}" in str(caught.value)
    with pytest.raises(ow.errors.PowerError):  # again, and the operands are as they were
        xp.compute(other)
    assert np.array_equal(np.asarray(I), [1, 2, 3])


class Elsewhere:
    """Memory that CuPy would have."""

    __cuda_array_interface__ = None


def test_memory_of_two_libraries_is_not_mixed(monkeypatch):
    from opweave.xp.arrays import array_of
    from opweave.xp.nodes import LazyNode

    there = LazyNode((3,), F.dtype, Elsewhere)
    there.memory = object()
    for call in (lambda x: F + x, lambda x: xp.concat([F, x]), lambda x: xp.where(B, F, x)):
        with pytest.raises(
            ow.errors.ArgumentError, match="NumPy's and in CuPy's memory are mixed"
        ):
            call(array_of(there))
