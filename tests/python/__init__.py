"""Ordinary Python around arrays: a fused function does what the plain one does."""
