"""Updates of single rows or elements of a variable, `Variable.scatter_*`, and reading by index."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.declarations.define import check, not_differentiable, op
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import node_of, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.tensors.variable_ops import STATE
from gradtape._src.ops import flops
from gradtape._src.ops.array.gather import gather, is_outside, outside, require_indices
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.points import combined, gather_nd, is_outside_tensor, outside_tensor, strings_put, updated
from gradtape._src.ops.array.shape import expand_dims, host_constant, plain


def _rows_aval(value, indices, updates, extent):
    require_indices(indices)
    if updates.shape and updates.shape != (*indices.shape, *value.shape[1:]):
        raise invalid(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{plain(updates.shape)}, indices.shape {plain(indices.shape)}, params.shape {plain(value.shape)}"
        )
    return value


def _are_outside(indices, extent):
    return is_outside(indices, 0, 0, extent)


def _outside_rows(indices, extent):
    return outside(indices, 0, 0, extent)


def _rows(type, how, **known):
    """Declare the op that combines rows into a variable's value by `how`."""

    @op(
        type, infer=_rows_aval, mixed=True, wrong=_are_outside, status=_outside_rows, checked="indices",
        flops=flops.of_updates(how), **known,
    )  # fmt: skip
    def scatter(value, indices, updates, *, extent):
        rows = jnp.broadcast_to(updates, (*indices.shape, *value.shape[1:]))
        return combined(how, value, indices[..., None], rows)

    not_differentiable(scatter, because=STATE)
    return scatter


def _points(type, how):
    """Declare the op that combines elements, or slices, into a variable's value by `how`."""

    strings = strings_put if how == "scatter" else None

    @op(
        type, infer=updated, mixed=True, wrong=is_outside_tensor, status=outside_tensor, checked="indices", strings=strings,
        flops=flops.of_updates(how),
    )  # fmt: skip
    def scatter(value, indices, updates, *, shape, ignore):
        return combined(how, value, indices, updates)

    not_differentiable(scatter, because=STATE)
    return scatter


def _divide(value, indices, updates, numbers, mode):
    divisors = lax.scatter_mul(jnp.ones(value.shape, value.dtype), indices, updates, numbers, mode=mode)
    return lax.div(value, divisors)


_scatter_update = _rows("ResourceScatterUpdate", "scatter", instead="build the tensor with tf.tensor_scatter_nd_update")
_scatter_add = _rows("ResourceScatterAdd", "scatter_add")
_scatter_sub = _rows("ResourceScatterSub", "scatter_sub")
_scatter_mul = _rows("ResourceScatterMul", "scatter_mul")
_scatter_div = _rows("ResourceScatterDiv", _divide)
_scatter_max = _rows("ResourceScatterMax", "scatter_max")
_scatter_min = _rows("ResourceScatterMin", "scatter_min")
_scatter_nd_update = _points("ResourceScatterNdUpdate", "scatter")
_scatter_nd_add = _points("ResourceScatterNdAdd", "scatter_add")
_scatter_nd_sub = _points("ResourceScatterNdSub", "scatter_sub")
_scatter_nd_max = _points("ResourceScatterNdMax", "scatter_max")
_scatter_nd_min = _points("ResourceScatterNdMin", "scatter_min")


def _update(variable, function, indices, updates, attrs):
    """Record an update of a variable's value; return the variable."""
    with engine.shared:
        held = variable.held()
        nodes = (held, node_of(indices), tensor(updates, held.aval.type).node)
        return variable._hold(engine.record(check(function.op, nodes, attrs), nodes, attrs))


def _check_rows(sparse_delta):
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(
            f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta!r}. Say which rows are "
            f"meant: tf.IndexedSlices(values, indices)."
        )


def _update_rows(variable, function, sparse_delta):
    _check_rows(sparse_delta)
    shape = variable.held().aval.shape
    if not shape:
        raise invalid(f"Variable '{variable.name}' is a scalar: it has no rows to update.")
    return _update(variable, function, sparse_delta.indices, sparse_delta.values, (shape[0],))


def _update_points(variable, function, indices, updates):
    return _update(variable, function, indices, updates, (variable.held().aval.shape, False))


@public
def scatter_update(self, sparse_delta, use_locking=False, name=None):
    """Replace rows of the variable by `sparse_delta` (`IndexedSlices`). Returns the variable."""
    return _update_rows(self, _scatter_update, sparse_delta)


