"""NumPy's functions, methods and rules: what a fused function computes is what NumPy computes."""
