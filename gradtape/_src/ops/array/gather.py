"""`gather`: entries along an axis by index. An index out of range is an error, and is never clamped."""

import functools
from math import prod

import jax
import numpy as np
from jax.custom_batching import custom_vmap

from gradtape._src.core.base.errors import invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import check, gradient, not_differentiable, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import HOST, lowered, lowering
from gradtape._src.core.tensors.convert import node_of, static
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, emit
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import _reshape, host_shape, plain
from gradtape._src.ops.shapes import INDEX, require, same

NARROW = 16  # elements of a row below which those of mapped gradients are added up side by side


def require_indices(indices):
    """Raise InvalidArgumentError unless the Aval `indices` has one of the dtypes that `gather` accepts for indices."""
    require(indices, ("int16", *INDEX), "Tindices")


# ---------------------------------------------------------------------------------------------------------------------
# gather


def gathered(params, indices, axis, batch_dims):
    """Return the shape of the result of `gather` along `axis`, from the shapes of the operands."""
    return (*params[:axis], *indices[batch_dims:], *params[axis + 1 :])


def _gather_aval(params, indices, axis, batch_dims, extent):
    require_indices(indices)
    return aval(gathered(params.shape, indices.shape, axis, batch_dims), params.dtype)


def is_outside(indices, extent, least=0):
    """Return which indices are not in [least, extent)."""
    lowest, highest = _bounds(indices.dtype, least, extent)
    return (indices < lowest) | (indices > highest)


@functools.lru_cache(1024)
def _bounds(dtype, least, extent):
    """Return the smallest and the largest valid index in [least, extent), cut to the dtype's range."""
    known = np.iinfo(dtype)
    return max(least, known.min), min(extent - 1, known.max)


def outside(indices, extent, least=0, name="indices"):
    """Refuse indices that are not in [least, extent)."""
    wrong = is_outside(indices, extent, least)

    def message():
        place = tuple(np.argwhere(wrong)[0])
        at = f"[{','.join(map(str, place))}]" if place else ""
        outside = f"{indices[place]} is not in [{least}, {extent})"
        return f"{name}{at} = {outside}\nEach index must name one of the {extent} entries."

    yield wrong, message


def _row_numbers(rank, indices_rank, axis, batch_dims):
    """Return the dimension numbers of a batched row access for `lax.gather` and `lax.scatter_add`."""
    result_rank = rank + indices_rank - batch_dims - 1
    kept = (*range(batch_dims, axis), *range(axis + indices_rank - batch_dims, result_rank))
    batch = tuple(range(batch_dims))
    return kept, batch


@op(
    "GatherV2", infer=_gather_aval, saves="indices", mixed=True, refuses=outside, strings=True, gives_slices=True,
    traits="takes hands_on",
)  # fmt: skip
def _gather(params, indices, *, axis, batch_dims, extent):
    shape = gathered(params.shape, indices.shape, axis, batch_dims)
    if 0 in shape:
        return jnp.zeros(shape, params.dtype)
    kept, batch = _row_numbers(params.ndim, indices.ndim, axis, batch_dims)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=kept, collapsed_slice_dims=(axis,), start_index_map=(axis,), operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )  # fmt: skip
    sizes = tuple([1 if a == axis or a in batch else n for a, n in enumerate(params.shape)])
    return lax.gather(params, widened(indices)[..., None], numbers, sizes, mode=lax.GatherScatterMode.CLIP)


def widened(indices):
    """Cast int16 indices to int32, which can hold any extent."""
    return indices.astype(jnp.int32) if indices.dtype == jnp.int16 else indices


@gradient(_gather)
def _(dy, params, indices, *, axis, batch_dims):
    shape = params.node.aval.shape
    if axis or batch_dims:
        return _gather_gradient(dy, indices, axis=axis, batch_dims=batch_dims, shape=shape), None
    if indices.ndim != 1:
        count = indices.node.aval.size
        dy, indices = _reshape(dy, shape=(count, *shape[1:])), _reshape(indices, shape=(count,))
    return IndexedSlices(dy, indices, host_shape(shape)), None


@op(
    "GatherV2Grad", infer=lambda dy, indices, axis, batch_dims, shape: aval(shape, dy.dtype), saves="indices", mixed=True,
    flops=flops.of_input(1), traits="own",
)  # fmt: skip
def _gather_gradient(dy, indices, *, axis, batch_dims, shape):
    if 0 in dy.shape:
        return jnp.zeros(shape, dy.dtype)
    return _added_up(dy, widened(indices), axis=axis, batch_dims=batch_dims, shape=shape)


