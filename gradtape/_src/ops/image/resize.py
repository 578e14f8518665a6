"""Resizing of images. Every method is a linear map of the rows followed by one of the columns (see `sampling`)."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import lowered, lowering
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.shape import expand_dims, plain
from gradtape._src.ops.floats import wide
from gradtape._src.ops.image.geometry import batched, pad_to_bounding_box, positive_target, unbatched
from gradtape._src.ops.image.sampling import SINGLE, Grid, taps, transposed
from gradtape._src.ops.shapes import FLOATING, require

RESIZABLE = (*FLOATING, "int8", "uint8", "int16", "uint16", "int32", "int64")
FEW_TAPS = 8


class ResizeMethod:
    """The names of the methods of `resize`.

    >>> print(tf.image.resize([[[0.0], [1.0]]], [1, 4], tf.image.ResizeMethod.NEAREST_NEIGHBOR).numpy().ravel())
    [0. 0. 1. 1.]
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


# ---------------------------------------------------------------------------------------------------------------------
# Kernels


@lowered("the pixels of a line, mixed")
def _along(x, *, axis, line):
    """Apply the Taps `line` to `x` along `axis`, in the dtype of `x`."""
    total = None
    for indices, weights in zip(line.indices.T, line.weights.T, strict=True):
        part = jnp.take(x, indices, axis=axis, mode="clip")
        if not (isinstance(weights, np.ndarray) and (weights == 1).all()):
            part = part * jnp.asarray(weights.reshape(-1, *[1] * (x.ndim - axis - 1)), x.dtype)
        total = part if total is None else total + part
    return total


def _by_matrix(x, *, axis, line):
    matrix = jnp.asarray(line.matrix(x.shape[axis]), x.dtype)
    mixed = lax.dot_general(matrix, x, (((1,), (axis,)), ((), ())), precision=lax.Precision.HIGHEST)
    return jnp.moveaxis(mixed, 0, axis)


lowering(
    _along,
    when=lambda x, *, axis, line: line.indices.shape[1] > FEW_TAPS,
    rule=_by_matrix,
    because="many taps: a product with a matrix is 15 times faster than their sum; but ∞ and NaN reach the whole line by it",
)


def _resized(images, size, method, *grid):
    """Return [batch, *size, channels], in the dtype of `images`. The axis that shrinks most goes first."""
    known = all(map(xla.is_number, (*images.shape[1:3], *size)))
    for axis in sorted((1, 2), key=lambda axis: size[axis - 1] / images.shape[axis]) if known else (1, 2):
        images = _along(images, axis=axis, line=taps(method, images.shape[axis], size[axis - 1], Grid(*grid)))
    return images


def _unresized(grads, size, method, *grid):
    for axis in sorted((1, 2), key=lambda axis: size[axis - 1] / grads.shape[axis]):
        grads = _along(grads, axis=axis, line=transposed(method, size[axis - 1], grads.shape[axis], Grid(*grid)))
    return grads


def _sized(images, size):
    require(images, RESIZABLE)
    if 0 in images.shape[1:3]:
        raise invalid(f"input image must be of non-zero size: received {plain(images.shape)}, [batch, height, width, channels].")
    if images.shape[3] == 0:
        raise invalid(f"image must have at least one channel: received {plain(images.shape)}.")
    if any(extent < 1 for extent in size):
        raise invalid(f"output dimensions must be positive: size is {plain(size)}.")
    return images.shape[0], *size, images.shape[3]


def _float_aval(images, size, **method):
    return aval(_sized(images, size), np.dtype(SINGLE))


def _same_aval(images, size, **method):
    return aval(_sized(images, size), images.dtype)


def _gradient_aval(grads, size, T, **method):
    return aval((grads.shape[0], *size, grads.shape[3]), T)


def _linear(function, transpose):
    """Register the gradients of a resizing op and of its transpose: each is the other's."""

    @gradient(function)
    def _(dy, images, *, size, **method):
        given = images.node.aval
        return transpose(dy, size=given.shape[1:3], T=given.dtype, **method) if given.inexact else None

    @gradient(transpose)
    def _(ddx, grads, *, size, T, **method):
        return function(ddx, size=grads.node.aval.shape[1:3], **method)


def _interpolating(method, types, keeps_dtype=False, **facts):
    """Define the op that resizes by an interpolation, in float32 or in the images' dtype, and its transpose; return both."""

    @op(types[0], infer=_same_aval if keeps_dtype else _float_aval, **facts)
    def forward(images, *, size, align_corners=False, half_pixel_centers=True):
        images = images if keeps_dtype else images.astype(SINGLE)
        return _resized(images, size, method, align_corners, half_pixel_centers)

    @op(types[1], infer=_gradient_aval)
    def backward(grads, *, size, T, align_corners=False, half_pixel_centers=True):
        return _unresized(wide(grads), size, method, align_corners, half_pixel_centers).astype(T)

    _linear(forward, backward)
    return forward, backward


