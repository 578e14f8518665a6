"""Comparison of gradtape with JAX, PyTorch and TensorFlow: `python -m benchmarks`."""
