"""Ejected kernels: they run in the place of ours, and a drift of their function is found."""

import importlib.util
import json
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.cli.main import main
from opweave.opcodes import errors as e

pytestmark = pytest.mark.host

CODE = """
import numpy as np
import opweave as ow

ONE = 1

@ow.fuse
def tonemap(img, exposure):
    x = img[:, 1:] * exposure
    return x / (ONE + x)

@ow.fuse
def two(x):
    y = x - x.max(axis=0)
    return np.exp(y).sum(axis=0)

@ow.fuse
def halved(x):
    return x / 2

@ow.fuse
def total(x):
    return x.sum(axis=0)

pale = ow.fuse(lambda x: x + 1)
"""
X = np.random.default_rng(0).random((64, 100), dtype=np.float32)
ARGUMENTS = ["--arg", "f32[64,100]", "--arg", "1.4"]
numbers = count()


@pytest.fixture
def app(tmp_path, monkeypatch):
    """The file; what the command line imports of it is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a second is one time for its cache
    monkeypatch.delitem(sys.modules, "app", raising=False)
    path = tmp_path / "app.py"
    path.write_text(CODE)
    yield path
    sys.modules.pop("app", None)


def eject(path, *options, function="tonemap", arguments=ARGUMENTS):
    return main(["eject", f"{path}:{function}", *arguments, "--target", "host", *options])


def loaded(path):
    """The file as a new module, as a new process would have it."""
    spec = importlib.util.spec_from_file_location(f"ejected_app_{next(numbers)}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changed(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def kernel_of(path, function="tonemap"):
    (found,) = path.with_suffix(".opweave").joinpath(function).glob("*.cu")
    return found


def edited(path):
    changed(kernel_of(path), "v0 / v1;", "v0 / v1 + 1.0f;")


def states(path, capsys):
    capsys.readouterr()
    status = main(["check-ejected", str(path), "--json"])
    return status, [row["state"] for row in json.loads(capsys.readouterr().out)["ejected"]]


def plainly(x, exposure):
    y = x[:, 1:] * np.float32(exposure)
    return y / (1 + y)


def test_an_ejected_kernel_runs_as_it_was_edited(app, capsys):
    assert eject(app) == 0
    assert states(app, capsys) == (0, ["unchanged"])
    assert (loaded(app).tonemap(X, 1.4) == plainly(X, 1.4)).all()
    edited(app)
    module = loaded(app)

    assert states(app, capsys) == (0, ["edited"])
    assert (module.tonemap(X, 1.4) == plainly(X, 1.4) + 1).all()
    assert f"ejected: {kernel_of(app)}" in module.tonemap.explain(X, 1.4).text
    with pytest.raises(e.CheckError, match="WRONG"):
        module.tonemap.check(X, 1.4)


def test_a_setting_leaves_it_out(app):
    eject(app)
    edited(app)
    with ow.config(ejected=False):
        assert (loaded(app).tonemap(X, 1.4) == plainly(X, 1.4)).all()


@pytest.mark.parametrize(
    "other", [X.astype(np.float64), X[:1], X[:, ::2], np.asfortranarray(X)], ids="dtype rows strides order".split()
)  # fmt: skip
def test_other_arguments_take_our_kernels(app, other):
    eject(app)
    edited(app)

    np.testing.assert_allclose(loaded(app).tonemap(other, 1.4), plainly(other, 1.4), rtol=1e-6)


def test_calls_that_need_another_graph_take_our_kernels(app):
    """Alarms for NumPy's errors are outputs more; a repeated function reads its own results."""
    arguments = ["--arg", "f32[64,100]"]
    eject(app)
    edited(app)
    eject(app, function="halved", arguments=arguments)
    changed(kernel_of(app, "halved"), "v0;", "v0 + 1.0f;")
    module = loaded(app)
    with ow.config(errors="numpy"):
        np.testing.assert_allclose(module.tonemap(X, 1.4), plainly(X, 1.4), rtol=1e-6)

    assert (ow.repeat(module.halved, 3)(X) == X / 8).all()
    assert (module.halved(X) == X / 2 + 1).all()


def test_a_link_to_the_file_has_its_kernels(app):
    link = app.with_name("linked.py")
    link.symlink_to(app)
    eject(link)
    edited(app)

    for path in (app, link):
        assert (loaded(path).tonemap(X, 1.4) == plainly(X, 1.4) + 1).all()


