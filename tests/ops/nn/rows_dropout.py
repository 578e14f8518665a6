"""Rows of dropout and embedding lookups."""

import jax
import numpy as np

import gradtape as tf
from tests.ops.random import philox
from tests.ops.random.rows_random import SEED, STATE, after_set_seed, own_state
from tests.ops.table import Row, integers, positive, real

Invalid = tf.errors.InvalidArgumentError
stateless = tf.nn.experimental.stateless_dropout


def dropped(x, rate, state, shape=None):
    """Uniform numbers below the rate make zeros."""
    noise = philox.take(philox.doubles(state), *(shape or x.shape))
    return (noise >= 0.5) * x / (1 - rate)


def every_other(shape, dtype):
    """Noise that drops the elements of even index."""
    return tf.cast(tf.range(shape[-1]) % 2, dtype) * tf.ones(shape, dtype)


DROPOUT = (
    Row(
        "dropout",
        after_set_seed(lambda x: tf.nn.dropout(x, 0.5)),
        (real(3, 4),),
        lambda x: dropped(x, 0.5, own_state()),
        dtypes=("float64",),
        errors=(
            (
                lambda: tf.nn.dropout([1.0], 1.0),
                ValueError,
                r"`rate` must be .* in the range \[0, 1\). Received: rate=1.0",
            ),
            (lambda: tf.nn.dropout([1.0], -0.1), ValueError, "Received: rate=-0.1"),
            (
                lambda: tf.nn.dropout([1.0], "a"),
                ValueError,
                "`rate` must be a scalar or scalar tensor. Received: rate=a",
            ),
            (lambda: tf.nn.dropout([1.0], np.array(0.5)), ValueError, "`rate` must be a scalar or scalar tensor"),
            (lambda: tf.nn.dropout([1.0], tf.constant([0.5])), ValueError, r"Shape \(1,\) must have rank 0"),
            (lambda: tf.nn.dropout([1], 0.5), ValueError, "`x.dtype` must be a floating point tensor .*int32"),
            (lambda: tf.nn.dropout([1], 0), ValueError, "`x.dtype` must be a floating point tensor"),
            (
                lambda: tf.nn.dropout([1.0], tf.constant(0.5, "float64")),
                ValueError,
                "`x.dtype` must be compatible with `rate.dtype`",
            ),
            (
                lambda: tf.nn.dropout(tf.ones([4, 3]), 0.5, noise_shape=[2, 1]),
                Invalid,
                r"condition \[2,1\], then \[4,3\], and else \[\] must be broadcastable",
            ),
        ),
    ),
    Row(
        "dropout-rate-tensor",
        after_set_seed(lambda x, rate: tf.nn.dropout(x, rate, seed=6)),
        (real(3, 4), np.array(0.5)),
        lambda x, rate: dropped(x, rate, own_state(6)),
        dtypes=("float64",),
    ),
    Row(
        "dropout-noise-shape",
        after_set_seed(lambda x: tf.nn.dropout(x, 0.5, noise_shape=[None, 1])),
        (real(3, 4),),
        lambda x: dropped(x, 0.5, own_state(), (3, 1)),
        dtypes=("float64",),
    ),
    Row("dropout-nothing", lambda x: tf.nn.dropout(x, 0), (real(3),), lambda x: x),
    Row(
        "stateless-dropout",
        lambda x: stateless(x, 0.5, seed=SEED),
        (real(3, 4),),
        lambda x: dropped(x, 0.5, STATE),
        dtypes=("float64",),
        errors=((lambda: stateless([1.0], 0.5, seed=[1]), Invalid, r"seed must have shape \[2\], not \[1\]"),),
    ),
    Row("stateless-dropout-nothing", lambda x: stateless(x, 0.0, seed=SEED), (real(3),), lambda x: x),
    Row(
        "general-dropout",
        lambda x: tf.nn.experimental.general_dropout(x, 0.2, every_other),
        (real(2, 3),),
        lambda x: x * np.array([0.0, 1.25, 0.0]),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        special=(([np.nan, 1.0, np.nan], [0.0, 1.25, 0.0], [0.0, 1.25, 0.0]),),
    ),
    Row(
        "general-dropout-nothing",
        lambda x: tf.nn.experimental.general_dropout(x, 0, None),
        (real(3),),
        lambda x: x,
    ),
)

EMBEDDING = (
    Row(
        "embedding",
        tf.nn.embedding_lookup,
        (real(4, 2), integers(0, 4, 2, 3)),
        lambda table, ids: table[ids],
        special=(
            (
                ([[1.0, 2.0], [3.0, 4.0]], [1, 0, 1]),
                [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]],
                ([[1.0, 1.0], [2.0, 2.0]], None),
            ),
        ),
        errors=(
            (lambda: tf.nn.embedding_lookup([[1.0], [2.0]], None), ValueError, "None"),
            (lambda: tf.nn.embedding_lookup(None, [0]), ValueError, "params must be specified"),
            (lambda: tf.nn.embedding_lookup([], [0]), ValueError, "Length of params is currently 0"),
            (lambda: tf.nn.embedding_lookup(tf.ones([2, 2]), [2, 0]), Invalid, r"indices\[0\] = 2 is not in \[0, 2\)"),
            (lambda: tf.nn.embedding_lookup(tf.ones([2, 2]), [1.0]), Invalid, "Value for attr 'Tindices' of float"),
        ),
    ),
    Row(
        "embedding-norm",
        lambda table: tf.nn.embedding_lookup(table, [1, 0], max_norm=1.0),
        (positive(2, 3) + 1,),
        lambda table: (table / jax.numpy.sqrt((table * table).sum(1, keepdims=True)))[np.array([1, 0])],
        special=(([[1.0, 2.0], [3.0, 4.0]], [[0.6, 0.8], [0.4472136, 0.8944272]]), ([[0.5], [0.25]], [[0.25], [0.5]])),
    ),
    Row(
        "embedding-tables",
        lambda first, second: tf.nn.embedding_lookup([first, second], [2, 0, 1]),
        (real(2, 2), real(1, 2)),
        lambda first, second: jax.numpy.concatenate([first, second])[np.array([2, 0, 1])],
    ),
    Row(
        "embedding-one-table",
        lambda table: tf.nn.embedding_lookup([table], [1]),
        (real(2, 2),),
        lambda table: table[1:],
    ),
)

ROWS = DROPOUT + EMBEDDING
