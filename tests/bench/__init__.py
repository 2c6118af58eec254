"""The benchmarks: what they measure, write and refuse."""
