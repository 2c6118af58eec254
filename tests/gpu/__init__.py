"""What needs a GPU."""
