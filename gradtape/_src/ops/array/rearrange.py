"""Tiling, repeating, padding, reversing and rolling."""

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import check, gradient, op
from gradtape._src.core.platform import memory
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import (
    node_of,
    not_an_integer,
    static,
    static_list,
    static_vector,
    tensor,
    tensor as as_tensor,
)
from gradtape._src.core.tensors.tensor import Stored, Tensor, emit, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.gather import _gather
from gradtape._src.ops.array.indexing import slice_
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, expand_dims, host_constant, plain
from gradtape._src.ops.math.reduction import _sum, reduce_sum
from gradtape._src.ops.shapes import blank, bounded_axis, require

# ---------------------------------------------------------------------------------------------------------------------
# Tile and repeat


def _tiled(input, multiples):
    if len(multiples) != input.ndim:
        raise invalid(
            f"Expected multiples argument to be a vector of length {input.ndim} but got length {len(multiples)}\nGive "
            f"one number for each axis of {plain(input.shape)}."
        )
    for axis, count in enumerate(multiples):
        if count < 0:
            raise invalid(f"Expected multiples[{axis}] >= 0, but got {count}")
    return aval(tuple([n * count for n, count in zip(input.shape, multiples, strict=True)]), input.dtype)


@op("Tile", infer=_tiled, strings=True, flops=0)
def _tile(input, *, multiples):
    return jnp.tile(input, multiples)


@gradient(_tile)
def _(dy, input, *, multiples):
    shape = input.node.aval.shape
    apart = tuple([n for pair in zip(multiples, shape, strict=True) for n in pair])
    return _sum(_reshape(dy, shape=apart), axis=tuple(range(0, len(apart), 2)), keepdims=False)


@public
def tile(input, multiples, name=None) -> Tensor:
    """Return `input` repeated `multiples[i]` times along each axis i.

    `multiples` has an integer for each axis; extent i becomes `input.shape[i] * multiples[i]`. InvalidArgumentError for
    another length.

    >>> tf.tile([1, 2], [2]).numpy()
    array([1, 2, 1, 2], dtype=int32)
    """
    return _tile(tensor(input), multiples=static_vector(multiples, "multiples"))


@public
def repeat(input, repeats, axis=None, name=None) -> Tensor:
    """Repeat each entry of `input` along `axis`. `repeats` is an integer, or a vector with one for each entry.

    Without `axis` the elements of the flattened input are repeated.

    >>> tf.repeat([1, 2], [2, 1]).numpy()
    array([1, 1, 2], dtype=int32)
    """
    x = tensor(input)
    if axis is None:
        x, axis = _reshape(x, shape=(x.node.aval.size,)), 0
    axis = bounded_axis(static(axis, "axis"), x.ndim)
    shape = x.node.aval.shape
    if isinstance(repeats, (list, tuple)) and any(isinstance(count, (list, tuple)) for count in repeats):
        raise ValueError(f"Shape {np.shape(repeats)} must have rank at most 1: repeats is one number, or a list of them.")
    counts = static_list(repeats, "repeats")
    if min(counts, default=0) < 0:
        raise invalid(f"Expected repeats >= 0, but got {min(counts)}.")
    if len(counts) == 1:
        apart = _broadcast_to(expand_dims(x, axis + 1), shape=(*shape[: axis + 1], counts[0], *shape[axis + 1 :]))
        return _reshape(apart, shape=(*shape[:axis], shape[axis] * counts[0], *shape[axis + 1 :]))
    if len(counts) != shape[axis]:
        raise ValueError(
            f"Dimensions {shape[axis]} and {len(counts)} are not compatible: repeats must be one number, or one for "
            f"each of the {shape[axis]} entries along axis {axis}."
        )
    memory.check_array(sum(counts), np.int64)
    chosen = host_constant(np.repeat(np.arange(shape[axis]), counts))
    same = _reshape(x, shape=shape)  # reshaped first, so that the gradient is dense and not IndexedSlices
    return emit(_gather.op, (same.node, chosen.node), (axis, 0, shape[axis]))


