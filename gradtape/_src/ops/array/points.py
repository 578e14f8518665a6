"""Access by coordinates: `gather_nd`, `scatter_nd`, `tensor_scatter_nd_*`.

The last axis of `indices` holds coordinates into the first axes of a shape, behind `batch_dims` axes that both share. Each
*point* is an element, or a slice where there are fewer coordinates than axes. A point outside of the shape is an
InvalidArgumentError, or is left out with `bad_indices_policy="IGNORE"`.
"""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import check, gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import node_of, operands, static, static_vector, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, emit, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import require_indices, widened
from gradtape._src.ops.array.shape import _reshape, extents, host_shape, plain, zeros
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.shapes import NUMERIC, blank, require


def outside_shape(indices, shape, batch_dims=0, ignore=False, what="shape", after=""):
    """Refuse points that do not index into `shape`, unless they are to be ignored."""
    last = [min(extent - 1, np.iinfo(indices.dtype).max) for extent in shape[batch_dims : batch_dims + indices.shape[-1]]]
    wrong = ((indices < 0) | (indices > np.array(last, indices.dtype))).any(axis=-1) & (not ignore)

    def message():
        place = tuple(np.argwhere(wrong)[0])
        at = f"[{','.join(map(str, place))}]" if place else ""
        point = ", ".join(map(str, [*place[:batch_dims], *indices[place]]))
        return f"indices{at} = [{point}] does not index into {what} {plain(shape)}{after}"

    yield wrong, message


def _numbers(indices, rank, batch_dims):
    """Sort the axes by kind: `(axes that points index, batch axes, axes of the result that hold slices)`."""
    depth = indices.shape[-1]
    named = tuple(range(batch_dims, batch_dims + depth))
    sliced = tuple(range(indices.ndim - 1, indices.ndim - 1 + rank - batch_dims - depth))
    return named, tuple(range(batch_dims)), sliced


def _policy(bad_indices_policy):
    if bad_indices_policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise ValueError(f"bad_indices_policy must be '', 'DEFAULT', 'ERROR' or 'IGNORE', received {bad_indices_policy!r}.")
    return bad_indices_policy == "IGNORE"


def _require_points(indices, shape, batch_dims):
    require_indices(indices)
    if not indices.ndim:
        raise invalid("indices must be at least a vector: its last axis holds the coordinates.")
    depth, rank = indices.shape[-1], len(shape) - batch_dims
    if depth > rank:
        raise invalid(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. {rank}: the last axis of "
            f"indices, of shape {plain(indices.shape)}, holds the coordinates into shape {plain(shape)}."
        )


def _checked(made, nodes, attrs):
    """Record an op after checking its shapes, and then its indices."""
    made.resolved(tuple([node.aval for node in nodes]), attrs)
    return emit(check(made, nodes, attrs), nodes, attrs)


# ---------------------------------------------------------------------------------------------------------------------
# gather_nd


def _points_of(params, indices, batch_dims, shape, ignore):
    if not shape:
        raise invalid("params must be at least a vector: a scalar has nothing to gather from.")
    _require_points(indices, shape, batch_dims)
    if indices.shape[:batch_dims] != shape[:batch_dims]:
        raise invalid(
            f"batch_dims={batch_dims} axes of indices {plain(indices.shape)} and params {plain(shape)} must have equal extents."
        )
    return aval((*indices.shape[:-1], *shape[batch_dims + indices.shape[-1] :]), params.dtype)


def _outside_params(indices, batch_dims, shape, ignore):
    after = ", node name: GatherNd\nWith bad_indices_policy='IGNORE' such elements are 0."
    return outside_shape(indices, shape, batch_dims, ignore, "param shape", after)


