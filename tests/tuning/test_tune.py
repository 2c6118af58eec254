"""``ow.tune``: results, arguments, and the file that keeps what was found."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import opweave as ow
from opweave._tuning import tune as tuning

pytestmark = pytest.mark.host
X, Y = np.random.default_rng(5).random((2, 90, 1100))


def step(x, y):
    x *= 2
    return {"sum": x + y, "one": 1}


@pytest.fixture
def timed(monkeypatch):
    """Candidate-up times: chunks of 32 are faster; the programs that were timed."""
    asked, made_as_is = [], tuning._made

    def made(program, args, kwargs):
        def seconds():
            asked.append(program)
            return 0.5 if program.kernels[0].toggles.get("VECTOR") == 32 else 1.0

        return made_as_is(program, args, kwargs)._replace(seconds=seconds)

    monkeypatch.setattr(tuning, "_made", made)
    return asked


def test_the_tuned_function_is_numpys():
    found = ow.tune(ow.fuse(lambda x, y: x * 2 + y), X, Y, most=3)
    np.testing.assert_array_equal(found.fused(X, Y), X * 2 + Y)
    assert len(found.tried) <= 3
    assert not found.is_kept
    assert "as given" in str(found)


def test_arguments_are_left_as_they_are(timed):
    x, y = X.copy(), Y.copy()
    found = ow.tune(ow.fuse(step), x, y)
    np.testing.assert_array_equal(x, X)
    assert found.toggles == {"VECTOR": 32}
    assert found.speedup == 2
    made = found.fused(x, y)
    np.testing.assert_array_equal(made["sum"], 2 * X + Y)
    np.testing.assert_array_equal(x, 2 * X)


def test_what_a_file_has_is_not_measured_again(timed, tmp_path):
    function, file = ow.fuse(step), tmp_path / "tuned.json"
    first = ow.tune(function, X.copy(), Y, file=file)
    count = len(timed)
    again = ow.tune(function, X.copy(), Y, file=str(file))

    assert len(timed) == count > 0
    assert again.is_kept
    assert (again.toggles, again.speedup) == (first.toggles, first.speedup)
    assert [t.toggles for t in again.tried] == [t.toggles for t in first.tried]
    assert not ow.tune(function, X.copy(), Y, file=file, again=True).is_kept
    assert len(timed) > count


def test_each_function_type_and_shape_has_an_entry(timed, tmp_path):
    file = tmp_path / "tuned.json"
    function = ow.fuse(step)
    for args in ((X.copy(), Y), (X[:80].copy(), Y[:80]), (np.float32(X), np.float32(Y))):
        assert not ow.tune(function, *args, file=file).is_kept
        assert not ow.tune(function, *args, file=file, again=True).is_kept
    assert not ow.tune(ow.fuse(lambda x, y: x - y), X, Y, file=file).is_kept

    entries = json.loads(file.read_text())["tuned"]
    assert [e["arguments"][0].split(" by")[0] for e in entries] == [
        "float64[90, 1100]", "float64[80, 1100]", "float32[90, 1100]", "float64[90, 1100]",
    ]  # fmt: skip
    assert [p.name for p in tmp_path.iterdir()] == ["tuned.json"]


def test_a_file_may_be_changed_by_hand(timed, tmp_path):
    file, function = tmp_path / "tuned.json", ow.fuse(lambda x: x * 3)
    ow.tune(function, X, file=file)
    data = json.loads(file.read_text())
    data["tuned"][0]["toggles"] = {"VECTOR": 16}
    file.write_text(json.dumps(data))
    assert dict(ow.tune(function, X, file=file).fused.options.toggles) == {"VECTOR": 16}


def test_a_kernel_of_op_codes_is_tuned(timed):
    kernel = ow.kernel([ow.load("x"), ow.opcodes.exp, ow.store("y")], name="grown")
    found = ow.tune(kernel, X)
    np.testing.assert_array_equal(found.fused(X), kernel(X))


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda f, p: ow.tune(len, X), ow.errors.ArgumentError, "made by ow.fuse, .* found builtin"),
    (lambda f, p: ow.tune(f, X), ow.errors.ArgumentError, "'y' is missing"),
    (lambda f, p: ow.tune(f, X, Y, most=9), ow.errors.ArgumentError, "from 1 to 8, found 9"),
    (lambda f, p: ow.tune(f, X, Y, most=2.0), ow.errors.ArgumentError, "found 2.0"),
    (lambda f, p: ow.tune(f, X, Y, file=p / "no" / "t.json"), ow.errors.FileError, "written"),
    (lambda f, p: ow.tune(f, X, Y, file=p), ow.errors.FileError, "expected a file"),
])  # fmt: skip
def test_mistakes_are_told(call, error, text, timed, tmp_path):
    with pytest.raises(error, match=text):
        call(ow.fuse(step), tmp_path)


@pytest.mark.parametrize(("content", "text"), [
    ("no json", "Expecting value"),
    ("[]", "no {\"format\": 1"),
    ('{"format": 2, "tuned": []}', "no {\"format\": 1"),
    ('{"format": 1}', "no list"),
])  # fmt: skip
def test_another_file_is_refused_and_stays(content, text, tmp_path):
    file = tmp_path / "tuned.json"
    file.write_text(content)
    with pytest.raises(ow.errors.FileError, match=text):
        ow.tune(ow.fuse(step), X.copy(), Y, file=file)
    assert file.read_text() == content


@pytest.mark.parametrize("change", [
    {"toggles": {"VECTR": 1}}, {"toggles": {"VECTOR": 3}}, {"toggles": {"ROWS": 3}},
    {"toggles": 3}, {"times as fast": "fast"}, {"tried": [{}]}, {"tried": None},
])  # fmt: skip
def test_an_entry_that_does_not_hold_is_measured_anew(change, timed, tmp_path):
    file, function = tmp_path / "tuned.json", ow.fuse(lambda x: x.sum(axis=0))
    ow.tune(function, X, file=file)
    data = json.loads(file.read_text())
    others = [{"function": "another", "toggles": {"OF_ANOTHER_PROCESS": 1}}, "a remark"]
    file.write_text(json.dumps({"format": 1, "tuned": [*others, data["tuned"][0] | change]}))

    with pytest.warns(ow.OpweaveWarning, match="does not hold .*; it is measured anew"):
        assert not ow.tune(function, X, file=file).is_kept
    assert json.loads(file.read_text())["tuned"][:2] == others
    assert ow.tune(function, X, file=file).is_kept


KEYS = {
    "arrays in a dict": (lambda d: d["x"] * 2, [{"x": X}], [{"x": X[:, :1000]}]),
    "a number of elements": (lambda x, n: x[:n] * 2, [X, 10], [X, 80]),
    "a number of copies": (lambda x, n: np.tile(x, (n, 1)) * 2, [X, 2], [X, 7]),
    "the layout": (lambda x: x * 2, [X[:, ::2]], [X[:, :550].copy()]),
}


@pytest.mark.parametrize("name", KEYS)
def test_other_work_has_another_entry(name, timed, tmp_path):
    function, one, other = KEYS[name]
    fused, file = ow.fuse(function), tmp_path / "tuned.json"
    assert not ow.tune(fused, *one, file=file).is_kept
    assert not ow.tune(fused, *other, file=file).is_kept
    assert ow.tune(fused, *one, file=file).is_kept


WRITTEN = np.zeros(1100)


def test_what_a_function_writes_to_outside_is_left_as_it_is():
    def adds(x):
        WRITTEN[...] += x[0]
        return x + 1

    ow.tune(ow.fuse(adds), X, most=2)
    assert not WRITTEN.any()


@pytest.fixture
def rounding():
    """An operator with other bits by another toggle, of which it does not say so."""
    toggle = ow.toggle("ROUNDS_ONCE", 0, 1)
    lines = "#if ROUNDS_ONCE\ns = fma(x, x, y * y)\n#else\ns = x * x + y * y\n#endif"
    return ow.operator("squares", [toggle, lines, "s"], "float", lambda x, y: x * x + y * y, ulp=2)


def into_memory(operator, x, y):
    made = np.empty_like(x)
    made[...] = operator(x, y)
    return made


def into_an_argument(operator, x, y):
    x[...] = operator(x, y)


def into_a_dict(operator, x, y):
    return {"a": [operator(x, y)]}


@pytest.mark.parametrize("function", [into_memory, into_an_argument, into_a_dict])
def test_results_of_any_kind_are_compared(function, rounding, monkeypatch):
    made_as_is = tuning._made

    def made(program, args, kwargs):
        is_other = program.kernels[0].toggles["ROUNDS_ONCE"]
        return made_as_is(program, args, kwargs)._replace(seconds=lambda: 0.1 if is_other else 1.0)

    monkeypatch.setattr(tuning, "_made", made)
    fused = ow.fuse(lambda x, y: function(rounding, x, y))
    x, y = np.random.default_rng(3).random((2, 300, 200), np.float32)
    assert "ROUNDS_ONCE" not in ow.tune(fused, x, y).toggles


def test_a_call_is_repeated_on_what_it_was_given():
    def moves(place, x):
        place += 1
        return x[place]

    place = np.arange(20)  # the ninetieth call in a row would find no row
    assert len(ow.tune(ow.fuse(moves), place, X, most=2).tried) == 2
    np.testing.assert_array_equal(place, np.arange(20))


def test_threads_may_tune_into_one_file(timed, tmp_path):
    file = tmp_path / "tuned.json"
    functions = [ow.fuse(eval(f"lambda x: x * {n} + {n}")) for n in range(1, 5)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda f: ow.tune(f, X, file=file), functions))
    assert len(json.loads(file.read_text())["tuned"]) == 4


def test_methods_are_tuned(timed):
    class Model:
        def __init__(self):
            self.scale = 3.0

        @ow.fuse
        def step(self, x):
            return x * self.scale + 1

    model = Model()
    found = ow.tune(model.step, X)
    assert found.toggles == {"VECTOR": 32}
    np.testing.assert_array_equal(found.fused(model, X), X * 3 + 1)


def test_numpys_arrays_are_not_tuned_for_a_gpu(monkeypatch):
    fused = ow.fuse(lambda x: x + 1)
    program = fused.lower(X, target="sm_80")
    with pytest.raises(ow.errors.ArgumentError, match="expected CuPy's arrays for sm_80"):
        tuning._checked(program, (X,), {})
