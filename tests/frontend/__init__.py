"""From a function to a graph: NumPy's functions, and ordinary Python around arrays."""
