"""Documents and rows of benchmarks, as tests make them."""

from bench.experiments import load
from bench.measure import (
    machine,
    record,
)

ROOFS = {
    "copy": 1e10,
    "fp32": 1e11,
    "special": 1e9,
    "matrix": 2e11,
    "matrix16": 0.0,
    "launch": 1e-6,
}


def silent(*_):
    pass


def recorded(host, **options):
    return record.Record(record.Options(**options), host, ROOFS, log=silent)


def measured(runners, case, host):
    found = recorded(host)
    found.compare(runners, case)
    found.limit("a limit", ">= 2", 3.0, "x")
    return found


def document(found, name="fusion", complete=True):
    described = machine.describe("noisy")
    return record.document(name, load(name), described, found, complete=complete)


def row(runner, role, us, **more):
    return {
        "runner": runner, "role": role, "median_us": us, "spread": 0.1, "parameters": {"n": 1},
        "clock": "a clock", "sets": 2,
        "bytes": 10_000, "flops": 0, "special": 0, "unit": "fp32", **more,
    }  # fmt: skip
