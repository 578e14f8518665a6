"""Patches of images and volumes, laid out along the channels."""

from gradtape._src.core.base.errors import OutOfRangeError, UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.shape import plain
from gradtape._src.ops.nn.window import CHANNELS_LAST, cells, sweeps, swept, unviewed, views
from gradtape._src.ops.shapes import COMPLEX, REAL, one_of, require


def _ways(shape, ksizes, strides, rates, padding):
    return sweeps(shape, ksizes[1:-1], strides, padding, (), CHANNELS_LAST[len(shape) - 2], rates, fits=False)


def _patches(x, ways):
    """Return [batch, *places, cells of the window · channels]."""
    return jnp.concatenate(list(views(x, ways)), -1)


def _unpatched(grads, shape, ways):
    """Apply the transpose of `_patches`: add each part of a patch to its original position."""
    parts = jnp.split(grads, cells(ways), -1)
    return unviewed(lambda number, *parts: parts[number], parts, ways, shape)


def _patched(x, rank, ksizes, strides, rates, padding):
    """Infer the aval of the patches of `x`, which has `rank` axes."""
    one_of(padding, ("SAME", "VALID"), "padding")
    for name, values in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if len(values) < rank:
            raise invalid(f"Length for attr '{name}' of {len(values)} must be at least minimum {rank}: an entry for each axis.")
        if values[0] != 1 or values[-1] != 1:
            raise UnimplementedError(
                None, None, f"Only support {name} across space. The first and last entry must be 1: {plain(values)}."
            )
        if min(values) < 1:
            raise OutOfRangeError.saying(f"{name} is out of range. All entries must be positive: {plain(values)}.")
    if x.ndim != rank:
        raise invalid(f"input must be {rank}-dimensional: {plain(x.shape)}. Its axes are batch, those of space, channels.")
    ways = _ways(x.shape, ksizes, strides, rates, padding)
    return aval(swept(x.shape, ways, rank - 1, cells(ways) * x.shape[-1]), x.dtype)


def _image_aval(images, ksizes, strides, rates, padding):
    require(images, (*REAL, *COMPLEX, "bool"))
    return _patched(images, 4, ksizes, strides, rates, padding)


def _volume_aval(input, ksizes, strides, padding):
    require(input, REAL)
    return _patched(input, 5, ksizes, strides, (1,) * 5, padding)


def _linear(function, transpose):
    """Register the gradients of an op that extracts patches, and of its transpose: each is the other's."""

    @gradient(function)
    def _(dy, op, **geometry):
        return transpose(dy, shape=op.inputs[0].node.aval.shape, **geometry)

    @gradient(transpose)
    def _(ddx, *, shape, **geometry):
        return function(ddx, **geometry)


@op("ExtractImagePatches", infer=_image_aval, flops=0)
def _image_patches(images, *, ksizes, strides, rates, padding):
    return _patches(images, _ways(images.shape, ksizes, strides, rates, padding))


@op("ExtractImagePatchesGrad", infer=lambda grads, shape, **geometry: aval(shape, grads.dtype), traits="own")
def _image_patches_gradient(grads, *, shape, ksizes, strides, rates, padding):
    return _unpatched(grads, shape, _ways(shape, ksizes, strides, rates, padding))


@op("ExtractVolumePatches", infer=_volume_aval, flops=0)
def _volume_patches(input, *, ksizes, strides, padding):
    return _patches(input, _ways(input.shape, ksizes, strides, (1,) * 5, padding))


@op("ExtractVolumePatchesGrad", infer=lambda grads, shape, **geometry: aval(shape, grads.dtype), traits="own")
def _volume_patches_gradient(grads, *, shape, ksizes, strides, padding):
    return _unpatched(grads, shape, _ways(shape, ksizes, strides, (1,) * 5, padding))


_linear(_image_patches, _image_patches_gradient)
_linear(_volume_patches, _volume_patches_gradient)


def _listed(value, name):
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{name}' argument, not {value!r}: give an entry for each axis.")
    return static_list(value, name)


@public
def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Extract patches of `images`, [batch, height, width, channels]: [batch, rows, columns, patch's height · width ·
    channels].

    `sizes` is [1, height, width, 1] of a patch. `strides` and `rates`, in the same form, are the distances of patches, and of
    pixels within a patch. `padding` is "VALID" or "SAME", which pads with zeros.

    >>> tf.image.extract_patches(tf.zeros([1, 4, 4, 3]), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID").shape
    TensorShape([1, 2, 2, 12])
    """
    sizes, strides, rates = [_listed(value, what) for value, what in ((sizes, "ksizes"), (strides, "strides"), (rates, "rates"))]
    return _image_patches(tensor(images), ksizes=sizes, strides=strides, rates=rates, padding=padding)


@public
def extract_volume_patches(input, ksizes, strides, padding, name=None):
    """Extract patches of volumes [batch, planes, rows, columns, channels]; see `tf.image.extract_patches`.

    >>> print(tf.extract_volume_patches(tf.zeros([1, 4, 4, 4, 1]), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID").shape)
    (1, 2, 2, 2, 8)
    """
    ksizes, strides = _listed(ksizes, "ksizes"), _listed(strides, "strides")
    return _volume_patches(tensor(input), ksizes=ksizes, strides=strides, padding=padding)
