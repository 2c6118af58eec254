"""What a user touches: calls, scalars, op-code lists, edits, operators."""

import threading

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.data import hold, wide

host = pytest.mark.host
X = np.linspace(-2, 2, 60, dtype=np.float32).reshape(6, 10)


@ow.fuse
def tonemap(img, exposure, gamma=2.2):
    x = np.abs(img) * exposure
    return (x / (1 + x)) ** (1 / gamma)


F14 = float(np.float32(1.4))  # 1.4 as it enters a kernel
CALLS = [((X, 1.4), {}), ((X,), {"exposure": 1.4}), ((), {"img": X, "exposure": 1.4}),
         ((X, 1.4, 2.2), {}), ((X, 1.4), {"gamma": 2.2})]  # fmt: skip


@host
@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_arguments_go_by_position_name_and_default(args, kwargs):
    expected = tonemap.__wrapped__(wide(X), F14)

    hold(tonemap, (X, 1.4), expected, tonemap(*args, **kwargs))


@host
def test_fuse_with_and_without_arguments():
    for make in (ow.fuse, ow.fuse(), ow.fuse(fast=True), ow.fuse(static_argnames="n")):
        fused = make(lambda x, n=2: x * n)
        np.testing.assert_array_equal(X * 2, fused(X))


@host
def test_scalars_change_without_a_new_compilation():
    fused = ow.fuse(lambda x, s: x * s)
    for s in (1.5, -2.0, 0.1):
        np.testing.assert_array_equal(X * np.float32(s), fused(X, s))

    assert fused._specialised.traces == 1


@host
def test_a_scalar_that_the_function_looks_at_becomes_static():
    @ow.fuse
    def repeat(x, n):
        for _ in range(n):
            x = x * 2
        return x if n > 1 else -x

    for n, expected in ((1, -X * 2), (3, X * 8), (1, -X * 2), (3, X * 8)):
        np.testing.assert_array_equal(expected, repeat(X, n))
    assert repeat._specialised.traces == 2


