"""The SIMT checker on kernels that people write: no miss, no false alarm, and the right line."""

import pytest

import opweave as ow
from tests.support.sanitized import CORRECT, FAULTY

pytestmark = pytest.mark.host


def checked(case):
    return ow.sanitize_source(
        case.source, "k", case.grid, case.block, case.arguments(), case.shared
    )


@pytest.mark.parametrize("case", CORRECT, ids=lambda c: c.name)
def test_nothing_is_found_in_a_correct_kernel(case):
    report = checked(case)

    assert report.ok, str(report)


@pytest.mark.parametrize("case", FAULTY, ids=lambda c: c.name)
def test_the_fault_of_a_kernel_is_found(case):
    report = checked(case)

    assert {f.kind for f in report.findings} == case.kinds, str(report)
    for finding in report.findings:
        assert {finding.line, finding.other_line} & case.fault_lines, str(report)
        assert finding.threads
        assert finding.message
