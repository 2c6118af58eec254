"""``opweave ops``: every operator is listed, and prints as its list in 80 columns."""

import json

import pytest

import opweave as ow
from opweave.cli.main import main
from opweave.opcodes.codes import Phase
from opweave.opcodes.operators.registry import BUILT_IN


def ran(capsys, *arguments):
    status = main(["ops", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_every_operator_has_a_line_in_a_chapter(capsys):
    status, out, err = ran(capsys)
    *chapters, last = out.removesuffix("\n").split("\n\n")

    assert (status, err) == (0, "")
    assert "opweave ops NAME" in last
    lines = [line for chapter in chapters for line in chapter.split("\n")[1:]]
    assert sorted(line.split()[0] for line in lines) == sorted(BUILT_IN)
    assert all(len(line.split()) > 1 and len(line) <= 80 for line in lines)
    assert not any(chapter.startswith(" ") for chapter in chapters)


def test_every_operator_prints_as_its_list(capsys):
    for name in BUILT_IN:
        status, out, err = ran(capsys, name)
        said = " ".join(out.split())

        assert (status, err) == (0, "")
        assert all(len(line) <= 80 for line in out.split("\n"))
        assert said.startswith(f"{ow.OPERATORS[name].kind.value} {name}(")
        assert " dtypes: " in said
        for line in str(ow.OPERATORS[name]).split("\n"):
            assert " ".join(line.split()) in said


# Lines of dtypes, without their indentation.
DTYPES = {
    "sum": ("complex64, complex128 -> same", "int8, int16, int32, int64, bool -> int64"),
    "isnan": ("bool, complex64, complex128 -> bool",),
    "divmod": ("uint64 -> same, same", "int8, bool -> int8, int8"),
    "softmax": ("float32, int16, uint16 -> float32",),
    "exp": ("complex64, complex128 -> same, by real functions of their parts",),
    "cast": ("dtypes: as dtype= says",),
    "amax": ("reduce max(x,", "complex128 -> same"),
    "bitwise_and": ("dtypes: int8,", "bool -> same"),
    "gather_2d": ("complex128 -> same",),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_grouped_by_those_of_results(capsys, name):
    out = " ".join(ran(capsys, name)[1].split())

    for line in DTYPES[name]:
        assert line in out


def test_json_has_the_list(capsys):
    everything = json.loads(ran(capsys, "--json")[1])
    found = json.loads(ran(capsys, "max", "--json")[1])

    assert sorted(row["name"] for row in everything) == sorted(BUILT_IN)
    assert all(row["chapter"] and row["summary"] and row["opcodes"] for row in everything)
    assert found["dtypes"]["int8"] == ["int8"]
    (accumulate, _) = found["opcodes"]
    rows = [row._asdict() for row in ow.opcodes.max.opcode(Phase.ACCUMULATE).rows]
    assert [accumulate["phase"], accumulate["params"]] == ["accumulate", ["acc", "x"]]
    assert accumulate["rows"] == rows


MISTAKES = {
    "summ": "found 'summ'; did you mean sum or cumsum",
    "SOFTMAX": "did you mean softmax",
    "qqqq": "found 'qqqq'; 'opweave ops' lists all of them",
    "a\nb": "found 'a\\nb'",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_unknown_name_says_which_are_near(capsys, name):
    status, out, err = ran(capsys, name)

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("opweave: error: expected the name of an operator")
    assert MISTAKES[name] in err
