"""Descriptions of devices for the model: one file each, every figure with its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from opweave.opcodes.errors import FileError

FOLDER = Path(__file__).resolve().parent / "devices"
# What has no source of its own: what the device is called.
NAMED = ("name", "arch")


@dataclass(frozen=True)
class DeviceModel:
    """A device as the model sees it.

    Attributes:
        clock_mhz: the one clock that all of the model is computed with.
        memory_gb_per_s: what a copy achieves, both ways counted.
        read_gb_per_s: what is achieved where nothing is written.
        memory_latency_ns: of a load that misses all caches, under load.
        shared_latency_cycles, other_latency_cycles: of a load of shared memory, and of what else
            a barrier waits for (special functions, conversions).
        l2_bytes: level-2 cache.
        launch_us: from one kernel of a graph to the next.
        issue_rate: instructions that a multiprocessor issues in a cycle, all warps.
        fma_rate and so on: warp instructions of a pipe in a cycle, a multiprocessor.
        half_product_tflops: of products of float16 or bfloat16 matrices, sums in float32.
        shared_rate: wavefronts of shared memory in a cycle, a multiprocessor.
        warps, blocks, registers, shared_bytes: what a multiprocessor holds at most.
        shared_kept_bytes: what a block loses of shared memory to the system.
        shared_step_bytes: shared memory is given in multiples of these.
    """

    name: str
    arch: str
    sms: int
    clock_mhz: float
    memory_gb_per_s: float
    read_gb_per_s: float
    memory_latency_ns: float
    shared_latency_cycles: float
    other_latency_cycles: float
    l2_bytes: int
    launch_us: float
    issue_rate: float
    fma_rate: float
    alu_rate: float
    fp16_rate: float
    half_product_tflops: float
    fp64_rate: float
    xu_rate: float
    lsu_rate: float
    uniform_rate: float
    branch_rate: float
    shared_rate: float
    warps: int
    blocks: int
    registers: int
    shared_bytes: int
    shared_kept_bytes: int
    shared_step_bytes: int

    @property
    def tensor_rate(self) -> float:
        """Products of 16 x 8 x 16 in a cycle, a multiprocessor."""
        each = 2 * 16 * 8 * 16
        return self.half_product_tflops * 1e6 / (each * self.sms * self.clock_mhz)

    @property
    def single_tflops(self) -> float:
        """Multiplications and additions of float32, without tensor cores."""
        return 64 * self.fma_rate * self.sms * self.clock_mhz / 1e6

    def transfer_us(self, moved: float, loaded: float) -> float:
        """Microseconds for so many bytes, of which some are loaded; the others are stored."""
        copied = min(moved, 2 * (moved - loaded))
        rest = moved - copied
        return copied / (self.memory_gb_per_s * 1000) + rest / (self.read_gb_per_s * 1000)

    @property
    def memory_latency_cycles(self) -> float:
        return self.memory_latency_ns * self.clock_mhz / 1000


def read(path: Path) -> tuple[DeviceModel, dict[str, str]]:
    """A description, and the source of each of its figures.

    Raises:
        FileError: it cannot be read, or a field is missing, or has no source, or is no
            number above 0.
    """
    try:
        with path.open("rb") as file:
            found: dict[str, Any] = tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"device description {path.name} cannot be read: {error}") from None
    names = [field.name for field in fields(DeviceModel)]
    for name in sorted({*found} - {*names}):
        raise FileError(f"device description {path.name}: no field is called {name}")
    values, sources = {}, {}
    for name in names:
        if name not in found:
            raise FileError(f"device description {path.name}: {name} is missing")
        values[name], sources[name] = _figure(path.name, name, found[name])
    return DeviceModel(**values), {k: v for k, v in sources.items() if v}


def _figure(file: str, name: str, row: Any) -> tuple[Any, str]:
    if name in NAMED:
        if not isinstance(row, str):
            raise FileError(f"device description {file}: {name} is no text")
        return row, ""
    value = row.get("value") if isinstance(row, dict) else None
    source = row.get("source") if isinstance(row, dict) else None
    if not isinstance(source, str) or not source:
        raise FileError(f"device description {file}: {name} has no source")
    is_number = type(value) in (int, float)
    least = 0 if name == "shared_kept_bytes" else 1e-9
    if not is_number or not (value or 0) >= least:
        raise FileError(f"device description {file}: {name} is no number above 0")
    return value, source


@cache
def described() -> dict[str, DeviceModel]:
    """All devices by name."""
    models = (read(path)[0] for path in sorted(FOLDER.glob("*.toml")))
    return {model.name: model for model in models}


def sources_of(name: str) -> dict[str, str]:
    """Where each figure of a device comes from."""
    for path in FOLDER.glob("*.toml"):
        model, sources = read(path)
        if model.name == name:
            return sources
    return {}
