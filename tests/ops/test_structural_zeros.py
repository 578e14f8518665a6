"""Rules of ops with several results compute nothing for results that nothing flows into."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import engine
from gradtape._src.ops.array.shape import _broadcast_to, zeros
from gradtape._src.ops.floats import is_zeros
from gradtape._src.ops.nn.normalization import fused_batch_norm
from tests.ops.spy import recorded

IMAGES, LOGITS = np.ones((2, 1, 1, 3), "float32"), np.ones((2, 3), "float32")
CHANNELS = tf.constant([1.0, 2.0, 3.0])


def types_in_gradient(function, array):
    """The types of the ops that a gradient of the sum of `function` is made of."""
    x = tf.constant(array)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    with recorded() as seen:
        tape.gradient(y, x)
    return [op.type for op, *_ in seen]


@pytest.mark.parametrize(
    "result, all_results, array",
    [
        (lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], x), None, LOGITS),
        (lambda x: tf.nn.moments(x, [0])[0], lambda x: tf.nn.moments(x, [0]), LOGITS),
        (lambda x: fused_batch_norm(x, CHANNELS, CHANNELS)[0], lambda x: fused_batch_norm(x, CHANNELS, CHANNELS), IMAGES),
    ],
    ids=["cross-entropy", "moments", "batch-norm"],
)
def test_results_without_a_cotangent_cost_nothing(result, all_results, array):
    few = types_in_gradient(result, array)
    if all_results is None:
        assert "Softmax" in few
        assert "Sum" not in few
    else:
        assert len(few) < len(types_in_gradient(all_results, array))


@pytest.mark.parametrize(
    "dy, expected",
    [
        (lambda: zeros([2, 3], tf.float32), True),
        (lambda: zeros([2, 3], tf.float64), True),
        (lambda: tf.ones([2, 3]), False),
        (lambda: tf.constant(np.zeros((2, 3), "float32")), False),  # known only by its values
        (lambda: _broadcast_to(tf.constant(np.zeros(3, "float32")), shape=(2, 3)), False),
        (lambda: tf.zeros([3]) * 2.0, False),
    ],
)
def test_is_zeros(dy, expected):
    engine.flush()
    assert is_zeros(dy()) is expected