@op(
    "GatherNd", infer=_points_of, saves="indices", mixed=True, refuses=_outside_params,
    strings=True, gives_slices=True, traits="takes",
)  # fmt: skip
def _gather_nd(params, indices, *, batch_dims, shape, ignore):
    named, batch, sliced = _numbers(indices, params.ndim, batch_dims)
    result = (*indices.shape[:-1], *shape[batch_dims + len(named) :])
    if 0 in result or 0 in shape:
        return jnp.full(result, blank(params.dtype), params.dtype)
    numbers = lax.GatherDimensionNumbers(sliced, named, named, batch, batch)
    sizes = tuple([1 if axis < batch_dims + len(named) else extent for axis, extent in enumerate(shape)])
    mode = lax.GatherScatterMode.FILL_OR_DROP if ignore else lax.GatherScatterMode.CLIP
    return lax.gather(params, widened(indices), numbers, sizes, mode=mode, fill_value=blank(params.dtype))


@gradient(_gather_nd)
def _(dy, indices, *, batch_dims, shape, ignore):
    if indices.ndim == 2 and extents_of(indices)[-1] == 1 and not batch_dims and not ignore:
        flat = _reshape(indices, shape=(extents_of(indices)[0],))
        return IndexedSlices(dy, flat, host_shape(shape)), None
    return _scattered(indices, dy, shape, batch_dims, ignore), None


def _require_batch(batch_dims, nodes):
    """Raise ValueError unless both inputs have the batch axes and at least one more."""
    for what, node in zip(("params", "indices"), nodes, strict=True):
        if batch_dims and not 0 <= batch_dims < node.aval.ndim:
            raise ValueError(
                f"batch_dims = {batch_dims} must be in [0, rank({what})): {what} has shape {plain(node.aval.shape)}."
            )


def _gathered(params, indices, batch_dims=0, ignore=False):
    """Record the `gather_nd` of a gradient, without repeating the checks."""
    attrs = (batch_dims, params.node.aval.shape, ignore)
    return emit(_gather_nd.op, (params.node, indices.node), attrs)


@public
def gather_nd(params, indices, batch_dims=0, name=None, bad_indices_policy="") -> Tensor:
    """Return the elements, or slices, of `params` at the points `indices` (integer).

    The shape is `indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:]`.

    >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]]).numpy()
    array([1, 4], dtype=int32)
    """
    nodes = node_of(params), node_of(indices)
    if np.ndim(batch_dims):
        batch_dims = np.array(batch_dims).item()
    attrs = (static(batch_dims, "batch_dims"), nodes[0].aval.shape, _policy(bad_indices_policy))
    _require_batch(attrs[0], nodes)
    return _checked(_gather_nd.op, nodes, attrs)


# ---------------------------------------------------------------------------------------------------------------------
# scatter_nd


def _scatter_aval(indices, updates, shape, batch_dims, ignore):
    _require_points(indices, shape, batch_dims)
    _require_updates(indices, updates, shape, batch_dims)
    return aval(shape, updates.dtype)


def _require_updates(indices, updates, shape, batch_dims=0):
    outer, depth = indices.shape[:-1], indices.shape[-1]
    if updates.shape[: len(outer)] != outer:
        raise invalid(
            f"Dimensions [0,{len(outer)}) of indices[shape={plain(indices.shape)}] must match dimensions "
            f"[0,{len(outer)}) of updates[shape={plain(updates.shape)}]"
        )
    if updates.shape[len(outer) :] != shape[batch_dims + depth :]:
        raise invalid(
            f"Dimensions [{depth},{len(shape)}) of input[shape={plain(shape)}] must match dimensions "
            f"[{len(outer)},{updates.ndim}) of updates[shape={plain(updates.shape)}]"
        )


