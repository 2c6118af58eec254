"""Two builds in turns: the statistics, the order of the processes, and what cannot be compared."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import run
from bench.tools import against, builds, one_round
from bench.tools.builds import Build, CannotCompare

BENCH = Path(against.__file__).parents[1]
HERE = Build(against.THIS, Path("here"))
THERE = Build(against.OTHER, Path("there"))


# Statistics


# Critical values of the sign test, two-sided, 5 %, as in its tables.
@pytest.mark.parametrize(
    ("rounds", "beyond"), [(6, 0), (8, 0), (9, 1), (12, 2), (15, 3), (17, 4), (20, 5)]
)
def test_the_ranks_of_the_interval_are_those_of_the_tables(rounds, beyond):
    assert against.ranks_beyond(rounds) == beyond


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_fewer_rounds_have_no_interval(rounds):
    with pytest.raises(CannotCompare, match=f"{rounds} rounds: expected 6 or more"):
        against.interval([1.0] * rounds)


def test_the_interval_of_six_rounds_is_from_the_least_to_the_most():
    middle, low, high = against.interval([1.0, 1.1, 1.2, 1.3, 1.4, 1.5])

    assert (low, high) == (pytest.approx(1.0), pytest.approx(1.5))
    assert middle == pytest.approx(1.25)


@pytest.mark.parametrize("disturbed", [0.0, 0.2], ids=["quiet", "a fifth of the rounds disturbed"])
def test_nineteen_intervals_in_twenty_hold_the_ratio(disturbed):
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        logs = math.log(1.05) + 0.02 * rng.standard_normal(20)
        logs += (rng.random(20) < disturbed) * rng.choice([-1, 1], 20)
        _, low, high = against.interval(np.exp(logs).tolist())
        held += low <= 1.05 <= high
    assert held >= 0.93 * 400


def test_rounds_that_were_disturbed_hide_no_slowdown():
    ratios = [1.05, 1.06, 1.07, 1.05, 1.04] * 3 + [0.2, 0.5, 0.9, 1.5, 7.0]

    assert against.interval(ratios)[1] > 1.03


# In turns


def fake(slower=1.0, drift=0.0, noise=0.0, rows=("calls: opweave",)):
    """Times of two builds on a machine whose pace drifts from process to process; and the log."""
    rng, log = np.random.default_rng(1), []

    def measure(build, number):
        log.append((build.name, number))
        pace = (1 + drift) ** len(log) * math.exp(noise * rng.standard_normal())
        return dict.fromkeys(rows, pace * (slower if build is HERE else 1.0))

    return measure, log


def compared(measure, rounds=20, limit=None):
    return against.rows_of([*against.in_turns(HERE, THERE, measure, rounds)], limit)


def test_processes_alternate_after_one_of_each_that_does_not_count():
    measure, log = fake()
    found = list(against.in_turns(HERE, THERE, measure, 3))

    a, b = against.THIS, against.OTHER
    assert log == [(a, 0), (b, 0), (a, 1), (b, 1), (b, 2), (a, 2), (a, 3), (b, 3)]
    assert len(found) == 3


@pytest.mark.parametrize(("slower", "verdict"), [
    (1.00, "ok"), (0.90, "ok"), (1.06, against.SLOWER), (1.03, "open"),
])  # fmt: skip
def test_the_verdict_is_that_of_the_whole_interval(slower, verdict):
    (row,), missing = compared(fake(slower, noise=0.005)[0])

    assert (row.verdict, missing) == (verdict, [])
    assert row.low < row.ratio < row.high
    assert row.low <= slower <= row.high


@pytest.mark.parametrize("slower", [1.0, 1.08])
def test_a_machine_that_drifts_favours_neither(slower):
    (row,), _ = compared(fake(slower, drift=0.01)[0])

    assert row.ratio == pytest.approx(slower, rel=0.005)
    assert (row.verdict == against.SLOWER) == (slower > 1.03)


@pytest.mark.parametrize(("what", "limit"), [
    ("calls: opweave", 1.03), ("guards: opweave", 1.03), ("compile: opweave", 1.10),
    ("network: opweave", 1.10), ("pixels: opweave", 1.02), ("callsigns: opweave", 1.02),
])  # fmt: skip
def test_each_experiment_has_its_limit(what, limit):
    measure, _ = fake(rows=(what,))

    assert compared(measure, 6)[0][0].limit == limit
    assert compared(measure, 6, limit=1.5)[0][0].limit == 1.5


@pytest.mark.parametrize("absent", [{}, {"calls: replay": math.nan}])
def test_a_row_that_one_build_lacks_or_refuses_is_named_and_fails(absent, monkeypatch, capsys):
    def measure(build, number):
        return {"calls: opweave": 1.0} | (absent if build is HERE else {"calls: replay": 2.0})

    rows, missing = compared(measure, 6)
    assert [row.what for row in rows] == ["calls: opweave"]
    assert missing == [
        "NOT COMPARED calls: replay: measured in 0 of 6 rounds by this build, in 6 by the other"
    ]
    assert status(monkeypatch, measure) == 1
    assert "NOT COMPARED calls: replay" in capsys.readouterr().out


def status(monkeypatch, measure):
    """Exit status of a comparison of six rounds by made-up processes."""
    monkeypatch.setattr(against, "builds", lambda text: _builds())
    monkeypatch.setattr(against, "in_process", lambda *_: measure)
    return run.main(["calls", "--against", "HEAD", "--rounds", "6"])


class _builds:
    def __enter__(self):
        return HERE, THERE, Path()

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize(("slower", "expected"), [(1.0, 0), (1.2, 1)])
def test_the_exit_status_says_whether_it_is_slower(monkeypatch, capsys, slower, expected):
    assert status(monkeypatch, fake(slower)[0]) == expected
    out = capsys.readouterr().out
    assert f"{expected} of 1 rows are slower" in out
    assert ("SLOWER" in out) == bool(expected)


# Processes


FAKE_PYTHON = """\
#!{python}
import json, os, sys
from pathlib import Path
asked = Path(sys.argv[2])
with open({log!r}, "a") as file:
    print(os.environ["PYTHONHASHSEED"], os.environ["OPWEAVE_CACHE_DIR"], file=file)
{fails}
found = {{"build": {build!r}, "lacks": {lacks!r}, "experiments": {{"calls": {{
    "rows": [{{"row": "calls: opweave", "us": 2.0}}], "skipped": "",
    "refused": [{{"row": "calls: replay", "why": "wrong"}}]}}}}}}
