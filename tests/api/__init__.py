"""What a user touches: calls, programs, graphs, errors, the command line."""
