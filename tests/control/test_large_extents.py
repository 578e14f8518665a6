"""An extent that is known is known inside a function, however large it is. Nothing is computed, so no test needs the memory."""

import pytest

import gradtape as tf

OF_SHAPES = {
    "shape": (lambda x: x.shape, lambda n: [n]),
    "half": (lambda x: tf.reshape(x, [x.shape[0] // 2, 2]).shape, lambda n: [n // 2, 2]),
    "zeros": (lambda x: tf.zeros([x.shape[0]]).shape, lambda n: [n]),
    "slice": (lambda x: x[x.shape[0] // 2 :].shape, lambda n: [n // 2]),
    "element": (lambda x: x[x.shape[0] - 1].shape, lambda n: []),
    "split": (lambda x: tf.split(x, 2)[1].shape, lambda n: [n // 2]),
    "branch": (lambda x: tf.cond(x[0] > 0, lambda: x[: x.shape[0] // 2], lambda: x[x.shape[0] // 2 :]).shape, lambda n: [n // 2]),
    "loop": (lambda x: tf.while_loop(lambda y: y[0] < 3, lambda y: [y * y.shape[0]], [x])[0].shape, lambda n: [n]),
    "map": (lambda x: tf.map_fn(lambda e: e * 2, x).shape, lambda n: [n]),
    "gradient": (lambda x: tf.gradients(tf.reduce_sum(x**2), x)[0].shape, lambda n: [n]),
    "array": (lambda x: tf.TensorArray(x.dtype, size=x.shape[0], element_shape=[]).stack().shape, lambda n: [n]),
}


@pytest.mark.parametrize("extent", [1 << 24, 1 << 30, 1 << 33])
@pytest.mark.parametrize("name", OF_SHAPES)
def test_a_function_knows_the_extents_of_its_arguments(name, extent):
    of, expected = OF_SHAPES[name]
    seen = []

    @tf.function
    def f(x):
        seen.append(of(x))
        return x

    f.get_concrete_function(tf.TensorSpec([extent], tf.float32))
    assert seen == [expected(extent)]


def test_a_flat_gradient_of_a_middling_model_is_reshaped():
    @tf.function
    def f(x):
        return tf.reshape(x, [x.shape[0] // 2, 2])

    assert f(tf.zeros([20_000_000], tf.int8)).shape == [10_000_000, 2]
