"""What NumPy, ``math`` and Python have by name, as loops of C compile it: tables of functions."""
