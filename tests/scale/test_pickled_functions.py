"""Fused functions of a script, as cloudpickle takes them to workers that do not have the script."""

import pytest

from tests.support.processes import python

pytest.importorskip("cloudpickle")
pytestmark = pytest.mark.host

WRITES = """
    import cloudpickle, pathlib, pickle
    import numpy as np, opweave as ow

    SCALE = 3.0

    @ow.fuse(static_argnames="mode")
    def scaled(x, mode="plain"):
        return x * SCALE if mode == "plain" else x

    pathlib.Path({path!r}).write_bytes(cloudpickle.dumps([scaled, scaled.unfused()]))
    print(pickle.loads(pickle.dumps(scaled)) is scaled)
"""
READS = """
    import pathlib, pickle
    import numpy as np

    for function in pickle.loads(pathlib.Path({path!r}).read_bytes()):
        print(function(np.arange(3.0)), function(np.arange(3.0), mode="other"))
"""


def test_a_function_of_a_script_goes_by_value(tmp_path):
    path = str(tmp_path / "pickled")

    assert python(WRITES.format(path=path)) == "True\n"
    assert python(READS.format(path=path)) == "[0. 3. 6.] [0. 1. 2.]\n" * 2