# ---------------------------------------------------------------------------------------------------------------------
# Pad


def _padded(x, paddings):
    if len(paddings) != x.ndim:
        raise invalid(
            f"The first dimension of paddings must be the rank of inputs{plain((len(paddings), 2))} {plain(x.shape)}\n"
            f"Give a pair (before, after) for each axis."
        )
    for before, after in paddings:
        if before < 0 or after < 0:
            raise invalid(f"Paddings must be non-negative: {before} {after}")
    return aval(tuple([before + n + after for n, (before, after) in zip(x.shape, paddings, strict=True)]), x.dtype)


@op("Pad", infer=_padded, strings=True, flops=0)
def _pad(input, *, paddings):
    return lax.pad(input, jnp.full((), blank(input.dtype), input.dtype), tuple([(*pair, 0) for pair in paddings]))


def _inside(dy, input, paddings):
    return slice_(dy, [before for before, _ in paddings], input.node.aval.shape)


@gradient(_pad)
def _(dy, input, *, paddings):
    return _inside(dy, input, paddings)


def _padded_with(input, constant_values, paddings):
    if constant_values.ndim:
        raise invalid(f"constant_values must be a scalar. Found: {plain(constant_values.shape)}")
    return _padded(input, paddings=paddings)


@op("PadV2", infer=_padded_with, strings=True, flops=0)
def _pad_v2(input, constant_values, *, paddings):
    return lax.pad(input, constant_values, tuple([(*pair, 0) for pair in paddings]))


@gradient(_pad_v2)
def _(dy, input, needs_constant_values, *, paddings):
    dx = _inside(dy, input, paddings)
    return dx, reduce_sum(dy) - reduce_sum(dx) if needs_constant_values else None


def _mirrored(input, paddings, mode):
    result = _padded(input, paddings=paddings)
    edge = int(mode == "REFLECT")
    for n, (before, after) in zip(input.shape, paddings, strict=True):
        if max(before, after) > n - edge and (before or after):
            limit, fault = ("less than", "not less than") if edge else ("no greater than", "greater than")
            raise invalid(f"paddings must be {limit} the dimension size: {before}, {after} {fault} {n}")
    return result


@op("MirrorPad", infer=_mirrored, strings=True, flops=0)
def _mirror_pad(input, *, paddings, mode):
    return jnp.pad(input, paddings, mode=mode.lower())


@gradient(_mirror_pad)
def _(dy, *, paddings, mode):
    return _mirror_pad_gradient(dy, paddings=paddings, mode=mode)


def _folded(dy, paddings, mode):
    return aval(tuple([n - before - after for n, (before, after) in zip(dy.shape, paddings, strict=True)]), dy.dtype)


@op("MirrorPadGrad", infer=_folded)
def _mirror_pad_gradient(dy, *, paddings, mode):
    """Add the cotangent of the mirrored entries to their origins, axis by axis."""
    edge = int(mode == "REFLECT")
    for axis, (before, after) in enumerate(paddings):
        n = dy.shape[axis] - before - after
        total = lax.slice_in_dim(dy, before, before + n, axis=axis)
        for start, length, place in ((0, before, edge), (before + n, after, n - after - edge)):
            if length:
                image = lax.rev(lax.slice_in_dim(dy, start, start + length, axis=axis), (axis,))
                margins = [(0, 0, 0)] * dy.ndim
                margins[axis] = (place, n - length - place, 0)
                total = total + lax.pad(image, jnp.zeros((), dy.dtype), margins)
        dy = total
    return dy


@gradient(_mirror_pad_gradient)
def _(ddx, *, paddings, mode):
    return _mirror_pad(ddx, paddings=paddings, mode=mode)


