"""Rows of moments and normalisations."""

import jax.numpy as jnp
import numpy as np
from jax import lax

import gradtape as tf
from gradtape._src.ops.nn.normalization import _window_sum as window_sum, fused_batch_norm
from tests.ops.table import Row, complexes, positive, real

Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
NOT_ALLOWED = "is not in the list of allowed values"


def mean_and_variance(x, axis, keepdims=False):
    mean = jnp.mean(x, axis, keepdims=True)
    variance = jnp.mean(jnp.abs(x - mean) ** 2, axis, keepdims=keepdims).astype(x.dtype)
    return mean.reshape(variance.shape), variance


def weighted_moments(x, weights):
    total = jnp.sum(weights + 0 * x, 0)
    mean = jnp.sum(weights * x, 0) / total
    return mean, jnp.sum(weights * (x - mean) ** 2, 0) / total


MOMENTS = (
    Row(
        "moments",
        lambda x: tf.nn.moments(x, axes=[0, 2]),
        (real(2, 3, 2),),
        lambda x: mean_and_variance(x, (0, 2)),
        ops=("Moments",),
        dtypes=FLOATS,
        errors=(
            (
                lambda: tf.nn.moments(tf.ones([2, 3]), axes=[2]),
                Invalid,
                r"Invalid reduction dimension \(2 for input with 2",
            ),
            (lambda: tf.nn.moments([True], axes=[0]), Invalid, f"of bool {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "moments-of-integers",
        lambda x: tf.nn.moments(x, [0, 1]),
        (np.array([[1, 2], [4, 4]], "int32"),),
        lambda x: (np.array(2, x.dtype), np.array(2, x.dtype)),  # rounded to 0: (1 + 0 + 4 + 4) / 4
        dtypes=("int32", "int64"),
    ),
    Row(
        "moments-keepdims",
        lambda x: tf.nn.moments(x, -1, keepdims=True),
        (real(2, 3),),
        lambda x: mean_and_variance(x, -1, True),
        special=(([[1.0, 3.0], [2.0, 5.0]], ([[2.0], [3.5]], [[1.0], [2.25]]), [[-0.5, 1.5], [-1.0, 2.0]]),),
    ),
    Row(
        "moments-of-all",
        lambda x: tf.nn.moments(x, [0, 1]),
        (real(2, 3),),
        lambda x: mean_and_variance(x, None),
        special=(([[10000.0, 10001.0]], (10000.5, 0.25), [[0.0, 1.0]]),),
    ),
    Row(
        "moments-complex",
        lambda x: tf.nn.moments(x, [0]),
        (complexes(3, 2),),
        lambda x: mean_and_variance(x, 0),
        dtypes=("complex128", "complex64"),
    ),
    Row(
        "weighted-moments",
        lambda x, w: tf.nn.weighted_moments(x, [0], w),
        (real(3, 2), positive(3, 1)),
        weighted_moments,
        dtypes=("float64", "float32", "float16"),
        special=(
            (
                ([[1.0, 2.0], [3.0, 5.0]], [[1.0], [3.0]]),
                ([2.5, 4.25], [0.75, 1.6875]),
                ([[-0.5, -0.875], [1.5, 1.875]], [[0.28125], [-0.09375]]),
            ),
            (([[1.0, 2.0], [3.0, 5.0]], [[1], [3]]), ([2.5, 4.25], [0.75, 1.6875])),
            (([[1.0, 2.0]], [[0.0]]), ([0.0, 0.0], [0.0, 0.0])),
        ),
    ),
    Row(
        "weighted-moments-keepdims",
        lambda x, w: tf.nn.weighted_moments(x, 0, w, keepdims=True),
        (real(3, 2), positive(3, 1)),
        lambda x, w: tuple([m[None] for m in weighted_moments(x, w)]),
    ),
    Row(
        "sufficient-statistics",
        lambda x: tf.nn.sufficient_statistics(x, [0])[:3],
        (real(3, 2),),
        lambda x: (jnp.array(3.0, x.dtype), jnp.sum(x, 0), jnp.sum(x * x, 0)),
        special=(([[1.0, 2.0], [3.0, 5.0]], (2.0, [4.0, 7.0], [10.0, 29.0])),),
    ),
    Row(
        "sufficient-statistics-shifted",
        lambda x, shift: tf.nn.sufficient_statistics(x, [0], shift, keepdims=True),
        (real(3, 2), real(2)),
        lambda x, s: (
            jnp.array(3.0, x.dtype),
            jnp.sum(x - s, 0, keepdims=True),
            jnp.sum((x - s) ** 2, 0, keepdims=True),
            s,
        ),
    ),
    Row(
        "normalize-moments",
        lambda count, mean, variance: tf.nn.normalize_moments(count, mean, variance, None),
        (positive(1), real(2), real(2, seed=1)),
        lambda n, m, v: (m / n, v / n - (m / n) ** 2),
        special=(((2.0, [4.0, 7.0], [10.0, 29.0]), ([2.0, 3.5], [1.0, 2.25]), (3.75, [-1.5, -3.0], [0.5, 0.5])),),
    ),
    Row(
        "normalize-moments-shifted",
        lambda n, m, v, shift: tf.nn.normalize_moments(n, m, v, shift),
        (positive(1), real(2), real(2, seed=1), real(1)),
        lambda n, m, v, shift: (m / n + shift, v / n - (m / n) ** 2),
        special=(((2.0, [2.0, 5.0], [4.0, 17.0], 1.0), ([2.0, 3.5], [1.0, 2.25])),),
    ),
)


def normalized(x, mean, variance, offset, scale):
    return (x - mean) / jnp.sqrt(variance + 1e-3) * scale + offset


def global_normalization(x, mean, variance, scaled=True):
    offset, scale = tf.constant([0.0, 1.0], x.dtype), tf.constant([1.0, 2.0], x.dtype)
    return tf.nn.batch_norm_with_global_normalization(x, mean, variance, offset, scale, 1e-3, scaled)


BY_MOMENTS = (
    Row(
        "batch-normalization",
        lambda x, m, v, o, s: tf.nn.batch_normalization(x, m, v, o, s, 1e-3),
        (real(3, 2), real(2), positive(2), real(2, seed=1), real(2, seed=2)),
        normalized,
        special=(
            (
                ([[1.0, 2.0], [3.0, 5.0]], [2.0, 3.5], [1.0, 2.25], [0.0, 1.0], [1.0, 2.0]),
                [[-0.9995004, -0.9995556], [0.9995005, 2.999556]],
                (
                    [[0.9995004, 1.3330371], [0.9995004, 1.3330371]],
                    [-1.9990008, -2.6660743],
                    [0.0, 0.0],
                    [2.0, 2.0],
                    [0.0, 0.0],
                ),
            ),
        ),
    ),
    Row(
        "batch-normalization-bare",
        lambda x, m, v: tf.nn.batch_normalization(x, m, v, None, None, 1e-3),
        (real(3, 2), real(2), positive(2)),
        lambda x, m, v: normalized(x, m, v, 0, 1),
    ),
    Row(
        "batch-normalization-half",  # the moments are float32
        lambda x: tf.nn.batch_normalization(x, tf.constant([2.0, 3.5]), tf.constant([1.0, 2.25]), None, None, 1e-3),
        (real(3, 2),),
        lambda x: normalized(x, np.array([2.0, 3.5]), np.array([1.0, 2.25]), 0, 1),
        dtypes=("float16", "bfloat16"),
        oracle=False,
    ),
    Row(
        "global-normalization",
        global_normalization,
        (real(2, 1, 1, 2), real(2), positive(2)),
        lambda x, m, v: normalized(x, m, v, np.array([0.0, 1.0]), np.array([1.0, 2.0])),
    ),
    Row(
        "global-normalization-unscaled",
        lambda x, m, v: global_normalization(x, m, v, False),
        (real(2, 1, 1, 2), real(2), positive(2)),
        lambda x, m, v: normalized(x, m, v, np.array([0.0, 1.0]), 1),
    ),
    Row(
        "l2-normalize",
        tf.nn.l2_normalize,
        (real(2, 3),),
        lambda x: x / jnp.sqrt(jnp.sum(x * x)),
        dtypes=FLOATS,
        special=(
            ([3.0, 4.0], [0.6, 0.8], [0.032, -0.024]),
            ([0.0, 0.0], [0.0, 0.0], [1e6, 1e6]),
        ),
        errors=(
            (lambda: tf.nn.l2_normalize([3, 4]), TypeError, "Cannot convert 1e-12 to EagerTensor of dtype int32"),
            (lambda: tf.nn.l2_normalize([1.0], axis=0, dim=0), ValueError, "Cannot specify both 'dim' and 'axis'"),
        ),
    ),
    Row(
        "l2-normalize-axis",
        lambda x: tf.math.l2_normalize(x, axis=[1]),
        (real(2, 3),),
        lambda x: x / jnp.sqrt(jnp.sum(x * x, 1, keepdims=True)),
    ),
    Row(
        "l2-normalize-dim",
        lambda x: tf.nn.l2_normalize(x, dim=1, epsilon=100.0),
        (real(2, 3),),
        lambda x: x / 10,
    ),
    Row(
        "l2-normalize-complex",
        tf.nn.l2_normalize,
        (complexes(3),),
        lambda x: x / jnp.sqrt(jnp.sum(jnp.abs(x) ** 2)),
        dtypes=("complex128", "complex64"),
    ),
)


def batch_norm(x, scale, offset, mean=0.0, variance=0.0, *, axes=(0, 1, 2), share=1.0, training=True):
    count = x.size // scale.size
    there = [1 if a in axes else n for a, n in enumerate(x.shape)]
    m, v = mean_and_variance(x, axes) if training else (mean, variance)
    y = (x - m.reshape(there)) / jnp.sqrt(v.reshape(there) + 1e-3) * scale.reshape(there) + offset.reshape(there)
    if not training:
        return y, mean, variance
    return y, (1 - share) * mean + share * m, (1 - share) * variance + share * v * count / (count - 1)


IMAGES = (real(2, 2, 1, 2), real(2), real(2, seed=1))
MOMENTS_GIVEN = (real(2, seed=2), positive(2))
ONE = tf.constant([1.0, 1.0])

FUSED = (
    Row(
        "fused",
        fused_batch_norm,
        IMAGES,
        batch_norm,
        ops=("FusedBatchNormV3",),
        special=(  # TensorFlow sends nothing back from the moments: zeros to x, here [0, 0, 0, 0] + those
            (
                (np.array([1.0, 2.0, 3.0, 5.0], "float32").reshape(2, 1, 1, 2), [1.0, 2.0], [0.5, -0.5]),
                (
                    np.array([-0.4995004, -2.4995556, 1.4995004, 1.4995557]).reshape(2, 1, 1, 2),
                    [2.0, 3.5],
                    [2.0, 4.5],
                ),
                (np.array([-1.5, -2.5, 2.5, 3.5]).reshape(2, 1, 1, 2), [0.0, 0.0], [2.0, 2.0]),
            ),
            (
                (np.zeros((0, 1, 1, 2), "float32"), [1.0, 2.0], [0.5, -0.5]),
                (np.zeros((0, 1, 1, 2)), [np.nan, np.nan], [np.nan, np.nan]),
            ),
            (
                (np.ones((1, 1, 1, 2), "float32"), [1.0, 2.0], [0.5, -0.5]),
                ([[[[0.5, -0.5]]]], [1.0, 1.0], [0.0, 0.0]),
            ),
        ),
        errors=(
            (lambda: fused_batch_norm([[1.0, 2.0]], ONE, ONE), Invalid, r"input must be 4-dimensional .*\[1, 2\]"),
            (
                lambda: fused_batch_norm(tf.ones([1, 1, 1, 3]), ONE, ONE),
                Invalid,
                r"scale must have the same number of elements as the channels of x, got shape \[2\] and 3 channels",
            ),
            (
                lambda: fused_batch_norm(tf.ones([1, 1, 1, 2]), ONE, ONE, data_format="NHC"),
                Invalid,
                'of "NHC" is not in the list',
            ),
            (
                lambda: fused_batch_norm(tf.ones([1, 1, 1, 2], "float64"), ONE, ONE),
                Invalid,
                "scale must be float64 for x of float64, got float32",
            ),
            (lambda: fused_batch_norm(tf.ones([1, 1, 1, 2], "int32"), ONE, ONE), Invalid, f"of int32 {NOT_ALLOWED}"),
            (
                lambda: fused_batch_norm(tf.ones([1, 1, 1, 2]), ONE, ONE, is_training=False),
                ValueError,
                "Both `mean` and `variance` must be a 1D tensor when `is_training` is False",
            ),
            (
                lambda: fused_batch_norm(tf.ones([1, 1, 1, 2]), ONE, ONE, exponential_avg_factor=0.5),
                ValueError,
                "Both `mean` and `variance` must be a 1D tensor",
            ),
        ),
    ),
    Row(
        "fused-result",
        lambda x, s, o: fused_batch_norm(x, s, o)[0] * tf.constant([[[[1.0, -2.0]]], [[[3.0, 0.5]]]], x.dtype),
        (real(2, 1, 1, 2), real(2), real(2, seed=1)),
        lambda x, s, o: batch_norm(x, s, o)[0] * np.array([[[[1.0, -2.0]]], [[[3.0, 0.5]]]]),
        special=(
            (
                (np.array([1.0, 2.0, 3.0, 5.0], "float32").reshape(2, 1, 1, 2), [1.0, 2.0], [0.5, -0.5]),
                np.array([-0.4995004, 4.999111, 4.498501, 0.7497779]).reshape(2, 1, 1, 2),
                (
                    np.array([-0.0009984748, -0.0007402047, 0.0009984748, 0.0007402047]).reshape(2, 1, 1, 2),
                    [1.9990008, 2.4994447],
                    [4.0, -1.5],
                ),
            ),
        ),
    ),
    Row(
        "fused-channels-first",
        lambda x, s, o: fused_batch_norm(x, s, o, data_format="NCHW"),
        IMAGES,
        lambda x, s, o: batch_norm(x, s, o, axes=(0, 2, 3)),
    ),
    Row(
        "fused-volumes",
        lambda x, s, o: fused_batch_norm(x, s, o, data_format="NDHWC"),
        (real(1, 2, 1, 1, 2), real(2), real(2, seed=1)),
        lambda x, s, o: batch_norm(x, s, o, axes=(0, 1, 2, 3)),
    ),
    Row(
        "fused-volumes-channels-first",
        lambda x, s, o: fused_batch_norm(x, s, o, data_format="NCDHW"),
        (real(1, 2, 1, 1, 2), real(2), real(2, seed=1)),
        lambda x, s, o: batch_norm(x, s, o, axes=(0, 2, 3, 4)),
    ),
    Row(
        "fused-running",
        lambda x, s, o, m, v: fused_batch_norm(x, s, o, m, v, exponential_avg_factor=0.25),
        IMAGES + MOMENTS_GIVEN,
        lambda x, s, o, m, v: batch_norm(x, s, o, m, v, share=0.25),
    ),
    Row(
        "fused-inference",
        lambda x, s, o, m, v: fused_batch_norm(x, s, o, m, v, is_training=False),
        IMAGES + MOMENTS_GIVEN,
        lambda x, s, o, m, v: batch_norm(x, s, o, m, v, training=False),
    ),
    Row(
        "fused-inference-channels-first",
        lambda x, s, o, m, v: fused_batch_norm(x, s, o, m, v, is_training=False, data_format="NCHW"),
        IMAGES + MOMENTS_GIVEN,
        lambda x, s, o, m, v: batch_norm(x, s, o, m, v, axes=(0, 2, 3), training=False),
    ),
    Row(
        "fused-half",  # with float32 statistics
        lambda x: fused_batch_norm(x, *[tf.ones([2], "float64" if x.dtype == tf.float64 else "float32")] * 2),
        (real(2, 2, 1, 2),),
        lambda x: batch_norm(x, np.ones(2), np.ones(2)),
        dtypes=("float16", "bfloat16"),
        result=lambda dtype: (dtype, "float32", "float32"),
    ),
)


def response_normalized(x, radius, bias, alpha, beta):
    window, sides = (1, 1, 1, 2 * radius + 1), ((0, 0), (0, 0), (0, 0), (radius, radius))
    squares = lax.reduce_window(x * x, np.array(0, x.dtype), lax.add, window, (1, 1, 1, 1), sides)
    return x / (bias + alpha * squares) ** beta


FOUR = np.array([1.0, 2.0, 3.0, 4.0], "float32").reshape(1, 1, 1, 4)

LAYERS = (
    Row(
        "local-response",
        lambda x: tf.nn.lrn(x, 2, bias=2.0, alpha=0.5, beta=0.75),
        (real(1, 1, 2, 4),),
        lambda x: response_normalized(x, 2, 2.0, 0.5, 0.75),
        ops=("LRN",),
        dtypes=FLOATS,
        special=(
            (
                FOUR,
                np.array([0.1924501, 0.23888746, 0.3583312, 0.48859268]).reshape(1, 1, 1, 4),
                np.array([0.1500647, -0.00974458, -0.07433873, -0.07207838]).reshape(1, 1, 1, 4),
            ),
        ),
        errors=(
            (
                lambda: tf.nn.lrn(tf.ones([1, 1, 4])),
                Invalid,
                r"in must be 4-dimensional: .* received shape \[1, 1, 4\]",
            ),
            (lambda: tf.nn.lrn(tf.ones([1, 1, 1, 4], "int32")), Invalid, f"of int32 {NOT_ALLOWED}"),
            (lambda: tf.nn.lrn(tf.ones([1, 1, 1, 4]), -1), Invalid, "depth_radius = -1 larger than int max"),
        ),
    ),
    Row(
        "local-response-weighted",
        lambda x: tf.nn.local_response_normalization(x, depth_radius=1) * tf.constant(FOUR.astype(x.dtype.as_numpy_dtype)),
        (real(1, 1, 1, 4),),
        lambda x: response_normalized(x, 1, 1.0, 1.0, 0.5) * FOUR,
        special=(
            (
                FOUR,
                np.array([0.40824828, 1.0327955, 1.6431677, 3.1378582]).reshape(1, 1, 1, 4),
                np.array([0.2713539, 0.13306443, -0.1852139, 0.0826281]).reshape(1, 1, 1, 4),
            ),
        ),
    ),
    Row(
        "channel-window",
        lambda x: window_sum(x, radius=1),
        (real(2, 4),),
        lambda x: x + jnp.pad(x, ((0, 0), (1, 0)))[:, :-1] + jnp.pad(x, ((0, 0), (0, 1)))[:, 1:],
        ops=("ChannelWindowSum",),
    ),
)

ROWS = MOMENTS + BY_MOMENTS + FUSED + LAYERS