_nearest, _nearest_gradient = _interpolating(
    "nearest", ("ResizeNearestNeighbor", "ResizeNearestNeighborGrad"), keeps_dtype=True, flops=0
)
_bilinear, _bilinear_gradient = _interpolating("bilinear", ("ResizeBilinear", "ResizeBilinearGrad"))
_bicubic, _bicubic_gradient = _interpolating("bicubic", ("ResizeBicubic", "ResizeBicubicGrad"))


@op("ScaleAndTranslate", infer=_float_aval)
def _filter(images, *, size, kernel_type, antialias):
    return _resized(images.astype(SINGLE), size, (kernel_type, antialias))


@op("ScaleAndTranslateGrad", infer=_gradient_aval)
def _filter_gradient(grads, *, size, T, kernel_type, antialias):
    return _unresized(grads, size, (kernel_type, antialias)).astype(T)


_linear(_filter, _filter_gradient)


# As in TensorFlow, the op has no gradient: LookupError.
@op("ResizeArea", infer=_float_aval)
def _area(images, *, size, align_corners=False):
    return _resized(images.astype(SINGLE), size, "area", align_corners)


def _by_method(images, size, method, antialias):
    """Resize `images`, which have four axes."""
    if method == ResizeMethod.NEAREST_NEIGHBOR:
        return _nearest(images, size=size)
    if method == ResizeMethod.AREA:
        return _area(images, size=size)
    if method == ResizeMethod.BILINEAR and not antialias:
        return _bilinear(images, size=size)
    if method == ResizeMethod.BICUBIC and not antialias:
        return _bicubic(images, size=size)
    kernels = {"bilinear": "triangle", "bicubic": "keyscubic"}
    if method not in (*kernels, "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
        names = ", ".join([repr(name) for key, name in vars(ResizeMethod).items() if key.isupper()])
        raise ValueError(f"Resize method is not implemented: {method}. Give one of {names}.")
    return _filter(images, size=size, kernel_type=kernels.get(method, method), antialias=bool(antialias))


# ---------------------------------------------------------------------------------------------------------------------
# Public functions


def _size(size):
    try:
        values = static_list(size, "size")
    except TypeError:
        raise ValueError(f"'size' must be a 1-D int32 Tensor: received {size!r}. Give two integers.") from None
    if len(values) != 2:
        raise ValueError(f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width. Received {size!r}.")
    return values


def _within(size, shape):
    """Return the largest size with the aspect ratio of `shape` that fits into `size`."""
    height, width = [SINGLE(extent) for extent in shape]
    factor = min(SINGLE(size[0]) / height, SINGLE(size[1]) / width)
    return tuple([int((factor * extent).round()) for extent in (height, width)])


@public
def resize(images, size, method=ResizeMethod.BILINEAR, preserve_aspect_ratio=False, antialias=False, name=None) -> Tensor:
    """Resize `images`, [batch, height, width, channels] or without the batch, to `size` (height, width).

    The result is float32 for every real dtype; with `method` "nearest" it keeps the dtype of `images`. `preserve_aspect_ratio`
    keeps the aspect ratio, with the largest size that fits into `size`. `antialias` widens the filter for downsampling. All
    methods but "area" have gradients. ValueError for other ranks or an unknown method.

    >>> tf.image.resize(tf.ones([2, 2, 1]), [4, 4]).shape
    TensorShape([4, 4, 1])
    """
    images = tensor(images)
    if images.ndim not in (3, 4):
        raise ValueError(f"'images' must have either 3 or 4 dimensions. Received shape {images.shape}.")
    size = _size(size)
    batch = images if images.ndim == 4 else expand_dims(images, 0)
    if preserve_aspect_ratio:
        size = _within(size, batch.node.aval.shape[1:3])
    return unbatched(_by_method(batch, size, method, antialias), images)


@public
def resize_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR, antialias=False):
    """Resize `image` to fit into the target with its aspect ratio kept, and pad both sides with zeros.

    >>> tf.image.resize_with_pad(tf.zeros([2, 5, 3]), 4, 4).shape
    TensorShape([4, 4, 3])
    """
    return fitted(image, target_height, target_width, lambda images, size: resize(images, size, method, antialias=antialias))


def fitted(image, target_height, target_width, resized):
    """Resize and pad like `resize_with_pad`, by a function of images and their size."""
    image = tensor(image)
    batch = batched(image)
    target = positive_target(target_height, target_width)
    extents = [SINGLE(extent) for extent in batch.node.aval.shape[1:3]]
    ratio = max([extent / SINGLE(goal) for extent, goal in zip(extents, target, strict=True)])
    inner = [extent / ratio for extent in extents]
    before = [max(0, int((SINGLE(goal) - extent) / 2)) for goal, extent in zip(target, inner, strict=True)]
    return unbatched(pad_to_bounding_box(resized(batch, [int(extent) for extent in inner]), *before, *target), image)
