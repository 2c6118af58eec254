"""Programs with loops over rows, time and elements, and with calls of NumPy's library."""
