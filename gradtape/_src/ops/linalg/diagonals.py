"""Diagonals, bands, traces, transposes, cross products.

Matrices are the last two axes, batches the axes in front. A diagonal `k` > 0 lies above the main one, `k` < 0 below. `k=(low,
high)` is a band, whose diagonals are the rows of a compact matrix, highest first. `align` is the side on which shorter
diagonals are aligned in it, "LEFT" or "RIGHT", for those above and those below: "RIGHT_LEFT" by default.
"""

from math import prod

import numpy as np

from gradtape._src.core.base.errors import invalid, unmet
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import is_tensor, settled, static, static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.shape import plain, transpose, zeros
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.shapes import REAL, one_of, require

ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


# ---------------------------------------------------------------------------------------------------------------------
# Positions of diagonals


def _band(k):
    """Convert `k` (an int, two ints, or a tensor of them) to (low, high)."""
    band = [settled(each, "k") for each in static_list(k, "k")]
    if len(band) not in (1, 2):
        raise invalid(f"diag_index must have only one or two elements, received {len(band)} elements: k={k!r}.")
    low, high = band[0], band[-1]
    if low > high:
        raise invalid(f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}. Give k=(low, high).")
    return low, high


def _check_matrix(x):
    if x.ndim < 2:
        raise invalid(f"input must be at least 2-dim, received shape: {plain(x.shape)}. Matrices stand in the last two axes.")


def _length(k, rows, columns):
    return max(min(rows + min(k, 0), columns - max(k, 0)), 0)


def _longest(k, rows, columns):
    low, high = k
    return max(min(rows + min(high, 0), columns - max(low, 0)), 0)


def _compact_shape(k, rows, columns):
    low, high = k
    longest = _longest(k, rows, columns)
    return (longest,) if low == high else (high - low + 1, longest)


def _check_band(x, k):
    """Raise InvalidArgumentError unless the band `k` is inside of the matrices `x`."""
    _check_matrix(x)
    rows, columns = x.shape[-2:]
    for which, index in zip(("lower", "upper"), k, strict=True):
        if index and not -rows < index < columns:
            raise invalid(
                f"{which}_diag_index is out of bound: {index}. It must be between {-rows} and {columns}, for matrices of shape "
                f"{plain((rows, columns))}."
            )


def _offset(index, k, rows, columns, align):
    """Return the offset of the diagonal `index` in its row of the compact matrix."""
    above, below = align.split("_")
    left = (index >= 0 and above == "LEFT") or (index <= 0 and below == "LEFT")
    return 0 if left else _longest(k, rows, columns) - _length(index, rows, columns)


def _inside(rows, columns, k):
    """Return a mask of the elements of a matrix in the band `k`."""
    low, high = k
    offset = lax.broadcasted_iota(jnp.int32, (rows, columns), 1) - lax.broadcasted_iota(jnp.int32, (rows, columns), 0)
    return (offset >= low) & (offset <= high)


def _placed(diagonal, rows, columns, k, align):
    """Return matrices with the compact `diagonal` in the band `k`; elements outside of the band are arbitrary."""
    low, high = k
    if low == high:  # a column of the matrix holds one element of the diagonal
        before = max(low, 0)
        edges = [(0, 0, 0)] * (diagonal.ndim - 1) + [(before, columns - before - diagonal.shape[-1], 0)]
        return lax.pad(diagonal, jnp.zeros((), diagonal.dtype), edges)[..., None, :]
    i, j = np.indices((rows, columns))
    offsets = np.array([_offset(index, k, rows, columns, align) for index in range(low, high + 1)])
    index = np.clip(j - i, low, high)
    place = np.clip(np.minimum(i, j) + offsets[index - low], 0, diagonal.shape[-1] - 1)  # host-side: constants
    return diagonal[..., (high - index).astype(np.int32), place.astype(np.int32)]


# ---------------------------------------------------------------------------------------------------------------------
# Diagonals


