"""Saved programs for a GPU, by the stand-in of CuPy that records launches."""

import sys

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.saved.programs import PROGRAMS, STATIC, drawn, lowered, outside
from tests.support.recording_cupy import Array

pytestmark = pytest.mark.nvrtc
# A result is a number of NumPy's own there, or CuPy itself would compute.
ON_A_GPU = [name for name in PROGRAMS if name not in (
    "indices", "containers of arguments", "products", "bfloat16", "a truth", "arrays and numbers outside")]  # fmt: skip


def on_device(value):
    return Array(value) if isinstance(value, np.ndarray) else value


def alike(launch):
    """A launch without what differs from call to call."""
    name, grid, block, args = launch
    kept = [(type(a), a) if isinstance(a, np.generic) and not isinstance(a, np.uint64)
            else type(a) for a in args]  # fmt: skip
    return name, grid, block, kept


@pytest.mark.parametrize("name", ON_A_GPU)
def test_a_loaded_program_launches_what_the_function_does(name, launches, saved):
    function, args, _ = PROGRAMS[name]
    given = [on_device(a) for a in args]
    ow.fuse(function, static_argnames=STATIC.get(function, ()), replay=False)(*given)
    wanted = [alike(launch) for launch in launches]
    launches.clear()
    loaded = ow.load_program(saved(name, "sm_90a"))
    loaded(*given)

    assert [alike(launch) for launch in launches] == wanted


def test_arrays_of_the_program_lie_on_the_device(launches, saved, monkeypatch):
    copied = []
    monkeypatch.setattr(sys.modules["cupy"], "asarray", lambda a: copied.append(a) or Array(a))
    fused = ow.fuse(outside).with_toggles(USE_VENDOR=0)
    place = saved("arrays and numbers outside")  # for the host
    with pytest.raises(e.SavedError, match="no kernels for sm_90a, where the arrays lie"):
        ow.load_program(place)(Array(drawn(5, 4)))
    program = fused.lower(drawn(5, 4), target="sm_90a")
    folder = place.parent / "for both"
    program.save(folder, fused.lower(drawn(5, 4), target="host"))
    loaded = ow.load_program(folder)
    loaded(Array(drawn(5, 4)))

    assert loaded.targets == ("host", "sm_90a")
    assert [a.shape for a in copied] == [(4, 6), (6,)]
    np.testing.assert_array_equal(loaded(drawn(5, 4)), fused(drawn(5, 4)))


def test_mixed_kinds_of_arrays_are_refused(launches, saved):
    loaded = ow.load_program(saved("arguments that are written", "sm_90a"))
    with pytest.raises(e.ArgumentError, match="NumPy and CuPy arrays are mixed"):
        loaded(Array(drawn(40)), drawn(40))


def test_kernels_for_a_gpu_do_not_run_on_the_host(saved):
    with pytest.raises(e.SavedError, match="no kernels for the host, .* saved for sm_90a"):
        ow.load_program(saved("numbers", "sm_90a"))(drawn(5, 33), 0.5)


def test_a_kernel_of_the_users_own_is_saved_for_a_gpu_alone(tmp_path):
    source = 'extern "C" __global__ void twice(const float* x, float* out) { out[threadIdx.x] = 2 * x[threadIdx.x]; }'
    own = ow.raw_kernel(source, "twice", outputs={"out": lambda x: x.shape}, grid=1, block=64,
                        shared=60000, numpy=lambda x: x * 2)  # fmt: skip
    x = drawn(64)
    loaded = ow.load_program(own.lower(x, target="sm_90a").save(tmp_path / "gpu"))

    assert loaded.source == source
    with pytest.raises(e.SavedError, match="kernel twice of yours, for which NumPy stands in"):
        own.lower(x, target="host").save(tmp_path / "host")


def test_files_by_architecture(saved):
    place = saved("numbers", "sm_90a")
    names = sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.is_file())
    name = lowered("numbers", "sm_90a").kernels[0].name

    assert names == [
        f"cubin/sm_90a/0_{name}.cubin",
        f"kernels/sm_90a/0_{name}.cu",
        "manifest.json",
    ]
    assert (place / names[1]).read_text() == lowered("numbers", "sm_90a").source
