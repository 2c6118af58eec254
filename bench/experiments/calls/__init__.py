"""What a call takes besides its kernels: tracing, compiling, guards, memory, Python."""
