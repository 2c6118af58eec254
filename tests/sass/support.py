"""Listings that the tests write by hand, and machines to execute them on."""

import numpy as np

from opweave.runtime.sass.deciding import Deciding
from opweave.runtime.sass.execution import WarpExecutor
from opweave.runtime.sass.flow import Flow
from opweave.runtime.sass.listing import Listing, instruction
from opweave.runtime.sass.machine import DeviceLaunch
from opweave.runtime.sass.slices import PREDICATES

FREE = 0x7 << 46 | 0x7 << 49  # upper bits of an instruction that sets no barrier


def listing(text):
    """Instructions, one a line; a line that ends with a colon is a label."""
    found, labels = [], {"kernel": 0}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            labels[line[:-1]] = len(found)
        else:
            found.append(instruction(16 * len(found), line, FREE))
    return Listing("kernel", tuple(found), labels)


def everything(flow):
    """Every instruction is computed, as if all names decided."""
    rows, names = range(len(flow.listing.instructions)), frozenset(range(2 * PREDICATES))
    return Deciding(frozenset(rows), dict.fromkeys(flow.leaders, names), True)


def executor(text, *, block=32, grid=1, constants=None, counters=()):
    launched = DeviceLaunch((grid, 1, 1), (block, 1, 1), constants or {}, frozenset(counters))
    return WarpExecutor(Flow(listing(text)), launched)


def computed(text, **registers):
    """What R0 holds after one instruction; None in lanes of which nobody knows."""
    machine_ = executor(text)
    machine_.deciding = everything(machine_.flow)
    m = machine_.machine
    for name, value in registers.items():
        rows, known = (m.predicates, m.sure) if name[0] == "P" else (m.registers, m.known)
        rows[int(name[1:])], known[int(name[1:])] = value, True
    machine_.block(0, m.live.copy())
    return machine_


def arange(start=0):
    return np.arange(start, start + 32, dtype=np.uint32)
