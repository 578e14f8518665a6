"""Products of RaggedTensors, whose last two axes are matrices."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.array.shape import expand_dims, squeeze
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.linalg import matmul as products
from gradtape._src.ops.ragged.conversions import ragged_of


@version(RaggedTensor, products.matmul)
def _matmul(
    a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False, b_is_sparse=False,
    output_type=None, grad_a=False, grad_b=False,
):  # fmt: skip
    """Return a RaggedTensor of the products of a batch of matrices of different sizes; a Tensor for two matrices."""
    a, b = [x if isinstance(x, RaggedTensor) else tensor(x) for x in (a, b)]
    rank = a.shape.rank
    if a.dtype != b.dtype or rank != b.shape.rank:
        raise ValueError(f"`a` and `b` must have the same dtype and rank: {a.dtype.name} {a.shape}, {b.dtype.name} {b.shape}.")

    def multiply(x, y):
        return products.matmul(x, y, transpose_a, transpose_b, adjoint_a, adjoint_b, output_type=output_type)

    if rank == 2:
        return multiply(expand_dims(a, 0), expand_dims(b, 0)).to_tensor()[0]
    if rank > 3:
        a, b = ragged_of(a, 1), ragged_of(b, 1)
        if not np.array_equal(a._splits, b._splits):
            raise invalid("Batch dimensions of `a` and `b` do not have the same size.")
        return a.with_values(multiply(a.values, b.values))
    rows, inner = _sizes(a)[:: -1 if transpose_a or adjoint_a else 1]
    also_inner, columns = _sizes(b)[:: -1 if transpose_b or adjoint_b else 1]
    if not np.array_equal(inner, also_inner):
        raise invalid(f"Matrix size-incompatible: {inner.tolist()} columns of `a` and {also_inner.tolist()} rows of `b`.")
    # Zeros that pad the inner axis add nothing to the sums; other padding is cut off.
    product = multiply(*[x.to_tensor() if isinstance(x, RaggedTensor) else x for x in (a, b)])
    if isinstance(b, RaggedTensor) and (b.ragged_rank == 2 or transpose_b or adjoint_b):
        return RaggedTensor.from_tensor(product, lengths=(rows, np.repeat(columns, rows)))
    return RaggedTensor.from_tensor(product, lengths=None if len(set(rows.tolist())) == 1 else rows)


def _sizes(batch):
    """Return the numbers of rows and of columns of the matrices of a batch; InvalidArgumentError if a matrix is ragged."""
    if not isinstance(batch, RaggedTensor):
        count, height, width = extents_of(batch)
        return np.full(count, height), np.full(count, width)
    rows = np.diff(batch._splits)
    if not isinstance(batch.values, RaggedTensor):
        return rows, np.full(len(rows), extents_of(batch.values)[1])
    widths = np.diff(batch.values._splits)
    columns = np.array([widths[start] if count else 0 for start, count in zip(batch._splits, rows, strict=False)], np.int64)
    if not np.array_equal(widths, np.repeat(columns, rows)):
        raise invalid("The matrices in `a` and `b` may not be ragged in their innermost dimension. Take to_tensor().")
    return rows, columns


@version(RaggedTensor, products.matvec)
def _matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False):
    return squeeze(products.matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a), -1)
