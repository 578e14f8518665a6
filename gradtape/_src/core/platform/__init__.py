"""XLA, devices, memory, and NumPy in the place of kernels."""
