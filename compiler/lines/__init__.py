"""Numbers and elements of arrays as lines of C, of which loops of Python are made."""
