"""``python -m tests.support.picture``: write docs/images/demo.jpg, the demo's photograph before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from opweave.cli import demo, pictures

PATH = Path(__file__).parents[2] / "docs" / "images" / "demo.jpg"
WIDTH, HEIGHT, GAP = 307, 360, 8


def sheet() -> Any:
    """Both photographs side by side, as a Pillow image."""
    from PIL import Image

    before = pictures.read(pictures.sample()).pixels
    after = demo.develop(before, *demo.LOOK.values())
    made = Image.new("RGB", (2 * WIDTH + GAP, HEIGHT), "white")
    for pixels, left in ((before, 0), (after, WIDTH + GAP)):
        half = Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        made.paste(half, (left, 0))
    return made


def halves(pixels: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Before and after."""
    return pixels[:, :WIDTH], pixels[:, WIDTH + GAP :]


if __name__ == "__main__":
    sheet().save(PATH, quality=92)
    print(f"wrote {PATH}")
