"""Operators on pixels: pictures are [..., 3] arrays of red, green and blue.

An operator that mixes channels is one op-code, which has each channel in a register of its own and
makes one or three.  All others are elementwise composites.  Values are linear light in 0..1,
but nothing is clipped before ``to_uint8``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.codes import OpCode, Phase, rows
from opweave.opcodes.core import Cost, Kind, Operator
from opweave.opcodes.operators.composites import composite
from opweave.opcodes.operators.maps import map_operator
from opweave.opcodes.shapes import mixing
from opweave.opcodes.ulps import counted

# Luminance of linear light: ITU-R BT.709-6, table 4, item 3.2.
RED, GREEN, BLUE = 0.2126, 0.7152, 0.0722
CHANNELS = ("red", "green", "blue")
LUMINANCE = f"(T){RED} * red + (T){GREEN} * green + (T){BLUE} * blue"


def mixing_operator(
    name: str, numpy: Callable[..., Any], fragment: str, amounts: str = "",
    *, made: int = 3, flops: int, ulp: float,
) -> Operator:  # fmt: skip
    """Make an operator that mixes channels from a row.

    ``fragment`` is written over red, green, blue and the amounts; it makes r0, r1 and r2, or is
    one expression.  ``ulp`` is its error in units in the last place of the largest value in it:
    operands, the result, and their sums.
    """
    names = tuple(amounts.split())
    code = OpCode(name, Phase.EPILOGUE, (*CHANNELS, *names), rows({"f": fragment}), made)
    return Operator(
        name, Kind.MAP, (code,), numpy, rules.picture, ("x", *names), mixing(3, made), (3, made),
        Cost(flops), counted(ulp),
    )  # fmt: skip


def _split(x: Any) -> tuple[Any, Any, Any]:
    return x[..., 0], x[..., 1], x[..., 2]


def _luminance(x: Any) -> Any:
    red, green, blue = _split(x)
    return RED * red + GREEN * green + BLUE * blue


def grey(x: Any) -> Any:
    """Luminance, as one channel that broadcasts against the picture."""
    return _luminance(x)[..., None]


def saturation(x: Any, amount: Any) -> Any:
    """Distance from grey, scaled: 0 is grey, 1 the picture itself."""
    level = grey(x)
    return level + (x - level) * amount


def white_balance(x: Any, red_gain: Any, green_gain: Any, blue_gain: Any) -> Any:
    """A gain for each channel."""
    red, green, blue = _split(x)
    return np.stack([red * red_gain, green * green_gain, blue * blue_gain], axis=-1)


def hue_rotation(x: Any, cosine: Any, sine: Any) -> Any:
    """Rotation about the axis of greys by Rodrigues' formula, given cosine and sine."""
    red, green, blue = _split(x)
    k, t = (1 - cosine) / 3, sine * 0.5773502691896258
    turned = (
        (cosine + k) * red + (k - t) * green + (k + t) * blue,
        (k + t) * red + (cosine + k) * green + (k - t) * blue,
        (k - t) * red + (k + t) * green + (cosine + k) * blue,
    )
    return np.stack(turned, axis=-1)


def to_uint8(x: Any) -> Any:
    """0..1 as 0..255, rounded half up; what lies outside is clipped, NaN is 0."""
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    top = wide.dtype.type(255)
    scaled = np.clip(wide, 0, 1) * top + wide.dtype.type(0.5)
    return np.where(wide == wide, scaled, 0).astype(np.uint8)


def from_uint8(x: Any) -> Any:
    """0..255 as float32 in 0..1."""
    return x.astype(np.float32) / 255


def exposure(x: Any, stops: Any) -> Any:
    """Twice the light for each stop."""
    return x * 2.0**stops


def reinhard(x: Any) -> Any:
    """Reinhard et al., "Photographic Tone Reproduction for Digital Images", 2002, equation 3."""
    return x / (1 + x)


def aces(x: Any) -> Any:
    """K. Narkowicz, "ACES Filmic Tone Mapping Curve", 2016: a fit of the ACES curve."""
    return np.clip((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0, 1)


def hue(x: Any, degrees: Any) -> Any:
    """Colours turned about the axis of greys."""
    angle = degrees * (math.pi / 180)
    return HUE_ROTATION(x, of_number("cos", angle), of_number("sin", angle))


def of_number(name: str, value: Any) -> Any:
    """``math.NAME`` of a number; that of a traced number is computed on the host at each call."""
    if hasattr(type(value), "__opweave_scalar__"):
        return value.__opweave_scalar__(name)
    return getattr(math, name)(value)


def contrast(x: Any, amount: Any) -> Any:
    """Distance from the middle, scaled."""
    return (x - 0.5) * amount + 0.5


def gamma(x: Any, value: Any) -> Any:
    """x ** (1 / value); negative light counts as none."""
    return np.maximum(x, 0) ** (1 / value)


HUE_ROTATION = mixing_operator(
    "hue_rotation", hue_rotation,
    "const T k = ((T)1 - cosine) / (T)3, t = sine * (T)0.5773502691896258;"
    " r0 = (cosine + k) * red + (k - t) * green + (k + t) * blue;"
    " r1 = (k + t) * red + (cosine + k) * green + (k - t) * blue;"
    " r2 = (k - t) * red + (k + t) * green + (cosine + k) * blue;",
    "cosine sine", flops=25, ulp=8,
)  # fmt: skip
OPERATORS: tuple[Operator, ...] = (
    mixing_operator("grey", grey, LUMINANCE, made=1, flops=5, ulp=4),
    mixing_operator(
        "saturation", saturation,
        f"const T level = {LUMINANCE};"
        " r0 = level + (red - level) * amount;"
        " r1 = level + (green - level) * amount;"
        " r2 = level + (blue - level) * amount;",
        "amount", flops=14, ulp=12,
    ),
    mixing_operator(
        "white_balance", white_balance,
        "r0 = red * red_gain; r1 = green * green_gain; r2 = blue * blue_gain;",
        "red_gain green_gain blue_gain", flops=3, ulp=1,
    ),
    HUE_ROTATION,
    map_operator(
        "to_uint8", to_uint8, {"f": "quantised(x)"}, rule=rules.quantised, cost=Cost(5)
    ),
    composite("from_uint8", from_uint8, rules.floating, "cast divide"),
    composite("exposure", exposure, rules.floating, "multiply", params="x stops"),
    composite("reinhard", reinhard, rules.floating, "add divide"),
    composite(
        "aces", aces, rules.floating,
        "multiply add multiply multiply add multiply add divide clip",
    ),
    composite("hue", hue, rules.picture, "hue_rotation", params="x degrees"),
    composite("contrast", contrast, rules.floating, "subtract multiply add", params="x amount"),
    composite("gamma", gamma, rules.floating, "maximum power", params="x value"),
)  # fmt: skip
