"""Tables, and Keras's layers on them, give what TensorFlow 2.21 gives; its numbers stand in `tensorflow.json`."""

import json

import numpy as np
import pytest

import gradtape as tf
from tests.lookup.programs import FILE, PROGRAMS, outcome, static

TENSORFLOW = json.loads(FILE.read_text())


def nearly(found, expected):
    """Whether both are the same nest, floats to rounding."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(nearly, found, expected))
    if isinstance(expected, float):
        return abs(found - expected) < 2e-4
    if isinstance(expected, str) and "Error: " in expected:
        return found.startswith(expected.partition("table.txt")[0].partition("EagerTensor")[0][:60])
    return found == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_tensorflow(name):
    found = outcome(PROGRAMS[name], tf)
    assert nearly(found, TENSORFLOW[name]), f"{found} for {TENSORFLOW[name]}"


def test_a_table_is_read_when_it_is_made():
    """What a table holds does not change with the arrays that it was made of."""
    keys = np.array(["a", "b"], object)
    table = static(tf, keys, (1, 2))
    keys[0] = "z"
    assert table.lookup(tf.constant(["a", "z"])).numpy().tolist() == [1, -1]


def test_the_values_of_a_table_are_constants_to_a_gradient():
    table = static(tf, ("a",), (1.5,), 0.0)
    with tf.GradientTape() as tape:
        x = tf.Variable(2.0)
        y = x * table.lookup(tf.constant("a"))
    assert float(tape.gradient(y, x)) == 1.5


def test_a_failed_insert_changes_nothing():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
    table.insert(["a"], tf.constant([1], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected shape \[2\] for value, got \[1\]"):
        table.insert(["a", "b"], tf.constant([7], tf.int64))
    assert table.lookup(["a", "b"]).numpy().tolist() == [1, -1]


@pytest.mark.parametrize("column", [False, True])
def test_a_model_is_trained_on_an_array_of_strings(column):
    """TensorFlow takes vectors of them, and no columns."""
    layers = tf.keras.layers
    words = np.array([["a"], ["b"]] if column else ["a", "b"], object)
    parts = [layers.StringLookup(vocabulary=["a", "b"]), layers.Embedding(4, 2), layers.Flatten(), layers.Dense(1)]
    model = tf.keras.Sequential([tf.keras.Input((1,) if column else (), dtype="string"), *(parts if column else parts[:2])])
    model.compile("sgd", "mse")
    assert np.isfinite(model.fit(words, np.zeros((2, 1 if column else 2)), verbose=0).history["loss"][0])
