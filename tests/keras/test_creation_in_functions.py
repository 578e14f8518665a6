"""Layers, metrics and optimizers that make variables while a `tf.function` is traced: as TensorFlow 2.21 with Keras answers."""

import pytest

import gradtape as tf
from gradtape import keras

SINGLETON = "tf.function only supports singleton tf.Variables created on the first call"
NOT_FIRST = "Creating variables on a non-first call to a function decorated with tf.function"
x = tf.ones([1, 3])


def applies():
    return tf.function(lambda x, layer=None: x if layer is None else layer(x))


def test_a_layer_is_built_in_the_first_call_and_not_in_a_later_one():
    apply = applies()
    first = keras.layers.Dense(2)
    assert (apply(x, first).shape, apply(tf.ones([2, 3]), first).shape) == ((1, 2), (2, 2))
    with pytest.raises(ValueError, match=SINGLETON):
        apply(x, keras.layers.Dense(2))
    built = keras.layers.Dense(4)
    built.build([1, 3])
    assert apply(x, built).shape == (1, 4)


def test_a_first_call_without_variables_is_the_first_call_all_the_same():
    apply = applies()
    apply(x)
    with pytest.raises(ValueError, match=NOT_FIRST):
        apply(x, keras.layers.Dense(2))


def test_another_optimizer_needs_its_variables_before():
    w = tf.Variable(2.0)

    @tf.function
    def step(optimizer):
        optimizer.apply_gradients([(w * 2.0, w)])

    step(keras.optimizers.Adam(0.1))
    with pytest.raises(ValueError, match=SINGLETON):
        step(keras.optimizers.Adam(0.1))
    built = keras.optimizers.Adam(0.1)
    built.build([w])
    step(built)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.metrics.Mean(),
        lambda: keras.layers.Dropout(0.5),
        lambda: keras.layers.Dense(2)(x),
        lambda: keras.Variable(1.0),
    ],
    ids=["metric", "dropout", "dense", "variable"],
)
def test_what_is_made_in_each_trace_is_an_error(make):
    @tf.function
    def f():
        make()
        return x

    with pytest.raises(ValueError, match=SINGLETON):
        f()


def test_init_scope_does_not_hide_a_variable():
    @tf.function
    def f():
        with tf.init_scope():
            return x * tf.Variable(2.0)

    with pytest.raises(ValueError, match=SINGLETON):
        f()


def test_a_function_inside_answers_for_its_own_variables():
    inner = tf.function(lambda x, layer: layer(x))

    @tf.function
    def outer(x, layer=None):
        return x if layer is None else inner(x, layer)

    outer(x)
    assert outer(x, keras.layers.Dense(2)).shape == (1, 2)


def test_a_function_that_makes_variables_is_traced_twice():
    traced = []
    layer = keras.layers.Dense(2)

    @tf.function
    def f(x):
        traced.append(x)
        return layer(x)

    f(x), f(x)
    assert len(traced) == f.experimental_get_tracing_count() == 2
