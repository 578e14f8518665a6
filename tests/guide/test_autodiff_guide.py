"""The programs of TensorFlow's guide "Introduction to gradients and automatic differentiation", with their numbers."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


class Dense(tf.Module):
    """A dense layer of three inputs and two outputs with fixed weights, behind a relu."""

    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable([[0.5, -1.0], [1.5, 0.25], [-0.5, -2.0]], name="kernel")
        self.bias = tf.Variable([0.1, -0.2], name="bias")

    def __call__(self, x):
        return tf.nn.relu(x @ self.kernel + self.bias)


# Gradient tapes


def test_gradient_of_a_square():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x**2
    dy_dx = tape.gradient(y, x)
    assert dy_dx.numpy() == 6.0
    assert str(dy_dx) == "tf.Tensor(6.0, shape=(), dtype=float32)"


@pytest.fixture
def linear():
    """A persistent tape over `loss = mean((x·w + b)²)`, the loss and the two variables."""
    w = tf.Variable([[0.5, -1.0], [1.5, 2.0], [-0.5, 0.25]], name="w")
    b = tf.Variable([0.1, -0.2], name="b")
    x = [[1.0, 2.0, 3.0]]
    with tf.GradientTape(persistent=True) as tape:
        y = x @ w + b
        loss = tf.reduce_mean(y**2)
    return tape, loss, w, b


def test_gradients_of_a_linear_model(linear):
    tape, loss, w, b = linear
    agree(loss, 8.50625)
    dl_dw, dl_db = tape.gradient(loss, [w, b])
    assert dl_dw.shape == w.shape == (3, 2)
    assert dl_db.shape == b.shape == (2,)
    agree(dl_dw, [[2.1, 3.55], [4.2, 7.1], [6.3, 10.65]])
    agree(dl_db, [2.1, 3.55])


def test_sources_in_a_dictionary(linear):
    tape, loss, w, b = linear
    gradients = tape.gradient(loss, {"w": w, "b": b})
    assert list(gradients) == ["w", "b"]
    agree(gradients["b"], [2.1, 3.55])


def test_gradients_of_a_module():
    layer = Dense()
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        y = layer(x)
        loss = tf.reduce_mean(y**2)
    gradients = tape.gradient(loss, layer.trainable_variables)
    named = {variable.name: dx for variable, dx in zip(layer.trainable_variables, gradients, strict=True)}
    agree(named, {"kernel:0": [[2.1, 0.0], [4.2, 0.0], [6.3, 0.0]], "bias:0": [2.1, 0.0]})


# What the tape watches


def test_only_trainable_variables_are_watched():
    x0 = tf.Variable(3.0, name="x0")
    x1 = tf.Variable(3.0, name="x1", trainable=False)
    x2 = tf.Variable(2.0, name="x2") + 1.0  # a tensor
    x3 = tf.constant(3.0, name="x3")
    with tf.GradientTape() as tape:
        y = (x0**2) + (x1**2) + (x2**2)
    agree(tape.gradient(y, [x0, x1, x2, x3]), [6.0, None, None, None])
    assert [variable.name for variable in tape.watched_variables()] == ["x0:0"]


def test_watch_a_tensor():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    agree(tape.gradient(y, x), 6.0)


def test_watch_only_what_is_named():
    x0 = tf.Variable(0.0)
    x1 = tf.Variable(10.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x1)
        y0 = tf.math.sin(x0)
        y1 = tf.nn.softplus(x1)
        y = y0 + y1
        total = tf.reduce_sum(y)
    agree(tape.gradient(total, {"x0": x0, "x1": x1}), {"x0": None, "x1": 0.9999546})


# Intermediate results and persistent tapes


def test_gradient_to_an_intermediate_value():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    agree(tape.gradient(z, y), 18.0)


def test_persistent_tape():
    x = tf.constant([1, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    agree(tape.gradient(z, x), [4.0, 108.0])
    agree(tape.gradient(y, x), [2.0, 6.0])
    del tape
    agree(z, [1.0, 81.0])


# Targets that are not scalars


def test_one_gradient_per_target():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y0 = x**2
        y1 = 1 / x
    agree(tape.gradient(y0, x), 4.0)
    agree(tape.gradient(y1, x), -0.25)


def test_several_targets_give_the_gradient_of_their_sum():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y0 = x**2
        y1 = 1 / x
    agree(tape.gradient({"y0": y0, "y1": y1}, x), 3.75)


def test_vector_target_gives_the_gradient_of_its_sum():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * [3.0, 4.0]
    agree(tape.gradient(y, x), 7.0)


def test_elementwise_derivative_of_the_sigmoid():
    x = tf.linspace(-10.0, 10.0, 200 + 1)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.sigmoid(x)
    dy_dx = tape.gradient(y, x)
    assert dy_dx.shape == (201,)
    agree(dy_dx[100], 0.25)
    agree(dy_dx[0], 4.5395803e-05, rtol=1e-3)
    agree(dy_dx[200], 4.5416677e-05, rtol=1e-3)
    agree(tf.reduce_sum(dy_dx), 9.999092, rtol=1e-5)


# Control flow in Python


@pytest.mark.parametrize("x, dv0, dv1", [(1.0, 1.0, None), (-1.0, None, 4.0)])
def test_only_the_branch_that_ran_is_connected(x, dv0, dv1):
    x = tf.constant(x)
    v0 = tf.Variable(2.0)
    v1 = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        if x > 0.0:
            result = v0
        else:
            result = v1**2
    agree(tape.gradient(result, [v0, v1]), [dv0, dv1])
    assert tape.gradient(result, x) is None


# A gradient of None


def test_unrelated_target():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y * y
    assert tape.gradient(z, x) is None


def test_variable_replaced_by_a_tensor():
    x = tf.Variable(2.0)
    rounds = []
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        dy_dx = tape.gradient(y, x)
        rounds.append((type(x).__name__, None if dy_dx is None else dy_dx.numpy()))
        x = x + 1  # `x.assign_add(1)` was meant
    assert rounds == [("ResourceVariable", 1.0), ("EagerTensor", None)]


def test_variable_kept_a_variable():
    x = tf.Variable(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        agree(tape.gradient(y, x), 1.0)
        x.assign_add(1)
    agree(x, 4.0)


def test_calculation_outside_the_library():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
    with tf.GradientTape() as tape:
        x2 = x**2
        y = np.mean(x2, axis=0)
        y = tf.reduce_mean(y, axis=0)
    agree(y, 7.5)
    assert tape.gradient(y, x) is None


def test_integer_constant(caplog):
    x = tf.constant(10)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None
    assert "The dtype of the watched tensor must be floating (e.g. tf.float32)" in caplog.text


def test_path_through_an_integer_variable():
    x = tf.Variable([[2, 2], [2, 2]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.cast(x, tf.float32))
    agree(y, 8.0)
    assert tape.gradient(y, x) is None


def test_state_stops_gradients():
    x0 = tf.Variable(3.0)
    x1 = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    agree(y, 9.0)
    assert tape.gradient(y, x0) is None
    with tf.GradientTape() as tape:
        x2 = x1 + x0
        y = x2**2
    agree(tape.gradient(y, x0), 12.0)


def test_op_without_a_gradient():
    image = tf.Variable([[[0.5, 0.0, 0.0]]])
    delta = tf.Variable(0.1)
    with tf.GradientTape() as tape:
        new_image = tf.image.adjust_contrast(image, delta)
    with pytest.raises(LookupError, match="gradient registry has no entry for: AdjustContrastv2"):
        tape.gradient(new_image, [image, delta])


def test_zeros_instead_of_none():
    x = tf.Variable([2.0, 2.0])
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y**2
    agree(tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO), [0.0, 0.0])
