"""CHANGELOG.md keeps the form of keepachangelog.com: known sections, and a line a change."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
HEAD, *PARTS = re.split(r"^(?=## )", TEXT, flags=re.MULTILINE)
LINES = "".join(PARTS).splitlines()
VERSIONS = {part.split("\n", 1)[0]: part for part in PARTS}
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
# What a line may be, by how it begins; a bullet has at most 100 columns.
FORMS = {
    "## ": r"## \[Unreleased\]|## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d( \[YANKED\])?",
    "### ": rf"### ({'|'.join(SECTIONS)})",
    "- ": r"- \S.{0,97}",
}


def test_the_head_names_the_form():
    assert HEAD.startswith("# Changelog\n")
    assert "https://keepachangelog.com/en/1.1.0/" in HEAD


@pytest.mark.parametrize("begin", FORMS)
def test_a_line_has_the_form_of_its_kind(begin):
    found = [line for line in LINES if line.startswith(begin)]

    assert found
    assert [line for line in found if not re.fullmatch(FORMS[begin], line)] == []


def test_a_change_is_one_line():
    assert [line for line in LINES if line and not line.startswith(tuple(FORMS))] == []


def test_what_is_unreleased_stands_first():
    assert LINES[0] == "## [Unreleased]"


@pytest.mark.parametrize("version", VERSIONS)
def test_sections_stand_in_order_and_hold_changes(version):
    named = re.findall(r"^### (.*)$", VERSIONS[version], re.MULTILINE)
    filled = re.findall(r"^### (.*)\n\n- ", VERSIONS[version], re.MULTILINE)

    assert named == filled == [section for section in SECTIONS if section in named]


def test_no_line_is_repeated():
    changes = [line for line in LINES if line.startswith("- ")]

    assert [line for line in changes if changes.count(line) > 1] == []
