"""The op that NumPy's functions have of their own."""

import numpy as np

import gradtape as tf
from tests.ops.table import Row

ROWS = (
    Row(
        "gcd",
        tf.experimental.numpy.gcd,
        (np.array([12, 8, 0]), np.array([18, 12, 5])),
        np.gcd,
        ops=("Gcd",),
        order=0,
        dtypes=("int8", "int32", "int64", "uint16"),
        special=((([0, 0, 7], [0, 3, 7]), [0, 3, 7]),),
        errors=((lambda: tf.experimental.numpy.gcd([1.5], [2]), ValueError, "Arguments to gcd must be integers"),),
    ),
)
