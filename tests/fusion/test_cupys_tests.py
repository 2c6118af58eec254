"""CuPy's tests of fusion with NumPy arrays: each as it is, whole, whatever it writes to."""

import pytest

from tests.fusion.suite import FETCH, folder, run

# Tests that ask for CuPy itself, by a part of their ids.
ASK_FOR_CUPY = {
    "TestFusionGetArrayModule": "its function asks whether NumPy is CuPy",
    "TestFusionInvalid": "a condition on an array is NumPy's error, not CuPy's",
    "TestOldFusionExplicit": "a class inside of CuPy",
}


@pytest.mark.host
@pytest.mark.skipif(folder() is None, reason="CuPy's tests are not here: " + FETCH)
@pytest.mark.timeout(3600)
def test_cupys_tests_pass_and_no_write_makes_parts(tmp_path):
    outcomes, calls = run(folder(), tmp_path / "notes")
    failed = {test for test, outcome in outcomes.items() if outcome == "failed"}
    assert len(outcomes) > 500
    assert {t for t in failed if not any(name in t for name in ASK_FOR_CUPY)} == set()
    broken = {
        test: call["breaks"] for test, of in calls.items() for call in of if call.get("breaks")
    }
    assert broken == {}
