"""The assertion that results of the library agree with numbers in a test."""

import numpy as np

import gradtape as tf


def agree(actual, expected, rtol=5e-6, atol=1e-6):
    """Assert that `actual` has the values of `expected` up to rounding, and exactly its shapes.

    `actual` is a tensor, a variable, `IndexedSlices`, `None`, or a nest of them in lists, tuples and dicts; `expected`
    is the same nest with a number, an array or a nested list of numbers for each tensor.
    """
    if isinstance(actual, dict):
        assert actual.keys() == expected.keys()
        for key, part in actual.items():
            agree(part, expected[key], rtol, atol)
    elif isinstance(actual, list | tuple):
        assert len(actual) == len(expected)
        for part, number in zip(actual, expected, strict=True):
            agree(part, number, rtol, atol)
    elif expected is None:
        assert actual is None
    else:
        assert isinstance(actual, tf.Tensor | tf.Variable | tf.IndexedSlices), f"{expected} expected, got {actual!r}"
        value = np.asarray(tf.convert_to_tensor(actual))
        assert value.shape == np.shape(expected)
        np.testing.assert_allclose(value, expected, rtol, atol)
