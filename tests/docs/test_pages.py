"""The pages of docs/: their code runs and prints what they say, their links lead somewhere."""

import contextlib
import io
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import opweave as ow
from tests import api_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
AS_FOR_USERS = True
PAGES = ("tutorial.md", "opcodes.md", "sanitize.md", "raw.md", "fused.md", "errors.md", "environment.md", "performance.md",
         "toggles.md", "differences.md", "take_away.md", "array_api.md",
         pytest.param("arrays.md", marks=pytest.mark.skipif(
             not all(map(find_spec, ("torch", "pandas", "xarray"))), reason="not all are installed")),
         pytest.param("torch.md", marks=pytest.mark.skipif(
             not find_spec("torch"), reason="torch is not installed")),
         pytest.param("scale.md", marks=pytest.mark.skipif(
             not find_spec("distributed"), reason="dask is not installed")),
         pytest.param("guide.md", marks=pytest.mark.nvrtc),
         pytest.param("ptx.md", marks=pytest.mark.nvrtc),
         pytest.param("profile.md", marks=pytest.mark.nvrtc))  # fmt: skip
# Pages whose code other tests run: test_bounds, test_graphs, test_readme.
ELSEWHERE = {"docs/bounds.md", "docs/graphs.md", "README.md"}
# Pages whose lines are as long as the programs make them that write the pages; and those of
# trust.md, whose paragraphs are two.
UNWRAPPED = {"benchmarks.md", "mutants.md", "numpy.md", "trust.md"}
WRAPPED = [p for p in (*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "SECURITY.md",
                       ROOT / "bench" / "README.md") if p.name not in UNWRAPPED]  # fmt: skip
FENCED = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def written():
    """All pages that people read: those of the root, of docs/ and of bench/."""
    return [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "bench" / "README.md"]


@pytest.mark.host
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_follows_it(tmp_path, page):
    blocks = re.findall(r"```(python|text|cuda)\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    scope = {"__name__": "page"}
    for number, (kind, code) in enumerate(blocks):
        if kind != "python":
            continue
        path = tmp_path / str(number) / "page.py"  # each block has the lines of a file of its own
        path.parent.mkdir()
        path.write_text(code)
        code = code.replace("1080, 1920", "540, 960")  # the guide's picture, in less time
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(path), "exec"), scope)
        following = blocks[number + 1 : number + 2]
        expected = following[0][1] if following and following[0][0] != "python" else ""

        assert expected.rstrip("\n") == printed.getvalue().rstrip("\n"), code


def test_the_code_of_every_page_is_run():
    run = {f"docs/{getattr(p, 'values', [p])[0]}" for p in PAGES} | ELSEWHERE
    shown = {
        str(path.relative_to(ROOT))
        for path in written()
        if any(kind == "python" for kind, _ in FENCED.findall(path.read_text()))
    }

    assert {p for p in shown if not p.startswith("docs/gallery/")} == run


def test_there_is_a_block_for_each_part_of_the_tutorial():
    for title in ("The burger", "The pickle", "The toggle", "The check"):
        assert f"## {title}" in (DOCS / "tutorial.md").read_text()


def test_the_index_names_every_page_once():
    linked = LINK.findall((DOCS / "README.md").read_text())
    pages = [p.name for p in DOCS.glob("*.md") if p.name != "README.md"]

    assert sorted(linked) == sorted([*pages, "gallery/README.md"])


@pytest.mark.parametrize("path", written(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(path):
    text = FENCED.sub("", path.read_text())
    for link in LINK.findall(text):
        if not link.startswith(("http:", "https:", "mailto:")):
            assert (path.parent / link).exists(), link


@pytest.mark.parametrize("page", WRAPPED, ids=lambda p: str(p.relative_to(ROOT)))
def test_prose_is_wrapped(page):
    prose = FENCED.sub("", page.read_text())
    for line in prose.split("\n"):
        assert len(line) <= 100 or line.startswith("|") or "](http" in line, line


# The API reference


def test_the_api_reference_is_that_of_the_docstrings():
    assert api_page.PAGE.read_text() == api_page.text_of(), "run python -m tests.api_page"


def test_the_api_reference_names_all_that_is_public():
    text = api_page.PAGE.read_text()
    for name in ow.__all__:
        assert re.search(rf"\bow\.{name}\b", text), name
    for entries in api_page.CHAPTERS.values():
        for name, found in entries.items():
            assert found.__doc__, name
            for member in api_page.members(name, found) if isinstance(found, type) else ():
                assert getattr(found, member).__doc__, f"{name}.{member}"


def test_the_page_of_errors_has_every_error_with_its_classes():
    page = (DOCS / "errors.md").read_text()
    for name, found in vars(ow.errors).items():
        if not isinstance(found, type) or found.__module__ != ow.errors.__name__:
            continue
        assert f"`{name}`" in page
        row = re.search(rf"^\| `{name}` \| (.*?) \|", page, re.MULTILINE)
        if row and name != "OpweaveError":
            named = {n.rpartition(".")[2] for n in re.findall(r"`([\w.]+)`", row[1])}
            assert named == {b.__name__ for b in found.__bases__} - {"OpweaveError"}, name