@public
def scatter_add(self, sparse_delta, use_locking=False, name=None):
    """Add rows (`IndexedSlices`) to the variable's; repeated rows are added repeatedly. Returns the variable."""
    return _update_rows(self, _scatter_add, sparse_delta)


@public
def scatter_sub(self, sparse_delta, use_locking=False, name=None):
    """Subtract rows (`IndexedSlices`) from the variable's. Returns the variable."""
    return _update_rows(self, _scatter_sub, sparse_delta)


@public
def scatter_mul(self, sparse_delta, use_locking=False, name=None):
    """Multiply rows of the variable by rows (`IndexedSlices`). Returns the variable."""
    return _update_rows(self, _scatter_mul, sparse_delta)


@public
def scatter_div(self, sparse_delta, use_locking=False, name=None):
    """Divide rows of the variable by rows (`IndexedSlices`). Returns the variable."""
    return _update_rows(self, _scatter_div, sparse_delta)


@public
def scatter_max(self, sparse_delta, use_locking=False, name=None):
    """Set rows of the variable to the maximum of themselves and rows (`IndexedSlices`). Returns the variable."""
    return _update_rows(self, _scatter_max, sparse_delta)


@public
def scatter_min(self, sparse_delta, use_locking=False, name=None):
    """Set rows of the variable to the minimum of themselves and rows (`IndexedSlices`). Returns the variable."""
    return _update_rows(self, _scatter_min, sparse_delta)


@public
def batch_scatter_update(self, sparse_delta, use_locking=False, name=None):
    """Assign rows like `scatter_update` for each entry of the leading axes: `variable[b, indices[b, j]] = values[b, j]`."""
    _check_rows(sparse_delta)
    indices = tensor(sparse_delta.indices)
    batch = np.indices(extents_of(indices)[:-1], indices.dtype.as_numpy_dtype)
    leading = np.broadcast_to(np.moveaxis(batch, 0, -1)[..., None, :], (*extents_of(indices), indices.ndim - 1))
    return scatter_nd_update(self, concat([host_constant(leading.copy()), expand_dims(indices, -1)], -1), sparse_delta.values)


@public
def scatter_nd_update(self, indices, updates, name=None):
    """Replace elements, or slices, of the variable at the points `indices` by `updates`. Returns the variable."""
    return _update_points(self, _scatter_nd_update, indices, updates)


@public
def scatter_nd_add(self, indices, updates, name=None):
    """Add `updates` at the points `indices`. Returns the variable."""
    return _update_points(self, _scatter_nd_add, indices, updates)


@public
def scatter_nd_sub(self, indices, updates, name=None):
    """Subtract `updates` at the points `indices`. Returns the variable."""
    return _update_points(self, _scatter_nd_sub, indices, updates)


@public
def scatter_nd_max(self, indices, updates, name=None):
    """Set elements at the points `indices` to the maximum of themselves and `updates`. Returns the variable."""
    return _update_points(self, _scatter_nd_max, indices, updates)


@public
def scatter_nd_min(self, indices, updates, name=None):
    """Set elements at the points `indices` to the minimum of themselves and `updates`. Returns the variable."""
    return _update_points(self, _scatter_nd_min, indices, updates)


@public
def sparse_read(self, indices, name=None):
    """Return the rows of the variable at `indices`: `tf.gather` along the first axis."""
    return gather(self, indices)


@public
@known_as("gather_nd")
def variable_gather_nd(self, indices, name=None):
    """Return the elements, or slices, of the variable at the points `indices`: `tf.gather_nd`."""
    return gather_nd(self, indices)


attach(
    Variable,
    scatter_update=scatter_update,
    scatter_add=scatter_add,
    scatter_sub=scatter_sub,
    scatter_mul=scatter_mul,
    scatter_div=scatter_div,
    scatter_max=scatter_max,
    scatter_min=scatter_min,
    batch_scatter_update=batch_scatter_update,
    scatter_nd_update=scatter_nd_update,
    scatter_nd_add=scatter_nd_add,
    scatter_nd_sub=scatter_nd_sub,
    scatter_nd_max=scatter_nd_max,
    scatter_nd_min=scatter_nd_min,
    sparse_read=sparse_read,
    gather_nd=variable_gather_nd,
)
