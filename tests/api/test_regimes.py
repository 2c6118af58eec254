"""Regimes: the counts, the rates, and what names a regime."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import DEVICES
from opweave.compiler.scheduling.work import Work, work_of
from opweave.regimes import Rates, Regime
from opweave.regimes import _doubled as doubled

X = np.ones((100, 30), np.float32)
W = np.ones((30, 20), np.float32)
RATES = Rates(bandwidth=1e9, flops=1e10, special=1e9, launch=1e-6, source="a test")


def counted(function, *arrays):
    found = ow.regime(ow.fuse(function), *arrays, measure=False)
    return found.work.bytes, found.work.flops, found.work.special


@pytest.mark.parametrize(("function", "arrays", "expected"), [
    (lambda x: x + 1, (X,), (2 * X.nbytes, X.size, 0)),
    (lambda x: x * 2 + 1, (X,), (2 * X.nbytes, 2 * X.size, 0)),
    (lambda x: np.exp(x), (X,), (2 * X.nbytes, 2 * X.size, X.size)),
    (lambda x: x.sum(), (X,), (X.nbytes + 4, X.size, 0)),
    (lambda x: x.sum(axis=1), (X,), (X.nbytes + 400, X.size, 0)),
    (lambda x, w: x @ w, (X, W), (X.nbytes + W.nbytes + 8000, 2 * 100 * 30 * 20, 0)),
    (lambda x: ow.pixels.white_balance(x, 1.1, 1.0, 0.9), (X[:, :3],), (2 * 1200, 300, 0)),
    (lambda x: x.T, (X,), (0, 0, 0)),
    (lambda x: x + x[:1] if False else x + x, (X[:0],), (0, 0, 0)),
], ids=["map", "chain", "special", "sum", "rows", "product", "pixels", "view", "empty"])  # fmt: skip
def test_bytes_and_operations_are_counted(function, arrays, expected):
    assert counted(function, *arrays) == expected


def test_a_row_value_counts_once_a_row():
    bytes_, flops, special = counted(lambda x: x / np.sqrt((x * x).sum(axis=1, keepdims=True)), X)

    assert (bytes_, special) == (2 * X.nbytes, 100)
    assert flops == 3 * X.size  # square, sum, divide


def test_kernels_are_counted_one_by_one():
    program = ow.fuse(lambda x: np.exp(x) + 1).unfused().lower(X)
    first, second = work_of(program.lowered.schedule, {"n0": 100, "n1": 30})

    assert (first.special, second.special) == (X.size, 0)
    assert (first + second).bytes == 4 * X.nbytes


@pytest.mark.parametrize(("work", "growth", "name"), [
    (Work(10_000_000, 1000), None, "memory"),
    (Work(1000, 10_000_000), None, "compute"),
    (Work(1000, 0, 10_000_000), None, "compute"),
    (Work(1000, products=10_000_000), None, "compute"),
    (Work(10_000_000, products=10_000_000), None, "memory"),
    (Work(100, 100), None, "overhead"),
    (Work(10_000_000, 1000), 1.05, "overhead"),  # it was not the work that took the time
    (Work(10_000_000, 1000), 1.9, "memory"),
    (Work(100, 10), 1.9, "memory"),  # the work took it after all
    (Work(100, 100_000), 1.2, "compute"),
])  # fmt: skip
def test_the_longest_time_names_the_regime_unless_the_doubling_test_does(work, growth, name):
    assert Regime.of([work], RATES, growth).name == name


def test_times_are_work_over_rates():
    found = Regime.of([Work(1000, 200, 30), Work(1000)], RATES)

    assert found.memory == pytest.approx(2e-6)
    assert found.compute == pytest.approx(200 / 1e10 + 30 / 1e9)
    assert (found.overhead, found.launches) == (2e-6, 2)
    assert found.floor == found.memory
    assert found.work.intensity == pytest.approx(0.115)


@pytest.mark.parametrize("target", DEVICES)
def test_a_target_that_is_not_here_has_the_rates_of_its_description(target):
    program = ow.fuse(lambda x: x + 1).lower(X, target=target)
    found = ow.regime(program, X, measure=False)

    assert found.rates.bandwidth == DEVICES[target].gigabytes_per_second * 1e9
    assert found.rates.flops == DEVICES[target].gigaflops * 1e9
    assert "host" in found.rates.source or f"data sheet of {target}" in str(found)


def test_the_explanation_has_a_line():
    text = ow.fuse(lambda x: np.exp(x)).lower(X, target="sm_90a").explain(X).text

    assert "regime: overhead-bound: traffic" in text
    assert "(data sheet of H200)" in text


@pytest.mark.host
def test_a_call_that_is_here_is_measured():
    found = ow.regime(ow.fuse(lambda x: x + 1), X, rates=RATES)

    assert found.seconds > 0
    assert found.growth > 0
    assert "with twice the rows" in str(found)


@pytest.mark.parametrize(("function", "arrays", "shapes"), [
    (lambda x, w: x @ w, (X, W), [(200, 30), (30, 20)]),
    (lambda x, y: x + y, (X, X), [(200, 30), (200, 30)]),
    (lambda x, y: x + y, (X, X[:1]), [(200, 30), (1, 30)]),
], ids=["product", "both", "row"])  # fmt: skip
def test_the_doubling_test_doubles_the_rows_of_all_that_share_them(function, arrays, shapes):
    twice = doubled(ow.fuse(function).lower(*arrays), arrays)

    assert [a.shape for a in twice] == shapes


@pytest.mark.host
def test_one_number_has_no_rows():
    assert ow.regime(ow.fuse(lambda x: x + 1), np.array(3.0), rates=RATES).growth is None


@pytest.mark.host
def test_rates_are_measured_once():
    from opweave.regimes import measured_rates

    found = measured_rates(False)

    assert measured_rates(False) is found
    assert found.source == "measured"
    assert all(v > 0 for v in (found.bandwidth, found.flops, found.special, found.launch))


@pytest.mark.parametrize("bad", [np.exp, None, "text"])
def test_what_is_no_fused_function_is_refused(bad):
    with pytest.raises(ow.errors.ArgumentError, match=r"made by ow\.fuse"):
        ow.regime(bad, X)


@pytest.mark.parametrize("bad", ["fast", 1e9, {"bandwidth": 1e9}])
def test_rates_that_are_none_are_refused(bad):
    with pytest.raises(ow.errors.ArgumentError, match=r"rates: expected Rates or None, found"):
        ow.regime(ow.fuse(np.exp), X, rates=bad)
