"""A model of the time of a launch: the largest of what could bind it, each with a sentence.

Every limit is a time that the launch cannot be faster than, if the device's description holds.
No constant here is fitted to a benchmark; those of a device lie in its description.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from opweave.runtime.model.device import DeviceModel
from opweave.runtime.model.facts import LaunchFacts

WARP = 32
RATES = {
    "fma": "fma_rate", "alu": "alu_rate", "fp16": "fp16_rate", "fp64": "fp64_rate",
    "xu": "xu_rate", "lsu": "lsu_rate", "uniform": "uniform_rate", "branch": "branch_rate",
    "tensor": "tensor_rate",
}  # fmt: skip
PIPE_NAMES = {
    "fma": "floating-point pipe (fma)", "alu": "integer pipe (alu)", "fp16": "half pipe (fp16)",
    "fp64": "double pipe (fp64)", "xu": "special functions (xu)", "lsu": "load and store (lsu)",
    "tensor": "tensor cores (tensor)", "uniform": "uniform pipe",
    "branch": "branches and barriers (cbu)",
}  # fmt: skip


@dataclass(frozen=True)
class Limit:
    """One thing that may bind a launch.

    Attributes:
        name: in a word.
        us: the time by the model.
        sentence: what the time is made of.
        mend: what to change where this binds.
    """

    name: str
    us: float
    sentence: str
    mend: str


@dataclass(frozen=True)
class ModelTime:
    """What the model says.

    Attributes:
        us: of the launch.
        joining_us: of these, what the last block takes when the others are done.
        limits: the slowest first.
        waves: turns in which blocks fill the device; not a whole number for a part of one.
        busy_sms: multiprocessors that have a block.
        fraction: of the roof: the launch and the least bytes at the rate of memory, over ``us``.
    """

    us: float
    joining_us: float
    limits: tuple[Limit, ...]
    waves: float
    busy_sms: int
    fraction: float

    @property
    def binds(self) -> Limit:
        return self.limits[0]


def _busy(facts: LaunchFacts, device: DeviceModel) -> int:
    return min(device.sms, facts.grid_blocks)


def _per_sm(count: float, rate: float, facts: LaunchFacts, device: DeviceModel) -> float:
    """Microseconds in which the busy multiprocessors do so much, at a rate of a cycle."""
    return count / (rate * _busy(facts, device)) / device.clock_mhz


def waves(facts: LaunchFacts, device: DeviceModel) -> float:
    """Turns in which all blocks are done."""
    return facts.grid_blocks / (device.sms * max(1, facts.resident_blocks))


def little(facts: LaunchFacts, device: DeviceModel) -> float:
    """Bytes a microsecond that the loads in flight can fetch: Little's law."""
    resident = min(facts.resident_blocks, ceil(facts.grid_blocks / _busy(facts, device)))
    threads = resident * facts.threads * _busy(facts, device)
    return threads * facts.bytes_in_flight / (device.memory_latency_ns / 1000)


def memory(facts: LaunchFacts, device: DeviceModel) -> list[Limit]:
    """Bytes over the rate that is achieved, lower where too few bytes are in flight."""
    rate = device.memory_gb_per_s * 1000  # bytes a microsecond
    flying = little(facts, device) if facts.bytes_in_flight else rate
    sentence = (
        f"{facts.moved_bytes / 1e6:.4g} MB moved (the arrays have {facts.least_bytes / 1e6:.4g})"
    )
    moving = device.transfer_us(facts.moved_bytes, facts.loaded_bytes)
    loading = facts.loaded_bytes / flying
    if loading > moving:
        return [Limit(
            "memory latency", loading,
            f"{facts.loaded_bytes / 1e6:.4g} MB loaded at {flying / 1000:.0f} GB/s: a thread has "
            f"{facts.bytes_in_flight} bytes in flight in {facts.loads_in_flight} loads, "
            f"{facts.resident_blocks} blocks of {facts.threads} threads a multiprocessor",
            _coalesced(facts)
            or f"more loads before the first use, or more blocks (limited by {_limiter(facts)})",
        )]  # fmt: skip
    fewer = "move fewer bytes: fuse with what produces or uses them, or a narrower dtype"
    mend = _coalesced(facts) or fewer
    reached = facts.moved_bytes / max(moving, 1e-9) / 1000
    return [Limit("memory", moving, f"{sentence} at {reached:.4g} GB/s", mend)]


def _at(line: int) -> str:
    return f"line {line}: " if line else ""


def _coalesced(facts: LaunchFacts) -> str:
    """What to mend where neighbours read far apart; empty where they do not."""
    if not facts.is_scattered:
        return ""
    times = facts.sectors[0] / max(1.0, facts.sectors[1])
    return (
        f"{_at(facts.wasteful[0])}neighbouring threads should read neighbouring elements: the "
        f"kernel asks for {times:.2g} times the sectors that its bytes take"
    )