def test_what_does_not_change_the_operators_is_no_drift(app, capsys):
    eject(app)
    edited(app)
    changed(app, "@ow.fuse\ndef tonemap", "# a comment\n\n@ow.fuse\ndef tonemap")
    changed(app, "    x = img[:, 1:] * exposure", "    y = img[:, 1:] * exposure\n    x = y")

    assert (loaded(app).tonemap(X, 1.4) == plainly(X, 1.4) + 1).all()
    assert states(app, capsys) == (0, ["edited"])


DRIFTS = {
    "another operator": ("x / (ONE + x)", "x - (ONE + x)"),
    "another number": ("x / (ONE + x)", "x / (2 + x)"),
    "another global": ("ONE = 1", "ONE = 3"),
    "another slice": ("img[:, 1:]", "img[:, 2:]"),
    "one operator more": ("return x / (ONE + x)", "return np.sqrt(x / (ONE + x))"),
    "another name": ("exposure", "gain"),
    "one parameter more": ("(img, exposure)", "(img, exposure, more=1)"),
    "no program any more": ("return x /", "return x if x.sum() < 0 else x /"),
}


@pytest.mark.parametrize("name", DRIFTS)
def test_a_function_that_has_changed_is_refused_at_the_call(app, name, capsys):
    eject(app)
    edited(app)
    changed(app, *DRIFTS[name])
    module = loaded(app)
    for _ in range(2):
        with pytest.raises(e.EjectedError, match=r"app.opweave/tonemap/.*has changed.*--force"):
            module.tonemap(X, 1.4)
    assert states(app, capsys) == (1, ["drifted"])
    with ow.config(ejected=False):
        module.tonemap(X, 1.4)


def test_what_has_changed_is_said_with_its_line(app):
    eject(app)
    changed(app, "(ONE + x)", "(ONE - x)")
    line = app.read_text().splitlines().index("    return x / (ONE - x)") + 1
    with pytest.raises(e.EjectedError, match=rf"found `.*subtract\(.*` \(app.py:{line}\)"):
        loaded(app).tonemap(X, 1.4)


def test_a_change_in_another_kernel_of_the_function_is_none_of_this_one(app, capsys):
    rows = ["--arg", "f64[64,100]"]
    assert eject(app, function="two", arguments=rows) == 0
    kernels = sorted(app.with_suffix(".opweave").joinpath("two").glob("*.cu"))
    changed(app, "return np.exp(y).sum(axis=0)", "return np.exp(y).sum(axis=0), np.sort(x)")

    x = X.astype(np.float64)
    np.testing.assert_allclose(loaded(app).two(x)[0], np.exp(x - x.max(axis=0)).sum(axis=0))
    assert states(app, capsys) == (0, ["unchanged"] * len(kernels))


def test_a_kernel_that_other_options_leave_out_is_no_longer_in_use(app, capsys):
    eject(app)
    edited(app)
    changed(app, "@ow.fuse\ndef tonemap", "@ow.fuse(fast=True)\ndef tonemap")

    np.testing.assert_allclose(loaded(app).tonemap(X, 1.4), plainly(X, 1.4), 1e-5)
    capsys.readouterr()
    assert main(["check-ejected", str(app)]) == 1
    assert "kernels of ours run" in " ".join(capsys.readouterr().out.split())


def test_ejecting_again_keeps_what_was_there(app, capsys):
    eject(app)
    edited(app)
    mine = kernel_of(app).read_text()
    assert eject(app) == 1
    assert "--force" in capsys.readouterr().err
    changed(app, "x / (ONE + x)", "x - (ONE + x)")
    assert eject(app, "--force") == 0

    assert kernel_of(app).with_suffix(".cu.old").read_text() == mine
    assert states(app, capsys) == (0, ["unchanged"])
    y = X[:, 1:] * np.float32(1.4)
    assert (loaded(app).tonemap(X, 1.4) == y - (1 + y)).all()


def test_ejecting_for_other_lengths_leaves_a_kernel_that_is_there(app, capsys):
    """Their loops may have another form; arguments of one kind share a folder."""
    for extents in ("10,10", "1000,1000"):
        assert eject(app, function="total", arguments=["--arg", f"f64[{extents}]"]) == 0
    found = sorted(app.with_suffix(".opweave").joinpath("total").iterdir())

    assert [path.suffix for path in found] == [".cu", ".json"] * 2
    assert states(app, capsys) == (0, ["unchanged"] * 2)


