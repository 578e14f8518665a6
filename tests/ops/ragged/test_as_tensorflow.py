"""RaggedTensors in functions, reductions, joins, gradients and datasets; TensorFlow's answers stand in `tensorflow.json`."""

import json

import pytest

import gradtape as tf
from tests.ops.ragged.programs import FILE, PROGRAMS, outcome

TENSORFLOW = json.loads(FILE.read_text())


def nearly(found, expected):
    """Whether both are the same nest, floats to rounding."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(nearly, found, expected))
    if isinstance(expected, float):
        return isinstance(found, float) and abs(found - expected) < 2e-4
    return found == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_tensorflow(name):
    found = outcome(PROGRAMS[name], tf)
    assert nearly(found, TENSORFLOW[name]), f"{found} for {TENSORFLOW[name]}"
