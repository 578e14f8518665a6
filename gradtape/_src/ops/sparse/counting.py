"""Counts of the integers that a SparseTensor stores; the zeros that it does not store are not counted."""

import numpy as np

from gradtape._src.core import dtypes
from gradtape._src.core.tensor import to_numpy
from gradtape._src.ops.array.ragged import with_splits
from gradtape._src.ops.array.ragged_rows import splits_of
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.math import counting
from gradtape._src.ops.sparse.tensor import SparseTensor


def _rows(x):
    """Return what the rows of a matrix store, as a RaggedTensor."""
    rows = to_numpy(x.indices.node)[:, 0]
    return with_splits(x.values, [splits_of(np.bincount(rows, minlength=x._extents[0]))])


@version(SparseTensor, counting.bincount)
def _bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, axis=None, binary_output=False):
    if weights is not None and not isinstance(weights, SparseTensor):
        raise ValueError(
            "Argument `weights` must be a SparseTensor if `values` is a SparseTensor. "
            f"Received weights={weights} of type: {type(weights).__name__}"
        )
    counted = _rows if axis == -1 else (lambda x: x.values)
    of = None if weights is None else counted(weights)
    return counting.bincount(counted(arr), of, minlength, maxlength, dtype, axis=axis, binary_output=binary_output)
