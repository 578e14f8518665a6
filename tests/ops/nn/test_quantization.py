"""Fake quantization: TensorFlow's numbers, and gradients that pass straight through."""

import numpy as np
import pytest

import gradtape as tf

quantization = tf.quantization
X = [-10.0, -6.0, -1.3, -0.02, 0.0, 0.02, 2.2, 5.9, 6.0, 7.0]
CHANNELS = [-1.0, -5.0, -7.0, 1.0], [2.0, 0.5, 3.0, 4.0]


@pytest.mark.parametrize(
    "settings, expected",
    [
        ((), [-6.0235295, -5.9764705, -1.3176471, 0, 0, 0, 2.2117648, 5.882353, 5.9764705, 5.9764705]),
        ((-1.0, 2.5, 3, True), [-1.1666666, -1.1666666, -1.1666666, 0, 0, 0, 2.3333333, 2.3333333, 2.3333333, 2.3333333]),
    ],
)
def test_python_numbers_as_ends(settings, expected):
    np.testing.assert_array_equal(quantization.fake_quant_with_min_max_args(X, *settings), np.float32(expected))


@pytest.mark.parametrize(
    "low, high, bits, narrow, expected",
    [
        (1.0, 2.0, 8, False, [0, 0, 0, 0, 0, 0.01960784, 1, 1, 1, 1]),
        (-3.0, -1.0, 8, False, [-2, -2, -1.3019608, -0.02352941, 0, 0, 0, 0, 0, 0]),
        (-0.1, 6.0, 2, True, [0, 0, 0, 0, 0, 0, 3.05, 6.1, 6.1, 6.1]),
        (
            -0.1,
            6.0,
            16,
            False,
            [-0.09996796, -0.09996796, -0.09996796, -0.02001221, 0, 0.02001221, 2.2000396, 5.899971, 6.000032, 6.000032],
        ),
        (0.0, 0.0, 8, False, [0] * 10),
    ],
)
def test_tensors_as_ends(low, high, bits, narrow, expected):
    given = tf.function(quantization.fake_quant_with_min_max_vars)(X, tf.constant(low), tf.constant(high), bits, narrow)
    np.testing.assert_allclose(given, np.float32(expected), rtol=2e-7, atol=1e-8)


