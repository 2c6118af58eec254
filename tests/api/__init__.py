"""What a user touches: calls, programs, graphs, errors."""
