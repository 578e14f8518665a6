"""Random changes of images. Stateful functions draw new numbers at each call, stateless ones are determined by their seed."""

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array.indexing import _slice
from gradtape._src.ops.array.joining import unstack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.image.adjust import adjust_brightness, adjust_contrast, adjust_saturation, hue_turned
from gradtape._src.ops.image.geometry import at_least_3d, crop_size, mirrored, of_rank_3_or_4
from gradtape._src.ops.math.compare import greater, less
from gradtape._src.ops.random.draws import stateless_uniform, uniform

LARGEST = np.iinfo(np.int32).max


def _stateful(seed):
    return lambda shape, low=0, high=1, dtype="float32": uniform(shape, low, high, dtype, seed)


def _stateless(seed):
    return lambda shape, low=0, high=1, dtype="float32": stateless_uniform(shape, seed, low, high, dtype)


def _non_negative(max_delta):
    if max_delta < 0:
        raise ValueError(f"max_delta must be non-negative. Received {max_delta}.")


def _range(lower, upper):
    if upper <= lower:
        raise ValueError(f"upper must be > lower. Received lower={lower}, upper={upper}.")
    if lower < 0:
        raise ValueError(f"lower must be non-negative. Received {lower}.")


# ---------------------------------------------------------------------------------------------------------------------
# Shared by both forms; `draw(shape, low, high)` returns random numbers


def _flip(image, axis, draw):
    """Reverse each image along `axis` or not: in a batch for numbers above 1/2, a single one below, as in TensorFlow."""
    image = of_rank_3_or_4(at_least_3d(image))
    if image.ndim == 3:
        turned = less(draw([]), 0.5)
    else:
        count = extents_of(image)[0]
        turned = reshape(greater(draw([count]), 0.5), [count, 1, 1, 1])
    return where(turned, mirrored(image, axis), image)


def _brightness(image, max_delta, draw):
    _non_negative(max_delta)
    return adjust_brightness(image, draw([], -max_delta, max_delta))


def _contrast(image, lower, upper, draw):
    _range(lower, upper)
    return adjust_contrast(image, draw([], lower, upper))


def _hue(image, max_delta, draw):
    if max_delta > 0.5:
        raise ValueError(f"max_delta must be <= 0.5. Received {max_delta}.")
    _non_negative(max_delta)
    return hue_turned(image, draw([], -max_delta, max_delta))


def _saturation(image, lower, upper, draw):
    _range(lower, upper)
    return adjust_saturation(image, draw([], lower, upper))


def _crop(value, size, draw):
    value = tensor(value)
    size, shape = crop_size(value, size), value.node.aval.shape
    places = tensor([have - want + 1 for have, want in zip(shape, size, strict=True)], "int32")
    begin = unstack(draw([len(size)], 0, LARGEST, dtype="int32") % places)
    axes = tuple([axis for axis, (have, want) in enumerate(zip(shape, size, strict=True)) if 0 < want < have])
    return _slice(value, *[begin[axis] for axis in axes], axes=axes, size=size)


# ---------------------------------------------------------------------------------------------------------------------
# Public functions


@public
def random_flip_left_right(image, seed=None):
    """Mirror the image with probability 1/2; in a batch, each image independently.

    >>> flipped = tf.image.random_flip_left_right(tf.constant([[[1], [2], [3]]]))
    >>> print(flipped.numpy().ravel().tolist() in ([1, 2, 3], [3, 2, 1]))
    True
    """
    return _flip(image, 1, _stateful(seed))


@public
def random_flip_up_down(image, seed=None):
    """Flip the image upside down with probability 1/2; in a batch, each image independently.

    >>> flipped = tf.image.random_flip_up_down(tf.constant([[[1]], [[2]]]))
    >>> print(flipped.numpy().ravel().tolist() in ([1, 2], [2, 1]))
    True
    """
    return _flip(image, 0, _stateful(seed))


@public
def stateless_random_flip_left_right(image, seed):
    """Mirror like `random_flip_left_right`: the same result for the same `seed` of two integers.

    >>> print(tf.image.stateless_random_flip_left_right(tf.zeros([8, 8, 3]), seed=[1, 2]).shape)
    (8, 8, 3)
    """
    return _flip(image, 1, _stateless(seed))


