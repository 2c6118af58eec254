"""Kernels: which variant is chosen, what it computes, and what its machine code shows."""
