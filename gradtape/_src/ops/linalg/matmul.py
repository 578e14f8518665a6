"""Matrix products and their batches: `matmul`, `matvec`, `tensordot`. `einsum` has its own file."""

from math import prod

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.native import twins
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import lowered, lowering
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.convert import is_tensor, node_of, static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor, emit, handle, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import (
    _broadcast_to,
    _reshape,
    _transpose,
    broadcast_source,
    expand_dims,
    plain,
    squeeze,
)
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.reduction import _sum
from gradtape._src.ops.shapes import COMPLEX, FLOATING, UNSIGNED, broadcast_shapes, require

MATRICES = (*FLOATING, "int32", "int64", *UNSIGNED, *COMPLEX)
BATCHES = (*MATRICES, "int16")
BYTES = 16  # the alignment of rows that a GPU's kernels prefer
WORTH_COPIES = 1 << 31  # the number of multiply-adds from which copies of the operands pay
WIDE = 256  # the least extent of such a product


# ---------------------------------------------------------------------------------------------------------------------
# Two matrices


@lowered("a product with a matrix")
def _product(x, matrix, *, contracted, dtype):
    """Multiply two operands over the axes `contracted`, one of each. The other axes of `x` come first."""
    return lax.dot_general(x, matrix, (contracted, ((), ())), preferred_element_type=dtype)


def _missing(x, matrix, contracted):
    """Return for both operands the padding of each extent that aligns their rows, and those of the result."""
    ((of_x,), (of_matrix,)), step = contracted, BYTES // x.dtype.itemsize
    missing = [[0] * x.ndim, [0, 0]]
    for operand, lacks, axis in (
        (x, missing[0], x.ndim - 1),
        (matrix, missing[1], 1),
        (matrix, missing[1], 1 - of_matrix),
    ):
        lacks[axis] = -operand.shape[axis] % step
    missing[0][of_x] = missing[1][of_matrix] = max(missing[0][of_x], missing[1][of_matrix])
    return missing


def _is_large_and_odd(x, matrix, *, contracted, dtype):
    """Return whether a product is large enough to pay for padded copies of its operands, and needs them."""
    ((of_x,), (of_matrix,)) = contracted
    k, n = x.shape[of_x], matrix.shape[1 - of_matrix]
    m = prod(x.shape) // max(k, 1)
    is_large = 2 * m * n * k >= WORTH_COPIES and min(m, n, k) >= WIDE
    is_narrow_float = x.dtype.itemsize <= 4 and jnp.issubdtype(x.dtype, jnp.floating)
    return is_large and is_narrow_float and any(map(any, _missing(x, matrix, contracted)))


def _of_padded(x, matrix, *, contracted, dtype):
    """Compute the product of zero-padded operands, and cut the padding off."""
    padded = [
        lax.pad(operand, jnp.zeros((), operand.dtype), [(0, more, 0) for more in missing]) if any(missing) else operand
        for operand, missing in zip((x, matrix), _missing(x, matrix, contracted), strict=True)
    ]
    ((of_x,), (of_matrix,)) = contracted
    shape = [extent for axis, extent in enumerate(x.shape) if axis != of_x] + [matrix.shape[1 - of_matrix]]
    return lax.slice(_product.plain(*padded, contracted=contracted, dtype=dtype), [0] * len(shape), shape)


lowering(
    _product,
    platform="cuda",
    when=_is_large_and_odd,
    rule=_of_padded,
    because="a large product of odd extents, as the 50,257 tokens of GPT-2: fast kernels take rows that start at multiples of 16 "
    'bytes (NVIDIA, "Matrix Multiplication Background User\'s Guide", section 3)',
)


def _check_ranks(a, b):
    for index, x in enumerate((a, b)):
        if x.ndim < 2:
            raise invalid(
                f"In[{index}] ndims must be >= 2: received shape {plain(x.shape)}. A vector needs an axis of extent 1 "
                "(expand_dims), or matvec."
            )


def _size_error(a, b, columns, rows):
    return invalid(
        f"Matrix size-incompatible: In[0]: {plain(a.shape)}, In[1]: {plain(b.shape)}\nDimensions must be equal, but are "
        f"{columns} and {rows}: the columns of the first and the rows of the second. Transpose one, or reshape."
    )


