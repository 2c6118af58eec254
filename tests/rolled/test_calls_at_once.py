"""Functions with loops, called for the first time by several threads at once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
AS_FOR_USERS = True
THREADS = 4


def sums(A, out):
    for i in range(out.shape[0]):
        s = 0.0
        for r in range(A.shape[0]):
            s += np.exp(A[r]).sum()
        out[i] = s * (i + 1)


def test_threads_that_call_at_once_have_the_loop_in_c(recwarn):
    A = np.random.default_rng(0).random((40, 50))
    fused = ow.fuse(sums)
    fused(A, np.zeros(20))
    begin, made = threading.Barrier(THREADS), [np.zeros(300) for _ in range(THREADS)]

    def call(out):
        begin.wait()
        fused(A, out)

    threads = [threading.Thread(target=call, args=(out,)) for out in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = np.zeros(300)
    sums(A, expected)
    for out in made:
        np.testing.assert_allclose(out, expected)
    assert "C runs 1 loop(s)" in str(fused.explain(A, np.zeros(300)))
    assert not [w for w in recwarn if issubclass(w.category, ow.OpweaveWarning)]
