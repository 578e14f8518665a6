"""Random numbers are TensorFlow's: the same ones for the same seeds."""

import json

import numpy as np
import pytest

import gradtape as tf
from tests.ops.random import random_cases

CASES = random_cases.cases(tf)
NUMBERS = json.loads(random_cases.FILE.read_text())
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}


def test_every_case_has_numbers():
    assert list(CASES) == list(NUMBERS)


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_tensorflows(name, count):
    received = random_cases.numbers_of(tf, CASES[name])
    assert [dtype for dtype, _ in received] == [dtype for dtype, _ in NUMBERS[name]]
    for (dtype, value), (_, number) in zip(received, NUMBERS[name], strict=True):
        if "float" not in dtype or "uniform" in name:
            assert value == number
        else:
            np.testing.assert_allclose(value, number, TOLERANCE[dtype], TOLERANCE[dtype])
    count("random: programs compared with TensorFlow's numbers")


def test_a_permutation_exchanges_one_number_after_the_other():
    expected, words = list(range(501)), tf.random.stateless_uniform([500], (3, 4), None, None, "uint32").numpy()
    for i, word in enumerate(words):
        other = i + int(word) % (501 - i)
        expected[i], expected[other] = expected[other], expected[i]
    assert tf.random.experimental.stateless_shuffle(tf.range(501), (3, 4)).numpy().tolist() == expected
