"""Mutants of templates and helpers: what the checks of this project would let through."""
