"""The programs of TensorFlow's guide "Advanced automatic differentiation", with their numbers.

Where the guide draws random weights and inputs, these programs make them from sines.
"""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


def waves(*shape, phase=0.0):
    """Fixed float32 numbers between −1 and 1."""
    return np.sin(np.arange(np.prod(shape)) * 1.7 + phase).reshape(shape).astype(np.float32)


class Dense:
    """A dense layer with fixed weights."""

    def __init__(self, inputs, outputs, activation, phase=0.0):
        self.kernel = tf.Variable(waves(inputs, outputs, phase=phase), name="kernel")
        self.bias = tf.Variable(np.zeros(outputs, np.float32), name="bias")
        self.activation = activation

    def __call__(self, x):
        return self.activation(x @ self.kernel + self.bias)


def normalise(x):
    """Batch normalisation in training: every row of the result depends on every row of `x`."""
    mean, variance = tf.nn.moments(x, axes=[0])
    return (x - mean) * tf.math.rsqrt(variance + 1e-3)


# Control of the recording


def test_stop_recording():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        x_sq = x * x
        with tape.stop_recording():
            y_sq = y * y
        z = x_sq + y_sq
    agree(z, 13.0)
    agree(tape.gradient(z, {"x": x, "y": y}), {"x": 4.0, "y": None})


def test_reset():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y_sq = y * y
        tape.reset()
        z = x * x + y_sq
    agree(tape.gradient(z, {"x": x, "y": y}), {"x": 4.0, "y": None})


def test_stop_gradient():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y_sq = y**2
        z = x**2 + tf.stop_gradient(y_sq)
    agree(tape.gradient(z, {"x": x, "y": y}), {"x": 4.0, "y": None})


def test_clipped_gradient():
    @tf.custom_gradient
    def clip_gradients(y):
        def backward(dy):
            return tf.clip_by_norm(dy, 0.5)

        return y, backward

    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        output = clip_gradients(v * v)
    agree(output, 4.0)
    agree(tape.gradient(output, v), 2.0)


# Several tapes


def test_two_tapes_side_by_side():
    x0 = tf.constant(0.0)
    x1 = tf.constant(0.0)
    with tf.GradientTape() as tape0, tf.GradientTape() as tape1:
        tape0.watch(x0)
        tape1.watch(x1)
        y0 = tf.math.sin(x0)
        y1 = tf.nn.sigmoid(x1)
        y = y0 + y1
        total = tf.reduce_sum(y)
    agree(tape0.gradient(total, [x0, x1]), [1.0, None])
    agree(tape1.gradient(total, [x0, x1]), [None, 0.25])


def test_second_derivative():
    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        dy_dx = inner.gradient(y, x)
    d2y_dx2 = outer.gradient(dy_dx, x)
    agree(dy_dx, 3.0)
    agree(d2y_dx2, 6.0)


def test_input_gradient_regularisation():
    x = tf.constant(waves(7, 5, phase=0.3))
    layer = Dense(5, 10, tf.nn.relu)
    with tf.GradientTape() as outer:
        with tf.GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(x)
            y = layer(x)
            out = tf.reduce_sum(y**2)
        input_gradient = inner.gradient(out, x)
        magnitude = tf.norm(input_gradient)
    by_kernel, by_bias = outer.gradient(magnitude, [layer.kernel, layer.bias])
    assert by_kernel.shape == (5, 10)
    assert by_bias.shape == (10,)
    agree(magnitude, 52.355217)
    first_row = [0.569192, 4.48804, 2.376296, -3.624025, 2.209789, 4.655788, -1.044122, -2.654126, 2.947999, 4.178775]
    agree(by_kernel[0], first_row, rtol=2e-5)
    biases = [2.211724, 3.779968, 2.896526, 1.91855, 2.140224, 4.059255, 1.819372, 2.019316, 2.581493, 3.892197]
    agree(by_bias, biases, rtol=2e-5)


# Jacobians


def test_jacobian_to_a_scalar():
    x = tf.linspace(-10.0, 10.0, 200 + 1)
    delta = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.nn.sigmoid(x + delta)
    dy_dx = tape.jacobian(y, delta)
    assert y.shape == dy_dx.shape == (201,)
    agree(dy_dx, y * (1 - y))
    agree(dy_dx[100], 0.25)


def test_jacobian_of_a_variable_to_itself():
    v, c = tf.Variable([1.0, 2.0]), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(c)
    of_v, of_c = tape.jacobian(v, [v, c])
    assert of_v.numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]] and of_c is None
    assert tape.jacobian(tf.constant("text"), v) is None