def pairs_of(paddings, what):
    """Return `paddings`, a list or tensor of shape [n, 2], as a tuple of pairs of ints."""
    if paddings is None:
        raise not_an_integer(paddings, what)
    if not (isinstance(paddings, (list, tuple)) or getattr(paddings, "ndim", False)):
        raise invalid(f"{what} must be a matrix with 2 columns: []")
    if isinstance(paddings, (Tensor, Stored)) and paddings.ndim == 2:
        flat, width = static_list(paddings, what), extents_of(paddings)[1]
        paddings = [flat[i * width : (i + 1) * width] for i in range(extents_of(paddings)[0])]
    rows = tuple([static_list(row, what) for row in paddings])
    if any(len(row) != 2 for row in rows):
        raise invalid(f"{what} must be a matrix with 2 columns: {plain([len(row) for row in rows])} columns were given.")
    return rows


@public
def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None) -> Tensor:
    """Pad `tensor` with `paddings[i][0]` entries before and `paddings[i][1]` entries behind it along each axis i.

    With mode "CONSTANT" they are `constant_values`. "REFLECT" mirrors the tensor at its first and last entry, "SYMMETRIC"
    repeats these, too.

    >>> tf.pad([1, 2], [[1, 2]]).numpy()
    array([0, 1, 2, 0, 0], dtype=int32)
    >>> tf.pad([1, 2, 3], [[2, 0]], mode="REFLECT").numpy()
    array([3, 2, 1, 2, 3], dtype=int32)
    """
    mode = mode.upper()
    if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(
            f'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". Received `mode` = {mode}'
        )
    x, pairs = as_tensor(tensor), pairs_of(paddings, "paddings")
    if mode == "CONSTANT":
        if not isinstance(constant_values, (Tensor, Stored)) and np.isscalar(constant_values) and constant_values == 0:
            return _pad(x, paddings=pairs)
        return _pad_v2(x, as_tensor(constant_values, x.dtype), paddings=pairs)
    return _mirror_pad(x, paddings=pairs, mode=mode)


# ---------------------------------------------------------------------------------------------------------------------
# Reverse and roll


def _reversed(tensor, axis):
    seen = set()
    for i, a in enumerate(axis):
        if not -tensor.ndim <= a < tensor.ndim:
            raise invalid(f"'axis'[{i}] = {a} is out of valid range [{-tensor.ndim}, {tensor.ndim - 1}]")
        if a % tensor.ndim in seen:
            raise invalid(f"axis {a % tensor.ndim} specified more than once.")
        seen.add(a % tensor.ndim)
    return tensor


@op("ReverseV2", infer=_reversed, strings=True, flops=0)
def _reverse(tensor, *, axis):
    return jnp.flip(tensor, axis) if axis else tensor


@gradient(_reverse)
def _(dy, *, axis):
    return _reverse(dy, axis=axis)


@public
def reverse(tensor, axis, name=None) -> Tensor:
    """Reverse the order of the entries along each of the axes in the list `axis`.

    Shape and dtype are kept. InvalidArgumentError for an axis out of range.

    >>> tf.reverse([1, 2, 3], axis=[0]).numpy()
    array([3, 2, 1], dtype=int32)
    """
    if axis is not None and (isinstance(axis, (int, np.integer)) or np.ndim(axis) != 1):
        raise invalid_for("ReverseV2", f"'dims' must be 1-dimension, not {np.ndim(axis)}: give a list of axes.")
    return _reverse(as_tensor(tensor), axis=static_list(axis, "axis"))


def _sequences(input, seq_lengths, seq_axis, batch_axis, extent):
    require(seq_lengths, ("int32", "int64"), "Tlen")
    if seq_axis == batch_axis:
        raise invalid(f"batch_dim == seq_dim == {seq_axis}: the axes of sequences and of batches must differ.")
    if seq_lengths.shape != (input.shape[batch_axis],):
        raise invalid(
            f"Length of seq_lengths != input.dims({batch_axis}), ({plain(seq_lengths.shape)} vs. "
            f"{input.shape[batch_axis]}): give a length for each entry of the batch."
        )
    return input


def _wrong_lengths(seq_lengths, seq_axis, extent):
    wrong = (seq_lengths < 0) | (seq_lengths > extent)
    yield (
        wrong,
        lambda: f"seq_lens({(i := np.flatnonzero(wrong)[0])}) " + ("< 0" if seq_lengths[i] < 0 else f"> input.dims({seq_axis})"),
    )