@public
def stateless_random_flip_up_down(image, seed):
    """Flip like `random_flip_up_down`: the same result for the same `seed` of two integers.

    >>> for seed in ([1, 2], [1, 4]):
    ...     print(tf.image.stateless_random_flip_up_down(tf.constant([[[1]], [[2]]]), seed).numpy().ravel())
    [1 2]
    [2 1]
    """
    return _flip(image, 0, _stateless(seed))


@public
def random_brightness(image, max_delta, seed=None):
    """Return `adjust_brightness` by a number uniform in [-max_delta, max_delta).

    >>> print(tf.image.random_brightness(tf.ones([4, 4, 3]), 0.2, seed=1).shape)
    (4, 4, 3)
    """
    return _brightness(image, max_delta, _stateful(seed))


@public
def stateless_random_brightness(image, max_delta, seed):
    """Adjust like `random_brightness`: the same result for the same `seed` of two integers.

    >>> print(tf.image.stateless_random_brightness(tf.fill([1, 2, 1], 0.5), 0.2, seed=[1, 2]).numpy().ravel().round(3))
    [0.638 0.638]
    """
    return _brightness(image, max_delta, _stateless(seed))


@public
def random_contrast(image, lower, upper, seed=None):
    """Return `adjust_contrast` by a factor uniform in [lower, upper).

    >>> print(tf.image.random_contrast(tf.ones([4, 4, 3]), 0.5, 1.5, seed=1).shape)
    (4, 4, 3)
    """
    return _contrast(image, lower, upper, _stateful(seed))


@public
def stateless_random_contrast(image, lower, upper, seed):
    """Adjust like `random_contrast`: the same result for the same `seed` of two integers.

    >>> x = tf.constant([[[0.4], [0.6]]])
    >>> print(tf.image.stateless_random_contrast(x, 0.5, 1.5, seed=[1, 2]).numpy().ravel().round(3))
    [0.366 0.634]
    """
    return _contrast(image, lower, upper, _stateless(seed))


@public
def random_hue(image, max_delta, seed=None):
    """Return `adjust_hue` by a number uniform in [-max_delta, max_delta); `max_delta` is at most 0.5.

    Grey has no hue, and is unchanged:

    >>> print(tf.image.random_hue(tf.fill([1, 1, 3], 0.5), 0.1).numpy())
    [[[0.5 0.5 0.5]]]
    """
    return _hue(image, max_delta, _stateful(seed))


@public
def stateless_random_hue(image, max_delta, seed):
    """Adjust like `random_hue`: the same result for the same `seed` of two integers.

    >>> red = tf.constant([[[1.0, 0.0, 0.0]]])
    >>> print(tf.image.stateless_random_hue(red, 0.2, seed=[1, 2]).numpy().round(3))
    [[[1.    0.826 0.   ]]]
    """
    return _hue(image, max_delta, _stateless(seed))


@public
def random_saturation(image, lower, upper, seed=None):
    """Return `adjust_saturation` by a factor uniform in [lower, upper).

    Grey has no saturation, and is unchanged:

    >>> print(tf.image.random_saturation(tf.fill([1, 1, 3], 0.5), 0.5, 1.5).numpy())
    [[[0.5 0.5 0.5]]]
    """
    return _saturation(image, lower, upper, _stateful(seed))


@public
def stateless_random_saturation(image, lower, upper, seed=None):
    """Adjust like `random_saturation`: the same result for the same `seed` of two integers, which must be given.

    >>> x = tf.constant([[[1.0, 0.5, 0.5]]])
    >>> print(tf.image.stateless_random_saturation(x, 0.5, 1.0, seed=[1, 2]).numpy().round(3))
    [[[1.    0.539 0.539]]]
    """
    return _saturation(image, lower, upper, _stateless(seed))


@public
def random_crop(value, size, seed=None, name=None):
    """Return a part of `value` of shape `size`, from a position that is uniform over all possible ones.

    >>> tf.image.random_crop(tf.zeros([4, 4, 3]), [2, 2, 3]).shape
    TensorShape([2, 2, 3])
    """
    return _crop(value, size, _stateful(seed))


@public
def stateless_random_crop(value, size, seed, name=None):
    """Crop like `random_crop`: the same part for the same `seed` of two integers.

    >>> print(tf.image.stateless_random_crop(tf.zeros([8, 8, 3]), [4, 4, 3], seed=[1, 2]).shape)
    (4, 4, 3)
    """
    return _crop(value, size, _stateless(seed))
