"""Whether elements are in order, the largest of them, and the Sobol sequence."""

import numpy as np

import gradtape as tf
from tests.ops.table import Row, distinct, integers, real

Invalid = tf.errors.InvalidArgumentError
NAN = np.nan


ROWS = (
    Row(
        "is_non_decreasing",
        tf.math.is_non_decreasing,
        (real(2, 3),),
        lambda x: np.all(np.diff(x.ravel()) >= 0),
        order=0,
        special=(
            (([1, 2, 2],), True),
            (([3, 1],), False),
            (([[1, 2], [2, 4]],), True),
            (([],), True),
            (([1.0, NAN, 2.0],), False),
        ),
        errors=((lambda: tf.math.is_non_decreasing([True]), TypeError, "Expected x to be numeric"),),
    ),
    Row(
        "is_strictly_increasing",
        tf.math.is_strictly_increasing,
        (real(2, 3),),
        lambda x: np.all(np.diff(x.ravel()) > 0),
        order=0,
        special=((([1, 2, 2],), False), (([1, 2, 4],), True), (([1],), True), (([1.0, NAN, 2.0],), False)),
    ),
    Row(
        "approx_max_k",
        lambda x: tf.math.approx_max_k(x, 2, reduction_dimension=0),
        (distinct(3, 2),),
        lambda x: (-np.sort(-x, axis=0)[:2], np.argsort(-x, axis=0)[:2].astype("i4")),
        oracle=False,
        special=(([[3.0], [1.0], [2.0]], ([[3.0], [2.0]], [[0], [2]]), [[1.0], [0.0], [1.0]]),),
    ),
    Row(
        "approx_min_k",
        lambda x: tf.nn.approx_min_k(x, 2),
        (distinct(2, 3),),
        lambda x: (np.sort(x)[:, :2], np.argsort(x)[:, :2].astype("i4")),
        oracle=False,
    ),
    Row(
        "sobol_sample",
        lambda n: tf.math.sobol_sample(2, n, skip=5, dtype=tf.float64),
        (integers(3, 4),),
        lambda n: np.array([[0.625, 0.125], [0.125, 0.625], [0.1875, 0.3125]]),
        order=0,
        dtypes=("int32", "int64"),
        result=lambda dtype: "float64",
        errors=(
            (lambda: tf.math.sobol_sample(0, 3), Invalid, "dim must be at least one"),
            (lambda: tf.math.sobol_sample(2, 0), Invalid, "num_results must be at least one"),
            (lambda: tf.math.sobol_sample(2, 3, skip=-1), Invalid, "skip must be at least zero"),
            (lambda: tf.math.sobol_sample(41, 3), Invalid, "dim must be at most 40"),
            (lambda: tf.math.sobol_sample(2, 3, dtype=tf.float16), Invalid, "attr 'dtype' of half"),
        ),
    ),
    Row(
        "sobol_sample of many axes",
        lambda n: tf.math.sobol_sample(40, n, skip=1000)[:, 32:],
        (integers(2, 3),),
        lambda n: (
            np.array(
                [
                    [815, 95, 309, 277, 357, 339, 827, 1003],
                    [47, 351, 53, 21, 613, 595, 59, 235],
                ],
                "f4",
            )
            / 1024
        ),
        order=0,
        dtypes=("int32",),
    ),
)
