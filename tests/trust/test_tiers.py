"""The tiers: what leaves the default one is named, still shown there, and comes in shares."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests import shares
from tests.support import tiers
from tests.support.cells import cells_of
from tests.support.slow import SLOW

ROOT = Path(__file__).parents[2]


@cache
def functions_of(module):
    tree = ast.parse((ROOT / "tests" / module).read_text())
    return {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}


@pytest.mark.parametrize("name", SLOW)
def test_a_row_of_the_table_names_a_test_that_there_is(name):
    module, _, function = name.partition("::")

    assert function in functions_of(module)


def test_what_leaves_as_a_whole_names_a_test_that_stays():
    for instead in filter(None, (row.instead for row in SLOW.values())):
        module, _, function = instead.partition("::")

        assert function in functions_of(module)
        assert not (instead in SLOW and SLOW[instead].instead)


def test_each_value_of_each_column_is_kept_once():
    rows = [(a, b) for a in "abc" for b in range(5)]
    kept = [rows[n] for n in tiers.covering(rows)]

    assert {a for a, _ in kept} == set("abc")
    assert sorted(b for _, b in kept) == list(range(5))


def test_values_take_turns_where_a_column_has_fewer():
    rows = [(a, b) for b in range(6) for a in ("host", "sm_90a")]
    kept = [rows[n][0] for n in tiers.covering(rows)]

    assert sorted(kept) == ["host"] * 3 + ["sm_90a"] * 3


class Case:
    """A test as pytest has collected it."""

    def __init__(self, name, **params):
        self.nodeid = f"tests/{name}{list(params.values()) or ''}"
        self.path = ROOT / "tests" / name.partition("::")[0]
        if params:
            self.callspec = type("CallSpec", (), {"params": params})


@pytest.mark.parametrize(("row", "kept"), [
    (tiers.diagonal("a"), [0, 1, 2, 3, 4, 5]), (tiers.diagonal("a", most=2), [0, 3]),
    (tiers.every(4), [0, 4]), (tiers.only("a", "1", "5"), [1, 5]),
    (tiers.without("a", "1", "5"), [0, 2, 3, 4]), (tiers.away("x.py::test_z"), []),
    (tiers.every(4).also("3"), [0, 3, 4]), (tiers.every(2).less("2"), [0, 4]),
])  # fmt: skip
def test_a_row_says_which_cases_stay(row, kept):
    cases = [Case("x.py::test_y", a=n) for n in range(6)]
    slow = tiers.slow_ones([*cases, Case("x.py::test_z")], {"x.py::test_y": row})

    assert [n for n, case in enumerate(cases) if case not in slow] == kept
    assert slow <= set(cases)


@pytest.mark.parametrize("argument", ["tests/x.py::test_y", "tests/x.py::test_y[1]"])
def test_a_test_that_is_named_runs_in_any_tier(argument, monkeypatch):
    monkeypatch.chdir(ROOT)

    assert tiers.is_named(Case("x.py::test_y", a=1), [argument])
    assert not tiers.is_named(Case("x.py::test_yet", a=1), [argument])
    assert not tiers.is_named(Case("z.py::test_y", a=1), [argument])
    assert not tiers.is_named(Case("x.py::test_y", a=1), ["tests/x.py"])


def test_the_shares_of_the_slow_tier_part_it():
    names = [f"tests/x.py::test_y[{n}]" for n in range(100)]
    parts = [{n for n in names if tiers.share_of(n, 3) == number} for number in range(3)]

    assert all(len(part) > 20 for part in parts)
    assert sum(map(len, parts)) == len(names)


@pytest.mark.parametrize("text", ["3/3", "-1/3", "1", "a/b", "0/0"])
def test_a_share_that_there_is_not_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        tiers.a_share(text)


def test_a_cell_is_an_operator_a_kind_a_template_and_a_target():
    import numpy as np

    import opweave as ow

    x = np.ones((4, 5), np.float32)
    program = ow.fuse(lambda x: np.exp(x).sum(axis=-1)).lower(x, target="sm_80")

    assert set(cells_of(program.lowered)) == {
        ("exp", "f", "row", "sm_80"),
        ("sum", "f", "row", "sm_80"),
    }


def test_a_seed_follows_from_names_and_contents(tmp_path, monkeypatch):
    monkeypatch.setattr(shares, "ROOT", tmp_path)
    for folder in ("api", "tests/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "api" / "one.py").write_text("1")
    seeds = [shares.seed_of_the_tree()]
    (tmp_path / "tests" / "__pycache__" / "one.pyc").write_text("1")

    assert shares.seed_of_the_tree() == seeds[0]
    (tmp_path / "api" / "one.py").write_text("2")
    seeds.append(shares.seed_of_the_tree())
    (tmp_path / "api" / "one.py").rename(tmp_path / "api" / "two.py")
    seeds.append(shares.seed_of_the_tree())
    assert len(set(seeds)) == 3


def test_a_failure_prints_the_command_that_repeats_it(monkeypatch, capfd):
    monkeypatch.setattr(shares, "LONG", {"none": lambda seed: ["-c", f"raise SystemExit({seed})"]})

    assert shares.main(["--seed", "3"]) == 1
    assert "failed; to repeat it: python -c 'raise SystemExit(3)'" in capfd.readouterr().out
    assert shares.main(["--seed", "0"]) == 0
    assert shares.main(["--list"]) == 0


def test_the_commands_of_all_shares_are_those_of_a_seed(capsys):
    assert shares.main(["--seed", "103", "--list"]) == 0
    printed = capsys.readouterr().out

    assert "--tier slow --share 3/4\n" in printed
    assert "--every 100 --first 3" in printed
    assert "--seed 103 --programs" in printed