@host
def test_scalar_arithmetic_is_pythons():
    fused = ow.fuse(lambda x, g, n: (x * (1 / g), x + n // 2 - n % 3, x * np.sqrt(g)))
    expected = (X * (1 / 2.2), X + 7 // 2 - 7 % 3, X * np.sqrt(2.2))

    for want, made in zip(expected, fused(X, 2.2, 7), strict=True):
        assert want.dtype == made.dtype
        np.testing.assert_array_equal(want, made)


@host
def test_a_division_by_zero_between_scalars_raises_as_in_python():
    with pytest.raises(ZeroDivisionError):
        tonemap(X, 1.4, 0)


PROMOTIONS = [
    (np.float32, 2), (np.float32, 2.5), (np.float32, True), (np.int32, 2), (np.int32, 2.5),
    (np.uint8, 3), (np.float16, 2.5), (np.bool_, 2), (np.float32, np.float64(2.5)),
    (np.float16, np.float32(2.5)), (np.int32, np.int64(3)),
]  # fmt: skip


@host
@pytest.mark.parametrize(("dtype", "scalar"), PROMOTIONS, ids=str)
def test_scalars_promote_as_in_numpy(dtype, scalar):
    x = np.arange(5).astype(dtype)
    made = ow.fuse(lambda x, s: x * s)(x, scalar)

    assert made.dtype == (x * scalar).dtype
    np.testing.assert_array_equal(x * scalar, made)


@host
def test_a_python_scalar_keeps_bfloat16():
    import ml_dtypes

    x = np.arange(5).astype(ml_dtypes.bfloat16)

    assert ow.fuse(lambda x: x * 2.5)(x).dtype == ml_dtypes.bfloat16


STRUCTURES = [
    (lambda x: (x + 1, x.max()), tuple), (lambda x: [x + 1, x - 1], list),
    (lambda x: {"a": x + 1, "b": 3}, dict),
    (lambda x: x.shape[0] * 2, int), (lambda x: 1.5, float),
]  # fmt: skip


@host
@pytest.mark.parametrize(("function", "kind"), STRUCTURES)
def test_outputs_come_back_as_they_were_packed(function, kind):
    made, expected = ow.fuse(function)(X), function(X)

    assert type(made) is kind
    for one, other in zip(*(list(v.values()) if kind is dict else np.atleast_1d(v) if kind not in (
            tuple, list) else v for v in (made, expected)), strict=True):  # fmt: skip
        np.testing.assert_allclose(one, other, rtol=1e-5)


@host
def test_in_place_operators_on_intermediates_reach_every_name():
    @ow.fuse
    def function(x):
        y = x * 2
        z = y
        y += 1
        np.exp(z, out=z)
        return y + 0

    hold(function, (X,), np.exp(wide(X) * 2 + 1), function(X))


@host
def test_many_threads_share_one_function():
    fused = ow.fuse(lambda x: np.exp(x) + x.shape[0])
    results = []

    def work(n):
        results.append((fused(np.full((n, 3), 0.5, np.float32)), n))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 34)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results) == 32
    for made, n in results:
        np.testing.assert_allclose(np.full((n, 3), np.exp(np.float32(0.5)) + n), made, rtol=1e-6)
    assert fused._specialised.traces == 1


@host
def test_clear_cache_forgets():
    fused = ow.fuse(lambda x: x + 1)
    fused(X)
    fused.clear_cache()
    fused(X)

    assert fused._specialised.traces == 1


# Op-code lists


def burger():
    return ow.kernel(
        [ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")], name="burger"
    )


@host
def test_an_op_code_list_is_a_kernel():
    k = burger()

    hold(k, (X,), np.exp(wide(X) * 2), k(X))
    assert [line.split()[1] for line in str(k).split("\n")] == ["load", "multiply", "exp", "store"]
    assert "burger_map_f32" in k.lower(X, target="sm_80").source
    assert k.check(X).ok


@host
def test_one_more_op_code_slides_in_before_the_store():
    pickled = burger().insert(ow.opcodes.minimum(1.5), before="store")

    hold(pickled, (X,), np.minimum(np.exp(wide(X) * 2), 1.5), pickled(X))
    assert [c.name for c in pickled.codes][-2:] == ["minimum", "store y"]


@host
def test_lists_can_be_edited_anywhere():
    k = burger().replace("exp", ow.opcodes.tanh).remove("multiply").insert(
        ow.opcodes.add(1), after="load")  # fmt: skip

    hold(k, (X,), np.tanh(wide(X) + 1), k(X))


@host
def test_names_refer_to_arguments_and_earlier_results():
    softmax = ow.kernel([
        ow.load("x"),
        ow.opcodes.max(axis=-1, keepdims=True).named("m"),
        ow.opcodes.subtract("x", "m"),
        ow.opcodes.exp,
        ow.opcodes.multiply(1.0).named("e"),
        ow.opcodes.sum(axis=-1, keepdims=True).named("s"),
        ow.opcodes.divide("e", "s"),
        ow.store(),
    ])  # fmt: skip

    assert softmax.check(X).ok
    assert softmax.lower(X, target="sm_90a").data.template == "row"
    hold(softmax, (X,), ow.softmax(wide(X)), softmax(X))


LISTS = [
    ([ow.opcodes.exp, ow.store()], "loads nothing"),
    ([ow.load("x"), ow.opcodes.exp], "stores nothing"),
    ([ow.load("x"), ow.opcodes.add("y"), ow.store()], "operand 'y'"),
    ([ow.load("x"), ow.opcodes.where(1), ow.store()], "takes 3 operands"),
    ([ow.load("x"), "exp", ow.store()], "expected an op-code"),
]


@pytest.mark.parametrize(("codes", "message"), LISTS)
def test_a_list_that_is_not_whole_is_refused(codes, message):
    with pytest.raises(e.EditError, match=message):
        ow.kernel(codes)


@host
def test_a_list_of_several_kernels_says_why():
    k = ow.kernel([ow.load("x"), ow.opcodes.sum(axis=1), ow.opcodes.max(axis=0), ow.store()])

    with pytest.raises(e.EditError, match="different spaces"):
        k(X)


# Edits of lowered kernels


def lowered(target="host"):
    return tonemap.lower(X, 1.4, target=target)


EDITS = [
    (lambda k: k.insert(ow.opcodes.clip(0, 0.5), before="store"), lambda y: np.clip(y, 0, 0.5)),
    (lambda k: k.insert(ow.opcodes.clip(0, 0.5), after="power"), lambda y: np.clip(y, 0, 0.5)),
    (lambda k: k.insert(ow.opcodes.multiply(2), before="store out"), lambda y: y * 2),
    (lambda k: k.replace("power", ow.opcodes.maximum(0.25)).insert(
        ow.opcodes.sqrt, before="store"), None),
    (lambda k: k.remove("power"), None),
    (lambda k: k.insert(ow.opcodes.negative, after="load img"), None),
    (lambda k: k.insert(ow.opcodes.square, before="divide"), None),
]  # fmt: skip


@host
@pytest.mark.parametrize(("edit", "meaning"), EDITS)
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_an_edited_kernel_runs_and_keeps_its_numpy_meaning(edit, meaning, target):
    kernel = edit(lowered(target).kernels[0])

    assert kernel.check(X, 1.4).ok
    if meaning is not None:
        hold(kernel, (X, 1.4), meaning(tonemap.__wrapped__(wide(X), F14)), kernel(X, 1.4))


@host
def test_an_edit_leaves_the_original_alone():
    program = lowered()
    before = program.source
    program.kernels[0].insert(ow.opcodes.negative, before="store")

    assert program.source == before


BAD_EDITS = [
    (lambda k: k.insert(ow.opcodes.relu, before="nothing"), "no such op-code"),
    (lambda k: k.insert(ow.opcodes.relu), "either before= or after="),
    (lambda k: k.insert(ow.opcodes.relu, before="guard"), "structural"),
    (lambda k: k.insert(ow.opcodes.add, before="store"), "expected 1 operands"),
    (lambda k: k.insert(ow.opcodes.add("nope"), before="store"), "operand 'nope'"),
    (lambda k: k.insert("relu", before="store"), "expected an op-code"),
    (lambda k: k.insert(ow.opcodes.isnan, after="divide"), "turns f32"),
    (lambda k: k.remove("store"), "structural"),
    (lambda k: k.replace("divide", ow.opcodes.isnan), "gives b1"),
    (lambda k: k.insert(ow.opcodes.relu, before="store out7"), "stores 1 values"),
    (lambda k: k.insert(ow.opcodes.relu, after="load nothing"), "loads no such"),
]


@pytest.mark.parametrize(("edit", "message"), BAD_EDITS)
def test_an_edit_that_does_not_fit_is_refused(edit, message):
    with pytest.raises(e.EditError, match=message):
        edit(lowered().kernels[0])


@host
def test_your_own_version_of_a_kernel_is_run_and_checked():
    program = lowered()
    faster = program.compile(source=program.source.replace("1.0f + ", "1.0f * "))

    with pytest.raises(e.CheckError, match="WRONG"):
        faster.check(X, 1.4)
    assert program.compile(source=program.source).check(X, 1.4).ok


@host
def test_a_program_refuses_arguments_of_another_class():
    program = tonemap.lower(X, 1.4)

    with pytest.raises(e.ArgumentError, match="another guard or shape class"):
        program(X.astype(np.float64), 1.4)


# Operators of one's own


@host
def test_a_new_operator_in_three_strings():
    leaky = ow.operator("leaky_relu", "x > 0 ? x : slope * x", "float",
                        lambda x, slope: np.where(x > 0, x, slope * x), replace=True)  # fmt: skip
    fused = ow.fuse(lambda x: leaky(x * 2, 0.1) + 1)

    np.testing.assert_array_equal(leaky(X, 0.5), np.where(X > 0, X, 0.5 * X))
    assert fused.check(X).ok
    assert len(fused.lower(X, target="sm_80").kernels) == 1
    assert "leaky_relu" in str(fused.lower(X, target="sm_80").kernels[0])
    assert ow.kernel([ow.load("x"), leaky(0.2), ow.store()]).check(X).ok


@host
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_statements_become_a_device_function(target):
    soft = ow.operator("soft_threshold",
                       "const T size = fabs(x) - t; if (size <= 0) return 0; return x > 0 ? size : -size;",
                       "float", lambda x, t: np.sign(x) * np.maximum(np.abs(x) - t, 0), replace=True)  # fmt: skip
    program = ow.fuse(lambda x: soft(x, 0.5) * 2).lower(X, target=target)

    assert "__device__ __forceinline__ float op_soft_threshold" in program.source
    assert program.check(X).ok


@host
@pytest.mark.parametrize("name", ["float32", "int32", "float16"])
def test_an_operator_may_have_two_results(name):
    x = np.array([7, -7, 8, -3, 5], name)
    y = np.array([2, 2, -3, -5, 5], name)
    made = ow.fuse(lambda x, y: np.divmod(x, y))(x, y)

    np.testing.assert_array_equal(np.divmod(x, y), made)


@host
def test_a_check_cannot_pass_for_a_wrong_meaning():
    wrong = ow.operator("wrong_meaning", "x + 1", "same", lambda x: x + 1.001, replace=True)

    with pytest.raises(e.CheckError):
        ow.fuse(lambda x: wrong(x)).check(X)


@host
def test_numpy_functions_of_other_names():
    fused = ow.fuse(lambda x: (np.amax(x, axis=1), np.true_divide(x, 3), np.abs(x), x.clip(0, 1),
                               np.round(x, 1), x.round(), np.clip(x, None, 0.5)))  # fmt: skip
    expected = (X.max(axis=1), X / 3, np.abs(X), X.clip(0, 1), X.round(1), X.round(),
                np.minimum(X, 0.5))  # fmt: skip

    for want, made in zip(expected, fused(X), strict=True):
        np.testing.assert_allclose(want, made, rtol=1e-6)


@host
def test_hostile_argument_names_become_harmless():
    code = (
        "def f(double, π, v1, threadIdx, USE_X):\n    return double + π + v1 + threadIdx + USE_X"
    )
    scope = {}
    exec(code, scope)
    arguments = [np.full(3, v, np.float32) for v in range(5)]

    np.testing.assert_array_equal([10, 10, 10], ow.fuse(scope["f"])(*arguments))
