"""What docs/ says of the source is there: files, names, rooms, and who imports whom."""

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
PAGE = ROOT / "docs" / "architecture.md"
ROOTS = [ROOT / name for name in ("README.md", "SECURITY.md", "bench/README.md")]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *ROOTS]
CODE = ("api", "runtime", "compiler", "opcodes", "templates", "bench")
FOLDERS = (*CODE, "tests", "docs", "examples")
# Words of a path that stand for any name, and folders of other projects.
OTHERS = re.compile(r"NAME|FILE|^(?:torch|cupy|cooperative_groups)/")
TICKED = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
PATH = re.compile(rf"(?<![\w/.-])(?:{'|'.join(FOLDERS)})/[\w./-]*\w/?")
FILE = re.compile(r"[\w./-]+\.(?:py|cuh|cpp|cu\.j2)")
SUFFIXES = ("py", "cu", "cuh", "cpp", "md", "json", "toml")
# `path`: `name`, `name`
CLAIM = re.compile(r"`([\w./-]+\.\w+)`: ((?:`[\w.]+`(?:, )?)+)")


def page_of(path):
    return FENCED.sub("", path.read_text())


# Files


@cache
def files():
    """Names of all files of the project."""
    return {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*")}


def missing(text, here=ROOT):
    """Paths in backticks that do not exist, from the root or the page's folder ``here``.

    A file's name alone is that of some file of the project.
    """
    for ticked in TICKED.findall(text):
        whole = [ticked] if FILE.fullmatch(ticked) else []
        for path in (*PATH.findall(ticked), *whole):
            there = (ROOT / path).exists() or (here / path).exists() or path in files()
            if not there and not OTHERS.search(path):
                yield path


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_that_a_page_names_exist(page):
    assert sorted(set(missing(page_of(page), page.parent))) == []


# In comments and docstrings: a path with folders, or a file's name between two backticks.
SAID = re.compile(
    rf"(?<![\w/.-])(?:(?:{'|'.join(CODE)})/[\w/]+\.(?:py|cuh|cpp|h|cu\.j2)\b|``[\w./]+\.py``)"
)


def said(text):
    for path in SAID.findall(text):
        name = path.strip("`")
        if not (ROOT / name).exists() and name not in files() and not OTHERS.search(name):
            yield name


@pytest.mark.parametrize("folder", CODE)
def test_files_that_the_source_names_exist(folder):
    paths = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".cuh", ".h", ".cpp")]
    found = {str(p.relative_to(ROOT)): list(said(p.read_text())) for p in paths}

    assert {name: missed for name, missed in found.items() if missed} == {}


@pytest.mark.parametrize("text", ["# see runtime/host.py", "see ``toggle_tables.py``"])
def test_a_file_that_the_source_names_and_that_is_not_there_is_seen(text):
    assert list(said(text))


@pytest.mark.parametrize(
    "text", ["`compiler/trace.py`", "`trace_of.py`", "`pytest tests/test_no.py`", "`runtime/no/`"]
)
def test_a_file_that_is_not_there_is_seen(text):
    assert list(missing(text))


# Names


def names_of(body):
    """What a module or a class defines, with the names of classes' parts behind theirs."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in names_of(node.body))
            yield from (f"{node.name}.{name}" for name in own_of(node))
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def own_of(kind):
    """The attributes that a class's methods set."""
    for node in ast.walk(kind):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@cache
def defined(path):
    text = path.read_text()
    if path.suffix != ".py":
        return frozenset(re.findall(r"\w+", text))
    return frozenset(names_of(ast.parse(text).body))


@cache
def classes():
    """The parts of every class and module of the source, by its name."""
    found = defaultdict(set)
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            for name in defined(path):
                owner, _, part = name.rpartition(".")
                found[owner or path.stem].add(part)
    return found


