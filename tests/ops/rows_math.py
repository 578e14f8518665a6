"""Rows of the element-wise ops."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, real

ROWS = (
    Row("tanh", tf.tanh, (real(2, 3),), jnp.tanh, ops=("Tanh",), special=(([0.0, np.inf], [0.0, 1.0], [1.0, 0.0]),)),
)
