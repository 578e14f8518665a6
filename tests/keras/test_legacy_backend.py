"""The classic functions of `tf.keras.backend`, as TensorFlow 2.21 gives them (legacy.json, by legacy_calls.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from tests.keras.legacy_calls import CALLS, result

GIVEN = json.loads(Path(__file__).with_name("legacy.json").read_text())


@pytest.mark.parametrize("name", CALLS)
def test_as_tensorflow_has_it(name):
    np.testing.assert_allclose(np.asarray(result(CALLS[name], tf), "float64"), GIVEN[name], rtol=2e-5, atol=2e-6)
