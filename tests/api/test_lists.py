"""Op-code lists as functions: called anywhere, in lists of others, pickled."""

import copy
import functools
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.listed import (
    HERE,
    X,
    Y,
    bits,
    columns,
    listed,
    norm,
    o,
    pair,
    scale,
    shift,
    swap,
)

host = pytest.mark.host


# A list is a function


class Layer:
    act = scale
    table = {"norm": [norm]}  # noqa: RUF012

    def __init__(self):
        self.shift = shift

    @ow.fuse
    def forward(self, x, b):
        return self.table["norm"][0](self.shift(self.act(x), b))

    def plain(self, x, b):
        return norm(shift(scale(x), b))


def with_default(x, k=scale):
    return k(x) + 1


def of_keywords(x, b):
    return shift(b=b, y=x)


CALLS = {
    "a global": (lambda x, b: scale(x) + 1, lambda x, b: x * 2.0 + 1),
    "a default": (lambda x, b: with_default(x), lambda x, b: x * 2.0 + 1),
    "an argument of a helper": (lambda x, b: with_default(x, norm), lambda x, b: x / x.sum(-1, keepdims=True) + 1),
    "several inputs": (lambda x, b: shift(x, b) * b, lambda x, b: (x + b) * b),
    "by keyword": (of_keywords, lambda x, b: x + b),
    "several outputs": (lambda x, b: pair(x * b), lambda x, b: (np.exp(x * b), -np.exp(x * b))),
    "both": (lambda x, b: swap(np.exp(x), b)[0], lambda x, b: (np.exp(x) - b) * np.exp(x)),
    "one behind the other": (lambda x, b: norm(shift(scale(x), b)), lambda x, b: (x * 2.0 + b) / (x * 2.0 + b).sum(-1, keepdims=True)),
    "a number of the function": (lambda x, b: shift(x, 0.5), lambda x, b: x + 0.5),
    "in a container": (lambda x, b: [k(x) for k in (scale, norm)], lambda x, b: [x * 2.0, x / x.sum(-1, keepdims=True)]),
    "a partial": (functools.partial(shift, b=0.25), None),
    "an attribute, in a container of a class": (Layer().forward, lambda x, b: Layer().plain(x, b)),
    "a list itself": (shift, lambda x, b: x + b),
    "between other operators": (lambda x, b: np.tanh(scale(np.exp(x))) @ b.T, None),
}  # fmt: skip


@host
@pytest.mark.parametrize(("function", "plain"), CALLS.values(), ids=list(CALLS))
def test_a_list_in_a_function_is_what_its_operators_are(function, plain):
    args = (X,) if isinstance(function, functools.partial) and function.func is shift else (X, Y)
    fused = ow.fuse(function, fullgraph=True)

    assert bits(fused(*args)) == bits(fused.unfused()(*args))
    if plain is not None:
        assert bits(fused(*args)) == bits(ow.fuse(plain)(*args))


@host
def test_lists_next_to_each_other_share_a_kernel():
    program = ow.fuse(lambda x, b: norm(shift(scale(x), b))).lower(X, Y, target="sm_90a")

    assert len(program.kernels) == 1
    assert program.check(X, Y).ok


@host
def test_a_list_of_another_is_traced_anew_and_the_same_is_not():
    fused = ow.fuse(lambda x, k: k(x))
    first, again, other = fused(X, scale), fused(X, scale), fused(X, norm)

    assert bits(first) == bits(again) == bits(scale(X))
    assert bits(other) == bits(norm(X))
    assert len(fused.traces) == 2


@host
def test_a_list_can_be_repeated():
    twice = listed("twice", ow.load("x"), o.multiply(2.0), ow.store("x"))

    assert bits(ow.repeat(twice, 3)(X)) == bits(X * np.float32(8))
    assert bits(ow.repeat(lambda x, w: shift(scale(x), w), 2)(X, Y)) == bits(
        ow.fuse(lambda x, w: (x * 2.0 + w) * 2.0 + w)(X, Y)
    )


@host
def test_a_list_adds_its_operators_to_a_graph():
    graph = ow.Graph("g")
    x = graph.host_to_device("x", X.shape)
    p, q = pair(norm(scale(x)))
    graph.device_to_host(ow.opcodes.add(p, q), "r")
    graph.device_to_host(q, "s")

    assert "sum(multiply_0, axis=-1, keepdims=True)" in graph.source
    made = graph.runner(device="host")(x=X)
    assert bits(tuple(made.values())) == bits(tuple(ow.fuse(graph.function())(X)))


