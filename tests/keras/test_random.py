"""Keras's random numbers are those of Keras on TensorFlow."""

import json

import numpy as np
import pytest

import gradtape as tf
from tests.keras import random_programs

NUMBERS = json.loads(random_programs.NUMBERS.read_text())


@pytest.mark.parametrize("name", random_programs.PROGRAMS)
def test_numbers_are_those_on_tensorflow(name):
    received = random_programs.numbers_of(tf.keras, random_programs.PROGRAMS[name])
    assert [(dtype, shape) for dtype, shape, *_ in received] == [(dtype, shape) for dtype, shape, *_ in NUMBERS[name]]
    for (*_, total, first), (*_, expected_total, expected) in zip(received, NUMBERS[name], strict=True):
        np.testing.assert_allclose(first, expected, 1e-5, 1e-6)
        np.testing.assert_allclose(total, expected_total, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        (lambda: tf.random.normal([2]), [[0.5983449, 0.06276207], [-2.2733312, -1.6592104], [1.575, -0.529]]),
        (lambda: lambda: tf.random.normal([2]), [[0.5983449, 0.06276207], [-2.2733312, -1.6592104], [1.575, -0.529]]),
        (lambda: tf.random.normal([2], seed=3), [[0.9447, -0.9668], [1.1952, -0.8447], [0.5983449, 0.06276207]]),
    ],
)
def test_a_layer_that_draws_in_build_draws_in_eager_code(initial, expected):
    class Drawing(tf.keras.layers.Layer):
        def build(self, shape):
            self.w = tf.Variable(initial())

        def call(self, x):
            return x + self.w

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = Drawing(), Drawing()

        def call(self, x):
            return self.second(self.first(x))

    tf.keras.utils.set_random_seed(7)
    model = Model()
    model(tf.ones([1, 2]))
    drawn = [model.first.w, model.second.w, tf.random.normal([2])]
    np.testing.assert_allclose(np.array([x.numpy() for x in drawn]), expected, 1e-4, 1e-4)