def _mat_mul_rule(a, b, transpose_a, transpose_b):
    require(a, MATRICES)
    _check_ranks(a, b)
    (m, k), (l, n) = a.shape, b.shape
    if transpose_a:
        m, k = k, m
    if transpose_b:
        l, n = n, l
    if k != l:
        raise _size_error(a, b, k, l)
    return aval((m, n), a.dtype)


@op("MatMul", infer=_mat_mul_rule, saves="a b", flops=flops.matmul, operator="matmul", traits="product contracts")
def _mat_mul(a, b, *, transpose_a=False, transpose_b=False):
    contracted = (0,) if transpose_a else (1,), (1,) if transpose_b else (0,)
    return _product(a, b, contracted=contracted, dtype=a.dtype)


MAT_MUL = _mat_mul.op


@gradient(_mat_mul)
def _(dy, a, b, needs_a, needs_b, *, transpose_a, transpose_b):
    da = db = None
    if needs_a:
        d, other = _thinned(dy, b, 1, 0 if transpose_b else 1)
        other = conj(other)
        da = _mat_mul(other, d, transpose_b, True) if transpose_a else _mat_mul(d, other, False, not transpose_b)
        da = _like(da, a.node.aval.shape)
    if needs_b:
        d, other = _thinned(dy, a, 0, 1 if transpose_a else 0)
        other = conj(other)
        db = _mat_mul(d, other, True, transpose_a) if transpose_b else _mat_mul(other, d, not transpose_a, False)
        db = _like(db, b.node.aval.shape)
    return da, db


def _thinned(dy, x, axis, summed):
    """Reduce `dy` to its source if it is a structural broadcast, and `x` to its sum over the axis `summed` if that is along
    `axis`.

    Axes are 0 or 1 of the matrices. The sum does the work of the product.
    """
    rank = dy.node.aval.ndim
    source = broadcast_source(dy, ())
    if source is None:
        return dy, x
    rows, columns = source.node.aval.shape[rank - 2 :]
    if (rows, columns)[axis] == dy.node.aval.shape[rank - 2 + axis]:
        return source, x
    return source, _sum(x, axis=(x.node.aval.ndim - 2 + summed,), keepdims=True)


def _like(dx, shape):
    return dx if dx.node.aval.shape == shape else _broadcast_to(dx, shape=shape)


# ---------------------------------------------------------------------------------------------------------------------
# Batches of matrices


def _batch_rule(x, y, adj_x, adj_y, dtype=None):
    _check_ranks(x, y)
    m, k = x.shape[:-3:-1] if adj_x else x.shape[-2:]
    l, n = y.shape[:-3:-1] if adj_y else y.shape[-2:]
    if k != l:
        raise _size_error(x, y, k, l)
    try:
        batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except InvalidArgumentError:
        raise invalid(
            f"In[0] and In[1] must have compatible batch dimensions: {plain(x.shape)} vs. {plain(y.shape)}: all extents but "
            "the last two must be equal, or 1."
        ) from None
    return aval((*batch, m, n), dtype or x.dtype)


def _batch_product(x, y, adj_x, adj_y, dtype):
    x = jnp.conj(x) if adj_x else x
    y = jnp.conj(y) if adj_y else y
    batch = x.ndim - 2
    contracted = x.ndim - (2 if adj_x else 1), y.ndim - (1 if adj_y else 2)
    numbers = (contracted[:1], contracted[1:])
    if x.shape[:-2] == y.shape[:-2]:
        every = tuple(range(batch))
        return lax.dot_general(x, y, (numbers, (every, every)), preferred_element_type=dtype)
    if y.ndim == 2 and not adj_x:
        return _product(x, y, contracted=numbers, dtype=dtype)
    x = jnp.swapaxes(x, -1, -2) if adj_x else x
    y = jnp.swapaxes(y, -1, -2) if adj_y else y
    return jnp.matmul(x, y, preferred_element_type=dtype)


def _batch_mat_mul_rule(x, y, adj_x, adj_y):
    require(x, BATCHES)
    return _batch_rule(x, y, adj_x, adj_y)


