"""``program.save`` and ``ow.load_program``: the same results, nothing compiled, damage refused."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest

import opweave as ow
from opweave._saved import folder as saved_folder
from opweave.opcodes import errors as e
from tests.saved.programs import PROGRAMS, drawn, lowered, outside, scaled

pytestmark = pytest.mark.host


def leaves(value):
    """Arrays and numbers with their types, and the containers around them."""
    if isinstance(value, dict):
        return [("dict", *value), *map(leaves, value.values())]
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(leaves, value)]
    if isinstance(value, np.ndarray | np.generic):
        return type(value).__name__, str(value.dtype), value.shape, value.tobytes()
    return type(value).__name__, value


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loaded_program_gives_the_results_of_the_function(name, tmp_path):
    function, args, others = PROGRAMS[name]
    loaded = ow.load_program(lowered(name).save(tmp_path / "saved"))
    fused = ow.fuse(function, static_argnames=("mode",) if "mode" in loaded.arguments else ())

    for given in ({}, others):
        by_us, by_it = copy.deepcopy(args), copy.deepcopy(args)
        left = by_us[:1] if "s" in given else by_us
        with ow.config(library=True):
            wanted = fused(*left, **given)
        found = loaded(*(by_it[:1] if "s" in given else by_it), **given)

        assert leaves(found) == leaves(wanted)
        assert leaves(by_it) == leaves(by_us)  # also what it has written


def test_what_is_returned_is_the_argument_or_a_view_of_it(tmp_path):
    x = drawn(6)
    first, part, again = ow.load_program(
        lowered("arguments that are returned").save(tmp_path / "p")
    )(x)

    assert first is x
    assert again is x
    assert np.shares_memory(part, x)


def test_what_is_outside_keeps_the_value_that_it_had(tmp_path, monkeypatch):
    x = drawn(5, 4)
    wanted = ow.fuse(outside)(x)
    place = lowered("arrays and numbers outside").save(tmp_path / "saved")
    monkeypatch.setitem(outside.__globals__, "SCALE", 99.0)
    monkeypatch.setitem(outside.__globals__, "WEIGHTS", np.zeros((4, 6), np.float32))

    np.testing.assert_array_equal(ow.load_program(place)(x), wanted)


KEPT = np.arange(4.0)


def test_a_result_that_the_program_keeps_is_a_copy(tmp_path):
    fused = ow.fuse(lambda x: (x + KEPT, KEPT, KEPT[1:]))
    loaded = ow.load_program(fused.lower(np.ones(4), target="host").save(tmp_path / "saved"))
    for _ in range(2):
        for found, expected in zip(loaded(np.ones(4)), (KEPT + 1, KEPT, KEPT[1:]), strict=True):
            np.testing.assert_array_equal(found, expected)
            found[...] = 100


ALIKE = {
    "true": (lambda x, n: x * (2 if n is True else 3), True, 1),
    "zero": (lambda x, n: x + 1 if n is False else x, False, 0),
    "in a tuple": (lambda x, n: x * (2 if n[0] is True else 3), (True, "a"), (1, "a")),
    "a key": (lambda x, n: x * 2 if next(iter(n)) is True else x, {True: 1.0}, {1: 1.0}),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_python_calls_equal_is_another_value(name, tmp_path):
    function, saved, other = ALIKE[name]
    fused = ow.fuse(function, static_argnames="n" if name == "in a tuple" else ())
    loaded = ow.load_program(
        fused.lower(np.ones(4), saved, target="host").save(tmp_path / "saved")
    )
    np.testing.assert_array_equal(loaded(np.ones(4), saved), function(np.ones(4), saved))
    with pytest.raises(
        e.ArgumentError, match=f"argument n.*{'with 1' if name == 'a key' else ''}"
    ):
        loaded(np.ones(4), other)


def test_an_index_that_has_no_element(tmp_path):
    loaded = ow.load_program(lowered("indices").save(tmp_path / "saved"))
    with pytest.raises(e.BoundsError, match=r"index 9 is out of bounds for an axis of 9 elements"):
        loaded(drawn(9), np.array([3, 9, 0]))


ALONE = """
import sys
import numpy as np, opweave as ow
from opweave.runtime.binaries import hostcc
def refused(*args, **kwargs):
    raise AssertionError("compiles")
