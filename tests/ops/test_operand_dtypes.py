"""Which dtype NumPy arrays and Python numbers take as operands, op by op. What is expected is TensorFlow 2.21's."""

import numpy as np
import pytest

import gradtape as tf

PIXELS = np.array([[1.0, 0.0, 1.0]])
IMAGE = np.ones((1, 4, 4, 1))
DEEP = np.ones((1, 4, 4, 2))
FILTER = np.ones((2, 2, 1, 1), np.float32)
LU = np.array([[4.0, 3.0], [6.0, 3.0]])

# Of arrays alone: ops whose dtype has a default take that.
PREFERRED = {
    "nextafter": (lambda: tf.math.nextafter(np.ones(2), np.zeros(2)), "float32"),
    "rgb_to_hsv": (lambda: tf.image.rgb_to_hsv(PIXELS), "float32"),
    "rgb_to_hsv of integers": (lambda: tf.image.rgb_to_hsv(PIXELS.astype("uint8")), "float32"),
    "hsv_to_rgb": (lambda: tf.image.hsv_to_rgb(PIXELS.astype("float16")), "float32"),
    "max_pool2d": (lambda: tf.nn.max_pool2d(IMAGE, 2, 2, "VALID"), "float32"),
    "max_pool2d over channels": (lambda: tf.nn.max_pool2d(DEEP, [1, 1, 1, 2], [1, 1, 1, 2], "VALID"), "float32"),
    "max_pool2d of integers": (lambda: tf.nn.max_pool2d(IMAGE.astype("int32"), 2, 2, "VALID"), "float32"),
    "max_pool2d of a tensor": (lambda: tf.nn.max_pool2d(tf.constant(IMAGE), 2, 2, "VALID"), "float64"),
    "max_pool3d": (lambda: tf.nn.max_pool3d(np.ones((1, 2, 2, 2, 1), "float32"), 2, 2, "VALID"), "float32"),
    "local_response_normalization": (lambda: tf.nn.local_response_normalization(IMAGE), "float32"),
    "draw_bounding_boxes": (lambda: tf.image.draw_bounding_boxes(IMAGE, np.ones((1, 1, 4)), [[1.0]]), "float32"),
    "invert_permutation": (lambda: tf.math.invert_permutation(np.array([1, 0])), "int32"),
    "broadcast_dynamic_shape": (lambda: tf.broadcast_dynamic_shape(np.array([2, 1]), np.array([3])), "int32"),
    "unravel_index": (lambda: tf.unravel_index(np.array([3]), np.array([2, 2])), "int32"),
    "lu_reconstruct": (lambda: tf.linalg.lu_reconstruct(LU, [0, 1]), "float32"),
    "lu_matrix_inverse": (lambda: tf.linalg.lu_matrix_inverse(LU, [0, 1]), "float32"),
    "lu_solve": (lambda: tf.linalg.lu_solve(LU, [0, 1], np.ones((2, 1))), "float32"),
    "bincount of bools": (lambda: tf.math.bincount(np.array([True, False])), "int32"),
    "linspace of int8": (lambda: tf.linspace(tf.constant(1, tf.int8), tf.constant(5, tf.int8), 3), "float32"),
    "histogram_fixed_width_bins": (lambda: tf.histogram_fixed_width_bins([1.0], [0.0, 5.0], dtype=tf.int64), "int32"),
    # Beside a tensor:
    "conv2d": (lambda: tf.nn.conv2d(IMAGE, tf.constant(FILTER), 1, "VALID"), "float32"),
    "conv2d_transpose": (lambda: tf.nn.conv2d_transpose(IMAGE, tf.constant(FILTER), [1, 5, 5, 1], 1, "VALID"), "float32"),
    "@": (lambda: np.ones((2, 2)) @ tf.ones([2, 2]), "float32"),
    "/": (lambda: np.ones(2) / tf.ones([2]), "float32"),
    "divide": (lambda: tf.divide(np.ones(2), tf.ones([2])), "float32"),
    "matmul, the second": (lambda: tf.matmul(tf.ones([2, 2]), np.ones((2, 2))), "float32"),
    "histogram_fixed_width": (lambda: tf.histogram_fixed_width(np.ones(2), tf.constant([0.0, 5.0])), "int32"),
    "unsorted_segment_sum": (lambda: tf.math.unsorted_segment_sum([1.0], tf.constant([0], tf.int16), 1), "float32"),
}


@pytest.mark.parametrize("name", PREFERRED)
def test_a_dtype(name):
    call, dtype = PREFERRED[name]
    assert call().dtype.name == dtype


