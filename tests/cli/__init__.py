"""The command line: what it prints, how it ends, and what it says of mistakes."""
