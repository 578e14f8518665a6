"""Moments, and batch, L2 and local response normalisation."""

import functools
import operator
from math import prod

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, host_constant
from gradtape._src.ops.floats import is_zeros, mean_over, wide
from gradtape._src.ops.math.arithmetic import divide_no_nan, maximum, rsqrt, square, squared_difference
from gradtape._src.ops.math.complex import complex, imag, real
from gradtape._src.ops.math.reduction import divisor, kept, reduce_mean, reduce_sum, reduced, reduction_axes, restored, spread
from gradtape._src.ops.shapes import COMPLEX, FLOATING, broadcast_shapes, channel_axis, one_of, only, require, same

# ---------------------------------------------------------------------------------------------------------------------
# Moments


def _moments_avals(x, axis, keepdims):
    require(x, FLOATING + COMPLEX)
    shape = aval(reduced(x.shape, axis, keepdims), x.dtype)
    return shape, shape


@op("Moments", infer=_moments_avals, saves="x y0", flops=flops.of_input(4), traits="own")
def _moments(x, *, axis, keepdims):
    given, x = x.dtype, wide(x)
    mean = mean_over(x, axis, keepdims=True)
    difference = x - mean
    variance = mean_over(difference * jnp.conj(difference), axis, keepdims)
    return mean.reshape(variance.shape).astype(given), variance.astype(given)


@gradient(_moments)
def _(dmean, dvariance, x, mean, *, axis):  # dx = (dm + 2·(x − m)·dv) / n; the term from v by way of m is 0
    shape = x.node.aval.shape
    count = prod([shape[a] for a in axis])
    parts = [spread(dmean / count, shape, axis)]
    if not is_zeros(dvariance):
        if x.dtype.is_complex:  # the variance is real, so the imaginary part of its cotangent has no effect
            dvariance = cast(real(dvariance), x.dtype)
        parts.append((x - restored(mean, shape, axis)) * restored(dvariance * 2 / divisor(count), shape, axis))
    return _total(*parts)


def _total(*parts):
    """Add cotangents, skipping those that are None or known to be zeros; return None if nothing is left."""
    flowing = [part for part in parts if part is not None and not is_zeros(part)]
    return functools.reduce(operator.add, flowing) if flowing else None


def _scaled(dy, factor):
    """Return `dy` · factor, or None if that is known to be zeros."""
    return None if is_zeros(dy) or factor == 0 else dy * factor


@public
def moments(x, axes, shift=None, keepdims=False, name=None):
    """Return `(mean, variance)` of `x` over `axes`: Σ x / n and Σ |x − mean|² / n, in the dtype of `x` (floating or complex).

    The axes are removed unless `keepdims`. For int32 and int64 both are rounded towards 0. `shift` has no effect. float16 is
    computed in float32.

    >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), axes=[0])
    >>> float(mean), float(variance)
    (2.0, 1.0)
    """
    x = tensor(x)
    if x.dtype.is_integer:
        mean = reduce_mean(x, axes, keepdims=True)
        variance = reduce_mean(squared_difference(x, mean), axes, keepdims)
        return _reshape(mean, extents_of(variance)), variance
    return _moments(x, reduction_axes(axes, x.ndim), bool(keepdims))


@public
def sufficient_statistics(x, axes, shift=None, keepdims=False, name=None):
    """Return `(count, Σ (x − shift), Σ (x − shift)², shift)` over `axes`, the arguments of `normalize_moments`.

    A `shift` near the mean makes the sums accurate; None counts as 0, and is returned as None.

    >>> count, total, squares, _ = tf.nn.sufficient_statistics(tf.constant([1.0, 2.0, 3.0]), [0])
    >>> print(count.numpy(), total.numpy(), squares.numpy())
    3.0 6.0 14.0
    """
    x = tensor(x)
    axes = reduction_axes(axes, x.ndim)
    count = tensor(prod([extents_of(x)[a] for a in axes]), x.dtype)
    if shift is not None:
        shift = tensor(shift, x.dtype)
        x = x - shift
    return count, reduce_sum(x, axes, keepdims), reduce_sum(square(x), axes, keepdims), shift