WIDE = np.ones(2)
ERRORS = {
    "matmul": (lambda: tf.matmul(np.ones((2, 2)), tf.ones([2, 2])), tf.errors.InvalidArgumentError),
    "matmul with a list": (lambda: tf.matmul([[1, 2]], [[3.0], [4.0]]), tf.errors.InvalidArgumentError),
    "matvec": (lambda: tf.linalg.matvec(np.ones((2, 2)), tf.ones([2])), tf.errors.InvalidArgumentError),
    "tensordot": (lambda: tf.tensordot(WIDE, tf.ones([2]), 1), tf.errors.InvalidArgumentError),
    "conv1d": (lambda: tf.nn.conv1d(np.ones((1, 4, 1)), tf.ones([2, 1, 1]), 1, "VALID"), tf.errors.InvalidArgumentError),
    "add_n": (lambda: tf.add_n([tf.ones([2]), WIDE]), tf.errors.InvalidArgumentError),
    "polyval": (lambda: tf.math.polyval([WIDE, WIDE], tf.ones([2])), tf.errors.InvalidArgumentError),
    "searchsorted": (lambda: tf.searchsorted(tf.ones([2]), WIDE), tf.errors.InvalidArgumentError),
    "truediv": (lambda: tf.truediv(WIDE, tf.ones([2])), TypeError),
    "truediv of a number": (lambda: tf.truediv(2, tf.ones([2])), TypeError),
    "complex": (lambda: tf.complex(WIDE, tf.ones([2])), TypeError),
    "linspace": (lambda: tf.linspace(tf.constant(0.0), tf.constant(1.0, tf.float64), 3), ValueError),
    "max_pool3d of integers": (
        lambda: tf.nn.max_pool3d(tf.ones([1, 2, 2, 2, 1], tf.int32), 2, 2, "VALID"),
        tf.errors.InvalidArgumentError,
    ),
    "conv3d of integers": (
        lambda: tf.nn.conv3d(tf.ones([1, 2, 2, 2, 1], tf.int32), tf.ones([1, 1, 1, 1, 1], tf.int32), [1] * 5, "VALID"),
        tf.errors.InvalidArgumentError,
    ),
    "approx_max_k of integers": (lambda: tf.math.approx_max_k([1, 2], 1), tf.errors.InvalidArgumentError),
    "tridiagonal_solve of halves": (
        lambda: tf.linalg.tridiagonal_solve(tf.ones([3, 3], tf.float16), tf.ones([3], tf.float16)),
        tf.errors.InvalidArgumentError,
    ),
    "histogram_fixed_width": (
        lambda: tf.histogram_fixed_width([1.0], [0.0, 5.0], dtype=tf.float32),
        tf.errors.InvalidArgumentError,
    ),
    "more elements than can be counted": (lambda: tf.zeros([2**40, 2**40]), tf.errors.InvalidArgumentError),
    "more bytes than can be counted": (lambda: tf.scatter_nd([[1]], [1.0], [2**62]), tf.errors.InvalidArgumentError),
    "no vector of axes, in a function": (tf.function(lambda: tf.reduce_sum(tf.ones([2, 3]), [[0], [1]])), ValueError),
    "num_segments of rank 1, in a function": (
        tf.function(lambda: tf.math.unsorted_segment_sum([1.0], [0], [1])),
        ValueError,
    ),
    "num_segments that is a float, in a function": (
        tf.function(lambda: tf.math.unsorted_segment_sum([1.0], [0], 2.0)),
        TypeError,
    ),
    "segment ids of rank 0": (lambda: tf.sparse.segment_sum([1.0], [0], 0), tf.errors.InvalidArgumentError),
    "a list of axes for one": (lambda: tf.argmax([1.0], [0]), TypeError),
    "a number for a flag": (lambda: tf.cumsum([1.0], 0, 1), TypeError),
    "a list as an axis": (lambda: tf.sort([2, 1], [0]), ValueError),
    "axes that are no list": (lambda: tf.tensordot([1.0], [2.0], None), ValueError),
    "a size below 0": (lambda: tf.math.bincount([1, 2], maxlength=-1), tf.errors.InvalidArgumentError),
    "nothing to add": (lambda: tf.add_n(1), TypeError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error(name):
    call, error = ERRORS[name]
    with pytest.raises(error):
        call()


def test_a_bool_counts_as_an_axis():
    x = tf.reshape(tf.range(6.0), [2, 3])
    for reduce in (tf.reduce_sum, tf.argmax, tf.cumsum, tf.sort):
        assert (reduce(x, True).numpy() == reduce(x, 1).numpy()).all()


def test_a_nest_of_axes_counts_when_it_is_not_in_a_function():
    assert tf.reduce_sum(tf.ones([2, 3]), [[0], [1]]).numpy() == 6.0


def test_a_list_of_complex_numbers_keeps_its_dtype_in_a_fourier_transform():
    assert tf.signal.fft([1 + 1j, 2]).dtype == tf.complex128
    assert tf.signal.fft([1.0, 2.0]).dtype == tf.complex64
