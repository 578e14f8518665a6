"""What the rows of linear algebra share: matrices, and the errors of bad ones."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
NOT_ALLOWED = "is not in the list of allowed values"
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
REGULAR = [[2.0, 1.0], [1.0, 3.0]]


def turned(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def regular(n, *batch, arrays=real, seed=0):
    """Matrices that are far from singular."""
    return arrays(*batch, n, n, seed=("regular", seed)) + 3.0 * np.eye(n)


def symmetric(x):
    """The Hermitian part, in tensors or arrays."""
    return (x + (tf.linalg.adjoint(x) if isinstance(x, tf.Tensor) else turned(x))) / 2.0


def definite(x):
    """A Hermitian positive definite matrix, in tensors or arrays."""
    if isinstance(x, tf.Tensor):
        return tf.matmul(x, x, adjoint_b=True) + tf.eye(x.shape[-1], dtype=x.dtype)
    return x @ turned(x) + jnp.eye(x.shape[-1], dtype=x.dtype)


def not_square(function, text="Input matrix must be square"):
    return (lambda: function(tf.ones([2, 3])), Invalid, rf"{text}(?s:.*)\[2,3\]")


def not_a_matrix(function):
    return (lambda: function(tf.ones([3])), Invalid, "must have rank >= 2, got 1")


def not_inexact(function, name="int32"):
    return (lambda: function(tf.ones([2, 2], name)), Invalid, f"'T' of {name.replace('float16', 'half')} {NOT_ALLOWED}")


def without_oracle(row):
    """Complex variants of rows: numeric derivatives do, and JAX's take long to compile."""
    return replace(row, oracle=False) if any(array.dtype.kind == "c" for array in row.args) else row
