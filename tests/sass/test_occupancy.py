"""The occupancy is that of the calculator which the CUDA toolkit brings."""

import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from opweave.runtime.model.device import described
from opweave.runtime.model.occupancy import occupancy

THREADS, REGISTERS = (32, 96, 128, 256, 512, 1000, 1024), (16, 32, 40, 64, 127, 168, 255)
SHARED = (0, 1, 1000, 8192, 20000, 48128)
CAPABILITY = {
    "sm_75": (7, 5),
    "sm_80": (8, 0),
    "sm_89": (8, 9),
    "sm_90a": (9, 0),
    "sm_100": (10, 0),
    "sm_120": (12, 0),
}
PROGRAM = r"""
#include <climits>
#include <cstdio>
#include <cstddef>
#include <cstring>
#include "cuda_occupancy.h"
int main() {
    int major, minor, warps, registers, shared, kept, threads, regs, bytes, optin;
    while (scanf("%d %d %d %d %d %d %d %d %d %d", &major, &minor, &warps, &registers, &shared, &optin,
                 &kept, &threads, &regs, &bytes) == 10) {
        cudaOccDeviceProp device;
        memset(&device, 0, sizeof device);
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = 32 * warps;
        device.regsPerBlock = device.regsPerMultiprocessor = registers;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 * 1024;
        device.sharedMemPerMultiprocessor = shared;
        device.sharedMemPerBlockOptin = optin;
        device.reservedSharedMemPerBlock = kept;
        device.numSms = 1;
        cudaOccFuncAttributes kernel;
        memset(&kernel, 0, sizeof kernel);
        kernel.maxThreadsPerBlock = INT_MAX;
        kernel.numRegs = regs;
        kernel.sharedSizeBytes = bytes;
        kernel.numBlockBarriers = 1;
        cudaOccDeviceState state;
        cudaOccResult found;
        int status = cudaOccMaxActiveBlocksPerMultiprocessor(&found, &device, &kernel, &state, threads, 0);
        printf("%d\n", status ? -status : found.activeBlocksPerMultiprocessor);
    }
}
"""


def header():
    """The folder of cuda_occupancy.h: from a wheel, or a toolkit."""
    places = [Path(folder).glob("nvidia/*/include") for folder in sys.path if folder]
    folders = [f for found in places for f in found] + sorted(
        Path("/usr/local").glob("cuda*/include")
    )
    return next((f for f in folders if (f / "cuda_occupancy.h").exists()), None)


def test_the_blocks_are_those_of_the_toolkits_calculator(tmp_path):
    folder, compiler = header(), shutil.which("g++")
    if folder is None or compiler is None:
        pytest.skip("needs cuda_occupancy.h and g++")
    (tmp_path / "occupancy.cpp").write_text(PROGRAM)
    built = tmp_path / "occupancy"
    subprocess.run(
        [compiler, "-w", f"-I{folder}", tmp_path / "occupancy.cpp", "-o", built], check=True
    )
    cases = list(product(described().values(), THREADS, REGISTERS, SHARED))
    rows = [
        (*CAPABILITY[d.arch], d.warps, d.registers, d.shared_bytes, d.shared_bytes - d.shared_kept_bytes,
         d.shared_kept_bytes, threads, registers, shared)
        for d, threads, registers, shared in cases
    ]  # fmt: skip
    asked = "\n".join(" ".join(map(str, row)) for row in rows)
    ran = subprocess.run([built], input=asked, capture_output=True, text=True, check=True)

    found = [occupancy(d, t, r, s).blocks for d, t, r, s in cases]
    assert len(set(found)) > 5
    assert found == [int(line) for line in ran.stdout.split()]


def test_it_says_what_limits_it():
    device = described()["H200"]

    assert occupancy(device, 256, 32, 0).limiter == "warps"
    assert occupancy(device, 256, 128, 0).limiter == "registers"
    assert occupancy(device, 256, 32, 100_000).limiter == "shared memory"
    assert occupancy(device, 32, 16, 0).limiter == "blocks"
