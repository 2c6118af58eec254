"""The programs in a table: what makes each, its sizes, and how far results may lie apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.experiments.tensors import functions, models


@dataclass(frozen=True)
class TensorProgram:
    """A model or function of tensors.

    Attributes:
        name: of the program.
        made: the model or function, and its arguments, by size.
        size, tiny: as it is measured, and for tests.
        tolerance: the largest error relative to the largest magnitude, against float64.
    """

    name: str
    made: Callable[[int], tuple[Any, tuple[Any, ...]]]
    size: int
    tiny: int
    tolerance: float = 1e-5


def _function(name: str, size: int, tiny: int, tolerance: float = 1e-5) -> TensorProgram:
    """A function of the module of functions, and its arguments."""
    function, arguments = getattr(functions, name), getattr(functions, f"of_{name}")
    return TensorProgram(name, lambda n: (function, arguments(n)), size, tiny, tolerance)


_ALL = (
    TensorProgram("mlp", models.of_mlp, 256, 8),
    TensorProgram("residual_mlp", models.of_residual, 256, 8),
    TensorProgram("transformer_block", models.of_transformer, 256, 16),
    TensorProgram("gru", models.of_gru, 256, 8),
    _function("top_probability", 4096, 3),
    _function("decayed_scores", 1000, 5),
    _function("layer_norm", 4096, 3),
    _function("normalised_images", 16, 1),
    _function("tone_mapped", 1024, 4, 2 / 255),  # a byte or less, where rounding decides
    _function("cross_entropies", 4096, 3),
    _function("similarities", 8192, 3),
    _function("standard_scores", 32768, 8, 1e-4),
    _function("decoded_boxes", 100000, 5),
    _function("rotated", 2048, 4),
)
PROGRAMS = {program.name: program for program in _ALL}