@lowered("the gradient of a gather")
def _added_up(dy, indices, *, axis, batch_dims, shape):
    kept, batch = _row_numbers(len(shape), indices.ndim, axis, batch_dims)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=kept, inserted_window_dims=(axis,), scatter_dims_to_operand_dims=(axis,),
        operand_batching_dims=batch, scatter_indices_batching_dims=batch,
    )  # fmt: skip
    zeros = jnp.zeros(shape, dy.dtype)
    return lax.scatter_add(zeros, indices[..., None], dy, numbers, mode=lax.GatherScatterMode.FILL_OR_DROP)


def _side_by_side(dy, indices, **attributes):
    """Add up rows; those of a mapped `dy` side by side, as one row."""
    plain = functools.partial(_added_up.plain, **attributes)
    alone = custom_vmap(plain)

    @alone.def_vmap
    def rows(count, mapped, dy, indices):
        if mapped == [True, False]:
            shape = (*attributes["shape"], count)
            found = _added_up.plain(jnp.moveaxis(dy, 0, -1), indices, axis=0, batch_dims=0, shape=shape)
            return jnp.moveaxis(found, -1, 0), True
        return jax.vmap(plain, in_axes=[0 if m else None for m in mapped])(dy, indices), True

    return alone(dy, indices)


lowering(_added_up, platform=HOST, rule=_added_up.plain, because="NumPy maps nothing")
lowering(
    _added_up,
    platform="cpu",
    when=lambda dy, indices, *, axis, batch_dims, shape: axis == 0 and not batch_dims and prod(shape[1:]) < NARROW,
    rule=_side_by_side,
    because="mapped numbers or narrow rows, as in products with the Hessian of a mesh: XLA adds up rows of eleven numbers in a "
    "third of the time that eleven numbers far apart take",
)


@gradient(_gather_gradient)
def _(ddx, indices, *, axis, batch_dims, shape):
    return emit(_gather.op, (ddx.node, indices.node), (axis, batch_dims, shape[axis])), None


def scatter_rows(rows, indices, shape):
    """Return the tensor of `shape` whose row `indices[i]` is the sum of all `rows[i]`; other rows are 0."""
    return _gather_gradient(rows, indices, axis=0, batch_dims=0, shape=shape)


@public
def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None) -> Tensor:
    """Return the entries of `params` at `indices` along `axis` (0 by default).

    The shape is `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]`; the first `batch_dims` axes of
    both are paired. `indices` are int16, int32 or int64. The gradient to `params` is `IndexedSlices` for axis 0. An index out
    of range is an InvalidArgumentError.

    >>> tf.gather([10.0, 20.0, 30.0], [2, 0]).numpy()
    array([30., 10.], dtype=float32)
    >>> tf.gather([[1, 2], [3, 4]], [1, 0], axis=1).numpy().tolist()
    [[2, 1], [4, 3]]
    """
    node, indices = node_of(params), node_of(indices)
    shape, rank = node.aval.shape, node.aval.ndim
    batch_dims = 0 if batch_dims is None else static(batch_dims, "batch_dims")
    axis = batch_dims if axis is None else static(axis, "axis")
    if batch_dims < 0:
        batch_dims += indices.aval.ndim
    if axis == 0:
        batch_dims = 0  # TensorFlow ignores batch_dims for axis 0
    if not rank:
        raise invalid_for("GatherV2", "params must be at least 1 dimensional\nA scalar has nothing to gather from.")
    if axis < 0:
        axis += rank
    if not batch_dims <= axis < rank:
        raise invalid_for(
            "GatherV2",
            f"Shape must be at least rank {max(axis, batch_dims) + 1} but is rank {rank}\nThis is gather along axis {axis} "
            f"with batch_dims={batch_dims} from shape {plain(shape)}, where axis must be in [batch_dims, rank).",
        )
    for a, (m, n) in enumerate(zip(shape[:batch_dims], indices.aval.shape, strict=False)):
        if m != n:
            raise invalid_for(
                "GatherV2", f"params.shape[{a}]: {m} should be equal to indices.shape[{a}]: {n}\nbatch_dims is {batch_dims}."
            )
    attrs = (axis, batch_dims, shape[axis])
    return emit(check(_gather.op, (node, indices), attrs), (node, indices), attrs)


# ---------------------------------------------------------------------------------------------------------------------
# Indices as NumPy counts them


@op(
    "IndexFromStart", infer=same, cheap=True, refuses=lambda indices, extent: outside(indices, extent, -extent), traits="own",
)  # fmt: skip
def _from_start(indices, *, extent):
    return jnp.where(indices < 0, indices + jnp.array(extent, indices.dtype), indices)


not_differentiable(_from_start, because="an index is an integer")


@public
def take(params, indices, axis, batch_dims=0):
    """Gather along an `axis` ≥ 0. A negative index (int32 or int64) counts from the end, as in NumPy and Keras."""
    params = node_of(params)
    extent = params.aval.shape[axis]
    return emit(_gather.op, (params, _from_start(indices, extent=extent).node), (axis, batch_dims, extent))
