"""Dropout: random elements become 0, and the others are scaled so that the mean is kept."""

import numbers

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math.compare import greater_equal
from gradtape._src.ops.random import seeds
from gradtape._src.ops.random.draws import Own, stateless_state, static_shape, uniform_numbers


def _dropped(x, rate, noise_shape, uniform, unused=lambda: None):
    """Return `x` with the elements set to 0 where `uniform(shape, dtype)` is below `rate`, the others divided by 1 − rate.

    For a rate of 0, `unused` is called instead of `uniform`.
    """
    is_number = isinstance(rate, numbers.Real)
    if is_number and not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    x = tensor(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}. Cast it."
        )
    if is_number and rate == 0:
        unused()
        return x
    # 16-bit floats are too coarse for a comparison with 0.001
    noise_dtype = dtypes.float32 if x.dtype.size < 4 else x.dtype
    if is_number:
        scaled, threshold = x * (1 / (1 - float(rate))), float(rate)
    else:
        rate = _scalar(rate, x)
        scaled, threshold = x / (1 - rate), cast(rate, noise_dtype)
    noise = uniform(_noise_shape(x, noise_shape), noise_dtype)
    return where(greater_equal(noise, threshold), scaled, 0.0)


def _scalar(rate, x):
    """Return the tensor `rate`; ValueError unless it is a scalar of the dtype of `x`."""
    if not is_tensor(rate):
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")
    rate = tensor(rate)
    if rate.ndim:
        raise ValueError(f"Shape {rate.shape} must have rank 0: `rate` is one number for all elements.")
    if rate.dtype != x.dtype:
        raise ValueError(
            f"`x.dtype` must be compatible with `rate.dtype`. Received: x.dtype={x.dtype} and rate.dtype={rate.dtype}: "
            "use tf.cast."
        )
    return rate


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        return extents_of(x)
    if not is_tensor(noise_shape):
        dims = TensorShape(noise_shape).as_list()
        if len(dims) == x.ndim:
            return tuple([n if extent is None else extent for n, extent in zip(extents_of(x), dims, strict=True)])
    return static_shape(noise_shape)


@public
def dropout(x, rate, noise_shape=None, seed=None, name=None) -> Tensor:
    """Set each element of `x` to 0 with probability `rate`, and divide the others by 1 − rate.

    The result has the shape and dtype of `x`. `noise_shape` broadcasts with `x`; None in it is the extent of `x`. Along an
    axis where it is 1, elements are kept or dropped together. `rate` is a number in [0, 1) or a scalar tensor of the floating
    dtype of `x`. See `tf.random.set_seed` for `seed`.

    >>> x = tf.nn.dropout(tf.ones([100]), rate=0.5)
    >>> sorted(set(x.numpy().tolist()))
    [0.0, 2.0]
    """

    def uniform(shape, dtype):
        return uniform_numbers(Own(seed), shape=shape, dtype=dtype.numpy)

    # For a rate of 0 the random state still advances, as for other rates
    return _dropped(x, rate, noise_shape, uniform, unused=lambda: seeds.draw("Dropout", seed, 0))


@public
def stateless_dropout(x, rate, seed, rng_alg=None, noise_shape=None, name=None):
    """Drop elements like `dropout`: the same ones for the same `seed` of two integers.

    >>> print(tf.nn.experimental.stateless_dropout(tf.ones([4]), 0.5, seed=[1, 2], rng_alg="philox").numpy().shape)
    (4,)
    """
    state = stateless_state(seed, rng_alg)
    return _dropped(x, rate, noise_shape, lambda shape, dtype: uniform_numbers(state, shape=shape, dtype=dtype.numpy))


@public
def general_dropout(x, rate, uniform_sampler, noise_shape=None, name=None):
    """Drop elements like `dropout`, with uniform numbers in [0, 1) from `uniform_sampler(shape=…, dtype=…)`.

    >>> def drawn(shape, dtype):
    ...     return tf.constant([0.1, 0.9, 0.4, 0.6], dtype)
    >>> print(tf.nn.experimental.general_dropout(tf.ones([4]), 0.5, drawn).numpy())
    [0. 2. 0. 2.]
    """
    return _dropped(x, rate, noise_shape, lambda shape, dtype: uniform_sampler(shape=shape, dtype=dtype))
