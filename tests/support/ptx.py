"""PTX that tests write by hand: one kernel, run on NumPy arrays."""

from __future__ import annotations

import numpy as np

from opweave.runtime.ptx.launch import PtxLaunch, packed, run
from opweave.runtime.ptx.machine import Shape
from opweave.runtime.ptx.memory import region_of
from opweave.runtime.ptx.recorder import Recorder

HEAD = ".version 8.4\n.target sm_90a\n.address_size 64\n"
REGISTERS = """
.reg .pred %p<8>;
.reg .b16 %h<32>;
.reg .b32 %r<64>;
.reg .b64 %rd<32>;
.reg .f32 %f<32>;
.reg .f64 %fd<16>;
"""


def kernel(body, arrays=1, before="", inside=""):
    """Text of a kernel; %rd0, %rd1, ... are the addresses of its arrays, %r0 is tid.x."""
    params = ",\n".join(f".param .u64 a{n}" for n in range(arrays))
    loads = "\n".join(f"ld.param.u64 %rd{n}, [a{n}];" for n in range(arrays))
    return (
        f"{HEAD}{before}\n.visible .entry k({params})\n{{{REGISTERS}{inside}\n{loads}\n"
        f"mov.u32 %r0, %tid.x;\n{body}\nret;\n}}\n"
    )


def launch(text, arrays, grid=(1, 1, 1), block=(32, 1, 1), name="k", unwritten=(), counting=False,
           cluster=(1, 1, 1), **options):  # fmt: skip
    """Run a kernel on arrays, in place; with ``counting`` its counters are returned."""
    regions = [region_of(f"a{n}", a, n in unwritten) for n, a in enumerate(arrays)]
    values = [int(a.ctypes.data).to_bytes(8, "little") for a in arrays]
    recorder = Recorder() if counting else None
    shape = Shape(grid, block, cluster)
    run(PtxLaunch(text, name, shape, packed(text, name, values), **options), regions, recorder)
    return recorder.counts(name, shape.blocks, shape.threads) if recorder else None


REGISTER = {2: "%h", 4: "%r", 8: "%rd"}


def computed(opcode, operands, result, extra=()):
    """Apply one instruction to arrays, a thread for each element.

    Args:
        operands: arrays of raw unsigned integers.
        result: NumPy's dtype of the result.
        extra: operands behind, as text.
    """
    count = len(operands[0])
    made = np.zeros(count, result)
    lines, names = [], []
    for n, array in enumerate(operands):
        size = array.itemsize
        register = f"{REGISTER[size]}{10 + n}"
        lines.append(f"mul.wide.u32 %rd20, %r1, {size}; add.s64 %rd21, %rd{n}, %rd20;")
        lines.append(f"ld.global.b{8 * size} {register}, [%rd21];")
        names.append(register)
    size = made.itemsize
    target = f"{REGISTER[size]}20" if size != 8 else "%rd25"
    lines.append(f"{opcode} {', '.join([target, *names, *extra])};")
    lines.append(f"mul.wide.u32 %rd20, %r1, {size}; add.s64 %rd21, %rd{len(operands)}, %rd20;")
    lines.append(f"st.global.b{8 * size} [%rd21], {target};")
    head = "mov.u32 %r2, %ctaid.x; mad.lo.s32 %r1, %r2, 32, %r0;"
    guard = f"setp.ge.u32 %p1, %r1, {count}; @%p1 ret;"
    text = kernel("\n".join([head, guard, *lines]), len(operands) + 1)
    launch(text, [*operands, made], grid=(-(-count // 32), 1, 1))
    return made
