"""Train the digits classifier of ``opweave demo``: ``python -m bench.tools.train_digits [FILE]``.

Writes weights and held-out test digits to ``api/data/digits.npz``.  Needs scikit-learn; one thread
and a fixed seed, so that the same versions write the same bytes.  The digits are the test part of
"Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, UCI Machine Learning
Repository, 1998, doi 10.24432/C50P49, licence CC BY 4.0), as scikit-learn ships them.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

HELD_OUT, SEED, HIDDEN = 360, 0, (64, 32)
WHITE = 16  # the value of a pixel that is fully inked
TARGET = Path(__file__).parents[2] / "api" / "data" / "digits.npz"
SOURCE = (
    "test digits: Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI "
    "Machine Learning Repository, 1998, doi 10.24432/C50P49, CC BY 4.0; unchanged but for the "
    "choice of 360"
)


def train() -> dict[str, np.ndarray[Any, Any]]:
    """Weights ``w1 b1 w2 b2 w3 b3``, test ``images`` [360, 64] of 0..16, their ``labels``."""
    pixels, labels = load_digits(return_X_y=True)
    seen, images, known, expected = train_test_split(
        pixels, labels, test_size=HELD_OUT, random_state=SEED, stratify=labels
    )
    model = MLPClassifier(HIDDEN, max_iter=400, alpha=1e-3, random_state=SEED)
    with threadpool_limits(1):
        model.fit(seen / WHITE, known)
    made: dict[str, np.ndarray[Any, Any]] = {}
    for number, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True), 1):
        made[f"w{number}"] = np.ascontiguousarray(weights, np.float32)
        made[f"b{number}"] = np.ascontiguousarray(bias, np.float32)
    made["images"] = images.astype(np.uint8)
    made["labels"] = expected.astype(np.uint8)
    made["about"] = np.array(f"trained with scikit-learn {version('scikit-learn')}; {SOURCE}")
    return made


def accuracy(made: dict[str, np.ndarray[Any, Any]]) -> float:
    """Share of the test digits that the float32 weights read right, by NumPy alone."""
    x = made["images"].astype(np.float32) / np.float32(WHITE)
    for number in (1, 2):
        x = np.maximum(x @ made[f"w{number}"] + made[f"b{number}"], 0)
    scores = x @ made["w3"] + made["b3"]
    return float(np.mean(scores.argmax(axis=1) == made["labels"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=TARGET)
    target = parser.parse_args().file
    made = train()
    target.parent.mkdir(exist_ok=True)
    # NumPy stamps every member with one fixed time, so equal arrays give equal bytes.
    with target.open("wb") as file:
        np.savez_compressed(file, **made)
    print(f"{target}: {target.stat().st_size} bytes, accuracy {accuracy(made):.4f}")


if __name__ == "__main__":
    main()
