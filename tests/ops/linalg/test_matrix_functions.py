"""Functions of matrices where JAX has no Schur form: on the host, by SciPy."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.platform import xla
from gradtape._src.ops.linalg import matrix_functions


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_scipy_stands_in_for_a_gpu(name):
    x = np.random.default_rng(0).standard_normal((2, 3, 3, 2)).astype("float32")
    x = (x[..., 0] + 1j * x[..., 1]).astype("complex64")
    with xla.wide():
        received = matrix_functions._by_scipy(name, x)
    assert received.dtype == x.dtype
    np.testing.assert_allclose(received, getattr(tf.linalg, name)(x).numpy(), rtol=2e-4, atol=2e-4)
