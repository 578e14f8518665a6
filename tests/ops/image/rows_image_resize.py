"""Rows of resizing."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.image import resize
from tests.ops.table import Row, real

Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
REAL = (*FLOATS, "int8", "uint8", "int16", "uint16", "int32", "int64")
ROUNDED = 2e-3  # float32 within: what a numeric derivative and a comparison to a thousandth of this can see


def lanczos(radius):
    return radius, lambda x: np.sinc(x) * np.sinc(x / radius)


# name: (radius, weight at a distance below it)
FILTERS = {
    "triangle": (1, lambda x: 1 - x),
    "keyscubic": (2, lambda x: (1.5 * x - 2.5) * x * x + 1 if x < 1 else ((2.5 - 0.5 * x) * x - 4) * x + 2),
    "mitchellcubic": (2, lambda x: ((21 * x - 36) * x * x + 16) / 18 if x < 1 else (((36 - 7 * x) * x - 60) * x + 32) / 18),
    "gaussian": (1.5, lambda x: np.exp(-2 * x * x)),
    "lanczos3": lanczos(3),
    "lanczos5": lanczos(5),
}


def filtering(kernel, antialias=False):
    """A function of extents that gives the matrix of a line: the filter at each pixel's distance, rows of sum 1."""

    def matrix(old, new):
        radius, weigh = FILTERS[kernel]
        width = max(old / new, 1) if antialias else 1
        rows = np.zeros((new, old))
        for i, j in np.ndindex(new, old):
            distance = abs((j + 0.5) - (i + 0.5) * old / new) / width
            rows[i, j] = weigh(distance) if distance < radius else 0
        return rows / rows.sum(1, keepdims=True)

    return matrix


def bilinear(old, new):
    """The filter, but beyond the outermost pixels' centres these go on."""
    rows = np.zeros((new, old))
    for i in range(new):
        place = min(max((i + 0.5) * old / new - 0.5, 0), old - 1)
        for j in range(old):
            rows[i, j] = max(0, 1 - abs(place - j))
    return rows


def nearest(old, new):
    return np.eye(old)[[int((i + 0.5) * old / new) for i in range(new)]]


def area(old, new):
    """How much of each old pixel lies within the new one."""
    parts = [[min(j + 1, (i + 1) * old / new) - max(j, i * old / new) for j in range(old)] for i in range(new)]
    return np.maximum(parts, 0) * new / old


def reference(matrix, size):
    def resized(x):
        rows, columns = [matrix(old, new) for old, new in zip(x.shape[1:3], size, strict=True)]
        return jnp.einsum("ih,jw,nhwc->nijc", rows, columns, x)

    return resized


def transposed(matrix, size):
    """The transpose of the resizing of images of `size`."""

    def resized(dy):
        rows, columns = [matrix(old, new) for old, new in zip(size, dy.shape[1:3], strict=True)]
        return jnp.einsum("ih,jw,nijc->nhwc", rows, columns, dy)

    return resized


def pair(type, name, matrix, call, back, old=(3, 4), new=(6, 2), dtypes=REAL, **attributes):
    """The rows of an op that gives float32, and of its gradient, `back`."""
    return (
        Row(
            name,
            lambda x: call(x, new),
            (real(2, *old, 2),),
            lambda x: reference(matrix, new)(x).astype("float32"),
            ops=(type,),
            dtypes=dtypes,
            result=lambda dtype: "float32",
            tolerance=ROUNDED,
        ),
        Row(
            f"{name}, gradient",
            lambda dy: back(tf.cast(dy, "float32"), size=old, T=np.dtype("float64"), **attributes),
            (real(2, *new, 2),),
            lambda dy: transposed(matrix, old)(dy).astype("float64"),
            ops=(f"{type}Grad",),
            dtypes=("float32", "float64"),
            result=lambda dtype: "float64",
            tolerance=ROUNDED,
        ),
    )


def filters(kernel, antialias, old, new, method=None):
    """The rows of a filter."""

    def call(x, size):
        return tf.image.resize(x, size, method or kernel, antialias=antialias)

    name = f"{kernel}{', antialias' * antialias}, {old} to {new}"
    kind = {"kernel_type": kernel, "antialias": antialias}
    matrix = filtering(kernel, antialias)
    return pair("ScaleAndTranslate", name, matrix, call, resize._filter_gradient, old, new, ("float64", "float32"), **kind)


def wrong(call, match):
    return call, Invalid, match


ROWS = (
    Row(
        "nearest",
        lambda x: tf.image.resize(x, (5, 2), "nearest"),
        (real(2, 3, 4, 2),),
        reference(nearest, (5, 2)),
        ops=("ResizeNearestNeighbor",),
        dtypes=REAL,
        result=lambda dtype: dtype,
        errors=(
            wrong(lambda: tf.image.resize(tf.ones([2, 2, 0]), [1, 1], "nearest"), "at least one channel"),
            wrong(lambda: tf.image.resize(tf.ones([2, 2, 1], "bool"), [1, 1], "nearest"), "attr 'T' of bool"),
        ),
    ),
    Row(
        "nearest, gradient",
        lambda dy: resize._nearest_gradient(dy, size=(3, 4), T=dy.dtype.numpy),
        (real(2, 5, 2, 2),),
        transposed(nearest, (3, 4)),
        ops=("ResizeNearestNeighborGrad",),
    ),
    *pair("ResizeBilinear", "bilinear", bilinear, tf.image.resize, resize._bilinear_gradient),
    *pair(
        "ResizeBicubic",
        "bicubic",
        filtering("keyscubic"),
        lambda x, size: tf.image.resize(x, size, "bicubic"),
        resize._bicubic_gradient,
    ),
    Row(
        "area",
        lambda x: tf.image.resize(x, (2, 5), "area"),
        (real(2, 7, 3, 2),),
        reference(area, (2, 5)),
        ops=("ResizeArea",),
        order=-1,
        dtypes=REAL,
        result=lambda dtype: "float32",
        errors=(
            wrong(lambda: tf.image.resize(tf.ones([0, 2, 1]), [1, 1], "area"), "input image must be of non-zero size"),
            wrong(lambda: tf.image.resize(tf.ones([2, 2, 1]), [1, 0], "area"), "output dimensions must be positive"),
        ),
    ),
    *filters("triangle", True, (7, 3), (3, 5), method="bilinear"),
    *filters("keyscubic", True, (7, 4), (2, 4), method="bicubic"),
    *filters("gaussian", False, (5, 3), (3, 5)),
    *filters("mitchellcubic", True, (7, 3), (3, 5)),
    *filters("lanczos3", False, (8, 3), (3, 4)),
    *filters("lanczos5", True, (7, 13), (6, 3)),
)
