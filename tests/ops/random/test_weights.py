"""The initializers behind TensorFlow 1's: variances, fans, seeds, configurations."""

import math

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.ops.random import weights as initializers

SHAPES = {(300, 200): (300, 200), (3, 3, 20, 40): (180, 360), (5000,): (5000, 5000)}


def share(mode, inputs, outputs):
    return {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[mode]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "name, scale, mode, uniform",
    [
        ("GlorotUniform", 1, "fan_avg", True),
        ("GlorotNormal", 1, "fan_avg", False),
        ("HeUniform", 2, "fan_in", True),
        ("HeNormal", 2, "fan_in", False),
        ("LecunUniform", 1, "fan_in", True),
        ("LecunNormal", 1, "fan_in", False),
    ],
)
def test_variance(name, scale, mode, uniform, shape):
    values = getattr(initializers, name)(seed=5)(shape).numpy()
    deviation = math.sqrt(scale / share(mode, *SHAPES[shape]))
    assert values.shape == shape
    assert abs(values.std() / deviation - 1) < 5 / math.sqrt(values.size)
    assert abs(values.mean()) < 5 * deviation / math.sqrt(values.size)
    bound = deviation * (math.sqrt(3) if uniform else 2 / 0.8796256610342398)
    assert 0.99 * bound < np.abs(values).max() <= bound * (1 + 1e-6)


def test_variance_scaling_without_truncation():
    scaling = initializers.VarianceScaling(4.0, "fan_out", "untruncated_normal", seed=1)
    values = scaling((100, 400)).numpy()
    assert abs(values.std() - 0.1) < 0.002
    assert np.abs(values).max() > 0.3


@pytest.mark.parametrize("input_axes, output_axes, fan_in", [([0], [1], 2), ([0, 1], [-1], 60), ([-1], [0, 1], 20)])
def test_named_axes(input_axes, output_axes, fan_in):
    """Of a shape [2, 30, 20]."""
    make = initializers.HeUniform(seed=2, input_axes=input_axes, output_axes=output_axes)
    largest = np.abs(make((2, 30, 20)).numpy()).max() / math.sqrt(6 / fan_in)
    assert 0.98 < largest <= 1 + 1e-6


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 2, 4)], ids=str)
def test_orthogonal(shape):
    matrix = initializers.Orthogonal(gain=2.0, seed=3)(shape, "float64").numpy().reshape(-1, shape[-1])
    matrix = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(matrix.T @ matrix, 4 * np.eye(matrix.shape[1]), atol=1e-12)


def test_without_randomness():
    np.testing.assert_array_equal(initializers.Identity(2.0)((2, 3)), [[2, 0, 0], [0, 2, 0]])
    np.testing.assert_array_equal(initializers.Constant(3)((2,)), [3.0, 3.0])
    np.testing.assert_array_equal(initializers.Constant([1, 2])((2,), tf.int32), [1, 2])
    assert initializers.Zeros()((2,), dtype="int32").dtype == tf.int32
    assert initializers.Ones()((2,)).dtype == tf.float32


class TestSeeds:
    def test_an_initializer_gives_the_same_again(self):
        for seed in (None, 7):
            make = initializers.RandomNormal(seed=seed)
            np.testing.assert_array_equal(make((4,)), make((4,)))

    def test_seeds_and_initializers_differ(self):
        tf.random.set_seed(1)
        values = [initializers.RandomUniform(seed=seed)((4,)).numpy() for seed in (None, None, 0, 1)]
        assert len({tuple(v) for v in values}) == 4

    def test_the_global_seed_determines_those_without(self):
        def draw():
            tf.random.set_seed(1)
            return initializers.TruncatedNormal()((4,)).numpy()

        np.testing.assert_array_equal(draw(), draw())


def test_a_configuration_makes_the_same_initializer():
    for made in (
        initializers.VarianceScaling(2.0, "fan_out", "uniform", seed=3),
        initializers.GlorotUniform(seed=3),
        initializers.TruncatedNormal(1.0, 2.0, seed=3),
        initializers.RandomUniform(0.0, 1.0, seed=3),
        initializers.Orthogonal(0.5, seed=3),
        initializers.Constant(2.0),
        initializers.Identity(2.0),
    ):
        again = type(made).from_config(made.get_config())
        np.testing.assert_array_equal(again((3, 3)), made((3, 3)))


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: initializers.VarianceScaling(scale=-1), "`scale` must be positive float. Received: scale=-1"),
        (lambda: initializers.VarianceScaling(mode="x"), "Invalid `mode` argument: x. Please use one of 'fan_in'"),
        (lambda: initializers.VarianceScaling(distribution="x"), "Invalid `distribution` argument: x"),
        (lambda: initializers.Orthogonal()((3,)), r"at least two-dimensional. Received: shape=\(3,\) of rank 1"),
        (lambda: initializers.Identity()((2, 3, 1)), r"only be used for 2D matrices. Received: shape=\(2, 3, 1\)"),
        (lambda: initializers.GlorotNormal()((2,), tf.int32), "Expected a floating point dtype. Received: .*int32"),
    ],
)
def test_errors(call, match):
    with pytest.raises(ValueError, match=match):
        call()
