"""Golden kernels: review the diff of the .cu files; ``--update-golden`` rewrites them."""

import re
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from tests.support.variants import EVERY, aligned

GOLDEN = Path(__file__).parents[1] / "golden"


def tonemap(img, exposure, gamma=2.2):
    x = img * exposure
    return (x / (1 + x)) ** (1 / gamma)


def waves(u, v, dt):
    v = v - u * dt
    return u + v * dt, v


def unit(x):
    return x / np.sqrt((x * x).sum(axis=1, keepdims=True)) + np.float32(0.1)


def layer(x, w):
    return np.maximum(x @ w, 0)


def program_of(name, target):
    if name == "tonemap":
        img = aligned(np.ones((1080, 1920, 3), np.float32))
        return ow.fuse(tonemap).lower(img, 1.4, target=target)
    if name == "repeated":
        return ow.repeat(waves, 1).lower(*np.ones((2, 4096), np.float32), 0.01, target=target)
    if name == "repeated rows":
        return ow.repeat(unit, 1).lower(np.ones((64, 1000), np.float32), target=target)
    if name == "repeated product":
        return ow.repeat(layer, 1).lower(*np.ones((2, 64, 64), np.float32), target=target)
    variant = next(v for v in EVERY if v.name == name)
    return ow.fuse(variant.function).lower(*variant.arguments(), target=target)


CASES = [
    ("tonemap", "sm_75"), ("tonemap", "sm_90a"), ("tonemap", "host"), ("pixels", "sm_80"),
    ("corners", "sm_90a"), ("corners", "host"), ("interleaved", "sm_75"),
    ("outer", "sm_80"), ("softmax 1000", "sm_90a"), ("softmax 1000", "host"),
    ("softmax 33000", "sm_80"), ("layer norm f16", "sm_80"), ("columns", "sm_80"),
    ("columns", "host"), ("standardise", "host"),
    ("places of all", "sm_90a"), ("places of all", "host"), ("places of rows", "sm_80"),
    ("norm large", "sm_90a"), ("norm large", "host"), ("product", "sm_80"), ("product", "host"),
    ("product f16", "sm_90a"), ("product batched", "sm_75"), ("product and softmax", "sm_90a"),
    ("product few rows", "host"), ("transpose", "sm_90a"), ("transposed sum", "host"),
    ("picture", "sm_90a"), ("picture", "host"), ("windows", "sm_90a"), ("windows", "host"),
    ("places", "sm_80"), ("windows of rows", "sm_75"), ("scan 1000", "sm_90a"),
    ("scan 1000", "host"), ("scan columns", "sm_80"), ("scan columns", "host"),
    ("julia", "sm_90a"), ("energy", "sm_80"), ("product c64", "sm_90a"), ("scan 70000", "sm_90a"),
    ("counts large", "sm_90a"), ("counts of many", "sm_80"),
    ("repeated", "sm_90a"), ("repeated", "host"), ("repeated rows", "sm_90a"),
    ("repeated product", "sm_90a"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "target"), CASES)
def test_the_source_is_the_golden_one(name, target, request):
    path = GOLDEN / f"{name.replace(' ', '_')}_{target}.cu"
    source = program_of(name, target).source
    if request.config.getoption("--update-golden"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(source)

    assert path.read_text() == source


@pytest.mark.parametrize(("name", "target"), CASES)
def test_the_same_function_gives_the_same_bytes(name, target):
    assert program_of(name, target).source == program_of(name, target).source


@pytest.mark.parametrize(("name", "target"), CASES)
def test_source_reads_well(name, target):
    source = program_of(name, target).source
    lines = source.split("\n")

    assert max(map(len, lines)) <= 140
    assert "\t" not in source
    assert not any(line != line.rstrip() for line in lines)
    assert "\n\n\n" not in source
    assert "asm" not in source
    assert not re.search(r"= \([^()]*\);|\+ \([^()]*\)[;)]", source)  # brackets that say nothing
    assert not re.search(r"\(float\)-?\d[.]\d*f|\bfloat\(\d", source)  # a literal has its type


@pytest.mark.parametrize(("name", "target"), CASES)
def test_no_variable_is_dead(name, target):
    """Of a kernel as the compiler sees it: what is defined is used."""
    code = re.sub(r"//[^\n]*", "", program_of(name, target).kernels[0].flat)
    body = code.partition("\n{\n")[2]
    defined = re.findall(
        r"\b(?:index_t|int|bool|float|double|unsigned\*?)(?: const)? (\w+)\b", body
    )

    assert [d for d in defined if len(re.findall(rf"\b{d}\b", body)) < 2] == []