@op(
    "BatchMatMulV2", infer=_batch_mat_mul_rule, saves="x y", broadcasting=True, flops=flops.matmul, operator="matmul",
    traits="product contracts",
)  # fmt: skip
def _batch_mat_mul(x, y, *, adj_x=False, adj_y=False):
    return _batch_product(x, y, adj_x, adj_y, x.dtype)


@gradient(_batch_mat_mul)
def _(dy, x, y, needs_x, needs_y, *, adj_x, adj_y):
    batch = dy.node.aval.shape[:-2]
    dx = None
    if needs_x:
        d, other = _thinned(dy, y, 1, 0 if adj_y else 1)
        dx = _batch_mat_mul(other, d, adj_y, True) if adj_x else _batch_mat_mul(d, other, False, not adj_y)
        dx = _like(dx, (*batch, *x.node.aval.shape[-2:]))
    return dx, _gradient_to_second(dy, x, y, adj_x, adj_y, batch) if needs_y else None


def _gradient_to_second(dy, x, y, adj_x, adj_y, batch):
    shape = y.node.aval.shape
    if len(shape) == 2 and not adj_x:  # one product over the rows of all batches, instead of a sum of products
        d, other = _thinned(dy, x, 0, 0)
        rows, columns = other.node.aval.shape[-2], dy.node.aval.shape[-1]
        d = _reshape(_like(d, (*batch, rows, columns)), shape=(prod(batch) * rows, columns))
        other = _reshape(other, shape=(prod(batch) * rows, shape[1] if adj_y else shape[0]))
        return _mat_mul(conj(d), other, True, False) if adj_y else _mat_mul(conj(other), d, True, False)
    d, other = _thinned(dy, x, 0, 1 if adj_x else 0)
    dy_ = _batch_mat_mul(d, other, True, adj_x) if adj_y else _batch_mat_mul(other, d, not adj_x, False)
    return _like(dy_, (*batch, *shape[-2:]))


def _typed_rule(x, y, Tout, adj_x, adj_y):
    return _batch_rule(x, y, adj_x, adj_y, Tout.numpy)


@op(
    "BatchMatMulV3", infer=_typed_rule, saves="x y", broadcasting=True, mixed=True, flops=flops.matmul, traits="product contracts"
)
def _typed_mat_mul(x, y, *, Tout, adj_x=False, adj_y=False):
    wide = Tout.numpy
    return _batch_product(x.astype(wide), y.astype(wide), adj_x, adj_y, wide)


@gradient(_typed_mat_mul)
def _(dy, x, y, needs_x, needs_y, *, adj_x, adj_y):
    first, second = x.dtype, y.dtype
    dx = dy_ = None
    if needs_x:
        left, right, *flags = (y, dy, adj_y, True) if adj_x else (dy, y, False, not adj_y)
        dx = _typed_mat_mul(left, right, first, *flags)
    if needs_y:
        left, right, *flags = (dy, x, True, adj_x) if adj_y else (x, dy, not adj_x, False)
        dy_ = _typed_mat_mul(left, right, second, *flags)
    return dx, dy_


# ---------------------------------------------------------------------------------------------------------------------
# Public functions


@public
def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    output_type=None,
    grad_a=False,
    grad_b=False,
    name=None,
) -> Tensor:
    """Return the product of the matrices in the last two axes of `a` and `b`: [..., m, k] times [..., k, n] is [..., m, n].

    `transpose_*` transposes the matrices first, `adjoint_*` conjugates them, too. The axes in front are batches, which
    broadcast. Numeric dtypes; `output_type` is the dtype of the result and of its sums, the operands' by default.
    `a_is_sparse` and the like are hints that change nothing. InvalidArgumentError if shapes or dtypes do not match.

    >>> tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy().tolist()
    [[11.0]]
    """
    if output_type is None:
        x, y = convert.operands(MAT_MUL, (a, b), one_by_one=True)
        if x.aval.ndim == 2 and y.aval.ndim == 2 and not (adjoint_a or adjoint_b):
            return emit(MAT_MUL, (x, y), (bool(transpose_a), bool(transpose_b)))
    for which, transpose, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transpose and adjoint:
            raise ValueError(
                f"Only one of `transpose_{which}` and `adjoint_{which}` can be True. Received `transpose_{which}`={transpose}, "
                f"`adjoint_{which}`={adjoint}."
            )
    flags = bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)
    if output_type is not None:
        return _into_type(a, b, *flags, dtypes.as_dtype(output_type))
    made, conjugated = MAT_MUL, (adjoint_a, adjoint_b)
    if x.aval.ndim > 2 or y.aval.ndim > 2:  # the flags of a batched product conjugate, too
        made, conjugated = _batch_mat_mul.op, (transpose_a, transpose_b)
    nodes = [conj(handle(n)).node if flip else n for n, flip in zip((x, y), conjugated, strict=True)]
    return emit(made, tuple(nodes), flags)


