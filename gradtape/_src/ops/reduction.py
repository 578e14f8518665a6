"""Sums, means."""
import math
import jax.numpy as jnp
from gradtape._src.core.aval import aval
from gradtape._src.core.define import gradient, op
from gradtape._src.core.errors import public
from gradtape._src.core.convert import tensor
from gradtape._src.ops.array import _broadcast_to, _reshape
from gradtape._src.ops.shapes import axes_of


def reduced(x, axis, keepdims):
    shape = tuple([(1 if keepdims else None) if a in axis else n for a, n in enumerate(x.shape)])
    return aval(tuple([n for n in shape if n is not None]), x.dtype)


@op("Sum", infer=reduced)
def _sum(input, *, axis, keepdims):
    return jnp.sum(input, axis=axis, keepdims=keepdims, dtype=input.dtype)


@gradient(_sum)
def _(op, dy):
    return spread(op, dy)


def spread(op, dy):
    shape = tuple(op.inputs[0].shape)
    axis = op.get_attr("axis")
    kept = tuple([1 if a in axis else n for a, n in enumerate(shape)])
    return _broadcast_to(_reshape(dy, shape=kept), shape=shape)


@op("Mean", infer=reduced)
def _mean(input, *, axis, keepdims):
    return jnp.mean(input, axis=axis, keepdims=keepdims, dtype=input.dtype)


@gradient(_mean)
def _(op, dy):
    shape = tuple(op.inputs[0].shape)
    return spread(op, dy / math.prod([shape[a] for a in op.get_attr("axis")]))


@public
def reduce_sum(input_tensor, axis=None, keepdims=False, name=None):
    x = tensor(input_tensor)
    return _sum(x, axis=axes_of(axis, x.ndim), keepdims=keepdims)


@public
def reduce_mean(input_tensor, axis=None, keepdims=False, name=None):
    x = tensor(input_tensor)
    return _mean(x, axis=axes_of(axis, x.ndim), keepdims=keepdims)
