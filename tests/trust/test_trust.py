"""What docs/trust.md and SECURITY.md name exists: files, tests, commands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["docs/trust.md", "SECURITY.md"]
COMMAND = re.compile(r"`([^`]*\btests/\w+/\w+\.py[^`]*)`")
WORDS = re.compile(r'-k (?:"([^"]+)"|(\w+))')


def commands():
    for page in PAGES:
        for found in COMMAND.finditer((ROOT / page).read_text()):
            yield page, found[1]


@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_a_command_of_the_page_selects_tests(page, command):
    files = set(re.findall(r"tests/\w+/\w+\.py", command))
    texts = [(ROOT / name).read_text() for name in files]
    if "tests/runtime/test_sanitize.py" in files:  # its cases are a table of their own
        table = (ROOT / "tests/support/sanitized.py").read_text()
        texts += [f'    "{n}": (' for n in re.findall(r'(?:correct|faulty)\(\s*"([^"]+)"', table)]
    words = WORDS.search(command)
    if words is None:
        return
    for word in re.split(r"\s+or\s+", words[1] or words[2]):
        names = [
            n for t in texts for n in re.findall(r"def test_(\w+)|^\s+\"([\w ,]+)\": \(", t, re.M)
        ]
        assert any(word in "".join(name) for name in names), f"{page}: -k {word} selects nothing"


def test_every_row_that_is_owed_is_there():
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "docs/trust.md").read_text(), re.MULTILINE)

    assert set(range(1, 17)) | {20, 21, 22, *range(25, 31)} <= set(map(int, rows))
