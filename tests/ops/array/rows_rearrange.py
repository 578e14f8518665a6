"""Rows of what repeats, pads, reverses and rolls, and of what moves between space, depth and batch."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.array.blocks import depth_to_space, space_to_depth
from gradtape._src.ops.array.rearrange import _mirror_pad_gradient
from tests.ops.table import Row, integers, real

Invalid = tf.errors.InvalidArgumentError
X = tf.reshape(tf.range(6.0), [2, 3])
IMAGE = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
EVERY = ("float64", "float32", "float16", "bfloat16", "complex64", "int8", "uint16", "int64", "bool")


def mirrored(mode, *widths):
    return lambda x: jnp.pad(x, widths, mode=mode)


def folded(mode, shape, *widths):
    """The transpose of mirror padding to `shape`, element by element."""

    def fold(dy):
        places = np.pad(np.arange(np.prod(shape)).reshape(shape), widths, mode=mode)
        return jnp.zeros(np.prod(shape), dy.dtype).at[places.ravel()].add(dy.ravel()).reshape(shape)

    return fold


def blocks_to_batch(x, pads):
    """`space_to_batch` of two axes by blocks of 2 × 3."""
    x = jnp.pad(x, ((0, 0), *pads, (0, 0)))
    n, h, w, c = x.shape
    x = x.reshape(n, h // 2, 2, w // 3, 3, c).transpose(2, 4, 0, 1, 3, 5)
    return x.reshape(n * 6, h // 2, w // 3, c)


def batch_to_blocks(x):
    """`batch_to_space` of two axes by blocks of 2 × 3, one column cut off at the left, one row at the bottom."""
    n, h, w, c = x.shape
    x = x.reshape(2, 3, n // 6, h, w, c).transpose(2, 3, 0, 4, 1, 5).reshape(n // 6, h * 2, w * 3, c)
    return x[:, :-1, 1:]


def to_depth(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 2, w // 2, 4 * c)


def to_space(x):
    n, h, w, c = x.shape
    return x.reshape(n, h, w, 2, 2, c // 4).transpose(0, 1, 3, 2, 4, 5).reshape(n, 2 * h, 2 * w, c // 4)


def first_channels(function):
    """The function for channels in the second place."""
    return lambda x: function(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


ROWS = (
    Row(
        "tile",
        lambda x: tf.tile(x, [2, 3]),
        (real(2, 2),),
        lambda x: jnp.tile(x, (2, 3)),
        ops=("Tile",),
        dtypes=EVERY,
        special=((np.zeros((1, 0), "f4"), np.zeros((2, 0)), np.zeros((1, 0))),),
        errors=(
            (lambda: tf.tile(X, [2]), Invalid, "multiples argument to be a vector of length 2 but got length 1"),
            (lambda: tf.tile(X, [2, -1]), Invalid, r"Expected multiples\[1\] >= 0, but got -1"),
        ),
    ),
    Row("tile to nothing", lambda x: tf.tile(x, [2, 0]), (real(2, 2),), lambda x: jnp.tile(x, (2, 0)), ops=("Tile",)),
    Row(
        "repeat",
        lambda x: tf.repeat(x, 2, axis=1),
        (real(2, 3),),
        lambda x: jnp.repeat(x, 2, axis=1),
        dtypes=EVERY,
        errors=(
            (lambda: tf.repeat(X, [1, 2, 3], axis=0), ValueError, "Dimensions 2 and 3 are not compatible"),
            (lambda: tf.repeat(X, 3, axis=2), ValueError, "axis=2 out of bounds: expected -2<=axis<2"),
        ),
    ),
    Row(
        "repeat, flat",
        lambda x: tf.repeat(x, [2]),
        (real(2, 2),),
        lambda x: jnp.repeat(x, 2),
        special=((3.0, [3.0, 3.0], 2.0),),
    ),
    Row(
        "repeat, each as often as it says",
        lambda x: tf.repeat(x, [2, 0, 1], axis=-1),
        (real(2, 3),),
        lambda x: jnp.repeat(x, np.array([2, 0, 1]), axis=1),
        ops=("GatherV2",),
        dtypes=EVERY,
    ),
    Row(
        "pad",
        lambda x: tf.pad(x, [[1, 0], [0, 2]]),
        (real(2, 3),),
        lambda x: jnp.pad(x, ((1, 0), (0, 2))),
        ops=("Pad",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.pad(X, [[1, -1], [0, 1]]), Invalid, r"Paddings must be non-negative: 1 -1.*\[Op:Pad\]"),
            (lambda: tf.pad(X, [[1, 1]]), Invalid, r"dimension of paddings must be the rank of inputs\[1,2\] \[2,3\]"),
            (lambda: tf.pad(X, [[1], [1]]), Invalid, "paddings must be a matrix with 2 columns"),
            (lambda: tf.pad(X, [[1, 1], [1, 1]], "edge"), ValueError, "Received `mode` = EDGE"),
            (lambda: tf.pad([1, 2], [[1, 0]], constant_values=7.5), TypeError, "7.5 to EagerTensor of dtype int32"),
        ),
    ),
    Row(
        "pad with a value",
        lambda x, c: tf.pad(x, [[1, 0], [0, 1]], constant_values=c),
        (real(2, 2), real()),
        lambda x, c: jnp.pad(x, ((1, 0), (0, 1)), constant_values=c),
        ops=("PadV2",),
        special=((([[1.0]], 7.0), [[7.0, 7.0], [1.0, 7.0]], ([[1.0]], 3.0)),),
    ),
    Row(
        "pad, reflected",
        lambda x: tf.pad(x, [[1, 1], [2, 0]], "reflect"),
        (real(2, 3),),
        mirrored("reflect", (1, 1), (2, 0)),
        ops=("MirrorPad",),
        dtypes=EVERY,
        errors=(
            (
                lambda: tf.pad(X, [[2, 1], [2, 2]], "REFLECT"),
                Invalid,
                "less than the dimension size: 2, 1 not less than 2",
            ),
        ),
    ),
    Row(
        "pad, symmetric",
        lambda x: tf.pad(x, [[2, 1], [0, 3]], "SYMMETRIC"),
        (real(2, 3),),
        mirrored("symmetric", (2, 1), (0, 3)),
        ops=("MirrorPad",),
        dtypes=EVERY,
        errors=((lambda: tf.pad(X, [[3, 1], [3, 2]], "SYMMETRIC"), Invalid, "no greater than .* size: 3, 1 greater than 2"),),
    ),
    Row(
        "gradient of pad, reflected",
        lambda dy: _mirror_pad_gradient(dy, paddings=((1, 1), (2, 0)), mode="REFLECT"),
        (real(4, 5),),
        folded("reflect", (2, 3), (1, 1), (2, 0)),
        ops=("MirrorPadGrad",),
    ),
    Row(
        "gradient of pad, symmetric",
        lambda dy: _mirror_pad_gradient(dy, paddings=((2, 1), (0, 3)), mode="SYMMETRIC"),
        (real(5, 6),),
        folded("symmetric", (2, 3), (2, 1), (0, 3)),
        ops=("MirrorPadGrad",),
    ),
    Row(
        "reverse",
        lambda x: tf.reverse(x, [-1, 0]),
        (real(2, 3),),
        lambda x: jnp.flip(x, (0, 1)),
        ops=("ReverseV2",),
        dtypes=EVERY,
        errors=(
            (lambda: tf.reverse(X, 0), Invalid, "'dims' must be 1-dimension, not 0"),
            (lambda: tf.reverse(X, [1, -1]), Invalid, "axis 1 specified more than once"),
            (lambda: tf.reverse(X, [2]), Invalid, r"'axis'\[0\] = 2 is out of valid range \[-2, 1\]"),
        ),
    ),
    Row("reverse no axis", lambda x: tf.reverse(x, tf.zeros([0], tf.int32)), (real(2),), lambda x: x, ops=("ReverseV2",)),
    Row(
        "reverse_sequence",
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=1),
        (real(3, 4), np.int32([2, 0, 4])),
        lambda x, n: x[np.arange(3)[:, None], np.array([[1, 0, 2, 3], [0, 1, 2, 3], [3, 2, 1, 0]])],
        ops=("ReverseSequence",),
        dtypes=EVERY,
        errors=(
            (
                lambda: tf.reverse_sequence(X, [2, 4], 1),
                Invalid,
                r"seq_lens\(1\) > input\.dims\(1\) \[Op:ReverseSequence\]",
            ),
            (lambda: tf.reverse_sequence(X, [2, -1], 1), Invalid, r"seq_lens\(1\) < 0"),
            (lambda: tf.reverse_sequence(X, [2], 1), Invalid, r"Length of seq_lengths != input\.dims\(0\)"),
            (lambda: tf.reverse_sequence(X, [2, 2], 1, 1), Invalid, "batch_dim == seq_dim == 1"),
            (lambda: tf.reverse_sequence(X, [2, 2], 3), Invalid, r"seq_axis must be in \[0, 2\), .* received 3"),
            (lambda: tf.reverse_sequence(X, [2, 2], -1), Invalid, r"seq_axis must be in \[0, 2\), .* received -1"),
            (lambda: tf.reverse_sequence(X, [2, 2]), TypeError, "reverse_sequence needs seq_axis"),
        ),
    ),
    Row(
        "reverse_sequence, the batch last",
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=0, batch_axis=1),
        (real(3, 2), np.int64([3, 2])),
        lambda x, n: jnp.stack([x[::-1, 0], x[jnp.array([1, 0, 2]), 1]], 1),
        ops=("ReverseSequence",),
    ),
    Row(
        "roll",
        lambda x: tf.roll(x, [1, -5], [0, -1]),
        (real(2, 3),),
        lambda x: jnp.roll(x, (1, -5), (0, 1)),
        ops=("Roll",),
        dtypes=EVERY,
        special=((np.zeros((0, 3), "f4"), np.zeros((0, 3)), np.zeros((0, 3))),),
        errors=(
            (lambda: tf.roll(X, [1, 2], [1]), Invalid, "shift and axis must have the same size"),
            (lambda: tf.roll(X, 1, 2), Invalid, "axis 2 is out of range"),
            (lambda: tf.roll(1.0, 1, 0), Invalid, "input must be 1-D or higher"),
        ),
    ),
    Row(
        "roll by a tensor",
        lambda x, n: tf.roll(x, n, axis=1),
        (real(2, 3), np.array(2)),
        lambda x, n: jnp.roll(x, n, 1),
        ops=("Roll",),
    ),
    Row(
        "roll one axis twice",
        lambda x: tf.roll(x, [1, 1], [1, 1]),
        (real(2, 3),),
        lambda x: jnp.roll(x, 2, 1),
        ops=("Roll",),
    ),
    Row(
        "space_to_batch",
        lambda x: tf.space_to_batch(x, [2, 3], [[1, 0], [1, 1]]),
        (real(2, 3, 4, 1),),
        lambda x: blocks_to_batch(x, ((1, 0), (1, 1))),
        ops=("SpaceToBatchND",),
        dtypes=("float64", "float32", "int64"),
        errors=(
            (
                lambda: tf.space_to_batch(IMAGE, [3, 2], [[0, 0], [0, 0]]),
                Invalid,
                r"padded_shape\[0\]=4 is not divisible by",
            ),
            (
                lambda: tf.space_to_batch(IMAGE, 2, [[0, 0], [0, 0]]),
                Invalid,
                "block_shape rank should be 1 instead of 0",
            ),
            (
                lambda: tf.space_to_batch(IMAGE, [2], [[0, 0], [0, 0]]),
                Invalid,
                "block_shape of 1 entries and paddings of 2 rows",
            ),
            (
                lambda: tf.space_to_batch(IMAGE, [0, 2], [[0, 0], [0, 0]]),
                Invalid,
                r"block_shape\[0\]=0 must be at least 1",
            ),
        ),
    ),
    Row(
        "batch_to_space",
        lambda x: tf.batch_to_space(x, [2, 3], [[0, 1], [1, 0]]),
        (real(6, 2, 1, 2),),
        batch_to_blocks,
        ops=("BatchToSpaceND",),
        dtypes=("float64", "float32", "int64"),
        errors=(
            (
                lambda: tf.batch_to_space(IMAGE, 2, [[0, 0], [0, 0]]),
                Invalid,
                r"batch dimension \(1\) is not divisible by .* \(4\)",
            ),
            (
                lambda: tf.batch_to_space(tf.tile(IMAGE, [4, 1, 1, 1]), [2, 2], [[5, 5], [1, 1]]),
                Invalid,
                r"cropped_shape\[0\]=-2 must be non-negative",
            ),
            (
                lambda: tf.batch_to_space(IMAGE, [1], [[0, 0], [0, 0]]),
                Invalid,
                "block_shape of 1 entries and crops of 2 rows",
            ),
        ),
    ),
    Row(
        "space_to_depth",
        lambda x: space_to_depth(x, 2),
        (real(1, 2, 4, 2),),
        to_depth,
        ops=("SpaceToDepth",),
        dtypes=("float64", "float32", "int64"),
        errors=(
            (
                lambda: space_to_depth(IMAGE, 3),
                Invalid,
                "Image width 4 and height 4 should be divisible by block_size: 3",
            ),
            (lambda: space_to_depth(IMAGE, 1), Invalid, "attr 'block_size' of 1 must be at least minimum 2"),
            (lambda: space_to_depth(X, 2), Invalid, "Input rank should be: 4 instead of: 2"),
            (lambda: space_to_depth(IMAGE, 2, "HWC"), Invalid, "attr 'data_format' of \"HWC\" is not in the list"),
        ),
    ),
    Row(
        "space_to_depth, channels first",
        lambda x: space_to_depth(x, 2, "NCHW"),
        (real(1, 2, 2, 4),),
        first_channels(to_depth),
        ops=("SpaceToDepth",),
    ),
    Row(
        "depth_to_space",
        lambda x: depth_to_space(x, 2),
        (real(1, 1, 2, 8),),
        to_space,
        ops=("DepthToSpace",),
        dtypes=("float64", "float32", "int64"),
        errors=((lambda: depth_to_space(IMAGE, 2), Invalid, "Input depth dimension 1 should be divisible by: 4"),),
    ),
    Row(
        "depth_to_space, channels first",
        lambda x: depth_to_space(x, 2, "NCHW"),
        (real(1, 8, 1, 2),),
        first_channels(to_space),
        ops=("DepthToSpace",),
    ),
    Row(
        "required_space_to_batch_paddings",
        lambda n: tuple(tf.required_space_to_batch_paddings(n, [2, 3], [[1, 0], [0, 1]])),
        (np.int32([4, 5]),),
        lambda n: (np.int32([[1, 1], [0, 1]]), np.int32([[0, 1], [0, 0]])),
        dtypes=("int32",),
    ),
    Row(
        "tile of integers",
        lambda x: tf.tile(x, [2]),
        (integers(0, 9, 3),),
        lambda x: np.tile(x, 2),
        ops=("Tile",),
        dtypes=("uint8",),
    ),
)