@public
def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Return `(mean, variance)` from the results of `sufficient_statistics`.

    >>> mean, variance = tf.nn.normalize_moments(tf.constant(2.0), tf.constant(4.0), tf.constant(10.0), None)
    >>> print(mean.numpy(), variance.numpy())
    2.0 1.0
    """
    mean_ss, variance_ss = tensor(mean_ss), tensor(variance_ss)
    shifted_mean = mean_ss / counts
    mean = shifted_mean if shift is None else shifted_mean + shift
    return mean, variance_ss / counts - square(shifted_mean)


@public
def weighted_moments(x, axes, frequency_weights, keepdims=False, name=None):
    """Return the weighted `(mean, variance)` of `x` over `axes`; `frequency_weights` broadcast with `x`.

    Both are 0 where the weights sum to 0. float16 is computed in float32.

    >>> mean, variance = tf.nn.weighted_moments(tf.constant([1.0, 3.0]), axes=[0], frequency_weights=[3.0, 1.0])
    >>> float(mean), float(variance)
    (1.5, 0.75)
    """
    x = tensor(x)
    given = x.dtype
    if given == dtypes.float16:
        x = cast(x, dtypes.float32)
    weights = cast(frequency_weights, x.dtype)
    axes = reduction_axes(axes, x.ndim)
    shape = broadcast_shapes(extents_of(weights), extents_of(x))
    total = reduce_sum(_broadcast_to(weights, shape), axes, keepdims=True)
    mean = divide_no_nan(reduce_sum(weights * x, axes, keepdims=True), total)
    squares = squared_difference(x, mean)
    variance = divide_no_nan(reduce_sum(weights * squares, axes, keepdims=True), total)
    if not keepdims:
        left = reduced(shape, axes, False)
        mean, variance = _reshape(mean, left), _reshape(variance, left)
    return cast(mean, given), cast(variance, given)


# ---------------------------------------------------------------------------------------------------------------------
# Normalisation by given moments


@public
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None) -> Tensor:
    """Return (x − mean) · scale / √(variance + variance_epsilon) + offset; `scale` and `offset` may be None.

    The moments, scale and offset broadcast with `x`. Terms without `x` are computed in their own dtype, and cast to that of
    `x`. For the moments of the batch itself see `tf.nn.moments`.

    >>> tf.nn.batch_normalization([1.0, 3.0], 2.0, 1.0, 10.0, 2.0, 0.0).numpy()
    array([ 8., 12.], dtype=float32)
    """
    factor = rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    x = tensor(x)
    shift = -mean * factor if offset is None else offset - mean * factor
    return x * cast(factor, x.dtype) + cast(shift, x.dtype)


@public
def batch_norm_with_global_normalization(
    input, mean, variance, beta, gamma, variance_epsilon, scale_after_normalization, name=None
):
    """Apply `batch_normalization`, with `gamma` only if `scale_after_normalization`.

    >>> x, ones = tf.constant([[[[1.0], [3.0]]]]), tf.ones([1])
    >>> print(tf.nn.batch_norm_with_global_normalization(x, 2 * ones, ones, ones, 5 * ones, 0.0, False).numpy().ravel())
    [0. 2.]
    """
    gamma = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, gamma, variance_epsilon)


@public
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None) -> Tensor:
    """Return x / √max(Σ |x|², epsilon), the sum over `axis` (all axes for None). Floating or complex.

    >>> tf.math.l2_normalize([3.0, 4.0]).numpy().round(4)
    array([0.6, 0.8], dtype=float32)
    """
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'dim' and 'axis'. Give 'axis'; 'dim' is its older name.")
        axis = dim
    x = tensor(x)
    if x.dtype.is_complex:
        squares = reduce_sum(square(real(x)) + square(imag(x)), axis, keepdims=True)
        factor = rsqrt(maximum(squares, epsilon))
        return complex(real(x) * factor, imag(x) * factor)
    return x * rsqrt(maximum(reduce_sum(square(x), axis, keepdims=True), epsilon))


# ---------------------------------------------------------------------------------------------------------------------
# Fused batch normalisation

FORMATS = ("NHWC", "NCHW", "NDHWC", "NCDHW")


def _others(shape, data_format):
    """Return the axes to reduce: all but the channel axis."""
    return tuple([a for a in range(len(shape)) if a != channel_axis(len(shape), data_format)])


def _along_channels(shape, data_format):
    """Return the shape of one number per channel that broadcasts with `shape`."""
    return kept(shape, _others(shape, data_format))


def _batch_norm_avals(x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format, is_training):
    require(x, FLOATING)
    one_of(data_format, FORMATS, "data_format")
    if x.ndim != len(data_format):
        raise invalid(f"input must be {len(data_format)}-dimensional for data_format {data_format}: {list(x.shape)}")
    channels = x.shape[channel_axis(x.ndim, data_format)]
    statistics = aval((channels,), scale.dtype)
    wanted = dtypes.float64 if x.dtype == np.float64 else dtypes.float32
    given = not is_training or exponential_avg_factor != 1
    for name, part in (("scale", scale), ("offset", offset), ("mean", mean), ("variance", variance)):
        if name in ("mean", "variance") and not given:
            continue
        if part.type is not wanted:
            raise invalid(f"{name} must be {wanted.name} for x of {x.type.name}, got {part.type.name}. Use tf.cast.")
        if part.shape != (channels,):
            raise invalid(
                f"{name} must have the same number of elements as the channels of x, got shape {list(part.shape)} and "
                f"{channels} channels (data_format {data_format}, x of shape {list(x.shape)})."
            )
    return x, statistics, statistics, statistics, statistics


@op("FusedBatchNormV3", infer=_batch_norm_avals, mixed=True, saves="x scale y3 y4", flops=flops.batch_norm)
def batch_norm_op(x, scale, offset, mean, variance, *, epsilon, exponential_avg_factor, data_format, is_training):
    """Return y, running mean and variance, and the mean and variance used, which the gradient reads (TensorFlow's reserves)."""
    axes = _others(x.shape, data_format)
    there = _along_channels(x.shape, data_format)
    values = x.astype(scale.dtype)
    if is_training:
        # Two passes, as the mean of squares minus the squared mean is inaccurate for a large mean
        m = mean_over(values, axes, keepdims=True)
        v = mean_over(lax.square(values - m), axes)
        m = m.reshape(v.shape)
        count = prod([x.shape[a] for a in axes])
        new_mean, new_variance = m, v * (count / max(count - 1, 1))
        if exponential_avg_factor != 1:
            new_mean = mean * (1 - exponential_avg_factor) + new_mean * exponential_avg_factor
            new_variance = variance * (1 - exponential_avg_factor) + new_variance * exponential_avg_factor
    else:
        new_mean = m = mean
        new_variance = v = variance
    factor = scale * lax.rsqrt(v + epsilon)
    y = (values - m.reshape(there)) * factor.reshape(there) + offset.reshape(there)
    return y.astype(x.dtype), new_mean, new_variance, m, v


@gradient(batch_norm_op)
def _(dy, dnew_mean, dnew_variance, dm, dv, x, scale, m, v, *, epsilon, exponential_avg_factor, data_format, is_training):
    """With s = 1/√(v + ε) and c = x − m, in training: dβ = Σ dy, dγ = s·Σ dy·c, dx = γ·s·(dy − dβ/n − c·s·dγ/n). With given
    moments: dx = γ·s·dy, dm = −γ·s·dβ, dv = −γ·s²·dγ/2. The cotangents of the other results add dx = dm/n + 2·c·dv/n.
    (TensorFlow drops these, and the gradients to given moments.)
    """
    shape, axes, share = x.node.aval.shape, _others(x.node.aval.shape, data_format), exponential_avg_factor
    count = prod([shape[a] for a in axes])
    centred = cast(x, scale.dtype) - restored(m, shape, axes)
    dx = dscale = doffset = dmean = dvariance = None
    if is_training:
        dmean, dvariance = _scaled(dnew_mean, 1 - share), _scaled(dnew_variance, 1 - share)
        dm = _total(dm, _scaled(dnew_mean, share))
        dv = _total(dv, _scaled(dnew_variance, share * count / max(count - 1, 1)))
    else:
        dm, dv = _total(dm, dnew_mean), _total(dv, dnew_variance)
    if not is_zeros(dy):
        dy = cast(dy, scale.dtype)
        s = rsqrt(v + epsilon)
        doffset = reduce_sum(dy, axes)
        dscale = s * reduce_sum(dy * centred, axes)
        factor = scale * s
        dx = dy
        if is_training:
            dx = dy - restored(doffset / count, shape, axes) - centred * restored(s * dscale / count, shape, axes)
        else:
            dm = _total(dm, -factor * doffset)
            dv = _total(dv, -0.5 * factor * s * dscale)
        dx = dx * restored(factor, shape, axes)
    if is_training:
        to_mean = None if dm is None else spread(dm / count, shape, axes)
        to_variance = None if dv is None else centred * restored(dv * (2 / max(count, 1)), shape, axes)
        dx = _total(dx, to_mean, to_variance)
    else:
        dmean, dvariance = dm, dv
    return None if dx is None else cast(dx, x.dtype), dscale, doffset, dmean, dvariance


@public
def fused_batch_norm(
    x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True, name=None,
    exponential_avg_factor=1.0,
):  # fmt: skip
    """Normalise a batch of images (or volumes) `x` per channel: `(y, running_mean, running_variance)`.

    y = (x − m) · scale / √(v + epsilon) + offset. In training m and v are the moments of the batch; the running
    moments are (1 − f)·`mean` + f·(batch mean), f = `exponential_avg_factor`, the batch's variance with n − 1 in
    place of n. Else m and v are `mean` and `variance`. `x` is float16, bfloat16 or float32 with the rest float32, or
    all are float64.
    """
    if (not is_training or exponential_avg_factor != 1) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or `exponential_avg_factor` "
            f"!= 1.0. Received: `mean` {mean!r} and `variance` {variance!r}"
        )
    x, scale, offset = tensor(x), tensor(scale), tensor(offset)
    nothing = host_constant(np.zeros(0, scale.dtype.numpy))  # an empty vector is TensorFlow's sign for a missing moment
    mean = nothing if mean is None else mean
    variance = nothing if variance is None else variance
    results = batch_norm_op(
        x, scale, offset, mean, variance, float(epsilon), float(exponential_avg_factor), data_format, bool(is_training)
    )
    return results[:3]


