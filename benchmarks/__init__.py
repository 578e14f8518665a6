"""gradtape beside JAX, PyTorch and TensorFlow: `python -m benchmarks`."""
