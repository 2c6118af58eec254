"""Edits that do not fit, and wrong kinds of arguments, are typed errors that say why."""

from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from opweave.opcodes.codes import Fragment

X = np.arange(6, dtype=np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)
host = pytest.mark.host


@host
def test_an_edit_keeps_the_shape_class_of_its_program():
    fused = ow.fuse(lambda x: x - np.max(x, axis=-1, keepdims=True))
    fused.lower(np.ones((5, 8), np.float32), target="sm_80")
    big = np.random.default_rng(0).random((5, 1000)).astype(np.float32)
    program = fused.lower(big, target="sm_80")
    kernel = program.kernels[0].insert(ow.opcodes.multiply(2.0), before="store")

    assert kernel.toggles == program.kernels[0].toggles
    assert kernel.check(big).ok


def test_an_edit_keeps_64_bit_offsets():
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (3,), (2**30,))
    program = ow.fuse(lambda a: a + 1).lower(x)
    kernel = program.kernels[0].insert(ow.opcodes.add(1), before="store")

    assert program.kernels[0].toggles["USE_64BIT_INDEX"] == 1
    assert kernel.toggles["USE_64BIT_INDEX"] == 1


EDITS = [
    (lambda k: k.insert(ow.opcodes.exp, before=""), "no such op-code"),
    (lambda k: k.remove("  "), "no such op-code"),
    (lambda k: k.insert(ow.opcodes.softmax, before="store out0"), "only an elementwise"),
    (lambda k: k.insert(ow.opcodes.divmod(2.0), before="store out0"), "one result"),
    (lambda k: k.replace("exp", ow.opcodes.divmod), "one result"),
]


@pytest.mark.parametrize(("edit", "message"), EDITS)
def test_edits_that_do_not_fit_are_refused(edit, message):
    kernel = (
        ow.fuse(lambda a, b: (np.exp(a), np.sin(b), a * 2 + b.sum() * 0))
        .lower(X, X[:5].copy())
        .kernels
    )
    kernel = next(k for k in kernel if "exp" in str(k))

    with pytest.raises(e.EditError, match=message):
        edit(kernel)


@host
def test_an_edit_that_needs_two_extents_to_agree_is_refused():
    kernel = ow.fuse(lambda a, b: (a + 1, b.sum() * 1)).lower(X, X.copy()).kernels[0]

    with pytest.raises(e.EditError, match="need not at other calls"):
        kernel.insert(ow.opcodes.multiply("b"), before="store")


def test_a_target_must_be_a_name_or_a_description():
    with pytest.raises(e.ToggleError, match="unknown target"):
        ow.fuse(lambda x: x + 1).lower(X, target=["sm_80"])


def test_two_stores_of_one_name_are_refused():
    with pytest.raises(e.EditError, match="two stores"):
        ow.kernel([ow.load("x"), ow.store("y"), ow.opcodes.exp, ow.store("y")])


def test_a_list_without_op_codes_says_so():
    with pytest.raises(e.EditError, match="0 kernels"):
        ow.kernel([ow.load("x"), ow.store("y")])(X)


def test_a_scalar_of_the_wrong_kind_is_a_typed_error():
    with pytest.raises(e.OpweaveError, match="clongdouble|complex256|longdouble"):
        ow.fuse(lambda x, s: x * s**0.5, fullgraph=True)(X, np.clongdouble(-2.0))


def test_too_many_elements_for_a_thread_are_refused():
    with pytest.raises(e.ToggleError, match="at most 128 elements"):
        ow.fuse(lambda x: x * 2).with_toggles(VECTOR=64, CHUNKS=16).lower(M, target="sm_80")


def test_a_source_without_the_kernel_is_refused():
    program = ow.fuse(lambda x: x * 2).lower(M)

    with pytest.raises(e.ArgumentError, match="defines no extern"):
        program.compile(source="")


def test_repr_names_what_was_changed():
    fused = ow.fuse(lambda x: x * 2)

    assert "USE_VECTOR_IO=0" in repr(fused.with_toggles(USE_VECTOR_IO=0))
    assert "unfused" in repr(fused.unfused())
    assert repr(ow.opcodes.clip(0, 1)) == "<op-code clip(0, 1)>"


@pytest.mark.host
def test_a_ufunc_may_be_the_meaning_of_an_operator():
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    absolute = ow.operator("mine", "fabs(x)", "float", np.abs)
    summed = ow.operator("sums", "x + y", "float", np.add)

    np.testing.assert_array_equal(np.abs(x), ow.fuse(lambda x: absolute(x))(x))
    np.testing.assert_array_equal(x + x, ow.fuse(lambda x: summed(x, x))(x))


@pytest.mark.parametrize("fragment", ["x + 1", "z + nosuch(y)", "z * blockIdx"])
def test_a_name_that_is_no_operand_is_refused_with_the_fragment(fragment):
    with pytest.raises(ow.errors.FragmentError, match="none of its operands z"):
        ow.operator("mine", fragment, "float", lambda z: z)


@pytest.mark.host
def test_an_edited_source_cannot_ask_for_another_launch():
    x = np.ones((20, 90), np.float32)
    program = ow.fuse(lambda x: x / (1 + x)).lower(x, target="sm_90a")
    with pytest.raises(ow.errors.ArgumentError, match=r"with_toggles\(BLOCK=128\)"):
        program.compile(
            source=program.source.replace("BLOCK             256", "BLOCK             128")
        )


@pytest.mark.parametrize(("function", "piece"), [
    (lambda x: x.sum(()), "test_edits.py:"),
    (lambda x: x.astype(np.clongdouble), "test_edits.py:"),
    (lambda x: np.gradient(x, edge_order=2), "test_edits.py:"),
    (lambda x: x @ None, "NoneType"),
])  # fmt: skip
def test_what_a_handler_refuses_names_the_line(function, piece):
    with pytest.raises(ow.OpweaveError, match=piece):
        ow.fuse(function, fullgraph=True)(np.ones((3, 3, 3), np.float32))


def test_wrong_kinds_of_arguments_are_typed_errors():
    x = np.ones((4, 4), np.float32)
    with pytest.raises(ow.errors.ArgumentError, match="schedule='x'"):
        ow.fuse(lambda x: x + 1).lower(x, target="sm_80").verify(x, schedule="x")
    with pytest.raises(ow.errors.EditError, match="a list of op-codes"):
        ow.kernel(ow.load("x"))


MIXED = (Fragment("y < x", "fiub"), Fragment("compare(y, x) < 0", "m"))
SIGNED_AND_UNSIGNED = [
    ["y < x"],
    ["t = y", "t < x"],
    [replace(ow.opcodes.greater.opcodes[0], rows=MIXED)],
    [ow.toggle("OTHER", 0, 1), "#if OTHER == 1\nx > y\n#else\ny < x\n#endif"],
]


@host
@pytest.mark.parametrize("codes", SIGNED_AND_UNSIGNED)
def test_an_edit_compares_signed_and_unsigned_numbers_as_numpy(codes):
    edited = ow.opcodes.greater.with_opcodes(codes)
    x, y = np.arange(4, dtype=np.uint64), np.array([-1, 0, 1, 5])

    assert ow.fuse(lambda x, y: edited(x, y))(x, y).tolist() == [True, True, True, False]
    assert ow.fuse(lambda x: edited(x, -1))(x).all()