def test_jacobian_to_a_kernel():
    x = tf.constant(waves(7, 5, phase=0.3))
    layer = Dense(5, 10, tf.nn.relu)
    with tf.GradientTape(persistent=True) as tape:
        y = layer(x)
    jacobian = tape.jacobian(y, layer.kernel)
    assert jacobian.shape == (7, 10, 5, 10)
    gradient = tape.gradient(y, layer.kernel)
    assert gradient.shape == (5, 10)
    agree(tf.reduce_sum(jacobian, axis=[0, 1]), gradient)
    agree(y[2, 3:5], [2.6704397, 0.0])
    agree(jacobian[2, 3, :, 3], [-0.99977446, 0.1498772, 0.96115273, -0.39755568, -0.858707])
    agree(jacobian[2, 3, :, 4], np.zeros(5))


def test_hessian_and_newton_step():
    x = tf.constant(waves(7, 5, phase=0.3))
    layer1 = Dense(5, 4, tf.nn.relu, phase=0.5)
    layer2 = Dense(4, 3, tf.nn.relu, phase=1.0)

    def loss_of(x):
        return tf.reduce_mean(layer2(layer1(x)) ** 2)

    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = loss_of(x)
        gradient = inner.gradient(loss, layer1.kernel)
    hessian = outer.jacobian(gradient, layer1.kernel)
    assert hessian.shape == (5, 4, 5, 4)

    count = tf.reduce_prod(layer1.kernel.shape)
    assert int(count) == 20
    gradient_vector = tf.reshape(gradient, [count, 1])
    hessian_matrix = tf.reshape(hessian, [count, count])
    agree(hessian_matrix, tf.transpose(hessian_matrix))
    agree(tf.linalg.trace(hessian_matrix), 3.180381, rtol=2e-5)

    # The loss is piecewise quadratic in the kernel: a damped Newton step takes it far down.
    update = tf.linalg.solve(hessian_matrix + tf.eye(20) * 1e-3, gradient_vector)
    layer1.kernel.assign_sub(tf.reshape(update, layer1.kernel.shape))
    agree(loss, 0.0467091)
    agree(loss_of(x), 6.4255e-05, rtol=1e-2, atol=0)


@pytest.fixture
def batch():
    """A persistent tape over two elu layers that treat each row of `x` alone, their input and their output."""
    x = tf.constant(waves(7, 5, phase=0.3))
    layer1 = Dense(5, 8, tf.nn.elu)
    layer2 = Dense(8, 6, tf.nn.elu, phase=1.0)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = layer2(layer1(x))
    return tape, x, y


def test_jacobian_of_a_batch_is_block_diagonal(batch):
    tape, x, y = batch
    jacobian = tape.jacobian(y, x)
    assert jacobian.shape == (7, 6, 7, 5)
    summed = tf.reduce_sum(jacobian, axis=2)
    selected = tf.einsum("bxby->bxy", jacobian)
    assert summed.shape == selected.shape == (7, 6, 5)
    agree(summed, selected)
    agree(jacobian[0, :, 1], np.zeros((6, 5)))


def test_batch_jacobian(batch):
    tape, x, y = batch
    jacobian = tape.batch_jacobian(y, x)
    assert jacobian.shape == (7, 6, 5)
    agree(jacobian, tf.einsum("bxby->bxy", tape.jacobian(y, x)))
    agree(jacobian[3, 2], [0.49529892, 1.0507033, 0.5799992, -0.4571273, -1.0478271], rtol=2e-5)


def test_batch_jacobian_where_the_batch_does_not_separate():
    x = tf.constant(waves(7, 5, phase=0.3))
    layer1 = Dense(5, 8, tf.nn.elu)
    layer2 = Dense(8, 6, tf.nn.elu, phase=1.0)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = layer2(normalise(layer1(x)))
    jacobian = tape.jacobian(y, x)
    by_batch = tape.batch_jacobian(y, x)
    assert by_batch.shape == (7, 6, 5)
    # It adds up what all rows of the target owe to each row of the source, so it is not the diagonal.
    agree(by_batch, tf.einsum("txby->bxy", jacobian), rtol=1e-4)
    agree(by_batch[3, 2], [0.09050693, 0.29221556, 0.20854884, -0.07878502, -0.28917807], rtol=1e-4)
    agree(jacobian[3, 2, 3], [0.50151694, 1.0140579, 0.53627783, -0.4652266, -1.0123947], rtol=1e-4)