# ---------------------------------------------------------------------------------------------------------------------
# Local response normalisation


def _images(input, **attributes):
    require(input, FLOATING)
    if input.ndim != 4:
        raise invalid(f"in must be 4-dimensional: [batch, height, width, channels], received shape {list(input.shape)}.")
    return input


@op("ChannelWindowSum", infer=only(FLOATING, same), traits="own")
def _window_sum(x, *, radius):
    """Sum over the channels at most `radius` away from each channel."""
    return _summed(wide(x), radius).astype(x.dtype)


def _summed(x, radius):
    window, sides = (*(1,) * (x.ndim - 1), 2 * radius + 1), (*((0, 0),) * (x.ndim - 1), (radius, radius))
    return lax.reduce_window(x, jnp.zeros((), x.dtype), lax.add, window, (1,) * x.ndim, sides)


@gradient(_window_sum)
def _(dy, *, radius):  # the window sum is self-adjoint
    return _window_sum(dy, radius)


@op("LRN", infer=_images, saves="input", prefers="float32")
def _lrn(input, *, depth_radius, bias, alpha, beta):
    x = wide(input)
    return (x * (bias + alpha * _summed(lax.square(x), depth_radius)) ** -beta).astype(input.dtype)


@gradient(_lrn)
def _(
    dy, input, *, depth_radius, bias, alpha, beta
):  # with N = bias + alpha·W(x²), W the window sum: dx = dy·N^−β − 2αβ·x·W(dy·x·N^(−β−1))
    norm = bias + alpha * _window_sum(square(input), depth_radius)
    direct = dy * norm**-beta
    return direct - 2 * alpha * beta * input * _window_sum(direct * input / norm, depth_radius)


@public
def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None) -> Tensor:
    """Return input / (bias + alpha · Σ input²)^beta, with the sum over the channels at most `depth_radius` away.

    `input` is [batch, height, width, channels], floating.

    >>> tf.nn.lrn(tf.ones([1, 1, 1, 2]), depth_radius=1, bias=1.0, alpha=1.0, beta=1.0).numpy().ravel().round(4)
    array([0.3333, 0.3333], dtype=float32)
    """
    if depth_radius < 0:
        raise invalid_for("LRN", f"depth_radius = {depth_radius} larger than int max: give the number of channels on each side.")
    return _lrn(input, int(depth_radius), float(bias), float(alpha), float(beta))
