"""TensorFlow 1's initializers: variances, numbers of inputs and outputs, orthogonality, configurations, errors."""

import math

import numpy as np
import pytest

import gradtape as tf

tf1 = tf.compat.v1
SHAPES = {(300, 200): (300, 200), (3, 3, 20, 40): (180, 360), (5000,): (5000, 5000)}


def share(mode, inputs, outputs):
    return {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[mode]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "make, scale, mode, uniform",
    [
        (tf1.glorot_uniform_initializer, 1, "fan_avg", True),
        (tf1.glorot_normal_initializer, 1, "fan_avg", False),
        (tf1.initializers.he_uniform, 2, "fan_in", True),
        (tf1.initializers.he_normal, 2, "fan_in", False),
        (tf1.initializers.lecun_uniform, 1, "fan_in", True),
        (tf1.initializers.lecun_normal, 1, "fan_in", False),
    ],
)
def test_variance(make, scale, mode, uniform, shape):
    values = make(seed=5)(shape).numpy()
    deviation = math.sqrt(scale / share(mode, *SHAPES[shape]))
    assert values.shape == shape
    assert abs(values.std() / deviation - 1) < 5 / math.sqrt(values.size)
    assert abs(values.mean()) < 5 * deviation / math.sqrt(values.size)
    bound = deviation * (math.sqrt(3) if uniform else 2 / 0.8796256610342398)
    assert 0.99 * bound < np.abs(values).max() <= bound * (1 + 1e-6)


def test_variance_scaling_without_truncation():
    scaling = tf1.variance_scaling_initializer(4.0, "fan_out", "untruncated_normal", seed=1)
    values = scaling((100, 400)).numpy()
    assert abs(values.std() - 0.1) < 0.002
    assert np.abs(values).max() > 0.3


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 2, 4)], ids=str)
def test_orthogonal(shape):
    matrix = tf1.orthogonal_initializer(gain=2.0, seed=3)(shape, "float64").numpy().reshape(-1, shape[-1])
    matrix = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(matrix.T @ matrix, 4 * np.eye(matrix.shape[1]), atol=1e-12)


def test_without_randomness():
    np.testing.assert_array_equal(tf1.initializers.identity(2.0)((2, 3)), [[2, 0, 0], [0, 2, 0]])
    np.testing.assert_array_equal(tf1.constant_initializer(3)((2,)), [3.0, 3.0])
    np.testing.assert_array_equal(tf1.constant_initializer([1, 2])((2,), tf.int32), [1, 2])
    assert tf1.zeros_initializer()((2,), dtype="int32").dtype == tf.int32
    assert tf1.ones_initializer()((2,)).dtype == tf.float32


class TestSeeds:
    def test_seeds_and_initializers_differ(self):
        tf.random.set_seed(1)
        values = [tf1.random_uniform_initializer(0.0, 1.0, seed=seed)((4,)).numpy() for seed in (None, None, 0, 1)]
        assert len({tuple(v) for v in values}) == 4

    def test_the_global_seed_determines_those_without(self):
        def draw():
            tf.random.set_seed(1)
            return tf1.truncated_normal_initializer()((4,)).numpy()

        np.testing.assert_array_equal(draw(), draw())


def test_a_configuration_makes_the_same_initializer():
    for made in (
        tf1.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=3),
        tf1.glorot_uniform_initializer(seed=3),
        tf1.truncated_normal_initializer(1.0, 2.0, seed=3),
        tf1.random_uniform_initializer(0.0, 1.0, seed=3),
        tf1.orthogonal_initializer(0.5, seed=3),
        tf1.constant_initializer(2.0),
        tf1.initializers.identity(2.0),
    ):
        values = []
        for initializer in (made, type(made).from_config(made.get_config())):
            tf.random.set_seed(1)
            values.append(initializer((3, 3)))
        np.testing.assert_array_equal(*values)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: tf1.variance_scaling_initializer(scale=-1), "`scale` must be a positive float. Received: -1"),
        (lambda: tf1.variance_scaling_initializer(mode="x"), "`mode` should be one of .*'fan_in'.*Received: x"),
        (lambda: tf1.variance_scaling_initializer(distribution="x"), "`distribution` should be one of .* Received: x"),
        (lambda: tf1.orthogonal_initializer()((3,)), r"at least two-dimensional. Received: shape=\[3\] of rank 1"),
        (lambda: tf1.initializers.identity()((2, 3, 1)), r"must be at least two-dimensional: \[2, 3, 1\]"),
        (lambda: tf1.glorot_normal_initializer(dtype=tf.int32), "Expected floating point type, got .*int32"),
    ],
)
def test_errors(call, match):
    with pytest.raises(ValueError, match=match):
        call()
