"""Functions of SciPy's and scikit-learn's that take arrays of the standard run on ours."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

# Each runs in a process of its own: SciPy asks its environment when it is imported.
START = """
import numpy as np, opweave.xp as xp
rng = np.random.default_rng(0)
a, labels, guesses = rng.random((40, 3)), rng.integers(0, 3, 40), rng.integers(0, 3, 40)

def same(name, call, *arrays, kind=xp.Array):
    expected, found = call(*arrays), call(*map(xp.asarray, arrays))
    assert type(found) is kind, (name, type(found))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-9)
    print(name)

"""
SCIPY = """
from scipy import cluster, special, stats
same("logsumexp", lambda x: special.logsumexp(x, axis=1), a)
same("softmax", lambda x: special.softmax(x, axis=1), a)
same("zscore", lambda x: stats.zscore(x, axis=0), a)
same("skew", lambda x: stats.skew(x, axis=0), a)
same("gmean", lambda x: stats.gmean(x, axis=0), a)
same("whiten", cluster.vq.whiten, a)
"""
SKLEARN = """
from sklearn import config_context, decomposition, metrics, preprocessing
with config_context(array_api_dispatch=True):
    same("MinMaxScaler", lambda x: preprocessing.MinMaxScaler().fit_transform(x), a)
    same("PCA", lambda x: abs(decomposition.PCA(2, svd_solver="full").fit_transform(x)), a)
    same("euclidean_distances", metrics.pairwise.euclidean_distances, a, a[:5])
    same("mean_squared_error", metrics.mean_squared_error, a, a[::-1], kind=float)
    same("accuracy_score", metrics.accuracy_score, labels, guesses, kind=float)
"""


@pytest.mark.parametrize(("library", "text"), [
    ("scipy", SCIPY),
    pytest.param("sklearn", SKLEARN, marks=pytest.mark.skipif(
        not find_spec("sklearn"), reason="scikit-learn is not installed")),
], ids=("scipy", "sklearn"))  # fmt: skip
def test_functions_of_others_take_our_arrays(library, text):
    given = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-W", "ignore", "-c", START + text]
    done = subprocess.run(command, env=given, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.split()) == text.count("same(")