def test_a_stale_kernel_is_put_away_where_that_is_asked_for_alone(app, capsys):
    for extents in ("10,10", "1000,1000"):
        eject(app, function="total", arguments=["--arg", f"f64[{extents}]"])
    changed(app, "return x.sum(axis=0)", "return x.max(axis=0)")
    folder = app.with_suffix(".opweave").joinpath("total")
    before = sorted(path.name for path in folder.iterdir())
    assert eject(app, function="total", arguments=["--arg", "f64[10,10]"]) == 1

    assert sorted(path.name for path in folder.iterdir()) == before
    assert eject(app, "--force", function="total", arguments=["--arg", "f64[10,10]"]) == 0
    assert states(app, capsys) == (0, ["unchanged"])


BROKEN = {
    "no source": (lambda cu: cu.unlink(), r"cannot be read"),
    "a manifest that is gone": (lambda cu: cu.with_suffix(".json").unlink(), r"no manifest.*No such"),
    "no manifest": (lambda cu: cu.with_suffix(".json").write_text("{"), r"no manifest"),
    "a later format": (
        lambda cu: cu.with_suffix(".json").write_text('{"format": 9}'), r"format 9, expected 1"),
    "other options": (
        lambda cu: changed(cu.with_suffix(".json"), '"fast"', '"slow"'), r"'asked' has other"),
    "no options": (lambda cu: changed(cu.with_suffix(".json"), '"asked": {', '"asked": 3, "a": {'),
                   r"'asked' has other"),
    "an argument that is no text": (
        lambda cu: changed(cu.with_suffix(".json"), '"arguments": [', '"arguments": [3, '),
        r"arguments is \[3, "),
    "a name that is no text": (
        lambda cu: changed(cu.with_suffix(".json"), '"names": [', '"names": [null, '), r"names is"),
    "depths": (lambda cu: cu.with_suffix(".json").write_text("[" * 100_000), r"no manifest"),
    "another launch": (lambda cu: changed(cu, "#define VECTOR", "#define VECTOR 3 //"), r"VECTOR"),
    "no kernel": (lambda cu: cu.write_text("int x;"), r"defines no extern"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_broken_is_named_with_what_to_do(app, name, capsys):
    eject(app)
    damage, text = BROKEN[name]
    damage(kernel_of(app))
    with pytest.raises(e.EjectedError, match=rf"app.opweave/tonemap/.*{text}"):
        loaded(app).tonemap(X, 1.4)
    assert states(app, capsys)[0] == 1


def test_what_is_no_folder_is_left_alone(app, capsys, monkeypatch):
    monkeypatch.chdir(app.parent)
    app.with_name("notes.opweave").write_text("mine")
    assert main(["check-ejected"]) == 0
    assert "nothing is ejected here" in capsys.readouterr().out


def test_code_that_does_not_compile_is_the_compilers_error(app):
    eject(app)
    changed(kernel_of(app), "v0 / v1;", "v0 / nothing;")
    with pytest.raises(e.CompileError, match=r"app.opweave/tonemap/\w+.host.*nothing"):
        loaded(app).tonemap(X, 1.4)


@pytest.mark.parametrize("gone", ["function", "file"])
def test_a_kernel_whose_function_is_gone_is_an_orphan(app, gone, capsys):
    eject(app)
    changed(app, "def tonemap", "def another") if gone == "function" else app.unlink()

    assert states(app, capsys) == (1, ["orphaned"])


@pytest.mark.parametrize("file", ["tones.py", "__init__.py"])
def test_a_module_of_a_package_may_import_its_neighbours(app, file, capsys):
    package = app.parent / f"package{next(numbers)}"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("ONE = 1\n")
    (package / file).write_text(CODE.replace("ONE = 1", "from .one import ONE"))

    assert eject(package / file) == 0
    assert states(package / file, capsys) == (0, ["unchanged"])


def test_a_file_that_never_was_is_a_mistake_in_the_request(app, capsys):
    assert main(["check-ejected", str(app.with_name("ap.py"))]) == 2
    assert "ap.py: expected a Python file" in capsys.readouterr().err
    assert states(app, capsys) == (0, [])


def test_what_has_no_folder_is_refused(app, capsys):
    assert eject(app, function="pale", arguments=["--arg", "f32[8]"]) == 2
    assert "a lambda" in capsys.readouterr().err
    assert eject(app, "--kernel", "none") == 2
    assert "expected one of tonemap_" in capsys.readouterr().err


def test_files_are_looked_for_where_a_function_is_lowered_alone(app, monkeypatch):
    looked = []
    is_dir = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda self: looked.append(self) or is_dir(self))
    function = loaded(app).tonemap
    for _ in range(5):
        function(X, 1.4)

    assert [path.name for path in looked if path.parent.suffix == ".opweave"] == ["tonemap"]
