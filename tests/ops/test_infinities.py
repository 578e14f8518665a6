"""Infinities and NaN in values and from upstream: where TensorFlow multiplies them by 0 and where it leaves them out."""

import numpy as np
import pytest

import gradtape as tf

INF, NAN = float("inf"), float("nan")
# name: function, argument, what flows in, result, gradient (TensorFlow 2.21's)
CASES = {
    "mask, inf from upstream": (lambda x: x * tf.cast(x > 1.5, x.dtype), [1, 2, 3], INF, [0, 2, 3], [NAN, INF, INF]),
    "mask of inf": (lambda x: x * tf.cast(x > 1.5, x.dtype), [INF, 1, -INF], 1, [INF, 0, NAN], [1, 0, 0]),
    "mask of nan": (lambda x: x * tf.cast(x > 1.5, x.dtype), [NAN, 1, 2], 1, [NAN, 0, 2], [0, 0, 1]),
    "where": (lambda x: tf.where(x > 1.5, x, 0.0), [NAN, 1, 2], INF, [0, 0, 2], [0, 0, INF]),
    "reduce_max": (tf.reduce_max, [1, 2, 3], INF, 3, [NAN, NAN, INF]),
    "reduce_min": (tf.reduce_min, [1, 2, 3], NAN, 1, [NAN, NAN, NAN]),
    "reduce_max of inf": (tf.reduce_max, [INF, 1, -INF], INF, INF, [INF, NAN, NAN]),
    "reduce_max of nan": (tf.reduce_max, [NAN, 1, 2], 1, NAN, [NAN, NAN, NAN]),
    "gelu": (tf.nn.gelu, [30, -30, 0], INF, [30, 0, 0], [NAN, NAN, NAN]),
    "gelu by tanh": (lambda x: tf.nn.gelu(x, True), [30, -30, 0], INF, [30, 0, 0], [NAN, NAN, NAN]),
    "segment_max": (lambda x: tf.math.segment_max(x, [0, 0, 1]), [1, 2, 3], INF, [2, 3], [0, INF, INF]),
    "segment_max of inf": (lambda x: tf.math.segment_max(x, [0, 0, 1]), [INF, 1, -INF], 1, [INF, -INF], [1, 0, 1]),
    "unsorted_segment_max": (lambda x: tf.math.unsorted_segment_max(x, [0, 0, 1], 2), [1, 2, 3], NAN, [2, 3], [0, NAN, NAN]),
}


@pytest.mark.parametrize("f, x, upstream, result, gradient", CASES.values(), ids=CASES)
def test_infinities(f, x, upstream, result, gradient):
    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x, output_gradients=tf.fill(y.shape, tf.constant(upstream, tf.float32)))

    for run in (both, both, tf.function(both)):  # node by node, and compiled
        y, dx = run(tf.constant(x, tf.float32))
        np.testing.assert_array_equal(y, result)
        np.testing.assert_array_equal(dx, gradient)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])
def test_denormal_numbers_count_as_0_in_computations_and_are_kept_where_they_are_moved(mode, compiled_early):
    x = tf.constant([1e-40, 1e-45, 2e-38])
    np.testing.assert_array_equal(mode(lambda x: x[1:])(x), np.array([1e-45, 2e-38], "float32"))
    np.testing.assert_array_equal(mode(lambda x: x * 1.5)(x), np.array([0.0, 0.0, 3e-38], "float32"))
    np.testing.assert_array_equal(mode(lambda x: x > 0.0)(x), [False, False, True])
    assert float(mode(lambda a, b: a * b)(tf.constant(1e-30), tf.constant(1e-10))) == 0.0


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])
def test_complex_infinities_are_divided_as_in_c(mode):
    z = tf.constant([complex(INF, INF), complex(INF, 1.0), complex(2.0, -3.0)])
    whole = mode(lambda z: z / tf.ones([3], z.dtype))(z).numpy()
    assert np.isinf(whole).tolist() == [True, True, False] and whole[2] == 2.0 - 3.0j
    assert np.abs(mode(lambda z: tf.ones([3], z.dtype) / z)(z).numpy()[:2]).tolist() == [0.0, 0.0]
