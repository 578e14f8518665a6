"""`tf.optimizers` has Keras's optimizers beside gradtape's own."""

import pytest

import gradtape as tf


def test_keras_optimizers_stand_beside_gradtapes_own():
    assert tf.optimizers.Adam is tf.keras.optimizers.Adam
    assert tf.optimizers.schedules is tf.keras.optimizers.schedules
    assert issubclass(tf.optimizers.SGD, tf.optimizers.Optimizer)
    assert tf.optimizers.LevenbergMarquardt.__module__.startswith("gradtape.")


def test_a_name_that_neither_has_is_an_error_that_says_so():
    with pytest.raises(AttributeError, match=r"gradtape has no tf.optimizers.Leapfrog"):
        _ = tf.optimizers.Leapfrog
