"""A mean of equal numbers is that number, to the last bit: XLA would multiply by the reciprocal of how many there are."""

import numpy as np
import pytest

import gradtape as tf

MEANS = {
    "reduce_mean": (lambda x: tf.reduce_mean(x), lambda n: (n,)),
    "reduce_mean over an axis": (lambda x: tf.reduce_mean(x, 0), lambda n: (n, 3)),
    "moments": (lambda x: tf.nn.moments(x, [0])[0], lambda n: (n, 3)),
    "batch norm": (lambda x: tf.compat.v1.nn.fused_batch_norm(x, tf.ones(3), tf.zeros(3))[1], lambda n: (n, 1, 1, 3)),
    "average pool": (lambda x: tf.nn.avg_pool1d(x, x.shape[1], 1, "VALID"), lambda n: (1, n, 3)),
    "average pool that overlaps": (lambda x: tf.nn.avg_pool1d(x, x.shape[1] - 2, 1, "SAME"), lambda n: (1, n + 2, 3)),
}


@pytest.mark.parametrize("name", MEANS)
def test_mean_of_ones_is_one(name):
    n = 41  # n · (1 / n) is no 1
    mean, shape = MEANS[name]
    assert np.float32(n) * (np.float32(1) / np.float32(n)) != 1
    assert np.all(tf.function(mean)(tf.ones(shape(n))).numpy() == 1)