def _diag_part_rule(input, padding_value, k, align):
    _check_band(input, k)
    return aval((*input.shape[:-2], *_compact_shape(k, *input.shape[-2:])), input.dtype)


@op("MatrixDiagPartV3", infer=_diag_part_rule, flops=0)
def _diag_part(input, padding_value, *, k, align):
    (low, high), (rows, columns) = k, input.shape[-2:]
    shape = _compact_shape(k, rows, columns)
    if 0 in shape or 0 in input.shape:
        return jnp.full((*input.shape[:-2], *shape), padding_value, dtype=input.dtype)
    if low == high:
        places = np.arange(shape[-1], dtype=np.int32)
        return input[..., places + max(-low, 0), places + max(low, 0)]
    compact = []
    for index in range(high, low - 1, -1):
        count = _length(index, rows, columns)
        before = _offset(index, k, rows, columns, align)
        places = np.arange(count, dtype=np.int32)
        diagonal = input[..., places + max(-index, 0), places + max(index, 0)]
        edges = [(0, 0, 0)] * (diagonal.ndim - 1) + [(before, shape[-1] - count - before, 0)]
        compact.append(lax.pad(diagonal, padding_value, edges))
    return jnp.stack(compact, axis=-2)


@gradient(_diag_part)
def _(dy, input, *, k, align):
    rows, columns = input.node.aval.shape[-2:]
    return _diag(dy, zeros((), dy.dtype), k, rows, columns, align), None


def _diag_rule(diagonal, padding_value, k, num_rows, num_cols, align):
    return aval((*diagonal.shape[: -1 if k[0] == k[1] else -2], num_rows, num_cols), diagonal.dtype)


@op("MatrixDiagV3", infer=_diag_rule, flops=0)
def _diag(diagonal, padding_value, *, k, num_rows, num_cols, align):
    shape = (*diagonal.shape[: -1 if k[0] == k[1] else -2], num_rows, num_cols)
    if 0 in shape or 0 in diagonal.shape:
        return jnp.full(shape, padding_value, dtype=diagonal.dtype)
    return jnp.where(_inside(num_rows, num_cols, k), _placed(diagonal, num_rows, num_cols, k, align), padding_value)


@gradient(_diag)
def _(dy, *, k, align):
    return _diag_part(dy, zeros((), dy.dtype), k, align), None


def _matrix_size(diagonal, k, num_rows, num_cols):
    """Return the extents of matrices that have `diagonal` (an Aval) in the band `k`; -1 stands for an extent not given."""
    low, high = k
    if not diagonal.ndim:
        raise invalid("diagonal must be at least 1-dim, received shape: []. Give a vector.")
    if low != high and (diagonal.ndim < 2 or diagonal.shape[-2] != high - low + 1):
        raise invalid(
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range: "
            f"k={k} names {high - low + 1}, the last two axes of shape {plain(diagonal.shape)} should be [diagonals, elements]."
        )
    longest = diagonal.shape[-1]
    least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
    if num_rows == num_cols == -1:
        num_rows = num_cols = max(least_rows, least_columns)
    num_rows = least_rows if num_rows == -1 else num_rows
    num_cols = least_columns if num_cols == -1 else num_cols
    for what, given, least in (("rows", num_rows, least_rows), ("columns", num_cols, least_columns)):
        if given < least:
            raise invalid(f"The number of {what} is too small. {given} given, the diagonal needs {least}.")
    if num_rows != least_rows and num_cols != least_columns:
        raise invalid(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal. "
            f"{num_rows} rows and {num_cols} columns would have a longer diagonal; give {least_rows} rows or {least_columns} "
            "columns."
        )
    return num_rows, num_cols


def _same_type(value, x):
    """Convert a padding value to a scalar Tensor of x's dtype."""
    if is_tensor(value):
        return value
    return tensor(bool(value) if x.dtype.is_bool else value, x.dtype)


