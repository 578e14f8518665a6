"""Shape, size and rank of a tensor, as tensors. They are constants where the shape is known."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs import journal
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, emit
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval, changes
from gradtape._src.ops.array.cast import _cast
from gradtape._src.ops.array.shape import host_constant
from gradtape._src.ops.math.reduction import _prod

_SHAPES: dict[str, Any] = {"cheap": True, "mixed": True, "of_shapes": True, "traits": "renames"}


@op("Shape", infer=lambda input, out_type: aval((input.ndim,), out_type), folds=lambda shape: shape, **_SHAPES)
def _shape(input, *, out_type):
    return jnp.array(input.shape, dtype=out_type)


@op("Size", infer=lambda input, out_type: aval((), out_type), folds=np.prod, **_SHAPES)
def _size(input, *, out_type):
    return jnp.array(math.prod(input.shape), dtype=out_type)


not_differentiable(_shape, _size, because="a shape does not depend on the values")


def _dense_shape(sparse, out_type):
    """Return the `dense_shape` of a SparseTensor or IndexedSlices as a tensor of `out_type`."""
    return emit(_cast.op, (tensor(sparse.dense_shape).node,), (dtypes.as_dtype(out_type),))


@public
def shape(input, out_type=None, name=None) -> Tensor:
    """Return the shape of `input`, an integer vector of type `out_type` (int32); of a sparse tensor its dense shape.

    >>> tf.shape(tf.zeros([2, 3])).numpy()
    array([2, 3], dtype=int32)
    """
    if getattr(input, "dense_shape", None) is not None:
        return _dense_shape(input, out_type or dtypes.int32)
    return _counted(_shape, tensor(input), lambda aval: list(aval.shape), out_type)


@public
def shape_n(input: Sequence[Any], out_type=dtypes.int32, name=None):
    """Return the shapes of a list of tensors, as a list.

    >>> [shape.numpy().tolist() for shape in tf.shape_n([tf.zeros([2]), tf.zeros([3, 4])])]
    [[2], [3, 4]]
    """
    return [shape(x, out_type) for x in input]


@public
def size(input, out_type=None, name=None) -> Tensor:
    """Return the number of elements of `input`, an integer scalar of type `out_type` (int32). Sparse tensors count as dense.

    >>> int(tf.size(tf.zeros([2, 3])))
    6
    """
    if getattr(input, "dense_shape", None) is not None:
        return emit(_prod.op, (_dense_shape(input, out_type or dtypes.int32).node,), ((0,), False))
    return _counted(_size, tensor(input), lambda aval: aval.size, out_type)


def _counted(function, x, known, out_type):
    """Return `known(aval)` of a tensor, or the op `function` of it where its extents may change from run to run."""
    dtype, of = dtypes.as_dtype(out_type or dtypes.int32).numpy, x.node.aval
    if changes(of):
        of_strings = x.dtype == dtypes.string and of.open  # XLA has no strings
        return tensor(known(of), dtype) if of_strings else function(x, out_type=dtype)
    if engine.local.tapes:  # the explainer is told that extents, which may depend on values, become numbers
        journal.left("size", x.node, engine.local.trace)
    return host_constant(np.array(known(of), dtype))


@public
def rank(input, name=None) -> Tensor:
    """Return the number of axes of `input`, an int32 scalar.

    >>> int(tf.rank([[1, 2], [3, 4]]))
    2
    """
    if getattr(input, "dense_shape", None) is not None:
        return size(input.dense_shape)
    x = tensor(input)
    if not x.node.aval.ranked:
        return _size(shape(x), out_type=np.dtype(np.int32))
    return host_constant(np.array(x.ndim, np.int32))
