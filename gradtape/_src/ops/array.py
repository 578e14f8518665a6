"""Making and reshaping arrays."""
import math
import jax.numpy as jnp
import numpy as np
from gradtape._src.core import dtypes, engine
from gradtape._src.core.aval import aval
from gradtape._src.core.define import gradient, op
from gradtape._src.core.errors import invalid, public
from gradtape._src.core.tensor import EagerTensor


@op("BroadcastTo", infer=lambda input, shape: aval(shape, input.dtype), cheap=True)
def _broadcast_to(input, *, shape):
    return jnp.broadcast_to(input, shape)


@gradient(_broadcast_to)
def _(op, dy):
    from gradtape._src.ops.gradients import unbroadcast
    return unbroadcast(dy, tuple(op.inputs[0].shape))


@op("Reshape", infer=lambda tensor, shape: aval(shape, tensor.dtype), cheap=True)
def _reshape(tensor, *, shape):
    return jnp.reshape(tensor, shape)


@gradient(_reshape)
def _(op, dy):
    return _reshape(dy, shape=tuple(op.inputs[0].shape))


def filled(shape, value, dtype):
    node = engine.number(value, dtypes.as_dtype(dtype).numpy)
    scalar = EagerTensor(node)
    return _broadcast_to(scalar, shape=tuple(shape)) if len(tuple(shape)) else scalar


def zeros(shape, dtype=dtypes.float32, name=None):
    return filled(shape, 0, dtype)


def ones(shape, dtype=dtypes.float32, name=None):
    return filled(shape, 1, dtype)
