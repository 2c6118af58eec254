"""Rounds of loops in C in other orders than Python has them in, and with fewer questions.

All of it goes from lines of C to lines of C, and changes no bits: ``first_rounds`` joins first
rounds with the others, ``sharing`` has all cores share rounds, ``skewing`` puts rows side by side,
where ``choices`` has no branches, ``hoisting`` asks once for many rounds.
"""
