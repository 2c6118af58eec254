"""What runs and is timed: problems, those who solve them, the clock, and what was found."""
