"""Programs of PyTorch's users, for the experiment ``torch``: they need PyTorch alone."""
