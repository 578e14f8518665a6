"""Sums of cotangents over broadcast axes, and the conversion and addition of IndexedSlices."""

import math
from typing import Any

from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import handle
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval, has_no_rank
from gradtape._src.core.values.dim import is_same, same_shape
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import scatter_rows
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, broadcast_source
from gradtape._src.ops.math.reduction import _sum


def unbroadcast(dy: Any, source: Any) -> Any:
    """Return the sum of `dy` over the axes along which the node `source` was broadcast to dy's shape."""
    if has_no_rank((dy.node.aval, source.aval)):  # the gradient of such an op has the shape of its input
        return dy
    have, shape = dy.node.aval.shape, source.aval.shape
    if source.aval.open and engine.graph_around() is not None:  # an unknown extent may turn out to be 1 when the graph runs
        return fit_shape(dy, handle(source))
    extra = len(have) - len(shape)
    axes = tuple([a for a in range(len(have)) if a < extra or _is_broadcast(shape[a - extra], have[a])])
    if not axes:
        return dy
    total = summed_over(dy, axes)
    return total if axes[-1] < extra else _reshape(total, shape=shape)


def _is_broadcast(source, result):
    return source is not result and not (type(result) is int and result == 1) and source == 1


def _fitted_aval(value, like):
    return aval(like.shape, value.dtype)


@op("FitShape", infer=_fitted_aval, mixed=True, saves="value", traits="own")
def fit_shape(value, like):
    """Sum and broadcast `value` to the shape of `like`."""
    extra = value.ndim - like.ndim
    axes = tuple([a for a, have in enumerate(value.shape) if a < extra or (like.shape[a - extra] == 1 and have != 1)])
    total = jnp.sum(value, axis=axes, keepdims=True)
    return jnp.broadcast_to(total.reshape(total.shape[max(extra, 0) :]), like.shape)


@gradient(fit_shape)
def _(dy, value):
    return [fit_shape(dy, value), None]


def summed_over(dy, axes):
    """Return the sum of `dy` over `axes` (a tuple of ints). A broadcast is summed before it is broadcast, and scaled."""
    source = broadcast_source(dy) if dy.dtype.size >= 4 else None  # 16-bit floats cannot represent large multiples
    if source is None:
        return _sum(dy, axis=axes, keepdims=False)
    have, shape = source.node.aval.shape, dy.node.aval.shape
    times = math.prod([shape[a] for a in axes if not is_same(have[a], shape[a])])
    total = _sum(source, axis=axes, keepdims=False) * times
    kept = tuple([extent for a, extent in enumerate(shape) if a not in axes])
    return total if same_shape(total.node.aval.shape, kept) else _broadcast_to(total, shape=kept)


@gradient(_broadcast_to)
def _(dy, input):
    return unbroadcast(dy, input.node)


# ---------------------------------------------------------------------------------------------------------------------
# IndexedSlices


@public
def to_dense(slices):
    """Convert IndexedSlices to a dense tensor: repeated rows are added, missing ones are 0."""
    if slices.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {slices!r}. Give dense_shape, the "
            f"shape of the whole, when making them."
        )
    shape = static_list(slices.dense_shape, "dense_shape")
    return scatter_rows(tensor(slices.values), tensor(slices.indices), shape)


attach(IndexedSlices, to_dense=to_dense)


def concatenate_slices(parts):
    """Add several IndexedSlices of one dense shape by concatenating their rows."""
    values, indices = [tensor(part.values) for part in parts], [tensor(part.indices) for part in parts]
    if any(i.dtype is not indices[0].dtype for i in indices):
        indices = [cast(i, dtypes.int64) for i in indices]
    return IndexedSlices(concat(values, 0), concat(indices, 0), parts[0].dense_shape)
