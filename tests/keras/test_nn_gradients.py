"""Gradients of Keras's functions on layers, sequences, matrices and images, against JAX's of the same formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, nn

import gradtape as tf
from gradtape.keras import ops
from tests.keras.gradients import Row, differences, numbers

x = numbers(2, 3)
logits = numbers(4, 5)
with jax.enable_x64(True):
    probabilities, targets = [np.asarray(nn.softmax(numbers(4, 5, seed=seed))) for seed in (1, 2)]
classes = np.array([1, 0, 4, 2])


def _bce(t, p):
    return -(t * jnp.log(p) + (1 - t) * jnp.log(1 - p))


def _picked(logarithms):
    return -logarithms[np.arange(4), classes]


ACTIVATIONS = [
    *[
        Row(name, getattr(ops, name), getattr(nn, name), (x,))
        for name in """celu elu gelu hard_sigmoid hard_silu hard_tanh log_sigmoid log_softmax relu relu6 selu sigmoid
        silu softmax softplus sparse_plus sparse_sigmoid squareplus tanh""".split()
    ],
    Row("leaky_relu, slope", lambda x: ops.leaky_relu(x, 0.3), lambda x: nn.leaky_relu(x, 0.3), (x,)),
    Row("softsign", ops.softsign, nn.soft_sign, (x,)),
    Row("gelu, exact", lambda x: ops.gelu(x, False), lambda x: nn.gelu(x, False), (x,)),
    Row("elu, alpha", lambda x: ops.elu(x, 0.5), lambda x: nn.elu(x, 0.5), (x,)),
    Row("celu, alpha", lambda x: ops.celu(x, 0.5), lambda x: nn.celu(x, 0.5), (x,)),
    Row("glu", lambda x: ops.glu(x, 0), lambda x: nn.glu(x, 0), (x,)),
    Row("tanh_shrink", ops.tanh_shrink, lambda x: x - jnp.tanh(x), (x,)),
    Row("soft_shrink", ops.soft_shrink, lambda x: jnp.sign(x) * nn.relu(jnp.abs(x) - 0.5), (x,)),
    Row("hard_shrink", ops.hard_shrink, lambda x: jnp.where(jnp.abs(x) > 0.5, x, 0.0), (x,)),
    Row("threshold", lambda x: ops.threshold(x, 0.5, 2.0), lambda x: jnp.where(x > 0.5, x, 2.0), (x,)),
    Row("softmax, all axes", lambda x: ops.softmax(x, None), lambda x: nn.softmax(x, (0, 1)), (x,)),
    Row("sparsemax", ops.sparsemax, lambda x: _sparsemax(x), (np.array([0.2, 1.0, 0.9, -1.0]),)),
]
LOSSES = [
    Row(
        "categorical_crossentropy, logits",
        lambda t, z: ops.categorical_crossentropy(t, z, from_logits=True),
        lambda t, z: -jnp.sum(t * nn.log_softmax(z), -1),
        (targets, logits),
    ),
    Row(
        "categorical_crossentropy, axis 0",
        lambda t, p: ops.categorical_crossentropy(t, p, axis=0),
        lambda t, p: -jnp.sum(t * jnp.log(p / jnp.sum(p, 0, keepdims=True)), 0),
        (targets, probabilities),
    ),
    Row(
        "sparse_categorical_crossentropy, logits",
        lambda z: ops.sparse_categorical_crossentropy(classes, z, from_logits=True),
        lambda z: _picked(nn.log_softmax(z)),
        (logits,),
    ),
    Row(
        "sparse_categorical_crossentropy",
        lambda p: ops.sparse_categorical_crossentropy(classes, p),
        lambda p: _picked(jnp.log(p / jnp.sum(p, -1, keepdims=True))),
        (probabilities,),
    ),
    Row(
        "binary_crossentropy, logits",
        lambda t, z: ops.binary_crossentropy(t, z, from_logits=True),
        lambda t, z: _bce(t, nn.sigmoid(z)),
        (targets, logits),
    ),
    Row("binary_crossentropy", ops.binary_crossentropy, _bce, (targets, probabilities)),
]


def _sparsemax(z):
    """Two of four numbers support it."""
    return jnp.where(np.array([False, True, True, False]), z - (z[1] + z[2] - 1) / 2, 0.0)


# ---------------------------------------------------------------------------------------------------------------------
# Images: batch 2


def _convolve(x, kernel, strides, padding, letters, dilation, groups=1):
    numbers = letters, letters.strip("NC") + "IO", letters
    return lax.conv_general_dilated(
        x, kernel, strides, padding.upper(), rhs_dilation=dilation, dimension_numbers=numbers, feature_group_count=groups
    )


def _conv(name, x, kernel, strides, padding, letters, dilation, groups=1):
    data_format = "channels_last" if letters.endswith("C") else "channels_first"
    return Row(
        name,
        lambda x, k: ops.conv(x, k, strides, padding, data_format, dilation),
        lambda x, k: _convolve(x, k, strides, padding, letters, dilation, groups),
        (x, kernel),
    )


def _depthwise(name, x, kernel, strides, padding, letters, dilation):
    data_format = "channels_last" if letters.endswith("C") else "channels_first"
    channels = kernel.shape[-2]
    return Row(
        name,
        lambda x, k: ops.depthwise_conv(x, k, strides, padding, data_format, dilation),
        lambda x, k: _convolve(x, k.reshape(*k.shape[:-2], 1, -1), strides, padding, letters, dilation, channels),
        (x, kernel),
    )


def _transposed(x, kernel, strides, padding, dilation):
    from keras.src.backend.common.backend_utils import compute_conv_transpose_padding_args_for_jax

    pads = compute_conv_transpose_padding_args_for_jax(x.shape, kernel.shape, strides, padding, None, dilation)
    return Row(
        f"conv_transpose, {padding}",
        lambda x, k: ops.conv_transpose(x, k, strides, padding, dilation_rate=dilation),
        lambda x, k: lax.conv_transpose(
            x, k, strides, pads, rhs_dilation=dilation, dimension_numbers=("NHWC", "HWIO", "NHWC"), transpose_kernel=True
        ),
        (x, kernel),
    )


def _windows(start, combine, window, strides, padding):
    return lambda x: lax.reduce_window(x, start, combine, (1, *window, 1), (1, *strides, 1), padding)


def _parts(reduce, axis, bounds):
    """`reduce` over parts of an axis, [start, end) each."""
    return lambda x: jnp.concatenate([reduce(lax.slice_in_dim(x, a, b, axis=axis), axis, keepdims=True) for a, b in bounds], axis)


image, line = numbers(2, 5, 6, 4), numbers(2, 7, 2)
CONVOLUTIONS = [
    _conv("conv 1", line, numbers(3, 2, 3), (2,), "same", "NWC", (1,)),
    _conv("conv 2", image, numbers(3, 2, 4, 3), (2, 1), "valid", "NHWC", (1, 1)),
    _conv("conv 2, dilated and strided", image, numbers(2, 2, 4, 3), (2, 2), "same", "NHWC", (2, 2)),
    _conv("conv 2, groups", image, numbers(2, 2, 2, 6), (1, 1), "same", "NHWC", (1, 1), 2),
    _conv("conv 2, channels first", numbers(2, 3, 5, 4), numbers(2, 2, 3, 2), (1, 1), "valid", "NCHW", (1, 1)),
    _conv("conv 3", numbers(1, 3, 4, 3, 2), numbers(2, 2, 2, 2, 2), (1, 2, 1), "same", "NDHWC", (1, 1, 1)),
    _depthwise("depthwise 1", line, numbers(3, 2, 2), (2,), "same", "NWC", (1,)),
    _depthwise("depthwise 2", image, numbers(2, 3, 4, 2), (1, 1), "valid", "NHWC", (2, 1)),
    _depthwise("depthwise 2, channels first", numbers(2, 3, 5, 4), numbers(2, 2, 3, 1), (2, 2), "same", "NCHW", (1, 1)),
    Row(
        "separable_conv",
        lambda x, d, p: ops.separable_conv(x, d, p, 1, "same"),
        lambda x, d, p: _convolve(
            _convolve(x, d.reshape(2, 2, 1, 8), (1, 1), "same", "NHWC", (1, 1), 4), p, (1, 1), "valid", "NHWC", (1, 1)
        ),
        (image, numbers(2, 2, 4, 2), numbers(1, 1, 8, 3)),
    ),
    _transposed(image, numbers(3, 3, 2, 4), (2, 2), "same", (1, 1)),
    _transposed(image, numbers(3, 2, 2, 4), (2, 1), "valid", (1, 1)),
]
POOLS = [
    Row(
        "max_pool",
        lambda x: ops.max_pool(x, (2, 3), (2, 1), "same"),
        _windows(-np.inf, lax.max, (2, 3), (2, 1), "SAME"),
        (image,),
    ),
    Row(
        "average_pool",
        lambda x: ops.average_pool(x, 2),
        lambda x: _windows(0.0, lax.add, (2, 2), (2, 2), "VALID")(x) / 4,
        (image,),
    ),
    Row(
        "adaptive_average_pool",
        lambda x: ops.adaptive_average_pool(x, (2, 4)),
        lambda x: _parts(jnp.mean, 2, [(0, 2), (1, 3), (3, 5), (4, 6)])(_parts(jnp.mean, 1, [(0, 3), (2, 5)])(x)),
        (image,),
    ),
    Row(
        "adaptive_max_pool",
        lambda x: ops.adaptive_max_pool(x, 3),
        lambda x: _parts(jnp.max, 1, [(0, 3), (2, 5), (4, 7)])(x),
        (line,),
    ),
    Row(
        "unfold",
        lambda x: ops.unfold(x, 2, stride=2, padding=1),
        lambda x: lax.conv_general_dilated_patches(x, (2, 2), (2, 2), [(1, 1), (1, 1)]).reshape(2, 12, -1),
        (numbers(2, 3, 4, 4),),
    ),
    Row("fold", lambda x: ops.fold(x, (3, 4), 2), lambda x: _folded(x, 3, 4), (numbers(2, 12, 6),)),
    Row(
        "depth_to_space",
        lambda x: ops.depth_to_space(x, 2),
        lambda x: x.reshape(2, 5, 6, 2, 2, 1).transpose(0, 1, 3, 2, 4, 5).reshape(2, 10, 12, 1),
        (image,),
    ),
]


def _folded(x, height, width):
    """Windows of 2 × 2, stride 1."""
    x = x.reshape(2, -1, 2, 2, height - 1, width - 1)
    y = jnp.zeros((2, x.shape[1], height, width), x.dtype)
    for i, j in np.ndindex(2, 2):
        y = y.at[:, :, i : i + height - 1, j : j + width - 1].add(x[:, :, i, j])
    return y


# ---------------------------------------------------------------------------------------------------------------------
# Normalization, attention, segments, spectra


def _normalized(x, mean, variance, offset, scale):
    return (x - mean) / jnp.sqrt(variance + 1e-3) * scale + offset


def _attended(q, k, v, bias):
    logits = jnp.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(2) + bias
    return jnp.einsum("bnts,bsnh->btnh", nn.softmax(jnp.where(np.tri(3, dtype=bool), logits, -1e30)), v)


ids = np.array([2, 0, 2, 1])
channel = [numbers(4, low=0.5, seed=seed) for seed in range(4)]
OTHERS = [
    Row("moments", lambda x: ops.moments(x, (0, 2)), lambda x: (x.mean((0, 2)), x.var((0, 2))), (image,)),
    Row(
        "batch_normalization",
        lambda x, m, v, o, s: ops.batch_normalization(x, m, v, -1, o, s),
        _normalized,
        (image, *channel),
    ),
    Row(
        "batch_normalization, axis 1",
        lambda x, m, v: ops.batch_normalization(x, m, v, 1),
        lambda x, m, v: _normalized(x, m[:, None], v[:, None], 0.0, 1.0),
        (numbers(2, 4, 3), *channel[:2]),
    ),
    Row(
        "dot_product_attention",
        lambda q, k, v, b: ops.dot_product_attention(q, k, v, b, is_causal=True),
        _attended,
        (*[numbers(2, 3, 2, 2, seed=seed) for seed in range(3)], numbers(2, 2, 3, 3)),
    ),
    Row(
        "psnr",
        lambda a, b: ops.psnr(a, b, 2.0),
        lambda a, b: 10 * jnp.log10(4 / jnp.mean((a - b) ** 2)),
        (x, numbers(2, 3, seed=5)),
    ),
    Row("segment_sum", lambda x: ops.segment_sum(x, ids, 3), lambda x: jax.ops.segment_sum(x, ids, 3), (numbers(4, 2),)),
    Row("segment_max", lambda x: ops.segment_max(x, ids, 3), lambda x: jax.ops.segment_max(x, ids, 3), (numbers(4, 2),)),
    Row("top_k", lambda x: ops.top_k(x, 2)[0], lambda x: lax.top_k(x, 2)[0], (logits,)),
    Row("logsumexp", lambda x: ops.logsumexp(x, 1), lambda x: nn.logsumexp(x, 1), (x,)),
    Row("rsqrt", ops.rsqrt, lax.rsqrt, (np.abs(x),)),
    Row("erf", ops.erf, lax.erf, (x,)),
    Row("erfc", ops.erfc, lax.erfc, (x,)),
    Row("erfinv", ops.erfinv, lax.erf_inv, (x / 3,)),
    Row(
        "cdist",
        lambda a, b: ops.cdist(a, b),
        lambda a, b: jnp.sqrt(jnp.sum((a[:, None] - b[None]) ** 2, -1)),
        (x, numbers(4, 3)),
    ),
    Row(
        "extract_sequences",
        lambda x: ops.extract_sequences(x, 3, 2),
        lambda x: x[:, np.arange(3) + 2 * np.arange(2)[:, None]],
        (logits,),
    ),
    Row("fft", lambda a, b: ops.fft((a, b)), lambda a, b: _both(jnp.fft.fft(lax.complex(a, b))), (x, numbers(2, 3, seed=1))),
    Row(
        "ifft2", lambda a, b: ops.ifft2((a, b)), lambda a, b: _both(jnp.fft.ifft2(lax.complex(a, b))), (x, numbers(2, 3, seed=1))
    ),
    Row("rfft", lambda x: ops.rfft(x, 4), lambda x: _both(jnp.fft.rfft(x, 4)), (logits,)),
    Row("irfft", lambda a, b: ops.irfft((a, b)), lambda a, b: jnp.fft.irfft(lax.complex(a, b)), (x, numbers(2, 3, seed=1))),
    Row(
        "stft",
        lambda x: ops.stft(x, 4, 2, 4, center=False),
        lambda x: _both(jnp.fft.rfft(x[:, np.arange(4) + 2 * np.arange(3)[:, None]] * np.array([0, 0.5, 1, 0.5]))),
        (numbers(2, 8),),
    ),
    Row("istft of stft", lambda x: ops.istft(ops.stft(x, 4, 2, 4), 4, 2, 4), lambda x: x, (numbers(2, 8),)),
]


def _both(z):
    return jnp.real(z), jnp.imag(z)


# ---------------------------------------------------------------------------------------------------------------------
# Matrices and images


def _blurred(x):
    bells = [np.exp(-0.5 * ((np.arange(n) - n // 2) / s) ** 2) for n, s in ((3, 1.0), (5, 2.0))]
    columns, rows = [b / b.sum() for b in bells]
    kernel = np.tile(np.outer(rows, columns)[:, :, None, None], (1, 1, 1, 4))
    return _convolve(x, kernel, (1, 1), "same", "NHWC", (1, 1), 4)


square = numbers(2, 3, 3) + 3 * np.eye(3)
symmetric = square @ square.transpose(0, 2, 1)
tall = numbers(2, 4, 3)
places = numbers(2, 5, low=0.1, high=3.9)
MATRICES = [
    Row("cholesky", lambda a: ops.cholesky(a), lambda a: _lower(jnp.linalg.cholesky(a)), (symmetric,)),
    Row("cholesky_inverse", ops.linalg.cholesky_inverse, lambda a: jnp.linalg.inv(_lower(a) @ _lower(a).mT), (symmetric,)),
    Row("det", ops.det, jnp.linalg.det, (square,)),
    Row("logdet", ops.logdet, lambda a: jnp.linalg.slogdet(a)[1], (square,)),
    Row("inv", ops.inv, jnp.linalg.inv, (square,)),
    Row("qr", ops.qr, jnp.linalg.qr, (tall,)),
    Row("solve", ops.solve, lambda a, b: jnp.linalg.solve(a, b), (square, numbers(2, 3, 2))),
    Row(
        "solve_triangular",
        lambda a, b: ops.solve_triangular(a, b, lower=True),
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        (square, numbers(2, 3, 2)),
    ),
    Row("svd", lambda a: ops.svd(a, compute_uv=False), lambda a: jnp.linalg.svd(a, compute_uv=False), (tall,)),
    Row("eigh", lambda a: ops.eigh(a + tf.linalg.adjoint(a))[0], lambda a: jnp.linalg.eigh(a + a.mT)[0], (symmetric,)),
    Row("pinv", ops.pinv, jnp.linalg.pinv, (tall,)),
    Row("lstsq", ops.lstsq, lambda a, b: jnp.linalg.pinv(a) @ b, (tall[0], numbers(4))),
    Row("lu_factor", lambda a: ops.lu_factor(a)[0], lambda a: jax.vmap(lambda a: jax.scipy.linalg.lu_factor(a)[0])(a), (square,)),
    *[
        Row(
            f"norm {order} {axis}",
            lambda a, order=order, axis=axis: ops.norm(a, order, axis),
            lambda a, order=order, axis=axis: jnp.linalg.norm(a, order, axis),
            (tall,),
        )
        for order, axis in (
            (None, None),
            (None, 1),
            (1, 1),
            (3, 2),
            (np.inf, 1),
            ("fro", (1, 2)),
            (1, (1, 2)),
            (2, (1, 2)),
            ("nuc", (2, 1)),
        )
    ],
]
IN_SINGLE = [
    Row(
        "layer_normalization",
        lambda x, g, b: ops.layer_normalization(x, g, b, epsilon=1e-3),
        lambda x, g, b: _normalized(x, x.mean(-1, keepdims=True), x.var(-1, keepdims=True), b, g),
        (image, *channel[:2]),
    ),
    *[
        Row(
            f"resize, {method}",
            lambda x, method=method: ops.image.resize(x, (3, 9), method, antialias=True),
            lambda x, method=method: jax.image.resize(x, (2, 3, 9, 4), method),
            (image,),
        )
        for method in ("bilinear", "bicubic", "lanczos3")
    ],
    Row("gaussian_blur", lambda x: ops.image.gaussian_blur(x, (3, 5), (1.0, 2.0)), _blurred, (image,)),
    Row(
        "map_coordinates",
        lambda x, y: ops.image.map_coordinates(x, y, 1, "reflect"),
        lambda x, y: jax.scipy.ndimage.map_coordinates(x, list(y), 1, "reflect"),
        (numbers(4, 3), places),
    ),
    Row(
        "scale_and_translate",
        lambda x, s, t: ops.image.scale_and_translate(x, (2, 7, 4, 4), s, t, (1, 2), "cubic"),
        lambda x, s, t: jax.image.scale_and_translate(x, (2, 7, 4, 4), (1, 2), s, t, "cubic"),
        (image, np.array([1.3, 0.7]), np.array([0.21, -0.32])),
    ),
    Row(
        "rgb_to_grayscale",
        ops.image.rgb_to_grayscale,
        lambda x: (x @ np.array([0.2989, 0.587, 0.114]))[..., None],
        (numbers(2, 3, 2, 3),),
    ),
    Row(
        "affine_transform",
        lambda x, t: ops.image.affine_transform(x, tf.concat([t, tf.zeros([2], t.dtype)], 0), fill_mode="nearest"),
        lambda x, t: _projected(x, t),
        (image, np.array([0.9, 0.1, 0.31, -0.2, 1.1, 0.43])),
    ),
]


def _lower(a):
    return jnp.tril(a)


def _projected(x, t):
    row, column = np.mgrid[:5, :6].astype(float)
    at = t[3] * column + t[4] * row + t[5], t[0] * column + t[1] * row + t[2]
    of_channel = jax.vmap(lambda x: jax.scipy.ndimage.map_coordinates(x, at, 1, "nearest"), -1, -1)
    return jax.vmap(of_channel)(x)


TABLES = {
    "activations and losses": ACTIVATIONS + LOSSES,
    "convolutions and pools": CONVOLUTIONS + POOLS,
    "normalization, attention, segments, spectra": OTHERS,
    "matrices": MATRICES,
}


@pytest.mark.parametrize("table", TABLES)
def test_gradients_are_those_of_jax(table):
    assert differences(TABLES[table]) == []


def test_gradients_of_what_is_computed_in_float32_are_those_of_jax():
    assert differences(IN_SINGLE, rtol=1e-4, atol=1e-4) == []
