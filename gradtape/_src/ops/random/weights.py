"""Sizes of layers and orthogonal matrices, for TensorFlow 1's initializers of weights."""

import math

from gradtape._src.ops.array.shape import reshape, transpose
from gradtape._src.ops.linalg.decompositions import qr
from gradtape._src.ops.linalg.diagonals import diag_part
from gradtape._src.ops.math.arithmetic import sign


def fans(shape):
    """Return the number of inputs and outputs of a unit of a layer with weights of `shape`."""
    if len(shape) < 2:
        return (math.prod(shape),) * 2
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


def orthogonal(shape, drawn):
    """Return a tensor of `shape` with orthonormal rows or columns, whichever are fewer, from normal numbers.

    `drawn` returns these for a shape. ValueError for fewer than two axes, of which all but the last count as rows.
    """
    if len(shape) < 2:
        raise ValueError(
            f"The tensor to initialize must be at least two-dimensional. Received: shape={shape} of rank {len(shape)}."
        )
    rows, columns = math.prod(shape[:-1]), shape[-1]
    q, r = qr(drawn((max(rows, columns), min(rows, columns))))
    q = q * sign(diag_part(r))  # makes the matrix uniformly distributed
    return reshape(q if rows >= columns else transpose(q), shape)
