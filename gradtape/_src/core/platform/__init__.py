"""XLA, devices, memory, and NumPy as an alternative to compiled kernels."""
