"""Rows of colours and adjustments."""

import jax.numpy as jnp

import gradtape as tf
from tests.ops.table import Row, real, unit

Invalid, Precondition = tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError
FLOATS = ("float64", "float32", "float16", "bfloat16")
COLOURS = abs(unit(3, 4, 3))  # in (0.1, 0.9), all different


def contrasted(x):
    mean = x.mean(axis=(-3, -2), keepdims=True)
    return (x - mean) * 0.5 + mean


def hue_saturation_value(x):
    """By the six sectors of the circle, each with its own order of the colours."""
    red, green, blue = x[..., 0], x[..., 1], x[..., 2]
    most, least = x.max(-1), x.min(-1)
    span = most - least
    sectors = [(red == most, (green - blue) / span % 6), (green == most, (blue - red) / span + 2)]
    hue = jnp.select(*zip(*sectors, strict=True), (red - green) / span + 4)
    return jnp.stack([hue / 6, span / most, most], -1)


def coloured(x):
    """Each colour is 1, 2/3…0 of the saturation below the value, as its distance on the circle."""
    hue, saturation, value = [x[..., i, None] for i in range(3)]
    distance = (jnp.array([5.0, 3.0, 1.0]) + 6 * hue) % 6
    return value - value * saturation * jnp.clip(jnp.minimum(distance, 4 - distance), 0, 1)


def turned(x, delta=0.25):
    hue, saturation, value = jnp.moveaxis(hue_saturation_value(x), -1, 0)
    return coloured(jnp.stack([(hue + delta) % 1, saturation, value], -1))


def saturated(x, factor=0.5):
    hue, saturation, value = jnp.moveaxis(hue_saturation_value(x), -1, 0)
    return coloured(jnp.stack([hue, jnp.clip(saturation * factor, 0, 1), value], -1))


def factors(function, name):
    """The mistakes that ops with images and a factor find."""
    return (
        (lambda: function(tf.ones([2, 3]), 0.5), Invalid, r"at least 3-D, got shape \[2,3\]"),
        (lambda: function(tf.ones([2, 2, 3]), tf.constant([0.5])), Invalid, rf"{name} must be scalar: \[1\]"),
        (lambda: function(tf.ones([2, 2, 3]), tf.constant(0.5, "float64")), Invalid, "#1.* a float tensor but is a double"),
        (lambda: function(tf.ones([2, 2, 3], "bool"), 0.5), AttributeError, "image dtype must be either floating"),
    )


def channels(function, name):
    return (
        *factors(function, name),
        (lambda: function(tf.ones([2, 2, 2]), 0.5), Invalid, "must have 3 channels but instead has 2 channels"),
    )


def spaces(function):
    """The mistakes that changes of colour space find."""
    return (
        (lambda: function(tf.ones([2, 4])), Precondition, r"must have 3 channels but input only has 4 channels: \[2,4\]"),
        (lambda: function(tf.constant(1.0)), Invalid, "at least 1D"),
        (lambda: function(tf.ones([2, 3], "int32")), Invalid, "Value for attr 'T' of int32 is not in the list"),
    )


ROWS = (
    Row(
        name="adjust_contrast",
        call=lambda x: tf.image.adjust_contrast(x, 0.5),
        args=(real(2, 3, 3, 2),),
        reference=contrasted,
        ops=("AdjustContrastv2",),
        order=-1,
        dtypes=FLOATS,
        errors=factors(tf.image.adjust_contrast, "contrast_factor"),
    ),
    Row(
        name="adjust_hue",
        call=lambda x: tf.image.adjust_hue(x, 0.25),
        args=(COLOURS,),
        reference=turned,
        ops=("AdjustHue",),
        order=-1,
        dtypes=FLOATS,
        errors=channels(lambda x, factor: tf.image.adjust_hue(x, factor if tf.is_tensor(factor) else 0.5), "delta")[::2],
    ),
    Row(
        name="adjust_saturation",
        call=lambda x: tf.image.adjust_saturation(x, 0.5),
        args=(COLOURS,),
        reference=saturated,
        ops=("AdjustSaturation",),
        order=-1,
        dtypes=FLOATS,
        errors=channels(tf.image.adjust_saturation, "scale"),
    ),
    Row(
        name="rgb_to_hsv",
        call=tf.image.rgb_to_hsv,
        args=(COLOURS,),
        reference=hue_saturation_value,
        ops=("RGBToHSV",),
        dtypes=("float64", "float32"),
        special=(
            ([0.5, 0.5, 0.5], [0, 0, 0.5], [3, 0, -2]),
            ([0.0, 0.0, 0.0], [0, 0, 0], [1, 0, 0]),
            ([0.2, 0.7, 0.7], [0.5, 0.71428573, 0.7], [-1.4285715, 1.0748299, 0.33333334]),
            ([0.7, 0.2, 0.7], [0.8333333, 0.71428573, 0.7], [1.7414967, -1.4285715, -0.33333334]),
        ),
        errors=spaces(tf.image.rgb_to_hsv),
    ),
    Row(
        name="hsv_to_rgb",
        call=tf.image.hsv_to_rgb,
        args=(COLOURS,),
        reference=coloured,
        ops=("HSVToRGB",),
        order=0,
        dtypes=FLOATS,
        special=(([0.0, 1.0, 1.0], [1, 0, 0], None), ([1.0, 0.5, 0.5], [0.5, 0.25, 0.25], None)),
        errors=spaces(tf.image.hsv_to_rgb),
    ),
)
