"""What the rows of convolutions and pools share: numbers for which TensorFlow's results are known, and references."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import gradtape as tf

FORMATS = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
UNEVEN = [[0, 0], [1, 0], [0, 2], [0, 0]]
UNEVEN_FIRST = [[0, 0], [0, 0], [1, 0], [0, 2]]


def steps(*shape):
    """Small whole numbers, in float32, from which TensorFlow's literals were computed: each 3 more, modulo 7."""
    return (np.arange(np.prod(shape)) * 3 % 7 - 3).reshape(shape).astype("float32")


def at(shape, *numbers):
    """A float32 array of `shape`."""
    return np.array(numbers, "float32").reshape(shape)


def blank(*shape):
    """float32 zeros of `shape`."""
    return np.zeros(shape, "float32")


def zeros(*shape, dtype="float32"):
    """The tensor that the calls with a mistake are given."""
    return tf.zeros(shape, dtype)


def convolution(strides=1, padding="VALID", dilations=1, layout=None):
    """A convolution by JAX; the channels of the filter times the number of groups are those of the image."""

    def convolve(x, k):
        letters = layout or FORMATS[x.ndim]
        spatial = letters.replace("N", "").replace("C", "")
        pads = padding
        if not isinstance(padding, str):
            pads = [pair for pair, axis in zip(padding, letters, strict=True) if axis in spatial]
        return lax.conv_general_dilated(
            x,
            k,
            strides if isinstance(strides, tuple) else (strides,) * len(spatial),
            pads,
            rhs_dilation=(dilations,) * len(spatial),
            dimension_numbers=(letters, f"{spatial}IO", letters),
            feature_group_count=x.shape[letters.index("C")] // k.shape[-2],
        )

    return convolve


def depthwise(**geometry):
    """A depthwise convolution by JAX: as many groups as channels."""
    return lambda x, k: convolution(**geometry)(x, k.reshape(*k.shape[:-2], 1, -1))


def to_image(shape, convolve):
    """The transpose of `convolve` with respect to the image, which has `shape`."""
    return lambda dy, k: jax.linear_transpose(lambda x: convolve(x, k), jnp.zeros(shape, dy.dtype))(dy)[0]


def to_filter(shape, convolve):
    """The transpose of `convolve` with respect to the filter, which has `shape`."""
    return lambda x, dy: jax.linear_transpose(lambda k: convolve(x, k), jnp.zeros(shape, dy.dtype))(dy)[0]


def stacked(x, extents, strides, padding, rates, fill):
    """[cells of the window, *stops]: what each cell of a window over all axes meets, by slices of the padded `x`."""
    pads = lax.padtype_to_pads(x.shape, reaches(extents, rates), strides, padding) if isinstance(padding, str) else padding
    x = jnp.pad(x, pads, constant_values=fill)
    views = []
    for cell in np.ndindex(*extents):
        index = []
        for axis, i in enumerate(cell):
            start = i * rates[axis]
            index.append(slice(start, x.shape[axis] - (extents[axis] - 1) * rates[axis] + start, strides[axis]))
        views.append(x[tuple(index)])
    return jnp.stack(views)


def reaches(extents, rates):
    """How many cells a window spans along each axis."""
    return [(extent - 1) * rate + 1 for extent, rate in zip(extents, rates, strict=True)]
