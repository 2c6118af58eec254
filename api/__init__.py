"""opweave: NumPy-style array code as few, fast, readable CUDA C kernels.

import numpy as np, opweave as ow

@ow.fuse
def tonemap(img, exposure, gamma=2.2):
    x = img * exposure
    return (x / (1 + x)) ** (1 / gamma)

tonemap(img, 1.4)                              # NumPy in, NumPy out; CuPy in, CuPy out
tonemap.lower(img, 1.4, target="sm_90a").source
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

from opweave import opcodes, pixels
from opweave._saved import moved as _moved
from opweave.opcodes import errors
from opweave.opcodes.errors import OpweaveError, OpweaveWarning
from opweave.opcodes.operators.registry import OPERATORS, cuda, operator

if _TYPE_CHECKING:
    from opweave import bounds, xp
    from opweave._functions.fuse import fuse
    from opweave._functions.fused import Fused
    from opweave._functions.raw import raw_kernel
    from opweave._graphs.graph import Graph
    from opweave._interchange.torch_operators import to_torch
    from opweave._lists.codes import load, store
    from opweave._lists.oplist import kernel
    from opweave._lists.schedule import schedule
    from opweave._lists.structure import structural
    from opweave._profiler.handwritten import profile_cubin, profile_source
    from opweave._profiler.profile import profile
    from opweave._programs.program import Program
    from opweave._repeats.repeated import repeat
    from opweave._sanitizer import sanitize, sanitize_source, uninitialised
    from opweave._saved.loading import load_program
    from opweave._tuning.tune import tune
    from opweave.configuration import config
    from opweave.opcodes.defines import toggle
    from opweave.opcodes.operators.own_products import product
    from opweave.opcodes.operators.own_reductions import reduction, scan
    from opweave.regimes import regime

__version__ = "0.1.0"
_moved.register()

# Composites and operators that NumPy has not, for use in fused functions and on arrays.
relu = OPERATORS["relu"]
rsqrt = OPERATORS["rsqrt"]
sigmoid = OPERATORS["sigmoid"]
silu = OPERATORS["silu"]
gelu = OPERATORS["gelu"]
softmax = OPERATORS["softmax"]
log_softmax = OPERATORS["log_softmax"]
linear = OPERATORS["linear"]
erf = OPERATORS["erf"]
erfc = OPERATORS["erfc"]
tgamma = OPERATORS["tgamma"]
lgamma = OPERATORS["lgamma"]
logsumexp = OPERATORS["logsumexp"]

# Names by the module that has them.
_LAZY = {
    name: module
    for module, names in {
        "_functions.fuse": "fuse", "_functions.fused": "Fused", "_repeats.repeated": "repeat",
        "_functions.raw": "raw_kernel",
        "_lists.oplist": "kernel", "_lists.codes": "load store",
        "_lists.schedule": "schedule", "_lists.structure": "structural", "_graphs.graph": "Graph",
        "_programs.program": "Program", "configuration": "config", "regimes": "regime",
        "opcodes.defines": "toggle",
        "_saved.loading": "load_program", "_tuning.tune": "tune",
        "_sanitizer": "sanitize sanitize_source uninitialised",
        "_interchange.torch_operators": "to_torch",
        "cli.notebook": "load_ipython_extension",
        "_profiler.profile": "profile", "_profiler.handwritten": "profile_cubin profile_source",
        "opcodes.operators.own_reductions": "reduction scan",
        "opcodes.operators.own_products": "product",
    }.items()
    for name in names.split()
}  # fmt: skip
_LAZY_MODULES = ("bounds", "xp")

__all__ = [
    "OPERATORS", "Fused", "Graph", "OpweaveError", "OpweaveWarning", "Program", "bounds",
    "config", "cuda", "erf", "erfc", "errors", "fuse", "gelu", "kernel", "lgamma", "linear",
    "load", "load_program", "log_softmax", "logsumexp", "opcodes", "operator", "pixels",
    "product", "profile", "profile_cubin", "profile_source", "raw_kernel", "reduction", "regime",
    "relu", "repeat", "rsqrt", "sanitize", "sanitize_source", "scan", "schedule", "sigmoid",
    "silu", "softmax", "store", "structural", "tgamma", "to_torch", "toggle", "tune",
    "uninitialised", "xp",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import what compiles and runs only when it is asked for."""
    if name in _LAZY:
        found = getattr(_importlib.import_module(f"opweave.{_LAZY[name]}"), name)
        globals()[name] = found
        return found
    if name in _LAZY_MODULES:
        return _importlib.import_module(f"opweave.{name}")
    raise AttributeError(f"module 'opweave' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
