"""``opweave view``'s page: self-contained, its switches show other sources, its figures counted."""

import json
import re
import sys
from dataclasses import replace
from math import isclose
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave._html import code, markup
from opweave._profiler.report import ProfileReport
from opweave._profiler.roofline import Axis, roofline, roofs, spots
from opweave._programs import page, pieces
from opweave._programs.flipped import Flip, counterpart
from opweave.opcodes.errors import NoCompilerError
from opweave.runtime.model.device import described
from tests.html.markup import Read

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import gallery

X = np.ones((64, 1000), np.float32)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)  # </script><script>alert(1)</script>


def mean_and_more(x, w):
    return (x @ w).mean(axis=0), np.sqrt(x) @ w


def no_profile(*_):
    raise NoCompilerError("NVRTC is not installed: </p><script>")


@pytest.fixture
def uncounted(monkeypatch):
    monkeypatch.setattr(page, "profile", no_profile)


@pytest.fixture(scope="module")
def plain():
    """The page of a softmax, without counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "profile", no_profile)
        return made()


def made(function=softmax, args=(X,), target="sm_90a"):
    return page.page_of(ow.fuse(function).lower(*args, target=target), args)


def views_of(text):
    """The views of each kernel, as the script reads them: texts of lines, and sentences."""
    found = re.findall(r'<script type="application/json" class="ow-views">(.*?)</script>', text)
    for data in map(json.loads, found):
        lines = [Read(line).text for line in data["lines"]]
        yield [("".join(lines[n] for n in v["rows"]), v["says"]) for v in data["views"]]


def test_a_page_is_well_formed_and_needs_nothing_else(plain):
    text, found = plain, Read(plain)

    assert found.faults == []
    assert {*found.tags} & {"img", "link", "iframe", "object"} == set()
    assert all("src" not in attrs for _, attrs in found.attributes)
    assert all(a["href"].startswith("#k") for tag, a in found.attributes if tag == "a")
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|@import|url\(", text)


def test_what_a_user_wrote_and_what_failed_are_text(plain):
    found = Read(plain)

    assert "</script><script>alert(1)</script>" in found.text
    assert "need NVRTC and its disassembler: NVRTC is not installed: </p><script>" in found.text
    assert found.tags.count("script") == 2  # a kernel's views, and ours


def test_without_pygments_a_page_says_so_once(uncounted, monkeypatch):
    monkeypatch.setattr(code.COLOURS, "there", lambda: False)
    text = made()

    assert Read(text).text.count(markup.PLAIN) == 1
    assert "const float v1 = x_v[l] - max0;" in Read(text).text
    assert '<span class="k">' not in text


FLAGS = ("USE_VECTOR_IO", "USE_WARP_SHUFFLE", "USE_REGISTER_ROW", "USE_FAST_MATH")


@pytest.mark.parametrize("name", FLAGS)
def test_a_switch_shows_the_source_that_the_toggle_gives(plain, name):
    (views,) = views_of(plain)
    fused = ow.fuse(softmax)
    kernel = fused.lower(X, target="sm_90a").kernels[0]
    other = 1 - kernel.toggles[name]
    (shown,) = [text for text, says in views if says.startswith(f"{name}={other}:")]

    assert (
        shown.rstrip()
        == fused.with_toggles(**{name: other}).lower(X, target="sm_90a").source.rstrip()
    )
    assert views[0][0].rstrip() == kernel.source.rstrip()
    assert views[1][0].rstrip() == kernel.flat.rstrip()


def test_a_toggle_that_cannot_have_a_value_says_why(plain):
    found = Read(plain)

    assert "ROW_CHUNKS=4 cannot hold: a row of this class takes 8 chunks" in found.text
    held = [a for tag, a in found.attributes if tag == "option" and "disabled" in a]
    assert any("ROW_CHUNKS=4 cannot hold" in a["title"] for a in held)


def test_a_program_of_several_kernels_has_a_chapter_for_each(uncounted):
    x = np.ones((16, 16), np.float32)
    text = made(mean_and_more, (x, x))
    names = [k.name for k in ow.fuse(mean_and_more).lower(x, x, target="sm_90a").kernels]

    assert Read(text).faults == []
    assert len(list(views_of(text))) == len(names) > 1
    assert re.findall(r'<article id="k(\d+)"', text) == [str(n) for n in range(len(names))]


@pytest.mark.parametrize(("flip", "says"), [
    (lambda low: Flip("A", 1, None, "it cannot"), "it cannot"),
    (lambda low: Flip("A", 1, replace(low, kernels=low.kernels * 2)), "the function has other kernels then: softmax"),
    (lambda low: Flip("A", 1, low), None),
])  # fmt: skip
def test_a_flipped_toggle_has_the_same_kernels_or_a_reason(flip, says):
    lowered = ow.fuse(softmax).lower(X, target="sm_90a").lowered
    found = counterpart(flip(lowered), lowered, 0)

    assert (
        found == (lowered.kernels[0], lowered.sources[0])
        if says is None
        else found.startswith(says)
    )


@pytest.mark.nvrtc
def test_a_page_of_the_gallery_is_not_too_large():
    """Of the most kernels, as ``opweave view`` writes it."""
    program = gallery.PROGRAMS["transformer_block"]
    text = made(program.function, program.arguments(gallery.SIZE))

    assert Read(text).faults == []
    assert 500_000 < len(text.encode()) < 2_000_000
    assert "left out" not in text


def test_views_take_no_more_room_than_they_may(plain, uncounted, monkeypatch):
    monkeypatch.setattr(page, "MOST_OF_VIEWS", 9_000)
    small = made()

    assert len(small) < len(plain)
    assert "left out: the page would be too large" in Read(small).text
    assert "left out" not in Read(plain).text


def test_a_line_is_linked_on_both_sides_and_the_keyboard_reaches_it(plain):
    found = Read(plain)
    reached = [a["data-l"] for _, a in found.attributes if a.get("tabindex") == "0"]

    assert reached == ["2", "3"]
    assert any("const float v1 = " in text for text in found.linked[2])


def test_a_page_for_the_host_says_that_counters_are_of_gpus():
    assert "ask for one by --target" in Read(made(target="host")).text


@pytest.mark.nvrtc
def test_counters_and_a_roofline_are_those_of_the_profile(monkeypatch):
    counted = ow.profile(ow.fuse(softmax), X).kernels[0]
    monkeypatch.setattr(page, "profile", lambda *_: ProfileReport([counted]))
    found = Read(made())

    assert found.faults == []
    assert "svg" in found.tags
    for name in ("launch__registers_per_thread", "smsp__inst_executed.sum"):
        assert f"{name}{counted.counters[name]:.0f}" in found.text.replace("\n", "")
    assert f"{counted.model.us:.3g} us by a model of H200" in found.text


@pytest.mark.nvrtc
def test_spots_lie_under_the_roof_and_inside_of_the_chart():
    (counted,) = ow.profile(ow.fuse(softmax), X).kernels
    (spot,) = spots({3: counted})
    most, bandwidth = roofs(described()[counted.device])
    chart = Read(roofline({3: counted}))
    assert "3: softmax_row_f32" in chart.text
    places = [a for tag, a in chart.attributes if tag == "circle"]

    assert isclose(spot.intensity, counted.facts.instructions / counted.facts.moved_bytes)
    assert spot.rate <= min(most, bandwidth * spot.intensity)
    assert all(0 < float(a["cx"]) < 400 and 0 < float(a["cy"]) < 240 for a in places)


@pytest.mark.parametrize(("values", "low", "high"), [
    ([0.5, 30.0], -1, 2), ([1.0], 0, 1), ([1e-3, 1e-3], -3, -2),
])  # fmt: skip
def test_an_axis_spans_powers_of_ten(values, low, high):
    axis = Axis.over(values, 0.0, 100.0)

    assert (axis.low, axis.high) == (low, high)
    assert [at for at, _ in axis.ticks][:: len(axis.ticks) - 1] == [0.0, 100.0]


def test_the_script_is_short():
    assert len((Path(markup.__file__).parent / "page.js").read_text().splitlines()) < 150


def test_kernels_that_are_too_many_are_said_to_be_left_out(uncounted):
    program = ow.fuse(mean_and_more).unfused().lower(X[:, :64], X[:, :64], target="sm_80")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MOST_KERNELS", 2)
        left = len(program.kernels) - 2
        texts = [page.page_of(program, (X[:, :64], X[:, :64])), program._repr_html_()]

    assert left > 0
    for text in texts:
        assert re.findall(r'<article id="(\w+)"', text) in (["k0", "k1"], [])
        assert f"{left} more kernels are not shown: see program.kernels[2]" in Read(text).text
        assert Read(text).faults == []