def combined(how, operand, indices, updates, batch_dims=0):
    """Combine `updates` into `operand` at the points `indices` by `how`. Points outside are left out."""
    if 0 in updates.shape or 0 in operand.shape:
        return operand
    named, batch, sliced = _numbers(indices, operand.ndim, batch_dims)
    numbers = lax.ScatterDimensionNumbers(sliced, named, named, batch, batch)
    mode = lax.GatherScatterMode.FILL_OR_DROP
    if operand.dtype == jnp.bool_ and how == "scatter_add":
        counts = combined("scatter_max", operand.astype(jnp.int8), indices, updates.astype(jnp.int8), batch_dims)
        return counts.astype(jnp.bool_)
    scatter = getattr(lax, how) if isinstance(how, str) else how
    return scatter(operand, widened(indices), updates, numbers, mode=mode)


@op(
    "ScatterNd", infer=_scatter_aval, saves="indices", mixed=True, refuses=outside_shape,
    strings=True, flops=flops.of_input(1, at=1),
)  # fmt: skip
def _scatter_nd(indices, updates, *, shape, batch_dims, ignore):
    return combined("scatter_add", jnp.full(shape, blank(updates.dtype), updates.dtype), indices, updates, batch_dims)


@gradient(_scatter_nd)
def _(dy, indices, *, batch_dims, ignore):
    return None, _gathered(dy, indices, batch_dims, ignore)


def _scattered(indices, updates, shape, batch_dims=0, ignore=False):
    """Record the `scatter_nd` of a gradient, without repeating the checks."""
    return emit(_scatter_nd.op, (indices.node, updates.node), (shape, batch_dims, ignore))


@public
def scatter_nd(indices, updates, shape, bad_indices_policy="", name=None) -> Tensor:
    """Return a tensor of `shape`, 0 but for `updates` at the points `indices`; those at the same point are added.

    >>> tf.scatter_nd([[0], [2]], [5.0, 6.0], [4]).numpy()
    array([5., 0., 6., 0.], dtype=float32)
    """
    attrs = (extents(static_vector(shape, "shape")), 0, _policy(bad_indices_policy))
    return _checked(_scatter_nd.op, (node_of(indices), node_of(updates)), attrs)


# ---------------------------------------------------------------------------------------------------------------------
# tensor_scatter_nd_*


def updated(tensor, indices, updates, shape, ignore):
    require_indices(indices)
    if not indices.ndim or indices.shape[:-1] != updates.shape[: indices.ndim - 1]:
        raise invalid(
            f"Outer dimensions of indices and update must match. Indices shape: {plain(indices.shape)}, updates "
            f"shape:{plain(updates.shape)}: indices must match updates in all but the last axis."
        )
    _require_points(indices, shape, 0)
    _require_updates(indices, updates, shape)
    return tensor


def _combinable(tensor, indices, updates, shape, ignore):
    require(tensor, NUMERIC)
    return updated(tensor, indices, updates, shape, ignore)


def _tensor_scatter(type, how, **declared):
    """Declare the op that combines updates into a tensor by `how`."""

    @op(
        type, infer=updated if how == "scatter" else _combinable, mixed=True, refuses=outside_shape,
        strings=True if how == "scatter" else None, flops=flops.of_updates(how), **declared,
    )  # fmt: skip
    def scatter(tensor, indices, updates, *, shape, ignore):
        return combined(how, tensor, indices, updates)

    return scatter


_scatter_update = _tensor_scatter("TensorScatterUpdate", "scatter", saves="indices")
_scatter_add = _tensor_scatter("TensorScatterAdd", "scatter_add", saves="indices")
_scatter_sub = _tensor_scatter("TensorScatterSub", "scatter_sub", saves="indices")
_scatter_min = _tensor_scatter("TensorScatterMin", "scatter_min", saves="tensor indices updates")
_scatter_max = _tensor_scatter("TensorScatterMax", "scatter_max", saves="tensor indices updates")


@gradient(_scatter_update)
def _(dy, indices, updates, needs_tensor, needs_updates, *, shape, ignore):
    dx = None
    if needs_tensor:
        nothing = zeros(extents_of(updates), dy.dtype)
        dx = emit(_scatter_update.op, (dy.node, indices.node, nothing.node), (shape, ignore))
    return dx, None, _gathered(dy, indices, ignore=ignore) if needs_updates else None


