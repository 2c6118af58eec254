"""Functions that run in parts, and what shares memory in them."""
