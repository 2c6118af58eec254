"""Rounds of loops in other orders than Python has them in, and with fewer questions."""
