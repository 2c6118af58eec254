"""The benchmarks, beside the package and no part of it."""
