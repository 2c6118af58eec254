"""The standing table: what kernels do on a GPU, counted and modelled without one."""