def _limiter(facts: LaunchFacts) -> str:
    """What limits the blocks of a multiprocessor, and where."""
    is_shared = facts.limiter == "shared memory" and facts.shared_line
    return f"{facts.limiter}, line {facts.shared_line}" if is_shared else facts.limiter


def sectors(facts: LaunchFacts, device: DeviceModel) -> list[Limit]:
    """Sectors between a multiprocessor and its first cache: four a cycle."""
    asked, least = facts.sectors
    return [Limit(
        "sectors", _per_sm(asked / 4, 1, facts, device),
        f"{asked:.4g} sectors of 32 bytes asked for, {least:.4g} would hold the bytes; four a "
        "cycle", _coalesced(facts) or "fewer accesses: keep what is read in registers",
    )]  # fmt: skip


def issue(facts: LaunchFacts, device: DeviceModel) -> list[Limit]:
    """Instructions over the schedulers."""
    count = facts.instructions
    return [Limit(
        "issue slots", _per_sm(count, device.issue_rate, facts, device),
        f"{facts.per_element(count)} {facts.unit}, {device.issue_rate:g} a cycle",
        f"fewer instructions: {_most(facts)}",
    )]  # fmt: skip


def _most(facts: LaunchFacts) -> str:
    pipe = max(facts.issued, key=lambda name: facts.issued[name], default="")
    if not pipe:
        return "none"
    line, _ = facts.heaviest.get(pipe, (0, 0.0))
    where = f", most of them at line {line}" if line else ""
    return (
        f"{facts.per_element(facts.issued[pipe])} are on the {PIPE_NAMES.get(pipe, pipe)}{where}"
    )


def pipes(facts: LaunchFacts, device: DeviceModel) -> list[Limit]:
    """Instructions of each pipe over its rate."""
    out = []
    for pipe, count in facts.issued.items():
        if pipe in RATES and count:
            rate = getattr(device, RATES[pipe])
            line, most = facts.heaviest.get(pipe, (0, 0.0))
            where = (
                f"line {line} has {facts.per_element(most)} of them" if line else "fewer of them"
            )
            out.append(Limit(
                PIPE_NAMES[pipe], _per_sm(count, rate, facts, device),
                f"{facts.per_element(count)} of {facts.per_element(facts.instructions)} "
                f"{facts.unit}, {rate:g} a cycle", where,
            ))  # fmt: skip
    return out


def shared(facts: LaunchFacts, device: DeviceModel) -> list[Limit]:
    """Wavefronts of shared memory."""
    count, least = facts.wavefronts
    padded = f"{_at(facts.conflicting[0])}pad rows or swizzle, so that banks differ"
    mend = padded if count > 1.1 * least else "use a loaded value more often, from registers"
    return [Limit(
        "shared memory", _per_sm(count, device.shared_rate, facts, device),
        f"{count:.4g} wavefronts, {count - least:.4g} of them bank conflicts", mend,
    )]  # fmt: skip


def chain(facts: LaunchFacts, device: DeviceModel) -> list[Limit]:
    """One warp after another: a block cannot be faster than its slowest chain of instructions."""
    turns = max(1, ceil(waves(facts, device) - 1e-9))
    return [Limit(
        "latency", turns * facts.warp_cycles / device.clock_mhz,
        f"a warp takes {facts.warp_cycles:.0f} cycles alone, in {turns} turns of blocks",
        _coalesced(facts) or "more blocks at once, shorter chains, or loads further ahead of "
        f"their use (blocks limited by {_limiter(facts)})",
    )]  # fmt: skip


LIMITS: tuple[Callable[[LaunchFacts, DeviceModel], list[Limit]], ...] = (
    memory, sectors, issue, pipes, shared, chain,
)  # fmt: skip


def model_time(facts: LaunchFacts, device: DeviceModel) -> ModelTime:
    """The largest limit, stretched by a last turn that is not full, behind the launch; joining."""
    found = [limit for row in LIMITS for limit in row(facts, device)]
    found.sort(key=lambda limit: -limit.us)
    turns = waves(facts, device)
    tail = ceil(turns - 1e-9) / turns if turns > 1 else 1.0
    body = max(found[0].us * tail if found[0].name != "latency" else found[0].us,
               *(limit.us for limit in found[1:]), 0.0)  # fmt: skip
    joining = facts.joining_cycles / device.clock_mhz
    total = device.launch_us + body + joining
    share = facts.loaded_bytes / facts.moved_bytes if facts.moved_bytes else 0.0
    least = device.transfer_us(facts.least_bytes, facts.least_bytes * share)
    roof = device.launch_us + least
    return ModelTime(total, joining, tuple(found), turns, _busy(facts, device), roof / total)