def unknown(text):
    """Names that a page claims of a file, or of a class, which has no such name."""
    for path, names in CLAIM.findall(text):
        if (ROOT / path).is_file():
            for name in TICKED.findall(names):
                if name not in defined(ROOT / path):
                    yield f"{path}: {name}"
    for owner, name in re.findall(r"`(\w+)\.(\w+)`", text):
        if owner in classes() and name not in {*classes()[owner], *SUFFIXES}:
            yield f"{owner}.{name}"


OF_THE_SOURCE = [PAGE, ROOT / "docs" / "kernels.md", ROOT / "SECURITY.md"]


@pytest.mark.parametrize("page", OF_THE_SOURCE, ids=lambda p: p.name)
def test_names_that_a_page_claims_of_a_file_are_defined_there(page):
    assert sorted(set(unknown(page_of(page)))) == []


@pytest.mark.parametrize("text", [
    "`compiler/scheduling/fuse.py`: `ROLES`, `RULES`", "`templates/common.cuh`: `index_from`",
    "`Graph.given`", "`forms.form_for`", "`compiler/ir/graph.py`: `Graph.given`",
])  # fmt: skip
def test_a_name_that_is_not_there_is_seen(text):
    assert list(unknown(text))


def test_every_answer_to_a_newcomer_names_a_file():
    rows = re.findall(r"^\| [^|]+\? \| (.+) \|$", PAGE.read_text(), re.MULTILINE)

    assert len(rows) > 20
    assert all(TICKED.search(row) or "](" in row for row in rows)


# Words

WORD = re.compile(r"^\| [a-z-]+ \| [^|]+ \| `([\w/]+\.py)`: `(\w+)` \|$", re.MULTILINE)


def homes(name):
    """The files that define a class of a name, private or not."""
    pattern = re.compile(rf"^\s*class _?{name}\b", re.MULTILINE)
    paths = (path for folder in CODE for path in (ROOT / folder).rglob("*.py"))
    return [p.relative_to(ROOT).as_posix() for p in paths if pattern.search(p.read_text())]


@pytest.mark.parametrize(("path", "name"), WORD.findall(PAGE.read_text()))
def test_a_word_means_one_thing(path, name):
    assert homes(name) == [path]


def test_all_rows_of_words_are_read():
    words = PAGE.read_text().partition("## Words")[2].partition("\n## ")[0]
    assert len(WORD.findall(words)) == words.count("\n|") - 2 > 10


# The map


def lines():
    """The map's lines: indented, room, what it knows, what it may import, what to open first."""
    block = re.search(r"```\n(room .*?)\n```", PAGE.read_text(), re.DOTALL)[1]
    for line in block.split("\n")[1:]:
        yield line.startswith("  "), *re.split(r"\s{2,}", line.strip())


@cache
def blocks():
    """Rooms of each folder of the map, in order."""
    found, folder = {}, ""
    for is_room, name, *_ in lines():
        folder = folder if is_room else name.rstrip("/")
        found.setdefault(folder, []).extend([name] if is_room else [])
    return found


def meant(text, known, after):
    """The names that an entry means: names, ``x and below``, ``x to y``, ``below``, ``-``."""
    found = set()
    for part in re.split(r", ", text):
        if part == "-":
            continue
        if part == "below":
            found |= set(known[after:])
        elif part.endswith(" and below"):
            found |= set(known[known.index(part.removesuffix(" and below")) :])
        elif " to " in part:
            first, last = map(known.index, part.split(" to "))
            found |= set(known[first : last + 1])
        else:
            assert part in known, part
            found.add(part)
    return found


@cache
def allowed():
    """(folder, room) -> what the map lets it import: folders, and rooms of its own folder."""
    of, found, above = blocks(), {}, set()
    folders = list(of)
    for is_room, name, _, text, _ in lines():
        text = re.sub(r"\b(\w+)/", r"\1", text)
        if not is_room:
            folder = name.rstrip("/")
            above = meant(text, folders, 0)
            found[folder, None] = {(f, None) for f in above}
            continue
        rooms, given = of[folder], set()
        for part in text.split(", "):
            outside = part.split(" ")[0] in folders and part.split(" ")[0] not in rooms
            known, after = (folders, 0) if outside else (rooms, rooms.index(name) + 1)
            own = meant(part, known, after)
            given |= {(n, None) if outside else (folder, n) for n in own}
        found[folder, name] = given | {(f, None) for f in above}
    return found