@op(
    "ReverseSequence", infer=_sequences, saves="seq_lengths", mixed=True, refuses=_wrong_lengths,
    strings=True, flops=0,
)  # fmt: skip
def _reverse_sequence(input, seq_lengths, *, seq_axis, batch_axis, extent):
    lengths = jnp.expand_dims(seq_lengths, [a for a in range(input.ndim) if a != batch_axis])
    place = lax.broadcasted_iota(seq_lengths.dtype, input.shape, seq_axis)
    return jnp.take_along_axis(input, jnp.where(place < lengths, lengths - 1 - place, place), seq_axis, mode="clip")


@gradient(_reverse_sequence)
def _(dy, seq_lengths, **attributes):
    return emit(_reverse_sequence.op, (dy.node, seq_lengths.node), tuple(attributes.values())), None


@public
def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None) -> Tensor:
    """Reverse the first `seq_lengths[b]` entries along `seq_axis`, for each b along `batch_axis` (0).

    >>> tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy().tolist()
    [[2, 1, 3], [6, 5, 4]]
    """
    if seq_axis is None:
        raise TypeError("reverse_sequence needs seq_axis, received None: give the axis along which sequences run.")
    x, lengths = node_of(input), node_of(seq_lengths)
    axes = [static(seq_axis, "seq_axis"), static(batch_axis or 0, "batch_axis")]
    for what, axis in zip(("seq_axis", "batch_axis"), axes, strict=True):
        if not 0 <= axis < x.aval.ndim:
            raise invalid_for("ReverseSequence", f"{what} must be in [0, {x.aval.ndim}), the axes of the input, received {axis}.")
    seq, batch = axes
    attrs = (seq, batch, x.aval.shape[seq])
    return emit(check(_reverse_sequence.op, (x, lengths), attrs), (x, lengths), attrs)


def _rolled(input, shift, axis):
    if not input.ndim:
        raise invalid("input must be 1-D or higher: Shape must be at least rank 1 but is rank 0. A scalar has nothing to roll.")
    for a in axis:
        if not -input.ndim <= a < input.ndim:
            raise invalid(f"axis {a} is out of range: the input has {input.ndim} dimensions.")
    if shift.ndim > 1 or shift.size != len(axis):
        raise invalid(
            f"shift and axis must have the same size: received shift of shape {plain(shift.shape)} and {len(axis)} axes."
        )
    return input


@op("Roll", infer=_rolled, saves="shift", mixed=True, strings=True, flops=0)
def _roll(input, shift, *, axis):
    if 0 in input.shape:
        return input
    for a, distance in zip(axis, jnp.reshape(shift, (-1,)), strict=True):
        n = input.shape[a]
        start = lax.rem(lax.rem(-distance, jnp.array(n, shift.dtype)) + jnp.array(n, shift.dtype), jnp.array(n, shift.dtype))
        input = lax.dynamic_slice_in_dim(jnp.concatenate([input, input], a), start, n, a % input.ndim)
    return input


@gradient(_roll)
def _(dy, shift, *, axis):
    return _roll(dy, -shift, axis=axis), None


@public
def roll(input, shift, axis, name=None) -> Tensor:
    """Shift `input` cyclically by `shift` along `axis` (numbers, or lists): entries that leave at the end return at the front.

    Shape and dtype are kept. InvalidArgumentError for an axis out of range.

    >>> tf.roll([1, 2, 3, 4], shift=1, axis=0).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    input, shift = tensor(input), tensor(shift)
    for name, rank in (("shift", shift.ndim), ("axis", getattr(axis, "ndim", None) or np.ndim(axis))):
        if rank > 1:
            raise invalid(f"{name} must be a scalar or a 1-D vector: Shape must be at most rank 1 but is rank {rank}.")
    axes = static_list(axis, "axis")
    require(shift.node.aval, ("int32", "int64"), "Tshift")
    if (count := shift.node.aval.size) != len(axes):
        raise invalid(f"shift and axis must have the same size: both shapes must be equal, but are [{count}] and [{len(axes)}].")
    return _roll(input, shift, axis=axes)
