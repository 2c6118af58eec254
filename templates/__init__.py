"""Kernel skeletons, device helpers and the host shim: package data."""

from pathlib import Path

# Where they lie, which is also the include path.
TEMPLATES = Path(__file__).parent
# The scheduler of kernels on a host, and its pool of threads.
RUNTIME = TEMPLATES / "host" / "runtime.cpp"
