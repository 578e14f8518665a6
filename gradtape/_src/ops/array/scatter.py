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
from gradtape._src.ops.array.gather import gather, outside, require_indices
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.points import combined, gather_nd, outside_shape, updated
from gradtape._src.ops.array.shape import expand_dims, host_constant, plain


def _rows_aval(value, indices, updates, extent):
    require_indices(indices)
    if updates.shape and updates.shape != (*indices.shape, *value.shape[1:]):
        raise invalid(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{plain(updates.shape)}, indices.shape {plain(indices.shape)}, params.shape {plain(value.shape)}"
        )
    return value


def _divide(value, indices, updates, numbers, mode):
    divisors = lax.scatter_mul(jnp.ones(value.shape, value.dtype), indices, updates, numbers, mode=mode)
    return lax.div(value, divisors)


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


# How each method combines the variable with the updates, and its docstring's words around `of the variable`.
_WAYS = {
    "update": ("scatter", "Replace", "by"),
    "add": ("scatter_add", "Increase", "(those of repeated indices repeatedly) by"),
    "sub": ("scatter_sub", "Decrease", "(those of repeated indices repeatedly) by"),
    "mul": ("scatter_mul", "Multiply", "by"),
    "div": (_divide, "Divide", "by"),
    "max": ("scatter_max", "Set", "to the maximum of themselves and"),
    "min": ("scatter_min", "Set", "to the minimum of themselves and"),
}


def _rows(way, instead=""):
    """Declare the op that combines rows into a variable's value, and return the method of variables that records it."""
    how, verb, link = _WAYS[way]

    @op(
        f"ResourceScatter{way.title()}", infer=_rows_aval, mixed=True, refuses=outside,
        flops=flops.of_updates(how), instead=instead,
    )  # fmt: skip
    def scatter(value, indices, updates, *, extent):
        rows = jnp.broadcast_to(updates, (*indices.shape, *value.shape[1:]))
        return combined(how, value, indices[..., None], rows)

    not_differentiable(scatter, because=STATE)

    def method(self, sparse_delta, use_locking=False, name=None):
        _check_rows(sparse_delta)
        shape = self.held().aval.shape
        if not shape:
            raise invalid(f"Variable '{self.name}' is a scalar: it has no rows to update.")
        return _update(self, scatter, sparse_delta.indices, sparse_delta.values, (shape[0],))

    method.__doc__ = f"{verb} rows of the variable {link} the rows `sparse_delta` (`IndexedSlices`). Returns the variable."
    return public(known_as(f"scatter_{way}")(method))


def _points(way):
    """Declare the op that combines elements, or slices, into a variable's value, and return its method of variables."""
    how, verb, link = _WAYS[way]

    @op(
        f"ResourceScatterNd{way.title()}", infer=updated, mixed=True, refuses=outside_shape,
        strings=True if how == "scatter" else None, flops=flops.of_updates(how),
    )  # fmt: skip
    def scatter(value, indices, updates, *, shape, ignore):
        return combined(how, value, indices, updates)

    not_differentiable(scatter, because=STATE)

    def method(self, indices, updates, name=None):
        return _update(self, scatter, indices, updates, (self.held().aval.shape, False))

    method.__doc__ = (
        f"{verb} elements, or slices, of the variable at the points `indices` {link} `updates`. Returns the variable."
    )
    return public(known_as(f"scatter_nd_{way}")(method))


attach(
    Variable,
    scatter_update=_rows("update", instead="build the tensor with tf.tensor_scatter_nd_update"),
    **{f"scatter_{way}": _rows(way) for way in ("add", "sub", "mul", "div", "max", "min")},
    **{f"scatter_nd_{way}": _points(way) for way in ("update", "add", "sub", "max", "min")},
)


@public
def batch_scatter_update(self, sparse_delta, use_locking=False, name=None):
    """Assign rows like `scatter_update` for each entry of the leading axes: `variable[b, indices[b, j]] = values[b, j]`."""
    _check_rows(sparse_delta)
    indices = tensor(sparse_delta.indices)
    batch = np.indices(extents_of(indices)[:-1], indices.dtype.as_numpy_dtype)
    leading = np.broadcast_to(np.moveaxis(batch, 0, -1)[..., None, :], (*extents_of(indices), indices.ndim - 1))
    return self.scatter_nd_update(concat([host_constant(leading.copy()), expand_dims(indices, -1)], -1), sparse_delta.values)


@public
def sparse_read(self, indices, name=None):
    """Return the rows of the variable at `indices`: `tf.gather` along the first axis."""
    return gather(self, indices)


@public
@known_as("gather_nd")
def variable_gather_nd(self, indices, name=None):
    """Return the elements, or slices, of the variable at the points `indices`: `tf.gather_nd`."""
    return gather_nd(self, indices)


attach(Variable, batch_scatter_update=batch_scatter_update, sparse_read=sparse_read, gather_nd=variable_gather_nd)
