"""A misspelt identifier or keyword argument of Keras is answered by the nearest one that there is."""

import inspect

import pytest

import gradtape as tf

keras = tf.keras

MISSPELT = [
    (lambda: keras.layers.Dense(3, activaton="relu"), "'activation' for 'activaton'"),
    (lambda: keras.layers.LSTM(3, recurrent_activaton="relu"), "'recurrent_activation' for 'recurrent_activaton'"),
    (lambda: keras.layers.Dense(3, "rellu"), "'relu' for 'rellu'"),
    (lambda: keras.layers.Dense(3, kernel_initializer="glorot_unifrm"), "'glorot_uniform' for 'glorot_unifrm'"),
    (lambda: keras.layers.Dense(3, kernel_regularizer="l22"), "'l2' for 'l22'"),
    (lambda: keras.Sequential([keras.layers.Dense(1)]).compile("adamm"), "'adam' for 'adamm'"),
    (lambda: keras.optimizers.Adam(learning_rat=0.1), "'learning_rate' for 'learning_rat'"),
    (lambda: keras.losses.get("msee"), "'mse' for 'msee'"),
    (lambda: keras.losses.get("sparse_crossentropy"), "'sparse_categorical_crossentropy' for 'sparse_crossentropy'"),
    (lambda: keras.metrics.get("acuracy"), "'accuracy' for 'acuracy'"),
]


@pytest.mark.parametrize(("call", "says"), MISSPELT, ids=[says for _, says in MISSPELT])
def test_the_nearest_is_named(call, says):
    with pytest.raises(ValueError, match=r"Could not interpret|Unrecognized keyword|not recognized") as caught:
        call()
    assert caught.value.__notes__ == [f"Did you mean {says}?"]


@pytest.mark.parametrize("call", [lambda: keras.layers.Dense(3, colour=1), lambda: keras.activations.get("zzz")])
def test_nothing_is_said_where_nothing_is_near(call):
    with pytest.raises(ValueError, match=r"colour|zzz") as caught:
        call()
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("asked", [inspect.signature, inspect.getfullargspec])
def test_the_signatures_are_keras_s(asked):
    """Keras makes the config of a layer without an `__init__` of its own from them."""
    for kind in (keras.layers.Layer, keras.optimizers.Optimizer):
        assert asked(kind.__init__) == asked(kind.__init__.__wrapped__)


def test_a_layer_without_an_init_has_a_config():
    class Plain(keras.layers.Layer):
        pass

    assert Plain.from_config(Plain(name="plain", trainable=False).get_config()).trainable is False


def test_dir_shows_keras_s_names_and_no_internals():
    """Those of a checkpoint were among them."""
    layer = keras.layers.Dense(1)
    layer.build([None, 2])
    mine = {"await_children", "awaits_entries", "child_set", "children_only_here", "tracked_children"}
    for value in (layer, keras.Sequential([layer]), keras.optimizers.SGD(), tf.Module(), layer.kernel):
        assert not mine & {*dir(value)}
        assert "when_initialized" not in dir(value)