def test_a_graph_has_no_operators_that_are_not_registered():
    mine = replace(ow.OPERATORS["exp"], name="nobody_knows")
    value = ow.Graph("g").host_to_device("x", 4)

    with pytest.raises(e.GraphError, match="nobody_knows is no registered operator"):
        listed("k", ow.load("x"), mine, ow.store())(value)


@host
def test_out_and_keywords_are_as_of_a_function():
    out = np.empty_like(X)

    assert scale(X, out=out) is out
    assert bits(out) == bits(scale(x=X)) == bits(X * np.float32(2))
    with pytest.raises(e.ArgumentError, match="missing"):
        scale()
    with pytest.raises(e.ArgumentError):
        scale(X, X)


@host
def test_an_argument_may_be_called_out():
    k = listed("k", ow.load("out"), ow.load("x"), o.add("out", "x"), ow.store("y"))

    for f in (k, ow.fuse(k), ow.fuse(lambda y, x: k(x=x, out=y)), ow.repeat(k, 1)):
        assert bits(f(X, X)) == bits(X + X)
    assert bits(k(x=X, out=X)) == bits(X + X)


def test_what_takes_the_place_of_a_named_op_code_has_its_name():
    first = listed("first", ow.load("x"), o.add(1), ow.store("q"))
    behind = listed("behind", ow.load("c"), ow.load("v"), ow.store("h"))
    joined = first.then(behind, v="q").replace("add", o.negative)
    by_hand = listed("k", ow.load("x"), o.exp().named("t"), o.multiply("t", "x"), ow.store())

    assert joined.arguments == ("x", "c")
    assert [c.label for c in by_hand.replace("exp", scale).codes] == ["x", "t", "", "out"]
    with pytest.raises(e.EditError, match="'t' is neither"):
        by_hand.replace("exp", o.negative().named("u"))


@host
@pytest.mark.parametrize("number", [0.5, 1])
def test_what_numpy_makes_an_array_of_has_a_type_of_its_own(number):
    k = listed("k", ow.load("x"), o.clip(number, "x", "x"), ow.store())
    x = X.astype(np.float16)

    assert bits(k(x)) == bits(np.clip(number, x, x)) == bits(o.clip(number, x, x))


@host
def test_a_warm_call_binds_nothing_and_checks_nothing(monkeypatch):
    k = listed("k", ow.load("x"), o.exp, ow.store())
    k(X)
    for owner, name in ((k.fused.signature, "bind"), (k, "_slowly"), (k, "_check_prepared")):
        monkeypatch.setattr(owner, name, None)

    assert bits(k(X)) == bits(k(X.copy()))


@host
def test_a_list_in_a_function_that_runs_in_parts_is_called_on_what_is_there(capsys):
    def told(x):
        y = scale(x)
        print(float(y.sum()) > 1e9)
        return shift(y, 1.0)

    assert bits(ow.fuse(told)(X)) == bits(X * np.float32(2) + np.float32(1))
    assert capsys.readouterr().out == "False\n"


@host
def test_a_list_of_numbers_alone_is_what_numpys_functions_make_of_them():
    fused = ow.fuse(lambda x, s: x + shift(scale(s), 0.5))

    plain = ow.fuse(lambda x, s: x + np.add(np.multiply(s, 2.0), 0.5))

    assert bits(fused(X, 2.0)) == bits(plain(X, 2.0)) == bits(X + np.float64(4.5))


@host
def test_the_second_call_of_a_list_of_several_kernels_is_refused_too():
    for _ in range(2):
        with pytest.raises(e.EditError, match=f"columns: .* does not fit one kernel here {HERE}"):
            columns(X)
    with ow.config(errors="numpy"), pytest.raises(e.EditError, match="does not fit"):
        columns(X)

    assert bits(ow.fuse(lambda x: columns(x))(X)) == bits(X.sum(1).max(0)[()])


# A list in a list

