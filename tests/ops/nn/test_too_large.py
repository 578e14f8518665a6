"""Windows that are larger than the images: a function refuses those of convolutions and pools, as TensorFlow does."""

import pytest

import gradtape as tf

OPS = {
    "conv": lambda x, k, s: tf.nn.conv2d(x, tf.ones([k, k, 1, 1]), s, "VALID"),
    "padded": lambda x, k, s: tf.nn.conv2d(x, tf.ones([k + 1, k, 1, 1]), s, [[0, 0], [1, 0], [0, 0], [0, 0]]),
    "depthwise": lambda x, k, s: tf.nn.depthwise_conv2d(x, tf.ones([k, k, 1, 1]), [1, s, s, 1], "VALID"),
    "max": lambda x, k, s: tf.nn.max_pool2d(x, k, s, "VALID"),
    "avg": lambda x, k, s: tf.nn.avg_pool2d(x, k, s, "VALID"),
}
STOPPING_NOWHERE = {
    "patches": lambda x, k, s: tf.image.extract_patches(x, [1, k, k, 1], [1, s, s, 1], [1, 1, 1, 1], "VALID"),
    "dilation": lambda x, k, s: tf.nn.dilation2d(x, tf.ones([k, k, 1]), [1, s, s, 1], "VALID", "NHWC", [1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize(("extent", "stride"), [(4, 1), (5, 2)])
def test_a_window_must_fit_in_a_function(name, extent, stride):
    call = tf.function(lambda x: OPS[name](x, extent, stride))
    with pytest.raises(ValueError, match="Negative dimension size caused by subtracting"):
        call(tf.ones([1, 3, 3, 1]))
    assert call(tf.ones([1, 5, 5, 1])).shape[2] == (5 - extent) // stride + 1


@pytest.mark.parametrize("name", STOPPING_NOWHERE)
def test_a_window_that_stops_nowhere(name):
    call = tf.function(lambda x: STOPPING_NOWHERE[name](x, 4, 1))
    assert call(tf.ones([1, 3, 3, 1])).shape[:3] == (1, 0, 0)
