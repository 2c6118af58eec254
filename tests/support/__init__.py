"""What tests share and is no test: inputs, tables of kernels, judges."""