hostcc.compile_host = hostcc.host_compiler = refused
loaded = ow.load_program(sys.argv[1])
print(float(loaded(np.full((5, 33), 2, np.float32), 0.5)[0, 0]))
rooms = ("opweave.compiler.codegen.", "opweave.compiler.numpy_api.", "opweave.compiler.pipeline.")
print([name for name in sys.modules if name.startswith(("jinja2", *rooms))])
"""


def test_nothing_is_traced_or_compiled_and_no_compiler_imported(tmp_path):
    place = lowered("numbers").save(tmp_path / "saved")
    given = {"OPWEAVE_CACHE_DIR": str(tmp_path / "empty"), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(place)], env=given, capture_output=True
    )

    wanted = ow.fuse(scaled)(np.full((5, 33), 2, np.float32), 0.5)[0, 0]
    assert done.stdout.decode() == f"{float(wanted)}\n[]\n", done.stderr.decode()
    assert not (tmp_path / "empty").exists()


LOADS = """
import json, sys
import numpy as np, opweave as ow
def imported():
    rooms = "opweave.compiler.", "opweave.runtime.", "jinja2"
    found = {n: m for n, m in sys.modules.items() if n.startswith(rooms)}
    return [n for n, m in found.items() if not hasattr(m, "__path__") or n == "jinja2"]
before = imported()
for place in sys.argv[1:]:
    loaded = ow.load_program(place)
