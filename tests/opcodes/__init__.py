"""Operators: types, special values, bounds, and what a fragment may be."""