asked.with_suffix(".found").write_text(json.dumps(found))
"""


def fake_build(folder, *, build="/b/opweave/__init__.py", lacks="", fails="", inside=None):
    python = folder / "python"
    log = str(folder / "log")
    python.write_text(
        FAKE_PYTHON.format(python=sys.executable, log=log, build=build, lacks=lacks, fails=fails)
    )
    python.chmod(0o700)
    return Build(against.THIS, python, inside)


def test_a_process_has_its_own_cache_and_both_of_a_round_the_same_seed(tmp_path, capsys):
    measure = against.in_process(tmp_path, ["calls"], "host", None)
    build = fake_build(tmp_path)
    rows = [measure(build, 1), measure(Build("the other", build.python), 1)]

    seeds, caches = zip(*map(str.split, (tmp_path / "log").read_text().splitlines()), strict=True)
    assert len(set(seeds)) == 1
    assert len(set(caches)) == 2
    assert rows[0]["calls: opweave"] == 2.0
    assert math.isnan(rows[0]["calls: replay"])
    assert "REFUSED by this build: calls: replay: wrong" in capsys.readouterr().out


@pytest.mark.parametrize(("changes", "pieces"), [
    ({"lacks": "ImportError: cannot import name 'spin'"},
     ["this build lacks what this checkout's bench/ asks for", "'spin'"]),
    ({"inside": Path("/somewhere/else")}, ["this build", "imported from /b/opweave", "another"]),
    ({"fails": "print('why'); sys.exit(3)"}, ["this build: exit status 3", "why"]),
])  # fmt: skip
def test_what_cannot_be_measured_says_why(tmp_path, changes, pieces):
    measure = against.in_process(tmp_path, ["calls"], "host", None)
    with pytest.raises(CannotCompare) as caught:
        measure(fake_build(tmp_path, **changes), 1)
    assert all(piece in str(caught.value) for piece in pieces)


def asked(folder, experiment):
    path = folder / "asked.json"
    path.write_text(json.dumps({"experiments": [experiment], "device": "host", "sizes": None}))
    status = one_round.main([str(path)])
    return status, json.loads(path.with_suffix(".found").read_text())


def experiment(text, place):
    """A module of an experiment whose ``measure`` is this line of a file."""
    scope, path = {}, str(place / "experiments" / "x.py")
    exec(compile(f"def measure(record):\n {text}", path, "exec"), scope)
    return type("Module", (), {"measure": staticmethod(scope["measure"])})


@pytest.mark.parametrize("line", [
    "import opweave.sphinx", "from opweave.runtime.host.pool import sphinx",
    "import opweave; opweave.sphinx", "import opweave; opweave.fuse(sphinx=1)",
])  # fmt: skip
def test_what_a_build_lacks_is_named(tmp_path, monkeypatch, line):
    monkeypatch.setattr(one_round, "load", lambda name: experiment(line, BENCH))
    found = asked(tmp_path, "x")[1]

    assert "sphinx" in found["lacks"]


def test_an_error_of_the_build_itself_is_no_lack(tmp_path, monkeypatch):
    monkeypatch.setattr(one_round, "load", lambda name: experiment("record.sphinx()", tmp_path))
    with pytest.raises(AttributeError, match="sphinx"):
        asked(tmp_path, "x")


def test_a_round_has_our_rows_and_no_peers(tmp_path):
    status, found = asked(tmp_path, "calls")
    made = found["experiments"]["calls"]

    assert (status, found["lacks"], made["refused"]) == (0, "", [])
    assert {r["row"].split(",")[0] for r in made["rows"]} == {"calls: opweave", "calls: replay"}
    assert "calls: opweave, arguments=4" in [r["row"] for r in made["rows"]]
    assert all(r["us"] > 0 for r in made["rows"])


# Builds


def test_what_is_no_environment_and_no_commit_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["calls", "--against", "no-such-thing"])
    assert "expected a virtual environment, with bin/python in it" in capsys.readouterr().err


def test_too_few_rounds_are_refused_before_anything_is_built(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["calls", "--against", "HEAD", "--rounds", "5"])
    assert "expected 6 or more" in capsys.readouterr().err


def test_an_environment_is_used_as_it_is():
    with builds.builds(sys.prefix) as (here, there, _):
        assert here.python == Path(sys.executable)
        assert there.python == Path(sys.prefix) / "bin" / "python"


@pytest.mark.skipif(not (BENCH.parent / ".git").exists(), reason="no clone")
@pytest.mark.skipif(not builds.has_setuptools(), reason="no setuptools to build with")
def test_a_build_is_imported_from_an_environment_of_its_own(tmp_path):
    made = builds.installed(against.THIS, "", tmp_path)
    code = "import opweave, numpy, opweave.templates; print(opweave.__file__)"
    ran = subprocess.run([made.python, "-c", code], capture_output=True, text=True, check=True)

    assert Path(ran.stdout.strip()).is_relative_to(made.inside)
    assert (made.inside / "opweave" / "templates" / "host" / "runtime.cpp").exists()
