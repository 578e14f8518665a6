"""Mathematical functions with TensorFlow 1's signatures: `keep_dims`, `reduction_indices`, `div`, `to_float`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import operands, tensor
from gradtape._src.core.tensors.tensor import stated_shape
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array import cast as casts, select, shape as array, sort
from gradtape._src.ops.math import arithmetic, compare, elementary, reduction
from gradtape._src.ops.math.rounding import floor, floordiv
from gradtape._src.ops.random import distributions, draws as random


def _either(new: Any, old: Any, names: tuple[str, str]) -> Any:
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{names[1]}' and '{names[0]}'. Give {names[0]} only.")
    return new if old is None else old


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction that also accepts TensorFlow 1's names of arguments."""

    @functools.wraps(function)
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        axis = _either(axis, reduction_indices, ("axis", "reduction_indices"))
        return function(input_tensor, axis, bool(_either(keepdims, keep_dims, ("keepdims", "keep_dims"))), name=name)

    del vars(reduce)["__wrapped__"]
    return public(reduce)


reduce_all = _reduction(reduction.reduce_all)
reduce_any = _reduction(reduction.reduce_any)
reduce_logsumexp = _reduction(reduction.reduce_logsumexp)
reduce_max = _reduction(reduction.reduce_max)
reduce_mean = _reduction(reduction.reduce_mean)
reduce_min = _reduction(reduction.reduce_min)
reduce_prod = _reduction(reduction.reduce_prod)
reduce_sum = _reduction(reduction.reduce_sum)


@public
def argmax(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = dtypes.int64) -> Any:
    """Return the index of the largest element along `axis` (0)."""
    return sort.argmax(input, _either(axis, dimension, ("axis", "dimension")), output_type)


@public
def argmin(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = dtypes.int64) -> Any:
    """Return the index of the smallest element along `axis` (0)."""
    return sort.argmin(input, _either(axis, dimension, ("axis", "dimension")), output_type)


@public
def arg_max(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Any:
    """Return the index of the largest element along `dimension`."""
    return sort.argmax(input, dimension, output_type)


@public
def arg_min(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Any:
    """Return the index of the smallest element along `dimension`."""
    return sort.argmin(input, dimension, output_type)


@public
def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Return x / y, rounded down for integers."""
    first = tensor(x)
    return floordiv(x, y) if first.dtype.is_integer else arithmetic.realdiv(x, y)


@public
def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: Any = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
    input: Any = None,
) -> Any:
    """Count the nonzero elements."""
    value = tensor(input_tensor if input is None else input)
    axis = _either(axis, reduction_indices, ("axis", "reduction_indices"))
    keep = bool(_either(keepdims, keep_dims, ("keepdims", "keep_dims")))
    return reduction.reduce_sum(casts.cast(compare.not_equal(value, array.zeros([], value.dtype)), dtype), axis, keep)


@public
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scale `t` so that its L2 norm divided by its number of elements is at most `clip_norm`."""
    t = tensor(t)
    inverse = elementary.rsqrt(reduction.reduce_sum(t * t)) * t.node.aval.size
    return t * clip_norm * arithmetic.minimum(inverse, 1.0 / clip_norm)


def _conversion(dtype: Any, name: str) -> Callable[..., Any]:
    def convert(x: Any, name: str = name) -> Any:
        return casts.cast_unless_variable(x, dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"`x` cast to {dtype.name}."
    return public(convert)


to_float = _conversion(dtypes.float32, "ToFloat")
to_double = _conversion(dtypes.float64, "ToDouble")
to_int32 = _conversion(dtypes.int32, "ToInt32")
to_int64 = _conversion(dtypes.int64, "ToInt64")
to_bfloat16 = _conversion(dtypes.bfloat16, "ToBFloat16")
to_complex64 = _conversion(dtypes.complex64, "ToComplex64")
to_complex128 = _conversion(dtypes.complex128, "ToComplex128")


@public
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Return `input` with a new axis of extent 1 at position `axis`."""
    return array.expand_dims(input, _either(axis, dim, ("axis", "dim")))


@public
def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    """Return `input` without its axes of extent 1, or without those in `axis`."""
    return array.squeeze(input, _either(axis, squeeze_dims, ("axis", "squeeze_dims")))


@public
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return `x` where `condition` is True, else `y`; a 1-D condition selects rows. Without both, return the indices of True."""
    if x is not None and y is not None:
        mask, (first, second) = tensor(condition), operands(select._select.op, (x, y), position=1)
        given, then, other = [stated_shape(node) for node in (mask.node, first, second)]
        rows = mask.ndim == 1 and first.aval.ndim > 0 and given.is_compatible_with(then[:1])
        if not then.is_compatible_with(other) or (mask.ndim and not rows and not given.is_compatible_with(then)):
            raise invalid(
                "'then' and 'else' must have the same size, and 'condition' be a scalar, a vector with an entry for each row, "
                f"or of their shape: received {then}, {other} and {given}. tf.where_v2 broadcasts. [Op:Select]"
            )
        if rows and first.aval.ndim > 1:
            mask = mask[(...,) + (None,) * (first.aval.ndim - 1)]
        return select.where(mask, x, y)
    return select.where(condition, x, y)


@public
def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None, dtype_hint: Any = None
) -> Any:
    """Return `value` as a Tensor."""
    return tensor(value, dtype, preferred_dtype if dtype_hint is None else dtype_hint)


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


@public
def random_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None
) -> Any:
    """Draw numbers uniform in [minval, maxval)."""
    return random.uniform(shape, minval, maxval, dtype, seed)


@public
def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None
) -> Any:
    """Draw normally distributed numbers."""
    return random.normal(shape, mean, stddev, dtype, seed)


@public
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None
) -> Any:
    """Draw normally distributed numbers, redrawn beyond two standard deviations from the mean."""
    return random.truncated_normal(shape, mean, stddev, dtype, seed)


@public
def multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None, output_dtype: Any = dtypes.int64
) -> Any:
    """Return `num_samples` class numbers for each row of `logits`, unnormalised log probabilities."""
    return distributions.categorical(logits, num_samples, output_dtype, seed)


@public
def poisson(lam: Any, shape: Any, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None) -> Any:
    """Return counts of shape `shape` for each expectation in `lam`."""
    return distributions.poisson(shape, lam, dtype, seed)


@public
def floor_div(x: Any, y: Any, name: str | None = None) -> Any:
    """Return x / y, rounded down."""
    return floordiv(x, y) if tensor(x).dtype.is_integer else floor(arithmetic.realdiv(x, y))
