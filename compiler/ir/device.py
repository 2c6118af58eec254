"""Device descriptions: data that the toggles are chosen from.

Figures from NVIDIA's data sheets and the CUDA C++ Programming Guide 13.0, "Technical
Specifications per Compute Capability".  Bandwidth and the rate of float32 are the data sheets'
peaks; those of the host are of no machine in particular.
"""

from __future__ import annotations

from dataclasses import dataclass

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ToggleError

KIB, MIB = 1024, 1024 * 1024
# Shared memory that a block may have without opting in to more; all that a kernel may declare by
# its size.  More lies in one array without an extent, for which the launch says the bytes.
STATIC_SHARED_BYTES = 48 * KIB
# What CUDA keeps of each block's shared memory for itself from sm_90 on, and a kernel's resources
# count; it is left free on every device, so that a description may be of either figure.
KEPT_BYTES = 1 * KIB
# Threads of a block on every architecture.  Registers ask for no limit of ours: __launch_bounds__
# has the compiler share the registers of a multiprocessor out among the threads of a block.
MOST_THREADS = 1024
# What may stand behind a compiler's -arch, and the host.
ARCHES = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100", "sm_120", "host")


@dataclass(frozen=True)
class Device:
    """What the compiler may know of a device.

    Attributes:
        name: for people.
        arch: NVRTC's target, or "host".
        sms: streaming multiprocessors (cores on the host).
        shared_bytes: shared memory that one block may use at most, if it opts in.
        l2_bytes: level-2 cache.
        gigabytes_per_second: peak memory bandwidth.
        gigaflops: peak rate of float32, a fused multiply-add taken for two operations.
    """

    name: str
    arch: str
    sms: int
    shared_bytes: int
    l2_bytes: int
    gigabytes_per_second: float
    gigaflops: float

    def __post_init__(self) -> None:
        """Hold a description to what may reach a source and a compiler's command line.

        Raises:
            ToggleError: names the attribute and what it may be.
        """
        if type(self.arch) is not str or self.arch not in ARCHES:
            raise ToggleError(
                f"device description: arch={shown(self.arch)}: expected one of {', '.join(ARCHES)}"
            )
        if type(self.name) is not str or not self.name.isprintable():
            raise ToggleError(f"device description: name={shown(self.name)}: expected a line")
        for name in ("sms", "shared_bytes", "l2_bytes"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < 2**48:
                raise ToggleError(
                    f"device description: {name}={shown(value)}: expected an integer from 0"
                )
        for name in ("gigabytes_per_second", "gigaflops"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 < value < float("inf"):
                raise ToggleError(
                    f"device description: {name}={shown(value)}: expected a number above 0"
                )

    @property
    def is_host(self) -> bool:
        return self.arch == "host"

    @property
    def copies(self) -> bool:
        """It copies from memory to shared memory while a thread goes on: from sm_80 on."""
        return self.arch not in ("host", "sm_75")

    @property
    def most_bytes(self) -> int:
        """Shared memory of a block that opts in; on the host it is memory like any other."""
        return 2**48 if self.is_host else max(0, self.shared_bytes - KEPT_BYTES)

    @property
    def block_bytes(self) -> int:
        """Shared memory that a kernel may declare by its size, which needs no opting in."""
        return self.most_bytes if self.is_host else min(self.most_bytes, STATIC_SHARED_BYTES)

    @property
    def block_threads(self) -> int:
        """Threads that a block may have."""
        return 1 if self.is_host else MOST_THREADS


DEVICES: dict[str, Device] = {
    d.name: d
    for d in (
        Device("T4", "sm_75", 40, 64 * KIB, 4 * MIB, 320, 8_100),
        Device("A100", "sm_80", 108, 163 * KIB, 40 * MIB, 1555, 19_500),
        Device("RTX 4090", "sm_89", 128, 99 * KIB, 72 * MIB, 1008, 82_600),
        Device("H100", "sm_90a", 132, 227 * KIB, 50 * MIB, 3350, 66_900),
        Device("H200", "sm_90a", 132, 227 * KIB, 60 * MIB, 4800, 66_900),
        Device("B200", "sm_100", 148, 227 * KIB, 126 * MIB, 8000, 75_000),
        Device("RTX 5090", "sm_120", 170, 99 * KIB, 96 * MIB, 1792, 104_800),
        Device("host", "host", 1, 0, 32 * MIB, 20, 50),
    )
}
# The description that stands for an architecture when only that is named.
BY_ARCH = {arch: DEVICES[name] for arch, name in (
    ("sm_75", "T4"), ("sm_80", "A100"), ("sm_89", "RTX 4090"), ("sm_90a", "H200"),
    ("sm_100", "B200"), ("sm_120", "RTX 5090"), ("host", "host"),
)}  # fmt: skip
ARCHITECTURES = tuple(a for a in BY_ARCH if a != "host")


def device_for(target: str | Device) -> Device:
    """Return the description of a target: an architecture, a device's name, or a description.

    Raises:
        ToggleError: an unknown target.
    """
    if isinstance(target, Device):
        return target
    found = (BY_ARCH | DEVICES).get(target) if type(target) is str else None
    if found is None:
        raise ToggleError(
            f"unknown target {shown(target)}: expected one of {', '.join(BY_ARCH | DEVICES)}"
        )
    return found
