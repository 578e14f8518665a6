"""Element-wise functions of SparseTensors."""

import numpy as np
import pytest

import gradtape as tf

FUNCTIONS = {
    tf.abs: [1.0, 4.0],
    tf.negative: [1.0, -4.0],
    tf.sign: [-1.0, 1.0],
    tf.square: [1.0, 16.0],
    tf.tanh: [-0.7615942, 0.9993293],
    tf.math.erf: [-0.8427008, 1.0],
    tf.math.bessel_i0e: [0.4657596, 0.2070019],
    tf.math.bessel_i1e: [-0.2079104, 0.1787508],
    tf.identity: [-1.0, 4.0],
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_of_the_stored_elements(function):
    """The numbers are TensorFlow's."""
    x = tf.SparseTensor([[0, 1], [1, 0]], [-1.0, 4.0], [2, 2])
    y = function(x)
    assert isinstance(y, tf.SparseTensor) and y.indices.numpy().tolist() == [[0, 1], [1, 0]] and y.shape == [2, 2]
    np.testing.assert_allclose(y.values, FUNCTIONS[function], rtol=1e-6)


def test_the_gradient_of_a_function_of_the_stored_elements():
    values = tf.constant([4.0, 9.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        y = tf.sqrt(tf.SparseTensor([[0], [2]], values, [3]))
    np.testing.assert_allclose(tape.gradient(y.values, values), [0.25, 1 / 6], rtol=1e-6)


def test_other_functions_refuse_a_sparse_tensor():
    with pytest.raises((TypeError, ValueError), match="SparseTensor"):
        tf.exp(tf.sparse.eye(2))
