"""Clipping by value and by norm, and saturating casts."""

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math.arithmetic import add_n, maximum, minimum, sqrt
from gradtape._src.ops.math.compare import greater
from gradtape._src.ops.math.complex import complex, imag, real
from gradtape._src.ops.math.reduction import l2_loss, reduce_sum


def _values(t):
    return tensor(t.values if isinstance(t, IndexedSlices) else t)


def _like(t, values):
    """Return `values` in the class of `t`: a tensor, or IndexedSlices."""
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


@public
def clip_by_value(t, clip_value_min, clip_value_max, name=None) -> Tensor:
    """Return `t` with every element below `clip_value_min` or above `clip_value_max` replaced by that bound.

    The bounds broadcast to the shape of `t`; ValueError if the result would be larger. IndexedSlices stay slices. At a bound
    the gradient goes to `t`, beyond it to the bound.

    >>> tf.clip_by_value([-2.0, 0.5, 3.0], -1.0, 1.0).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    values = _values(t)
    clipped = maximum(minimum(values, clip_value_max), clip_value_min)
    if not clipped.node.aval.tensor_shape.is_compatible_with(extents_of(values)):
        raise ValueError(
            f"Shapes {values.shape} and {clipped.shape} are incompatible: the bounds must broadcast to the shape of t."
        )
    return _like(t, clipped)


@public
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """Return `t · clip_norm / norm` where the L2 norm over `axes` (all) is above `clip_norm`, else `t`. Float.

    `clip_norm` is a scalar; a negative one is taken as 0. IndexedSlices stay slices.

    >>> tf.clip_by_norm([3.0, 4.0], 2.5).numpy()
    array([1.5, 2. ], dtype=float32)
    """
    values = _values(t)
    clip_norm = max(clip_norm, 0) if isinstance(clip_norm, (int, float)) else cast(maximum(clip_norm, 0), values.dtype)
    squares = reduce_sum(values * values, axes, keepdims=True)
    positive = greater(squares, 0)
    # The root is not evaluated at 0, where its gradient is infinite.
    norm = where(positive, sqrt(where(positive, squares, 1)), squares)
    scaled = values * clip_norm
    if extents_of(scaled) != extents_of(values):
        raise ValueError(f"Shapes {values.shape} and {scaled.shape} are incompatible: clip_norm must be a scalar.")
    return _like(t, scaled / maximum(norm, clip_norm))


def _listed(t_list):
    if not isinstance(t_list, (list, tuple)):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return [None if t is None else _values(t) for t in t_list]


@public
def global_norm(t_list, name=None):
    """Return the L2 norm of all elements of a list of tensors and IndexedSlices, a scalar. `None` is skipped.

    >>> float(tf.linalg.global_norm([tf.constant([3.0]), tf.constant([4.0])]))
    5.0
    """
    halves = [l2_loss(values) for values in _listed(t_list) if values is not None]
    return sqrt(2.0 * add_n(halves)) if halves else tensor(0.0)


@public
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Scale a list of tensors so that their global norm is at most `clip_norm`; return `(list, norm before)`.

    `use_norm` is that norm, if it is known. If it is infinite or NaN every element becomes NaN. `None`s stay;
    IndexedSlices stay slices.

    >>> clipped, norm = tf.clip_by_global_norm([tf.constant([3.0]), tf.constant([4.0])], 2.5)
    >>> [g.numpy().tolist() for g in clipped], float(norm)
    ([[1.5], [2.0]], 5.0)
    """
    values = _listed(t_list)
    norm = global_norm(t_list) if use_norm is None else tensor(use_norm)
    scale = clip_norm * minimum(1.0 / norm, tensor(1.0, norm.dtype) / clip_norm) + (norm - norm)
    clipped = [None if v is None else _like(t, v * cast(scale, v.dtype)) for t, v in zip(t_list, values, strict=True)]
    return clipped, norm


@public
def saturate_cast(value, dtype, name=None):
    """Cast `value` to `dtype`; values out of its range become the nearest bound. The parts of complex numbers are cast
    separately.

    TypeError for bool and string, which have no limits.

    >>> tf.saturate_cast([300.0, -5.0], tf.uint8).numpy()
    array([255,   0], dtype=uint8)
    """

    def saturated(x, to):
        least, most = _common_limits(x.dtype, to)
        return cast(maximum(minimum(x, most), least), to)

    value, dtype = tensor(value), dtypes.as_dtype(dtype)
    if not (value.dtype.is_numeric and dtype.is_numeric):
        raise TypeError(f"saturate_cast from {value.dtype.name} to {dtype.name}: only numbers have limits. Use tf.cast.")
    if value.dtype.is_complex and dtype.is_complex:
        return complex(saturated(real(value), dtype.real_dtype), saturated(imag(value), dtype.real_dtype))
    return cast(saturated(real(value), dtype.real_dtype), dtype)


def _common_limits(source, target):
    """Return the least and the greatest number of `source` that `target` can represent, as NumPy scalars of `source`."""
    limits = []
    for mine, other, pick in ((source.min, target.min, max), (source.max, target.max, min)):
        number = source.as_numpy_dtype((float if source.is_floating else int)(pick(mine, other, key=float)))
        if pick(int(number), int(other)) != int(number) and int(number) != int(mine):  # rounding has left the range of `target`
            number = np.nextafter(number, source.as_numpy_dtype(0))  # host-side: a limit, made once
        limits.append(number)
    return limits
