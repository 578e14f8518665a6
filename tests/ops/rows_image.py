"""Rows of the image ops."""

import gradtape as tf
from tests.ops.table import Row, real


def contrasted(x):
    mean = x.mean(axis=(-3, -2), keepdims=True)
    return (x - mean) * 0.5 + mean


ROWS = (
    Row(
        name="adjust_contrast",
        call=lambda x: tf.image.adjust_contrast(x, 0.5),
        args=(real(2, 3, 3, 2),),
        reference=contrasted,
        ops=("AdjustContrastv2",),
        order=-1,
        dtypes=("float32", "float64"),
        errors=((lambda: tf.image.adjust_contrast(tf.ones([2, 2]), 0.5), tf.errors.InvalidArgumentError, "at least 3-D"),),
    ),
)
