"""``ow.tune``: results, arguments, and the file that keeps what was found."""

import json

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
    """Made-up times: chunks of 32 are faster."""
    asked = []

    def clock_of(arrays):
        def clock(run):
            function = run.args[0]
            asked.append(function)
            return 0.5 if dict(function.options.toggles).get("VECTOR") == 32 else 1.0

        return clock

    monkeypatch.setattr(tuning, "clock_of", clock_of)
    return asked


def test_the_tuned_function_is_numpys():
    found = ow.tune(ow.fuse(lambda x, y: x * 2 + y), X, Y, most=3)
    np.testing.assert_array_equal(found.fused(X, Y), X * 2 + Y)
    assert len(found.tried) <= 3
    assert not found.is_kept
    assert "the compiler's choice" in str(found)


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
    assert [e["arguments"][0] for e in entries] == [
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


ENTRY = {"function": "f", "arguments": [], "device": "", "kernels": "", "times as fast": 1}


@pytest.mark.parametrize(("content", "text"), [
    ("no json", "Expecting value"),
    ("[]", "no {\"format\": 1"),
    ('{"format": 2, "tuned": []}', "no {\"format\": 1"),
    ('{"format": 1}', "no list"),
    ('{"format": 1, "tuned": [3]}', "lacks everything"),
    ('{"format": 1, "tuned": [{"function": "f"}]}', "lacks arguments, device"),
    (json.dumps({"format": 1, "tuned": [{**ENTRY, "toggles": {"VECTR": 1}}]}), "unknown toggle"),
    (json.dumps({"format": 1, "tuned": [{**ENTRY, "toggles": {"VECTOR": 3}}]}), "VECTOR=3"),
    (json.dumps({"format": 1, "tuned": [{**ENTRY, "toggles": 3}]}), "entry 0 of f"),
])  # fmt: skip
def test_another_file_is_refused_and_stays(content, text, tmp_path):
    file = tmp_path / "tuned.json"
    file.write_text(content)
    with pytest.raises(ow.errors.FileError, match=text):
        ow.tune(ow.fuse(step), X.copy(), Y, file=file)
    assert file.read_text() == content
