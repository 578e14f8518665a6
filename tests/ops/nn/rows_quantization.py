"""Fake quantization. Its gradients pass straight through, so that numeric ones do not apply: see test_quantization."""

import jax.numpy as jnp

import gradtape as tf
from tests.ops.table import Row, integers

quantization = tf.quantization
x = integers(-9, 9, 4, 3)  # no float, for which gradients would be asked for


def steps(x):
    """The nearest of the steps 1 apart from -2 to 5."""
    return jnp.clip(x, -2, 5).astype("float32")


def fake(function, *shape):
    """The function with this range, after a cast."""
    return lambda x: function(tf.cast(x, tf.float32), tf.fill(shape, -2.0), tf.fill(shape, 5.0), num_bits=3)


ROWS = (
    Row(
        "args",
        lambda x: quantization.fake_quant_with_min_max_args(tf.cast(x, tf.float32), -2.0, 5.0, num_bits=3),
        (x,),
        steps,
        ops=("FakeQuantWithMinMaxArgs",),
        dtypes=("int32",),
    ),
    Row(
        "vars",
        fake(quantization.fake_quant_with_min_max_vars),
        (x,),
        steps,
        ops=("FakeQuantWithMinMaxVars",),
        dtypes=("int32",),
    ),
    Row(
        "per_channel",
        fake(quantization.fake_quant_with_min_max_vars_per_channel, 3),
        (x,),
        steps,
        ops=("FakeQuantWithMinMaxVarsPerChannel",),
        dtypes=("int32",),
    ),
    Row(
        "sides",
        lambda x: quantization.fake_quant_with_min_max_args_gradient(
            tf.ones([4, 3]), tf.cast(x, tf.float32), -2.0, 5.0, num_bits=3
        ),
        (x,),
        lambda x: ((x >= -2) & (x <= 5)).astype("float32"),
        ops=("FakeQuantSides",),
        dtypes=("int32",),
    ),
    *[
        Row(
            name,
            lambda x, f=function: f(tf.cast(x, tf.float32), -4.0, 3.5, num_bits=4, range_given=True),
            (x,),
            lambda x: jnp.clip(x * 1.0, -4, 3.5).astype("float32"),  # the steps are 0.5 apart
            ops=(op,),
            dtypes=("int32",),
        )
        for name, function, op in (
            ("straight", quantization.quantize_and_dequantize, "QuantizeAndDequantizeV2"),
            ("clipped", quantization.quantize_and_dequantize_v2, "QuantizeAndDequantizeV4"),
        )
    ],
)
