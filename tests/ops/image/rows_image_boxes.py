"""Rows of boxes cropped, and of patches."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import gradtape as tf
from gradtape._src.ops.image import boxes as cropping
from gradtape._src.ops.nn import patches
from tests.ops.table import Row, real

Invalid, OutOfRange, Unimplemented = (
    tf.errors.InvalidArgumentError,
    tf.errors.OutOfRangeError,
    tf.errors.UnimplementedError,
)
ROUNDED = 2e-3  # float32 within
IMAGE = 2, 5, 4, 2
BOXES = np.array([[0.05, 0.1, 0.72, 0.9], [-0.2, 0.3, 1.3, 0.8], [0.9, 0.85, 0.12, 0.25]])
INDEX = np.int32([0, 1, 1])
FAR = 3.0


def cropped(image, boxes, size, method="bilinear", outside=FAR):
    """By the weight of each row and of each column for each place, which lies on no pixel and half way between none."""
    weights, inside = [], []
    for axis, (count, extent) in enumerate(zip(size, image.shape[1:3], strict=True)):
        parts = np.arange(count) / (count - 1) if count > 1 else np.full(1, 0.5)
        first, last = boxes[:, axis, None], boxes[:, axis + 2, None]
        places = (first + parts * (last - first)) * (extent - 1)
        distance = abs(places[..., None] - np.arange(extent))
        weights.append(jnp.maximum(0, 1 - distance) if method == "bilinear" else (distance < 0.5) * 1.0)
        inside.append((places >= 0) & (places <= extent - 1))
    crops = jnp.einsum("bih,bjw,bhwc->bijc", *weights, image[INDEX])
    within = inside[0][:, :, None, None] & inside[1][:, None, :, None]
    return jnp.where(within, crops, outside).astype("float32")


def crop(method, size):
    def call(image, boxes):
        return tf.image.crop_and_resize(image, tf.cast(boxes, "float32"), INDEX, size, method, FAR)

    return call


def uncrop(method):
    def call(grads, boxes):
        grads, boxes = tf.cast(grads, "float32"), tf.cast(boxes, "float32")
        return cropping._to_image(grads, boxes, tf.constant(INDEX), image_size=IMAGE, T=np.dtype("float64"), method=method)

    return call


def uncropped(method):
    def transposed(grads, boxes):
        _, pull = jax.vjp(lambda image: cropped(image, boxes, (3, 2), method, 0.0), jnp.zeros(IMAGE, "float64"))
        return pull(grads.astype("float32"))[0]

    return transposed


def crops(match, error=Invalid, image=(1, 3, 3, 1), boxes=((0.0, 0.0, 1.0, 1.0),), indices=(0,), size=(2, 2), method="bilinear"):
    """An entry of `errors`: a call with one mistake in it."""
    return lambda: tf.image.crop_and_resize(tf.ones(image), boxes, indices, size, method), error, match


def window(x, sizes, strides, rates, padding):
    """Patches by JAX, in which the channels come before the cells of the window; exchanged here."""
    rank, channels = len(sizes), x.shape[-1]
    space = "DHW"[3 - rank :]
    layout = f"N{space}C", f"{space}IO", f"N{space}C"
    result = lax.conv_general_dilated_patches(x, sizes, strides, padding, rhs_dilation=rates, dimension_numbers=layout)
    *places, _ = result.shape
    return jnp.swapaxes(result.reshape(*places, channels, -1), -1, -2).reshape(result.shape)


def same(x):
    return window(x, (2, 3), (2, 1), (1, 2), "SAME")


def same_volume(x):
    return window(x, (2, 1, 2), (1, 2, 1), (1, 1, 1), "SAME")


def put_back(shape, function):
    return lambda dy: jax.linear_transpose(function, jnp.zeros(shape, dy.dtype))(dy)[0]


def wrong(match, error, **changed):
    """An entry of `errors` for patches of images."""
    given = {"sizes": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID", **changed}
    images = given.pop("images", (1, 3, 3, 2))
    return lambda: tf.image.extract_patches(tf.ones(images), **given), error, match


def wrong_volume(match, error, ksizes=(1, 1, 1, 1, 1), strides=(1, 1, 1, 1, 1), shape=(1, 2, 2, 2, 1), dtype="float32"):
    return lambda: tf.extract_volume_patches(tf.ones(shape, dtype), list(ksizes), list(strides), "VALID"), error, match


SAME = {"ksizes": (1, 2, 3, 1), "strides": (1, 2, 1, 1), "rates": (1, 1, 2, 1), "padding": "SAME"}
VOLUME = {"ksizes": (1, 2, 1, 2, 1), "strides": (1, 1, 2, 1, 1), "padding": "SAME"}

CROPS = (
    Row(
        "crop_and_resize",
        crop("bilinear", (3, 2)),
        (real(*IMAGE), BOXES),
        lambda image, boxes: cropped(image, boxes, (3, 2)),
        ops=("CropAndResize",),
        result=lambda dtype: "float32",
        tolerance=ROUNDED,
        errors=(
            crops(r"input image must be 4-D, got: \[3,3,1\]", image=(3, 3, 1)),
            crops("image dimensions must be positive", image=(1, 0, 3, 1)),
            crops(r"boxes must be 2-D, got: \[4\]", boxes=(0.0, 0.0, 1.0, 1.0)),
            crops("boxes must have 4 columns", boxes=((0.0, 0.0, 1.0),)),
            crops(r"box_indices must be rank 1 but is shape \[1,1\]", indices=((0,),)),
            crops(r"box_index has incompatible shape: \[2\] for 1 boxes", indices=(0, 0)),
            crops(r"values outside \[0, batch_size\): received 0 to 1", OutOfRange, boxes=((0.0,) * 4,) * 2, indices=(0, 1)),
            crops(r"values outside \[0, batch_size\): received -1", OutOfRange, indices=(-1,)),
            crops("at least one element that is not finite", boxes=((0.0, 0.0, np.inf, 1.0),)),
            crops("crop dimensions must be positive", size=(0, 2)),
            crops(r"crop_size must have two elements, height and width: received \[2\]", size=(2,)),
            crops("crop_size must be 1-D", size=2),
            crops("attr 'method' of \"foo\" is not in the list", method="foo"),
            crops("requested dtype float32 for Tensor with dtype float64", ValueError, boxes=tf.zeros([1, 4], "float64")),
            crops("requested dtype int32 for Tensor with dtype int64", ValueError, indices=tf.zeros([1], "int64")),
        ),
    ),
    Row(
        "crop_and_resize to one pixel",
        crop("bilinear", (1, 1)),
        (real(*IMAGE), BOXES + 0.01),
        lambda image, boxes: cropped(image, boxes, (1, 1)),
        ops=("CropAndResize",),
        result=lambda dtype: "float32",
        tolerance=ROUNDED,
    ),
    Row(
        "crop_and_resize, nearest",  # whose gradient to the boxes is that of bilinear sampling
        lambda image: crop("nearest", (3, 2))(image, BOXES),
        (real(*IMAGE),),
        lambda image: cropped(image, BOXES, (3, 2), "nearest"),
        ops=("CropAndResize",),
        dtypes=("float64", "float16", "uint8", "int64"),
        result=lambda dtype: "float32",
        tolerance=ROUNDED,
    ),
    Row(
        "crop_and_resize, gradient to the image",
        uncrop("bilinear"),
        (real(3, 3, 2, 2), BOXES),
        uncropped("bilinear"),
        ops=("CropAndResizeGradImage",),
        result=lambda dtype: "float64",
        tolerance=ROUNDED,
    ),
    Row(
        "crop_and_resize, nearest, gradient to the image",
        lambda grads: uncrop("nearest")(grads, BOXES),
        (real(3, 3, 2, 2),),
        lambda grads: uncropped("nearest")(grads, BOXES),
        ops=("CropAndResizeGradImage",),
        result=lambda dtype: "float64",
        tolerance=ROUNDED,
    ),
)

PATCHES = (
    Row(
        "extract_patches",
        lambda x: tf.image.extract_patches(x, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 2, 1], "SAME"),
        (real(2, 5, 6, 2),),
        same,
        ops=("ExtractImagePatches",),
        dtypes=("float64", "float32", "float16", "bfloat16", "int8", "uint8", "int32", "uint64"),
        errors=(
            wrong(r"input must be 4-dimensional: \[3,3,2\]", Invalid, images=(3, 3, 2)),
            wrong("Length for attr 'ksizes' of 2 must be at least minimum 4", Invalid, sizes=[2, 2]),
            wrong(r"Only support ksizes across space.*\[2,1,1,1\]", Unimplemented, sizes=[2, 1, 1, 1]),
            wrong("Only support rates across space", Unimplemented, rates=[1, 1, 1, 2]),
            wrong("strides is out of range", OutOfRange, strides=[1, 0, 1, 1]),
            wrong("'padding' of \"FOO\" is not in the list", Invalid, padding="FOO"),
            wrong("output size would be negative: -1", Invalid, sizes=[1, 5, 1, 1]),
            wrong("Expected list for 'ksizes' argument, not 2", TypeError, sizes=2),
        ),
    ),
    Row(
        "extract_patches, gradient",
        lambda dy: patches._image_patches_gradient(dy, shape=(2, 5, 6, 2), **SAME),
        (real(2, 3, 6, 12),),
        put_back((2, 5, 6, 2), same),
        ops=("ExtractImagePatchesGrad",),
    ),
    Row(
        "extract_volume_patches",
        lambda x: tf.extract_volume_patches(x, [1, 2, 1, 2, 1], [1, 1, 2, 1, 1], "SAME"),
        (real(1, 3, 4, 3, 2),),
        same_volume,
        ops=("ExtractVolumePatches",),
        dtypes=("float64", "float32", "uint8", "int64"),
        errors=(
            wrong_volume(r"input must be 5-dimensional: \[2,2,1\]", Invalid, shape=(2, 2, 1)),
            wrong_volume("Length for attr 'ksizes' of 4 must be at least minimum 5", Invalid, ksizes=(1, 1, 1, 1)),
            wrong_volume("Only support strides across space", Unimplemented, strides=(2, 1, 1, 1, 1)),
            wrong_volume("output size would be negative: -2", Invalid, ksizes=(1, 5, 1, 1, 1)),
            wrong_volume("Value for attr 'T' of bool", Invalid, dtype="bool"),
        ),
    ),
    Row(
        "extract_volume_patches, gradient",
        lambda dy: patches._volume_patches_gradient(dy, shape=(1, 3, 4, 3, 2), **VOLUME),
        (real(1, 3, 2, 3, 8),),
        put_back((1, 3, 4, 3, 2), same_volume),
        ops=("ExtractVolumePatchesGrad",),
    ),
)

ROWS = (*CROPS, *PATCHES)