first = imported()
loaded(np.full((5, 33), 2, np.float32), 0.5)
print(json.dumps([sorted({*found} - {*before}) for found in (first, imported())]))
"""
# Modules, or rooms, that may be imported; all others compile, or serve who compiles.
TO_LOAD = (
    "opweave.compiler.captures.structure", "opweave.compiler.ir.expr",
    "opweave.compiler.ir.plain_arrays", "opweave.runtime.calls.arrays", "opweave.runtime.process.",
)  # fmt: skip
TO_CALL = (
    *TO_LOAD, "opweave.compiler.ir.literals", "opweave.compiler.ir.parts", "opweave.runtime.calls.",
    "opweave.runtime.host.", "opweave.runtime.binaries.binary",
)  # fmt: skip
# What prepares a call of what was lowered.
PREPARING = (
    "prepared",
    "filling",
    "building",
    "layouts",
    "graph_results",
    "arguments",
    "interface",
)


def test_loading_imports_nothing_that_traces_or_schedules_or_starts_kernels(saved):
    names = "containers of arguments", "arguments that are written", "products", "numbers"
    places = [str(saved(name)) for name in names]
    ran = subprocess.run([sys.executable, "-c", LOADS, *places], capture_output=True, check=True)
    loading, calling = json.loads(ran.stdout)

    assert [name for name in loading if not name.startswith(TO_LOAD)] == []
    assert [name for name in calling if not name.startswith(TO_CALL)] == []
    assert {*calling} & {f"opweave.runtime.calls.{name}" for name in PREPARING} == set()


# What is refused

MISTAKES = {
    "an extent": ((drawn(5, 34), 0.5), r"argument x: the program was saved for f32\[5, 33\], found f32\[5, 34\]"),
    "a dtype": ((drawn(5, 33, dtype="float64"), 0.5), r"saved for f32\[5, 33\], found f64\[5, 33\]"),
    "an order": ((np.asfortranarray(drawn(5, 33)), 0.5), "in C order, found .* not in C order"),
    "an address": ((np.frombuffer(bytes(664), np.float32, 165, 4).reshape(5, 33), 0.5), "a multiple of 16 bytes"),
    "a list": (([1.0], 0.5), r"saved for f32\[5, 33\], found a list of 1"),
    "a class": ((np.ma.masked_array(drawn(5, 33)), 0.5), r"saved for f32\[5, 33\]"),
    "a number": ((drawn(5, 33), 1), "argument s: .* a number of type float, found 1 of type int"),
    "one too few": ((drawn(5, 33),), "missing a required argument: 's'"),
    "one too many": ((1, 2, 3, 4), "too many positional arguments"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_a_call_with_other_arguments_says_what_was_expected_and_found(what, saved):
    args, says = MISTAKES[what]
    with pytest.raises(e.ArgumentError, match=says):
        ow.load_program(saved("numbers"))(*args)


def test_what_the_function_has_looked_at_stays(saved):
    loaded, x = ow.load_program(saved("a text, and a number that is looked at")), drawn(7)
    with pytest.raises(e.ArgumentError, match="argument mode: .* saved for 'exp', found 'log'"):
        loaded(x, "log")
    with pytest.raises(e.ArgumentError, match="cut"):
        loaded(x, cut=-1)


def powered(x, s):
    return x**s


def test_a_power_that_was_saved_takes_all_numbers_but_one_that_was_saved_for_a_square(tmp_path):
    x = np.arange(1.0, 6)
    for name, number in (("any", 2.5), ("square", 2.0)):
        ow.fuse(powered).lower(x, number, target="host").save(tmp_path / name)
    made, square = (ow.load_program(tmp_path / name) for name in ("any", "square"))

    for number in (2.5, 2.0, 0.5, -1.0, 1.0, 3):
        np.testing.assert_allclose(made(x, float(number)), x**number, 1e-14)
    np.testing.assert_array_equal(square(x, 2.0), x * x)
    with pytest.raises(ow.errors.ArgumentError, match="saved for s == 2 = True"):
        square(x, 3.0)


def test_a_call_that_kernels_may_not_run_writes_nothing(saved):
    x = drawn(41)
    before = x.copy()
    with pytest.raises(e.ArgumentError, match="nothing was written: .* share memory"):
        ow.load_program(saved("arguments that are written"))(x[:40], x[:40])
    np.testing.assert_array_equal(x, before)


def changed(place, change):
    """Change a manifest, with the hash that belongs to it."""
    path = place / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    manifest["sha256"] = saved_folder.digest(saved_folder._canonical(manifest))
    path.write_text(json.dumps(manifest))


def flipped(name):
    def damage(place):
        (path,) = place.glob(name)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    return damage


def cut_off(place):
    path = place / "manifest.json"
    path.write_bytes(path.read_bytes()[:-40])


def linked(name):
    def damage(place):
        (path,) = place.glob(name)
        path.rename(place / "other")
        path.symlink_to(place / "other")

    return damage


def of_a_cpu(*features):
    return lambda place: changed(place, lambda m: m["targets"]["host"].update(cpu=features))


DAMAGED = {
    "a kernel": (flipped("host/0_*.so"), e.SavedError, "was changed or damaged: expected .* bytes"),
    "the scheduler": (flipped("host/runtime.so"), e.SavedError, "runtime.so was changed or damaged"),
    "a source": (flipped("kernels/host/*.cu"), e.SavedError, "cu was changed or damaged"),
    "the manifest": (flipped("manifest.json"), e.SavedError, "manifest.json was changed or damaged"),
    "half a manifest": (cut_off, e.SavedError, "manifest.json was changed or damaged"),
    "no manifest": (lambda p: (p / "manifest.json").unlink(), e.SavedError, "is no saved program"),
    "no kernel": (lambda p: [f.unlink() for f in p.glob("host/0_*")], e.FileError, "cannot be read"),
    "a link": (linked("host/0_*.so"), e.FileError, "cannot be read"),
    "a folder that is a link": (linked("host"), e.FileError, "host cannot be read: it is a link"),
    "a manifest without targets": (lambda p: changed(p, lambda m: m.pop("targets")), e.SavedError,
                                   "manifest.json was changed or damaged"),
    "a signature of other kinds": (lambda p: changed(p, lambda m: m.update(signature=3)), e.SavedError,
                                   "manifest.json was changed or damaged"),
    "a file elsewhere": (lambda p: changed(p, lambda m: m["files"].update({"../x.so": {}})), e.SavedError,
                         "outside of the folder"),
    "a newer version": (lambda p: changed(p, lambda m: m.update(format=2, opweave="9.0")), e.SavedError,
                        "saved by opweave '9.0' in format 2: expected format 1"),
    "another processor": (of_a_cpu("riscv64"), e.SavedError, "for processors of kind riscv64, this one is"),
    "a larger processor": (of_a_cpu(__import__("os").uname().machine, "avx9"), e.SavedError, "with avx9, which this one lacks"),
    "another scheduler": (lambda p: changed(p, lambda m: m["targets"]["host"].update(interface="0")), e.SavedError,
                          "of another version of opweave"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGED)
def test_a_folder_that_is_not_as_it_was_written_is_refused(what, tmp_path):
    damage, kind, says = DAMAGED[what]
    place = lowered("numbers").save(tmp_path / "saved")
    damage(place)
    with pytest.raises(kind, match=says):
        ow.load_program(place)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(e.FileError, match="is no folder"):
        ow.load_program(tmp_path / "none")


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("notes")
    with pytest.raises(e.FileError, match="is there already"):
        lowered("numbers").save(tmp_path / "mine")
    assert [p.name for p in tmp_path.rglob("*")] == ["mine", "notes.txt"]


def of_a_list(x, pair):
    return x * pair[0].real


def in_a_container(x):
    return x * TABLE["w"]


TABLE = {"w": drawn(4)}


class Pair(tuple):
    pass


def sorted_before(x):
    return np.sort(np.exp(x)) * 2


def by_function(x, f):
    return f(x)


REFUSED = {
    "a call of NumPy's library": (sorted_before, (drawn(40),), "calls np.sort of NumPy's library"),
    "arrays in another order": (scaled, (drawn(4, 5).T, 1.0), "argument x does not lie in C order"),
    "an array in a container": (in_a_container, (drawn(4),), "reads TABLE, arrays in a container"),
    "a function": (by_function, (drawn(4), np.exp), "argument f is part of the program: .* cannot be saved"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(what, tmp_path):
    function, args, says = REFUSED[what]
    program = ow.fuse(function).lower(*args, target="host")
    with pytest.raises(e.SavedError, match=says):
        program.save(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_programs_that_do_not_belong_together(tmp_path):
    x = drawn(5, 33)
    program, other = lowered("numbers"), ow.fuse(scaled).lower(x, 1, target="sm_90a")
    with pytest.raises(e.SavedError, match="two of the programs are for host"):
        program.save(tmp_path / "saved", program)
    with pytest.raises(e.SavedError, match="of other functions or arguments"):
        program.save(tmp_path / "saved", other)