@public
def diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT") -> Tensor:
    """Return matrices with the given diagonal, or band of diagonals, and `padding_value` elsewhere.

    `diagonal` is [..., n] for an int `k`, [..., diagonals, n] for a band. The matrices are square unless `num_rows` or
    `num_cols` says otherwise. InvalidArgumentError if the extents do not fit.

    >>> tf.linalg.diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    x = tensor(diagonal)
    k = _band(k)
    rows, columns = _matrix_size(x.node.aval, k, static(num_rows, "num_rows"), static(num_cols, "num_cols"))
    return _diag(x, _same_type(padding_value, x), k, rows, columns, one_of(align, ALIGNMENTS, "align"))


@public
def diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT") -> Tensor:
    """Return the diagonal `k` of matrices, [..., n]; of a band the diagonals, [..., diagonals, n], filled with
    `padding_value`.

    InvalidArgumentError if a diagonal lies outside of the matrices.

    >>> tf.linalg.diag_part([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    x = tensor(input)
    return _diag_part(x, _same_type(padding_value, x), _band(k), one_of(align, ALIGNMENTS, "align"))


def _set_diag_rule(input, diagonal, k, align):
    _check_band(input, k)
    expected = (*input.shape[:-2], *_compact_shape(k, *input.shape[-2:]))
    if diagonal.shape != expected:
        raise invalid(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to the "
            f"longests diagonal in range [lower_diag_index:upper_diag_index]. Input shape: {plain(input.shape)} Diagonal "
            f"shape: {plain(diagonal.shape)} Expected diagonal shape: {plain(expected)}"
        )
    return input


@op("MatrixSetDiagV3", infer=_set_diag_rule, flops=0)
def _set_diag(input, diagonal, *, k, align):
    if 0 in input.shape:
        return input
    rows, columns = input.shape[-2:]
    return jnp.where(_inside(rows, columns, k), _placed(diagonal, rows, columns, k, align), input)


@gradient(_set_diag)
def _(dy, diagonal, needs_input, needs_diagonal, *, k, align):
    return (
        _set_diag(dy, zeros(diagonal.node.aval.shape, dy.dtype), k, align) if needs_input else None,
        _diag_part(dy, zeros((), dy.dtype), k, align) if needs_diagonal else None,
    )


@public
def set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT") -> Tensor:
    """Return the matrices `input` with the diagonal or band `k` replaced by `diagonal`, which has the shape of the result of
    `diag_part`.

    >>> tf.linalg.set_diag([[1, 2], [3, 4]], [0, 0]).numpy().tolist()
    [[0, 2], [3, 0]]
    """
    x = tensor(input)
    return _set_diag(x, tensor(diagonal, hint=x.dtype), _band(k), one_of(align, ALIGNMENTS, "align"))


@public
def trace(x, name=None) -> Tensor:
    """Return the sum of the main diagonal of matrices: [...].

    >>> float(tf.linalg.trace([[1.0, 2.0], [3.0, 4.0]]))
    5.0
    """
    return reduce_sum(diag_part(x), -1)


# ---------------------------------------------------------------------------------------------------------------------
# Diagonals of tensors of any rank


@op("Diag", infer=lambda diagonal: aval(diagonal.shape * 2, diagonal.dtype), flops=0)
def _tensor_diag(diagonal):
    flat = diagonal.reshape(-1)
    inside = _inside(flat.size, flat.size, (0, 0))
    return jnp.where(inside, flat, jnp.zeros((), flat.dtype)).reshape(diagonal.shape * 2)


@gradient(_tensor_diag)
def _(dy):
    return _tensor_diag_part(dy)


def _tensor_diag_part_rule(input):
    half = input.ndim // 2
    if input.ndim % 2 or not half:
        raise invalid(f"The rank of the tensor should be even and positive, got shape {plain(input.shape)}.")
    for axis in range(half):
        if input.shape[axis] != input.shape[axis + half]:
            raise invalid(
                f"Invalid shape {plain(input.shape)}: dimensions {axis} and {axis + half} do not match. The second half of the "
                "axes must repeat the first."
            )
    return aval(input.shape[:half], input.dtype)


@op("DiagPart", infer=_tensor_diag_part_rule, flops=0)
def _tensor_diag_part(input):
    shape = input.shape[: input.ndim // 2]
    size = prod(shape)
    return jnp.diagonal(input.reshape(size, size)).reshape(shape)


@gradient(_tensor_diag_part)
def _(dy):
    return _tensor_diag(dy)


@public
def tensor_diag(diagonal, name=None) -> Tensor:
    """Return a tensor of shape `s + s` with `diagonal`, of shape s, where both halves of the index are equal, and 0 elsewhere.

    >>> tf.linalg.tensor_diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    x = tensor(diagonal)
    if not x.ndim:
        raise invalid("Input must be at least rank 1, got 0: give a vector.")
    return _tensor_diag(x)


@public
def tensor_diag_part(input, name=None) -> Tensor:
    """Return the elements of a tensor of shape `s + s` where both halves of the index are equal: a tensor of shape `s`.

    >>> tf.linalg.tensor_diag_part([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    return _tensor_diag_part(tensor(input))


# ---------------------------------------------------------------------------------------------------------------------
# Bands, transposes


def _band_part_rule(input, num_lower, num_upper):
    _check_matrix(input)
    rows, columns = input.shape[-2:]
    for name, given, what, most in (("lower", num_lower, "rows", rows), ("upper", num_upper, "columns", columns)):
        if given > most:
            raise invalid(f"num_{name} must be negative or less or equal to number of {what} ({most}) got: {given}")
    return input


@op("MatrixBandPart", infer=_band_part_rule, flops=0)
def _band_part(input, *, num_lower, num_upper):
    rows, columns = input.shape[-2:]
    inside = _inside(rows, columns, (-rows if num_lower < 0 else -num_lower, columns if num_upper < 0 else num_upper))
    return jnp.where(inside, input, jnp.zeros((), input.dtype))


@gradient(_band_part)
def _(dy, *, num_lower, num_upper):
    return _band_part(dy, num_lower, num_upper)


@public
def band_part(input, num_lower, num_upper, name=None) -> Tensor:
    """Set matrices to 0 outside of `num_lower` diagonals below the main one and `num_upper` above (all, if negative).

    >>> tf.linalg.band_part([[1, 2], [3, 4]], -1, 0).numpy().tolist()
    [[1, 0], [3, 4]]
    """
    return _band_part(tensor(input), settled(num_lower, "num_lower"), settled(num_upper, "num_upper"))


def _transposed(a, conjugate):
    x = tensor(a)
    if x.ndim < 2:
        raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {a} with shape: {x.shape}")
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2), conjugate)


@public
def matrix_transpose(a, name="matrix_transpose", conjugate=False) -> Tensor:
    """Return matrices with rows and columns exchanged, conjugated too if `conjugate`.

    >>> tf.linalg.matrix_transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    return _transposed(a, conjugate)


@public
def adjoint(matrix, name=None) -> Tensor:
    """Return the conjugate transpose of matrices.

    >>> tf.linalg.adjoint([[1.0 + 1.0j, 2.0]]).numpy().tolist()
    [[(1-1j)], [(2-0j)]]
    """
    return _transposed(matrix, True)


# ---------------------------------------------------------------------------------------------------------------------
# Cross products


def _cross_rule(a, b):
    require(a, REAL)
    if a.shape != b.shape:
        raise invalid(f"Both inputs must be of same shape: {plain(a.shape)} vs. {plain(b.shape)}")
    if not a.ndim or a.shape[-1] != 3:
        raise unmet(f"Cross-products are only defined for 3-element vectors. Received shape {plain(a.shape)}.")
    return a


@op("Cross", infer=_cross_rule, saves="a b", flops=3)
def cross(a, b):
    """Return the cross product of the 3-vectors in the last axis of `a` and `b`, which have one shape. Real dtypes.

    >>> tf.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    return jnp.cross(a, b)


@gradient(cross)
def _(dy, a, b, needs_a, needs_b):
    return cross(b, dy) if needs_a else None, cross(dy, a) if needs_b else None
