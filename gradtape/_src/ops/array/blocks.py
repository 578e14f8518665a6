"""Moving elements between space, depth and batch."""

from math import prod

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import static, static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.rearrange import pairs_of
from gradtape._src.ops.array.shape import host_constant, plain
from gradtape._src.ops.shapes import one_of


def _require_axes(input, block_shape, pairs, what):
    if input.ndim < 1 + len(block_shape) or len(block_shape) != len(pairs):
        raise invalid(
            f"block_shape of {len(block_shape)} entries and {what} of {len(pairs)} rows must name the axes behind the first of "
            f"shape {plain(input.shape)}."
        )


def _blocks(input, block_shape, paddings):
    """Check the operands of `space_to_batch_nd` and return the result's shape."""
    _require_axes(input, block_shape, paddings, "paddings")
    spatial = []
    for i, (block, (before, after)) in enumerate(zip(block_shape, paddings, strict=True)):
        n = input.shape[1 + i] + before + after
        if block < 1 or before < 0 or after < 0:
            raise invalid(f"block_shape[{i}]={block} must be at least 1, and paddings[{i}]={[before, after]} not negative.")
        if n % block:
            raise invalid(f"padded_shape[{i}]={n} is not divisible by block_shape[{i}]={block}")
        spatial.append(n // block)
    return aval((input.shape[0] * prod(block_shape), *spatial, *input.shape[1 + len(block_shape) :]), input.dtype)


@op("SpaceToBatchND", infer=_blocks, flops=0)
def _space_to_batch(input, *, block_shape, paddings):
    count = len(block_shape)
    rest = input.shape[1 + count :]
    x = jnp.pad(input, ((0, 0), *paddings, *[(0, 0)] * len(rest)))
    split = [n for size, block in zip(x.shape[1:], block_shape, strict=False) for n in (size // block, block)]
    x = x.reshape((x.shape[0], *split, *rest))
    blocks, spatial = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    x = x.transpose((*blocks, 0, *spatial, *range(2 * count + 1, x.ndim)))
    return x.reshape((prod(x.shape[: count + 1]), *x.shape[count + 1 :]))


@gradient(_space_to_batch)
def _(dy, *, block_shape, paddings):
    return _batch_to_space(dy, block_shape=block_shape, crops=paddings)


def _unblocked(input, block_shape, crops):
    """Check the operands of `batch_to_space_nd` and return the result's shape."""
    _require_axes(input, block_shape, crops, "crops")
    if min(block_shape, default=1) < 1 or input.shape[0] % prod(block_shape):
        raise invalid(
            f"Input batch dimension ({input.shape[0]}) is not divisible by product of block sizes ({prod(block_shape)})"
        )
    spatial = []
    for i, (block, (before, after)) in enumerate(zip(block_shape, crops, strict=True)):
        n = input.shape[1 + i] * block - before - after
        if n < 0 or before < 0 or after < 0:
            raise invalid(f"cropped_shape[{i}]={n} must be non-negative, and so must crops[{i}]={[before, after]}")
        spatial.append(n)
    return aval((input.shape[0] // prod(block_shape), *spatial, *input.shape[1 + len(block_shape) :]), input.dtype)


@op("BatchToSpaceND", infer=_unblocked, flops=0)
def _batch_to_space(input, *, block_shape, crops):
    count = len(block_shape)
    x = input.reshape((*block_shape, input.shape[0] // prod(block_shape), *input.shape[1:]))
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    x = x.transpose((count, *pairs, *range(2 * count + 1, x.ndim)))
    sizes = [size * block for size, block in zip(input.shape[1:], block_shape, strict=False)]
    x = x.reshape((x.shape[0], *sizes, *input.shape[1 + count :]))
    kept = [slice(before, size - after) for size, (before, after) in zip(sizes, crops, strict=True)]
    return x[(slice(None), *kept)]


@gradient(_batch_to_space)
def _(dy, *, block_shape, crops):
    return _space_to_batch(dy, block_shape=block_shape, paddings=crops)


def _block_shape(block_shape):
    if np.ndim(block_shape) == 0:
        raise invalid_for("SpaceToBatchND", "block_shape rank should be 1 instead of 0: give a list with a number for each axis.")
    return static_list(block_shape, "block_shape")


@public
def space_to_batch(input, block_shape, paddings, name=None) -> Tensor:
    """Move blocks of the axes behind the first, after padding by `paddings`, into the batch, for dilated convolutions.

    Axis i + 1 is divided into blocks of `block_shape[i]`, so the batch grows by the product of `block_shape`.
    InvalidArgumentError if a padded extent is no multiple of its block.

    >>> tf.space_to_batch(tf.reshape(tf.range(4), [1, 2, 2, 1]), [2, 2], [[0, 0], [0, 0]]).shape
    TensorShape([4, 1, 1, 1])
    """
    return _space_to_batch(tensor(input), block_shape=_block_shape(block_shape), paddings=pairs_of(paddings, "paddings"))


space_to_batch_nd = space_to_batch


@public
def batch_to_space(input, block_shape, crops, name=None) -> Tensor:
    """Invert `space_to_batch`: move blocks in the batch back, then cut `crops` away.

    >>> tf.batch_to_space(tf.reshape(tf.range(4), [4, 1, 1, 1]), [2, 2], [[0, 0], [0, 0]]).numpy().ravel()
    array([0, 1, 2, 3], dtype=int32)
    """
    pairs = pairs_of(crops, "crops")
    blocks = static_list(block_shape, "block_shape")
    if np.ndim(block_shape) == 0:
        blocks *= len(pairs)
    return _batch_to_space(tensor(input), block_shape=blocks, crops=pairs)


def _image(input, block_size, data_format):
    """Return `(batch, height, width, depth)` of a batch of images; InvalidArgumentError if the attributes do not fit it."""
    one_of(data_format, ("NHWC", "NCHW"), "data_format")
    if block_size < 2:
        raise invalid(f"Value for attr 'block_size' of {block_size} must be at least minimum 2")
    if input.ndim != 4:
        raise invalid(f"Input rank should be: 4 instead of: {input.ndim}")
    batch, *rest = extents_of(input)
    height, width, depth = rest if data_format == "NHWC" else (*rest[1:], rest[0])
    return batch, height, width, depth


def _image_aval(batch, height, width, depth, data_format, dtype):
    rest = (height, width, depth) if data_format == "NHWC" else (depth, height, width)
    return aval((batch, *rest), dtype)


def _to_depth_aval(input, block_size, data_format):
    batch, height, width, depth = _image(input, block_size, data_format)
    if height % block_size or width % block_size:
        raise invalid(f"Image width {width} and height {height} should be divisible by block_size: {block_size}")
    height, width, depth = height // block_size, width // block_size, depth * block_size**2
    return _image_aval(batch, height, width, depth, data_format, input.dtype)


@op("SpaceToDepth", infer=_to_depth_aval, flops=0)
def _space_to_depth(input, *, block_size, data_format):
    x = input if data_format == "NHWC" else input.transpose((0, 2, 3, 1))
    n, h, w, c = x.shape
    b = block_size
    x = x.reshape((n, h // b, b, w // b, b, c)).transpose((0, 1, 3, 2, 4, 5)).reshape((n, h // b, w // b, b * b * c))
    return x if data_format == "NHWC" else x.transpose((0, 3, 1, 2))


@gradient(_space_to_depth)
def _(dy, *, block_size, data_format):
    return _depth_to_space(dy, block_size=block_size, data_format=data_format)


def _to_space_aval(input, block_size, data_format):
    batch, height, width, depth = _image(input, block_size, data_format)
    if depth % block_size**2:
        raise invalid(f"Input depth dimension {depth} should be divisible by: {block_size**2}")
    height, width, depth = height * block_size, width * block_size, depth // block_size**2
    return _image_aval(batch, height, width, depth, data_format, input.dtype)


@op("DepthToSpace", infer=_to_space_aval, flops=0)
def _depth_to_space(input, *, block_size, data_format):
    x = input if data_format == "NHWC" else input.transpose((0, 2, 3, 1))
    n, h, w, c = x.shape
    b = block_size
    c //= b * b
    x = x.reshape((n, h, w, b, b, c)).transpose((0, 1, 3, 2, 4, 5)).reshape((n, h * b, w * b, c))
    return x if data_format == "NHWC" else x.transpose((0, 3, 1, 2))


@gradient(_depth_to_space)
def _(dy, *, block_size, data_format):
    return _space_to_depth(dy, block_size=block_size, data_format=data_format)


@public
def space_to_depth(input, block_size, data_format="NHWC", name=None) -> Tensor:
    """Move blocks of `block_size` × `block_size` pixels into the channels: NHWC [n, h, w, c] becomes [n, h/b, w/b, c·b²].
    `data_format` may be NCHW.

    >>> tf.nn.space_to_depth(tf.reshape(tf.range(4), [1, 2, 2, 1]), 2).numpy().tolist()
    [[[[0, 1, 2, 3]]]]
    """
    return _space_to_depth(tensor(input), block_size=static(block_size, "block_size"), data_format=data_format)


@public
def depth_to_space(input, block_size, data_format="NHWC", name=None) -> Tensor:
    """Move channels into blocks of `block_size` × `block_size` pixels: the inverse of `space_to_depth`.

    >>> tf.nn.depth_to_space(tf.reshape(tf.range(4), [1, 1, 1, 4]), 2).numpy().tolist()
    [[[[0], [1]], [[2], [3]]]]
    """
    return _depth_to_space(tensor(input), block_size=static(block_size, "block_size"), data_format=data_format)


@public
def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """Return `(paddings, crops)`, [n, 2] each, with which `space_to_batch` and `batch_to_space` accept `input_shape`.

    `base_paddings` [n, 2] is the minimum of padding on each side.

    >>> paddings, crops = tf.required_space_to_batch_paddings([5, 4], [2, 2])
    >>> print(paddings.numpy().tolist(), crops.numpy().tolist())
    [[0, 1], [0, 0]] [[0, 1], [0, 0]]
    """
    sizes, blocks = static_list(input_shape, "input_shape"), static_list(block_shape, "block_shape")
    base = ((0, 0),) * len(blocks) if base_paddings is None else pairs_of(base_paddings, "base_paddings")
    extra = [-(n + before + after) % block for n, block, (before, after) in zip(sizes, blocks, base, strict=True)]
    paddings = [[before, after + more] for (before, after), more in zip(base, extra, strict=True)]
    crops = [[0, more] for more in extra]
    return tuple([host_constant(np.array(rows, np.int32).reshape(-1, 2)) for rows in (paddings, crops)])


@public
def with_space_to_batch(input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None):
    """Apply `op` to `input` as if its window were dilated by `dilation_rate` along the spatial axes.

    `op(input, num_spatial_dims, padding)` receives each phase of the dilation as a separate batch entry, and padding "VALID".
    `padding` is "SAME" (which needs `filter_shape`) or "VALID". `spatial_dims` are axis numbers ≥ 1. The default is the axes
    behind the batch, or behind the channels if `data_format` begins with "NC".

    >>> def differences(x, num_spatial_dims, padding):
    ...     return x[:, 1:] - x[:, :-1]
    >>> x = tf.reshape([0.0, 1.0, 4.0, 9.0, 16.0, 25.0], [1, 6, 1])
    >>> print(tf.nn.with_space_to_batch(x, [2], "VALID", differences).numpy().ravel())
    [ 4.  8. 12. 16.]
    """
    x = tensor(input)
    rates = [int(rate) for rate in static_list(dilation_rate, "dilation_rate")]
    if any(rate < 1 for rate in rates):
        raise ValueError(f"dilation_rate must be positive, received {rates}.")
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    axes = list(range(first, first + len(rates)))
    if spatial_dims is not None:
        axes = sorted(static_list(spatial_dims, "spatial_dims"))
    if len(axes) != len(rates) or axes[0] < 1 or axes[-1] >= x.ndim:
        raise ValueError(
            f"spatial_dims must name one axis behind the first for each of dilation_rate {rates}, received {axes} for shape "
            f"{x.shape}."
        )
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Invalid padding method {padding!r}: it is 'SAME' or 'VALID'.")
    if all(rate == 1 for rate in rates):
        return op(x, len(rates), padding)
    base = [(0, 0)] * len(rates)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for `padding='SAME'`.")
        extra = [(extent - 1) * rate for extent, rate in zip(static_list(filter_shape, "filter_shape"), rates, strict=False)]
        base = [(n // 2, n - n // 2) for n in extra]
    block, paddings, crops = [1] * (axes[-1]), [(0, 0)] * axes[-1], [(0, 0)] * axes[-1]
    for axis, rate, (before, after) in zip(axes, rates, base, strict=True):
        missing = -(extents_of(x)[axis] + before + after) % rate
        block[axis - 1], paddings[axis - 1], crops[axis - 1] = rate, (before, after + missing), (0, missing)
    y = op(space_to_batch(x, block, paddings), len(rates), "VALID")
    return batch_to_space(y, block, crops)
