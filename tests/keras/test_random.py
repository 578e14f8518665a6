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