def test_nan_stays_and_infinities_are_the_ends():
    found = quantization.fake_quant_with_min_max_args([np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(found, np.float32([np.nan, 5.9764705, -6.0235295]))


def test_gradients_to_the_inputs_and_to_both_ends():
    x, low, high = tf.constant(X), tf.Variable(-1.0), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = quantization.fake_quant_with_min_max_vars(x, low, high, 4) * tf.range(10.0)
    dx, dlow, dhigh = tape.gradient(y, [x, low, high])
    assert dx.numpy().tolist() == [0, 0, 0, 3, 4, 5, 6, 0, 0, 0]
    assert (dlow.numpy(), dhigh.numpy()) == (3.0, 24.0)
    zero = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = quantization.fake_quant_with_min_max_vars(x, zero, zero)
    dx, dzero = tape.gradient(y, [x, zero])
    assert dx.numpy().tolist() == [1] * 10 and dzero.numpy() == 0.0


def test_a_range_for_each_channel():
    x, low, high = tf.reshape(tf.range(-6.0, 6.0), [3, 4]), *map(tf.constant, CHANNELS)
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = quantization.fake_quant_with_min_max_vars_per_channel(x, low, high, 3, True)
    expected = [[-1, -4.5833335, -3.3333333, 0], [-1, -0.9166667, 0, 1], [2, 0.9166667, 3.3333333, 3]]
    np.testing.assert_allclose(y, np.float32(expected), rtol=2e-7)
    dx, dlow, dhigh = [d.numpy().tolist() for d in tape.gradient(y, [x, low, high])]
    assert dx == [[0, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0]]
    assert (dlow, dhigh) == ([2, 1, 0, 1], [0, 1, 1, 1])
    again = quantization.fake_quant_with_min_max_vars_per_channel_gradient(tf.ones([3, 4]), x, low, high, 3, True)
    assert [d.numpy().tolist() for d in again] == [dx, dlow, dhigh]


def test_the_gradient_functions():
    inside = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    assert quantization.fake_quant_with_min_max_args_gradient(tf.ones(10), X, -1.0, 2.5).numpy().tolist() == inside
    found = quantization.fake_quant_with_min_max_vars_gradient(tf.ones(10), X, -1.0, 2.5)
    assert found.backprops_wrt_input.numpy().tolist() == inside
    assert (found.backprop_wrt_min.numpy(), found.backprop_wrt_max.numpy()) == (3.0, 3.0)


@pytest.mark.better
def test_it_can_be_differentiated_twice():
    """TensorFlow's second derivative is None."""
    x = tf.constant([0.3, 7.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = quantization.fake_quant_with_min_max_args(x) ** 2
        slope = inner.gradient(y, x)
    assert outer.gradient(slope, x).numpy().tolist() == [2.0, 0.0]


def test_a_quantized_layer_learns():
    w, low, high = tf.Variable([[1.4], [-0.6]]), tf.Variable(-0.5), tf.Variable(0.5)
    optimizer = tf.keras.optimizers.SGD(0.05)
    x, y = tf.constant([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]]), tf.constant([[0.2], [3.1], [0.25]])

    def loss():
        return tf.reduce_mean((x @ quantization.fake_quant_with_min_max_vars(w, low, high, 8) - y) ** 2)

    before = loss().numpy()
    for _ in range(40):
        with tf.GradientTape() as tape:
            value = loss()
        optimizer.apply_gradients(zip(tape.gradient(value, [w, low, high]), [w, low, high], strict=True))
    assert loss().numpy() < 0.1 * before


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: quantization.fake_quant_with_min_max_args(X, 2.0, 1.0), "min has to be smaller than max, was: 2 >= 1"),
        (
            lambda: quantization.fake_quant_with_min_max_args_gradient(X, X, 0.0, 0.0),
            "min has to be smaller than max, was: 0 >= 0",
        ),
        (lambda: quantization.fake_quant_with_min_max_args(X, num_bits=17), "num_bits must be between 2 and 16, inclusive"),
        (lambda: quantization.fake_quant_with_min_max_vars(X, -1.0, 1.0, 1), "num_bits must be between 2 and 16, inclusive"),
        (lambda: quantization.fake_quant_with_min_max_args(tf.constant(X, tf.float64)), "takes float32, received float64"),
        (lambda: quantization.fake_quant_with_min_max_vars(X, [0.0], 1.0), "`min` must be rank 0 but is rank 1"),
        (
            lambda: quantization.fake_quant_with_min_max_vars_per_channel(tf.zeros([2, 4]), CHANNELS[0], [1.0, 2.0]),
            "max has incorrect size, expected 4 was 2",
        ),
        (lambda: quantization.fake_quant_with_min_max_vars_per_channel(1.0, [1.0], [2.0]), "must have a last axis"),
    ],
)
def test_errors(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()


# bits, signed, range given, rounding, narrow, axis; and what TensorFlow 2.21 gives
FLOATS = [[-1.0, 0.8, 1.96], [4.48, 2.0, -1.95]]
STEPS = [
    (8, True, True, "HALF_TO_EVEN", False, None, [[-1.007874, 0.80314958, 1.952756], [2.0, 2.0, -1.952756]]),
    (8, False, True, "HALF_UP", False, None, [[0.0, 0.8, 1.9607844], [2.0, 2.0, 0.0]]),
    (3, True, False, "HALF_UP", True, None, [[-1.4933333, 1.4933333, 1.4933333], [4.48, 1.4933333, -1.4933333]]),
    (4, False, False, "HALF_TO_EVEN", True, None, [[-0.896, 0.896, 2.0906665], [4.48, 2.0906665, -2.0906665]]),
    (5, False, False, "HALF_UP", False, -1, [[-1.0116129, 0.7741935, 1.96], [4.48, 2.0, -1.96]]),
]


@pytest.mark.parametrize("bits, signed, given, rounding, narrow, axis, expected", STEPS)
@pytest.mark.parametrize("name", ["quantize_and_dequantize", "quantize_and_dequantize_v2"])
def test_steps_on_both_sides_of_zero(name, bits, signed, given, rounding, narrow, axis, expected):
    ends = ([-1.0, -0.5, 0.0], [2.0, 1.0, 3.0]) if axis else (-1.0, 2.0)
    x, low, high = tf.constant(FLOATS), *map(tf.constant, ends)
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = getattr(quantization, name)(x, low, high, signed, bits, given, rounding, narrow_range=narrow, axis=axis)
    np.testing.assert_allclose(y, np.float32(expected), rtol=1e-6)
    dx, *ends = tape.gradient(y, [x, low, high])
    if name.endswith("v2"):
        np.testing.assert_array_equal(dx, (x >= low) & (x <= high))
        assert all(not end.numpy().any() for end in ends)
    else:
        np.testing.assert_array_equal(dx, np.ones([2, 3]))
        assert ends == [None, None]


def test_steps_of_each_channel():
    y = quantization.quantize_and_dequantize_v2(FLOATS, [-1.0, -0.5, 0.0], [2.0, 1.0, 3.0], True, 3, True, axis=1)
    np.testing.assert_allclose(y, [[-4 / 3, 2 / 3, 2.0], [2.0, 1.0, -2.0]], rtol=1e-6)  # steps 2/3, 1/3, 1


def test_values_that_are_all_zero():
    assert not quantization.quantize_and_dequantize_v2(tf.zeros([2]), 0.0, 0.0).numpy().any()


@pytest.mark.parametrize(
    "arguments, settings, error, message",
    [
        (
            (FLOATS, -1.0, 1.0),
            {"num_bits": 64},
            tf.errors.InvalidArgumentError,
            "num_bits is out of range: 64 with signed_input 1",
        ),
        (
            (FLOATS, 1.0, -1.0),
            {"range_given": True},
            tf.errors.InvalidArgumentError,
            "Invalid range: input_min 1.0 > input_max -1.0",
        ),
        ((FLOATS, [1.0], [2.0]), {"range_given": True}, tf.errors.InvalidArgumentError, "input_min must be a scalar"),
        ((FLOATS, 1.0, 2.0), {"range_given": True, "axis": 1}, tf.errors.InvalidArgumentError, r"must be of shape \[3\]"),
        ((FLOATS, -1.0, 1.0), {"axis": 5}, tf.errors.InvalidArgumentError, "axis 5 is out of range"),
        ((FLOATS, -1.0, 1.0), {"round_mode": "UP"}, tf.errors.InvalidArgumentError, 'round_mode.*"UP" is not in the list'),
        ((tf.constant([1]), 0, 1), {}, tf.errors.InvalidArgumentError, "of int32 is not in the list of allowed values"),
    ],
)
def test_steps_refused(arguments, settings, error, message):
    with pytest.raises(error, match=message):
        quantization.quantize_and_dequantize_v2(*arguments, **settings)