@gradient(_scatter_add)
def _(dy, indices, needs_updates, *, ignore):
    return dy, None, _gathered(dy, indices, ignore=ignore) if needs_updates else None


@gradient(_scatter_sub)
def _(dy, indices, needs_updates, *, ignore):
    return dy, None, -_gathered(dy, indices, ignore=ignore) if needs_updates else None


def _extremum_gradient(extremum):
    def rule(dy, tensor, indices, updates, *, shape, ignore):
        """Share the cotangent evenly among all that equal the result, the tensor's own element included.

        The result is computed again, as the gradient of `tf.reduce_max` does.
        """
        y = extremum(tensor, indices, updates, shape=shape, ignore=ignore)
        x_wins = cast(equal(tensor, y), dy.dtype)
        updates_win = cast(equal(updates, _gathered(y, indices, ignore=ignore)), dy.dtype)
        share = dy / (x_wins + _scattered(indices, updates_win, shape, ignore=ignore))
        return share * x_wins, None, _gathered(share, indices, ignore=ignore) * updates_win

    return rule


gradient(_scatter_min)(_extremum_gradient(_scatter_min))
gradient(_scatter_max)(_extremum_gradient(_scatter_max))


def _tensor_scatter_nd(function, tensor_, indices, updates, bad_indices_policy=""):
    x = tensor(tensor_)
    first, last = operands(function.op, (x, updates), position=1)
    nodes = (first, node_of(indices), last)
    return _checked(function.op, nodes, (x.node.aval.shape, _policy(bad_indices_policy)))


@public
def tensor_scatter_nd_update(tensor, indices, updates, name=None) -> Tensor:
    """Return `tensor` with its elements at the points `indices` replaced by `updates`; of several updates for one point one is
    kept.

    >>> tf.tensor_scatter_nd_update([1, 2, 3], [[1]], [9]).numpy()
    array([1, 9, 3], dtype=int32)
    """
    return _tensor_scatter_nd(_scatter_update, tensor, indices, updates)


@public
def tensor_scatter_nd_add(tensor, indices, updates, bad_indices_policy="", name=None) -> Tensor:
    """Return `tensor` with `updates` added at the points `indices`.

    >>> tf.tensor_scatter_nd_add([1, 2, 3], [[1]], [9]).numpy()
    array([ 1, 11,  3], dtype=int32)
    """
    return _tensor_scatter_nd(_scatter_add, tensor, indices, updates, bad_indices_policy)


@public
def tensor_scatter_nd_sub(tensor, indices, updates, bad_indices_policy="", name=None) -> Tensor:
    """Return `tensor` with `updates` subtracted at the points `indices`.

    >>> tf.tensor_scatter_nd_sub([1, 2, 3], [[1]], [9]).numpy()
    array([ 1, -7,  3], dtype=int32)
    """
    return _tensor_scatter_nd(_scatter_sub, tensor, indices, updates, bad_indices_policy)


@public
def tensor_scatter_nd_min(tensor, indices, updates, bad_indices_policy="", name=None) -> Tensor:
    """Return `tensor` with the minimum of its elements and `updates` at the points `indices`.

    >>> tf.tensor_scatter_nd_min([1, 2, 3], [[1]], [-9]).numpy()
    array([ 1, -9,  3], dtype=int32)
    """
    return _tensor_scatter_nd(_scatter_min, tensor, indices, updates, bad_indices_policy)


@public
def tensor_scatter_nd_max(tensor, indices, updates, bad_indices_policy="", name=None) -> Tensor:
    """Return `tensor` with the maximum of its elements and `updates` at the points `indices`.

    >>> tf.tensor_scatter_nd_max([1, 2, 3], [[1]], [9]).numpy()
    array([1, 9, 3], dtype=int32)
    """
    return _tensor_scatter_nd(_scatter_max, tensor, indices, updates, bad_indices_policy)
