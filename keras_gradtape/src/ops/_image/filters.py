"""Image filters: blurs and edges."""

import gradtape as tf
from keras_gradtape.src.ops._image.layout import batched
from keras_gradtape.src.ops.core import convert_to_tensor


def _bell(size, sigma, dtype):
    """Return `size` values of a normal density around the middle, which sum to 1."""
    x = tf.range(size, dtype=dtype) - (size - 1) / 2
    values = tf.exp(-0.5 * tf.square(x / sigma))
    return values / tf.reduce_sum(values)


def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    images = convert_to_tensor(images)
    dtype = images.dtype
    sigma = convert_to_tensor(sigma, dtype)

    def blurred(x):  # the filter is separable into one along rows and one along columns
        for place, axis in ((0, 1), (1, 0)):  # Keras's first size and sigma are those along the width
            bell = _bell(int(kernel_size[place]), sigma[place], dtype)
            shape = [1, 1, 1, 1]
            shape[axis] = -1
            kernel = tf.reshape(bell, shape)
            kernel = tf.broadcast_to(kernel, [*kernel.shape[:2], x.shape[-1], 1])
            x = tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
        return x

    return batched(blurred, images, data_format)


def sobel_edges(images, data_format=None):
    images = convert_to_tensor(images)
    if data_format != "channels_first":
        return tf.image.sobel_edges(images)
    return tf.transpose(tf.image.sobel_edges(tf.transpose(images, [0, 2, 3, 1])), [0, 3, 1, 2, 4])