matmul = twins.of(matmul, "public", MAT_MUL, (False, False), rank=2)


def _into_type(a, b, flip_a, flip_b, output_type):
    a, b = tensor(a), tensor(b)
    if a.dtype.is_complex or b.dtype.is_complex:
        raise invalid(f"output_type is for real dtypes, received {a.dtype.name} and {b.dtype.name}. Cast the result.")
    return _typed_mat_mul(a, b, output_type, flip_a, flip_b)


@public
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None) -> Tensor:
    """Return the product of the matrices in the last two axes of `a` and the vectors in the last axis of `b`: [..., m].

    `transpose_a` transposes the matrices first, `adjoint_a` conjugates them, too. The axes in front are batches, which
    broadcast.

    >>> tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    return squeeze(matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a), -1)


@public
def tensordot(a, b, axes, name=None) -> Tensor:
    """Return the sum of products of `a` and `b` over pairs of axes; the other axes of `a` come first, then those of `b`.

    `axes` is the number of last axes of `a` and first of `b`, or two lists of axes. ValueError if the axes cannot be paired.

    >>> float(tf.tensordot([1.0, 2.0], [3.0, 4.0], axes=1))
    11.0
    """
    x, y = tensor(a), tensor(b)
    first, second = _paired(axes, x, y)
    left, flip_x, kept_x = _as_matrix(x, first, last=True)
    right, flip_y, kept_y = _as_matrix(y, second, last=False)
    result = _mat_mul(left, right, flip_x, flip_y)
    return _reshape(result, shape=(*kept_x, *kept_y)) if result.node.aval.shape != (*kept_x, *kept_y) else result


def _paired(axes, a, b):
    """Return the axes of `a` and those of `b` that are summed over, as tuples of axes ≥ 0."""
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        for x in (a, b):
            if axes > x.ndim:
                raise ValueError(
                    f"`axes` must not be larger than the number of dimensions of tensor {x}. Received {axes}, vs tensor "
                    f"dimensions {x.ndim}."
                )
        return tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    if is_tensor(axes):
        axes = to_numpy(node_of(axes))
    if not isinstance(axes, (list, tuple, np.ndarray)) or len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    first, second = [static_list(part, "axes") for part in axes]
    if len(first) != len(second):
        raise ValueError(f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}.")
    pairs = []
    for x, given in ((a, first), (b, second)):
        for axis in given:
            if not -x.ndim <= axis < x.ndim:
                raise IndexError(f"`axes` names axis {axis} of a tensor of shape {plain(x.shape)}, which has {x.ndim} axes.")
        pairs.append(tuple([axis % x.ndim for axis in given]))
        if len(set(pairs[-1])) != len(given):
            raise ValueError(f"`axes` names an axis of a tensor twice: {list(given)}. Each axis can be summed over once.")
    return pairs


def _as_matrix(x, contracted, last):
    """Reshape `x` to a matrix whose columns (rows, unless `last`) are the `contracted` axes in order.

    Return it with whether it is transposed, and with the extents of the other axes.
    """
    shape = x.node.aval.shape
    free = tuple([a for a in range(len(shape)) if a not in contracted])
    known = x.node.aval.shape  # in a graph several extents may be unknown
    kept = tuple([known[a] for a in free])
    straight = tuple(range(len(shape)))
    columns_last = (*free, *contracted)
    if columns_last != straight and (*contracted, *free) == straight:
        return _flat(x, prod([shape[a] for a in contracted]), prod(kept)), last, kept
    if columns_last != straight:
        x = _transpose(x, perm=columns_last)
    return _flat(x, prod(kept), prod([shape[a] for a in contracted])), not last, kept


def _flat(x, rows, columns):
    return x if x.node.aval.shape == (rows, columns) else _reshape(x, shape=(rows, columns))
