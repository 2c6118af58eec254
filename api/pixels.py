"""Operators on pictures: [..., 3] arrays of red, green and blue, linear light in 0..1.

    @ow.fuse
    def grade(img):
        x = ow.pixels.from_uint8(img)
        x = ow.pixels.saturation(ow.pixels.hue(x, 20), 1.3)
        return ow.pixels.to_uint8(ow.pixels.gamma(ow.pixels.aces(x), 2.2))

A chain of them is one kernel, uint8 in and uint8 out.  On NumPy arrays each is its own meaning.

    from_uint8(img)                   0..255 as float32 in 0..1
    exposure(x, stops)                twice the light for each stop
    white_balance(x, red, green, blue)  a gain for each channel
    reinhard(x), aces(x)              tone mapping: any light to 0..1
    hue(x, degrees)                   colours turned about the axis of greys
    saturation(x, amount)             0 is grey, 1 the picture itself
    contrast(x, amount)               distance from 0.5, scaled
    gamma(x, value)                   x ** (1 / value), negative light counts as none
    grey(x)                           luminance (BT.709), [..., 1], broadcasts against the picture
    to_uint8(x)                       0..1 as 0..255, rounded half up, clipped; NaN is 0

The amounts are numbers, and may differ from call to call without a new compilation.
"""

from __future__ import annotations

from opweave.opcodes.operators.registry import OPERATORS

from_uint8 = OPERATORS["from_uint8"]
exposure = OPERATORS["exposure"]
white_balance = OPERATORS["white_balance"]
reinhard = OPERATORS["reinhard"]
aces = OPERATORS["aces"]
hue = OPERATORS["hue"]
saturation = OPERATORS["saturation"]
contrast = OPERATORS["contrast"]
gamma = OPERATORS["gamma"]
grey = OPERATORS["grey"]
to_uint8 = OPERATORS["to_uint8"]

__all__ = [
    "aces",
    "contrast",
    "exposure",
    "from_uint8",
    "gamma",
    "grey",
    "hue",
    "reinhard",
    "saturation",
    "to_uint8",
    "white_balance",
]