def room_of(name):
    """(folder, room) of a module's name; the room is None in the root of a folder."""
    parts = name.split(".")
    if parts[0] == "opweave":
        parts = parts[1:] if parts[1:2] and parts[1] in CODE else ["api", *parts[1:]]
    rooms = blocks().get(parts[0], [])
    return parts[0], parts[1] if len(parts) > 1 and parts[1] in rooms else None


def imports():
    """(importer, imported) of every import of ours in the source, as rooms."""
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text())):
                found = []
                if isinstance(node, ast.Import):
                    found = [a.name for a in node.names]
                elif isinstance(node, ast.ImportFrom):
                    found = [f"{node.module}.{a.name}" for a in node.names]
                for one in found:
                    if one.split(".")[0] in ("opweave", "bench"):
                        yield room_of(name), room_of(one), f"{path.relative_to(ROOT)}: {one}"


def may(importer, imported):
    """Whether the map allows an import; a root of a folder with rooms may import all of them."""
    at_home = importer[0] == imported[0]
    if importer == imported or (importer[1] is None and at_home):
        return True
    given = allowed()[importer]
    return imported in given or (not at_home and (imported[0], None) in given)


def test_the_map_fits_a_screen():
    text = PAGE.read_text().split("```")[1]

    assert text.count("\n") <= 66
    assert max(map(len, text.split("\n"))) <= 100
    assert PAGE.read_text().index("```") < 200


def test_every_folder_is_a_room_of_the_map():
    for folder, rooms in blocks().items():
        there = {p.name for p in (ROOT / folder).iterdir() if p.is_dir()} - {"__pycache__"}
        if rooms:
            assert there <= set(rooms), folder
        for room in rooms:
            assert (ROOT / folder / room).is_dir() or (ROOT / folder / f"{room}.py").is_file()
    assert set(blocks()) == set(CODE)


def test_every_module_of_the_api_is_in_the_map():
    there = {p.stem for p in (ROOT / "api").glob("*.py")} - {"__init__", "__main__"}

    assert there <= set(blocks()["api"])


def test_what_to_open_first_is_there():
    folder = ""
    for is_room, name, _, _, first in lines():
        folder = folder if is_room else name.rstrip("/")
        here = ROOT / folder / name if is_room else ROOT / folder
        assert (here.with_suffix(".py") if first == "itself" else here / first).exists(), name


def test_nothing_is_imported_that_the_map_does_not_allow():
    assert [text for one, other, text in imports() if not may(one, other)] == []


def ruled():
    """(importer, imported, allowed) for all pairs of rooms that an import-linter contract rules."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    for contract in config["contracts"]:
        if contract["type"] == "forbidden":
            for one in contract["source_modules"]:
                yield from ((one, o, False) for o in contract["forbidden_modules"])
            continue
        layers = [layer.split(" | ") for layer in contract["layers"]]
        for container in contract.get("containers", [""]):
            named = [[f"{container}.{n}".strip(".") for n in layer] for layer in layers]
            for place, layer in enumerate(named):
                for one in layer:
                    yield from ((one, o, False) for o in layer if o != one)
                    for lower in named[place + 1 :]:
                        yield from ((one, o, True) for o in lower)
                        yield from ((o, one, False) for o in lower)


def test_the_map_says_what_the_contracts_say():
    rules = [(room_of(a), room_of(b), is_allowed) for a, b, is_allowed in ruled()]
    known = [(a, b, r) for a, b, r in rules if b[0] in CODE]
    forbidden = {(a, b) for a, b, is_allowed in known if not is_allowed}

    assert len(known) > 100
    for one, other, is_allowed in known:
        assert may(one, other) is (is_allowed and (one, other) not in forbidden), (one, other)