NESTED = {
    "alone": ([ow.load("x"), scale, ow.store()], lambda x: x * 2.0),
    "between": ([ow.load("x"), o.exp, scale, o.negative, ow.store()], lambda x: -(np.exp(x) * 2.0)),
    "the running value": ([ow.load("x"), shift(0.5), ow.store()], lambda x: x + 0.5),
    "bound": ([ow.load("x"), o.exp().named("t"),
               shift("x", "t"), ow.store()], lambda x: x + np.exp(x)),
    "all but the running value": ([ow.load("x"), o.exp, shift.bind(b="x"), ow.store()],
                                  lambda x: np.exp(x) + x),
    "bound by keyword": ([ow.load("x"), shift.bind(y="x", b=2.0), ow.store()], lambda x: x + 2.0),
    "named": ([ow.load("x"), scale.named("t"), o.exp, o.add("t"), ow.store()],
              lambda x: np.exp(x * 2.0) + x * 2.0),
    "several results": ([ow.load("x"), pair.named("m", "n"), o.multiply("m", "n"), ow.store()],
                        lambda x: np.exp(x) * -np.exp(x)),
    "stored by name": ([ow.load("x"), pair.named("m", "n"), ow.store("k", "n"), ow.store("l", "m")],
                       lambda x: (-np.exp(x), np.exp(x))),
    "deep": ([ow.load("x"), listed("in_it", ow.load("v"), scale("v"), norm, ow.store()), ow.store()],
             lambda x: x * 2.0 / (x * 2.0).sum(-1, keepdims=True)),
    "a result once more": ([ow.load("x"), scale.named("t"), o.exp, ow.store("e"), ow.load("t"),
                            o.negative, ow.store("n")], lambda x: (np.exp(x * 2.0), -(x * 2.0))),
}  # fmt: skip


@host
@pytest.mark.parametrize(("codes", "plain"), NESTED.values(), ids=list(NESTED))
def test_a_list_stands_in_a_list_as_an_operator_does(codes, plain):
    k = ow.kernel(codes)

    assert bits(k(X)) == bits(ow.fuse(plain)(X)) == bits(ow.fuse(k)(X))
    assert bits(ow.fuse(k).unfused()(X)) == bits(k(X))
    assert k.check(X).ok


def test_a_list_in_a_list_is_printed_and_edited():
    k = listed("k", ow.load("x"), scale("x").named("t"), ow.store())

    assert (
        str(k).split("\n")[1] == "  1 scale          (x) -> t  // list: load x, multiply, store y"
    )
    assert [c.name for c in k.replace("scale", norm).codes] == ["load x", "norm", "store out"]
    assert [c.name for c in k.insert(norm, after="t").codes][2] == "norm"


# Pickles


@host
@pytest.mark.parametrize("k", [scale, shift, swap, scale + norm, listed(
    "k", ow.load("x"), scale.named("t"), shift("t", 0.5), ow.store())], ids=lambda k: k.name)  # fmt: skip
def test_lists_are_pickled_and_copied(k):
    args = [X, Y][: len(k.arguments)]
    for again in (pickle.loads(pickle.dumps(k)), copy.deepcopy(k)):
        assert (str(again), again.name, again.where) == (str(k), k.name, k.where)
        assert bits(again(*args)) == bits(k(*args))


def test_a_pickle_names_operators_that_are_not_there(monkeypatch):
    mine = ow.operator("leaky_of_lists", "x * s", "float", lambda x, s: x * s, replace=True)
    k = listed("k", ow.load("x"), mine(0.5), ow.store())
    text = pickle.dumps(k)
    monkeypatch.delitem(ow.OPERATORS, "leaky_of_lists")

    with pytest.raises(e.EditError, match=r"import the module that calls ow\.operator"):
        pickle.loads(text)
    with pytest.raises(e.EditError, match="registered"):
        pickle.dumps(k)


# Ten lists are what one function is

TEN = [o.multiply(1.5), o.add(0.25), o.tanh, o.subtract(0.5), o.exp] * 2


def ten_lists(
    x, lists=tuple(listed(f"k{n}", ow.load("x"), c, ow.store("y")) for n, c in enumerate(TEN))
):
    for k in lists:
        x = k(x)
    return x


def ten_lines(x):
    for _ in range(2):
        x = np.exp(np.tanh(x * 1.5 + 0.25) - 0.5)
    return x


def body(source):
    """A source without names of kernels and lines of the user's."""
    text = re.sub(r"\b\w+_map_f32\b", "NAME", source)
    return re.sub(r", line \d+", "", text).split("\n")


@pytest.mark.parametrize("target", ["host", "sm_80", "sm_90a"])
def test_ten_lists_are_the_kernel_of_the_function_in_numpy(target):
    joined = functools.reduce(lambda a, b: a + b, ten_lists.__defaults__[0])
    lists, lines = (ow.fuse(f).lower(X, target=target) for f in (ten_lists, ten_lines))

    assert len(lists.kernels) == 1
    assert body(lists.source) == body(lines.source) == body(joined.lower(X, target=target).source)
