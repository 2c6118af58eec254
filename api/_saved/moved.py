"""Modules under the names that they have in pickles of earlier versions."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "opweave.fused": "opweave._functions.fuse",
    "opweave.named": "opweave._functions.named",
    "opweave.repeated": "opweave._repeats.repeated",
    "opweave._functions.repeated": "opweave._repeats.repeated",
    "opweave._functions.oplist": "opweave._lists.oplist",
    "opweave.graphs": "opweave._graphs.graph",
    "opweave.runners": "opweave._graphs.runner",
    "opweave.compiler.driver": "opweave.compiler.pipeline.driver",
    "opweave.compiler.tracing.structure": "opweave.compiler.captures.structure",
    "opweave.compiler.codegen.kernel": "opweave.compiler.kernels.kernel",
    "opweave.compiler.codegen.kernel_parts": "opweave.compiler.kernels.kernel_parts",
    "opweave.compiler.codegen.layout": "opweave.compiler.kernels.layout",
    "opweave.compiler.codegen.walks": "opweave.compiler.kernels.walks",
    "opweave.opcodes.cuda_kernels": "opweave.opcodes.handwritten.cuda_kernel",
    "opweave.opcodes.complexes": "opweave.opcodes.operators.complexes",
    "opweave.opcodes.composites": "opweave.opcodes.operators.composites",
    "opweave.opcodes.gathers": "opweave.opcodes.operators.gathers",
    "opweave.opcodes.maps": "opweave.opcodes.operators.maps",
    "opweave.opcodes.pixels": "opweave.opcodes.operators.pixels",
    "opweave.opcodes.products": "opweave.opcodes.operators.products",
    "opweave.opcodes.registry": "opweave.opcodes.operators.registry",
    "opweave.opcodes.ulp_table": "opweave.opcodes.operators.ulp_table",
}


class Finder:
    """Finds these modules alone; it is asked last, so for names that no folder has."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(name, loader) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Make an empty module, as Python does by itself."""

    def exec_module(self, module: ModuleType) -> None:
        found = import_module(MOVED[module.__name__])
        vars(module).update({k: v for k, v in vars(found).items() if not k.startswith("__")})


def register() -> None:
    """Let imports find these modules."""
    sys.meta_path.append(Finder())
