"""The shapes that Keras asks of a layer whose inputs have open extents."""

import pytest

import gradtape as tf

keras = tf.keras


class InHalves(keras.layers.Layer):
    def call(self, x):
        extent = x.shape[1] or tf.shape(x)[1]
        return tf.reshape(x, [-1, extent // 2, 2, x.shape[2]])


class InFours(keras.layers.Layer):
    def call(self, x):
        if x.shape[1] is not None and x.shape[1] % 4:
            raise ValueError("not a multiple of 4")
        return x


def test_an_extent_that_is_split_may_be_open():
    x = keras.Input([None, 3])
    assert InHalves()(x).shape == (None, None, 2, 3) and InFours()(x).shape == (None, None, 3)
    model = keras.Model(x, InHalves()(x))
    assert model(tf.ones([2, 6, 3])).shape == (2, 3, 2, 3)


def test_a_call_that_fails_for_every_extent_says_why():
    class Fails(keras.layers.Layer):
        def call(self, x):
            raise ValueError(f"not {x.shape[1]}")

    with pytest.raises(ValueError, match="not 83"):
        Fails()(keras.Input([None, 3]))
