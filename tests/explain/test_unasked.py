"""What is said of None without being asked: each cause once, in the log of a tape or in an optimizer's warning."""

import re
import warnings

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base import hooks


def frozen(hard):
    """Compute from two branches, of which one goes through an order of its outputs."""
    inputs = tf.keras.Input((2,))
    chosen = tf.keras.layers.Dense(3, name="chosen")(inputs)
    rows = tf.keras.layers.Lambda(hard, output_shape=(1,))(chosen)
    soft = tf.keras.layers.Dense(1, name="soft")(inputs)
    return tf.keras.Model(inputs, tf.keras.layers.Add()([rows, soft]))


def hard(x):
    return tf.cast(tf.argmax(x, 1), tf.float32)[:, None]


def by_fit(model, x, y):
    model.compile("sgd", "mse")
    model.fit(x, y, epochs=2, verbose=0)


def by_a_tape(model, x, y):
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        tape.gradient(loss, model.trainable_variables)


def by_apply_gradients(model, x, y):
    optimizer = tf.keras.optimizers.SGD()
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))


@pytest.fixture
def heard(caplog):
    """All that is said: the log of the library, and warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield lambda: [r.getMessage() for r in caplog.records if r.name == "gradtape"] + [str(w.message) for w in warned]


@pytest.mark.parametrize("train", [by_fit, by_a_tape, by_apply_gradients])
def test_the_reason_comes_once(train, heard):
    train(frozen(hard), np.ones([4, 2], np.float32), np.ones([4, 1], np.float32))
    (said,) = heard()
    assert "not_differentiable: tf.argmax in `return tf.cast(tf.argmax(x, 1), tf.float32)[:, None]`" in said
    assert "chosen/kernel" in said and "soft/" not in said and "did you forget" not in said


def test_an_optimizer_tells_what_the_log_has_not(heard):
    """A variable without a part in the loss may be meant so: the tape says nothing of it."""
    w, u, v = tf.Variable(2.0), tf.Variable(3.0), tf.Variable(4.0)
    optimizer = tf.keras.optimizers.SGD(0.1)
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.round(w) * v
        gradients = tape.gradient(loss, [w, u, v])
        optimizer.apply_gradients(zip(gradients, [w, u, v], strict=True))
    logged, warned = heard()
    assert re.match(r"The gradient of w is None\. \S+:\d+: not_differentiable: tf\.round in ", logged)
    assert re.match(r"Gradients do not exist for variables: 2 of 3 have none\.\n  u: \S+:\d+: unused: ", warned)
    assert "round" not in warned


def test_nothing_is_told_where_a_report_tells_all(heard):
    w, v = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        loss = tf.round(w) * v
    with hooks.filled(hooks.watch, asked=lambda *given: None):
        gradients = tape.gradient(loss, [w, v])
        tf.keras.optimizers.SGD(0.1).apply_gradients(zip(gradients, [w, v], strict=True))
    assert heard() == []


def test_a_graphs_gradients_are_told_too(heard):
    with tf.Graph().as_default():
        x, y = tf.compat.v1.placeholder(tf.float32, []), tf.compat.v1.placeholder(tf.float32, [])
        assert tf.gradients(tf.stop_gradient(x) * y, [x, y])[0] is None
    (said,) = heard()
    assert said.startswith("The gradient of x is None. ") and ": stopped: " in said


ROUNDED = """
def rounded(w):
    with tf.GradientTape() as tape:
        loss = tf.round(w)
    return tape.gradient(loss, w)
"""


def test_equal_code_of_two_files_is_told_of_twice(heard):
    for file in ("<one>", "<another>", "<another>"):
        names = {"tf": tf}
        exec(compile(ROUNDED, file, "exec"), names)
        assert names["rounded"](tf.Variable(1.5)) is None
    assert [re.search("<.*?>:4", said)[0] for said in heard()] == ["<one>:4", "<another>:4"]


def test_a_variable_that_was_never_finished_hides_no_reason(heard):
    @tf.function
    def again(x):
        return tf.Variable(x) + 1.0

    with pytest.raises(ValueError, match="only supports singleton") as caught:
        again(2.0)
    w = tf.Variable(1.5)
    with tf.GradientTape() as tape:
        loss = tf.round(w)
    assert tape.gradient(loss, w) is None
    (said,) = heard()
    assert ": not_differentiable: " in said
    del caught  # which held what there is of the variable
