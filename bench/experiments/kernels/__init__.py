"""What kernels take on a device, beside those of others."""
