"""Fake quantization: rounding floats to the steps of a quantization, for training a network that will be quantized.

The steps are those of Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference" (2018): a range is nudged so that 0 is one of them. Gradients pass straight through inside of the range.
"""

from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math.reduction import reduce_sum

FLOAT32, BOOL = np.dtype(np.float32), np.dtype(bool)


class Gradients(NamedTuple):
    """The gradients with respect to the inputs, and to the ends of the range."""

    backprops_wrt_input: Tensor
    backprop_wrt_min: Tensor
    backprop_wrt_max: Tensor


def _nudged(low, high, num_bits, narrow_range):
    """Return the ends of the range, moved so that 0 is a step, and the distance between steps."""
    first, last = jnp.float32(1 if narrow_range else 0), jnp.float32(2**num_bits - 1)
    scale = (high - low) / (last - first)
    zero = first - low / scale
    zero = jnp.where(zero < first, first, jnp.where(zero > last, last, jnp.floor(zero + jnp.float32(0.5))))
    return (first - zero) * scale, (last - zero) * scale, scale


def _fake_quantized(inputs, low, high, num_bits, narrow_range):
    bottom, top, scale = _nudged(low, high, num_bits, narrow_range)
    inverse, half = jnp.float32(1) / scale, jnp.float32(0.5)
    zero = jnp.floor(-bottom * inverse + half)
    shifted = jnp.maximum(jnp.minimum(inputs, top), bottom) - bottom
    steps = jnp.floor(shifted * inverse - zero + half)
    return jnp.where((low == 0) & (high == 0), jnp.float32(0), steps * scale)


def _checked(inputs, num_bits):
    if inputs.dtype != FLOAT32:
        raise invalid(f"Fake quantization takes float32, received {inputs.dtype.name}: use tf.cast.")
    if not 2 <= num_bits <= 16:
        raise invalid(f"num_bits must be between 2 and 16, inclusive; received {num_bits}.")


def _as_inputs(inputs, *, min, max, num_bits, narrow_range):
    _checked(inputs, num_bits)
    if not min < max:
        raise invalid(f"min has to be smaller than max, was: {min:g} >= {max:g}")
    return inputs


def _within(inputs, min, max, *, num_bits, narrow_range):
    """Infer the aval for scalar range ends."""
    _checked(inputs, num_bits)
    for name, end in (("min", min), ("max", max)):
        if end.shape:
            raise invalid(f"`{name}` must be rank 0 but is rank {len(end.shape)}")
    return inputs


def _within_channels(inputs, min, max, *, num_bits, narrow_range):
    """Infer the aval for range ends per channel, the last axis."""
    _checked(inputs, num_bits)
    if not inputs.shape:
        raise invalid("inputs must have a last axis, of channels; received a scalar. Use fake_quant_with_min_max_vars.")
    for name, end in (("min", min), ("max", max)):
        if len(end.shape) != 1:
            raise invalid(f"`{name}` must be rank 1 but is rank {len(end.shape)}")
        if end.shape[0] != inputs.shape[-1]:
            raise invalid(f"{name} has incorrect size, expected {inputs.shape[-1]} was {end.shape[0]}")
    return inputs


@op("FakeQuantWithMinMaxArgs", infer=_as_inputs, saves="inputs")
def _args(inputs, *, min, max, num_bits, narrow_range):
    return _fake_quantized(inputs, jnp.float32(min), jnp.float32(max), num_bits, narrow_range)


@op("FakeQuantWithMinMaxVars", infer=_within, saves="inputs min max")
def _vars(inputs, min, max, *, num_bits, narrow_range):
    return _fake_quantized(inputs, min, max, num_bits, narrow_range)


@op("FakeQuantWithMinMaxVarsPerChannel", infer=_within_channels, saves="inputs min max")
def _per_channel(inputs, min, max, *, num_bits, narrow_range):
    return _fake_quantized(inputs, min, max, num_bits, narrow_range)


def _sides_avals(inputs, min, max, *, num_bits, narrow_range):
    return (aval(inputs.shape, BOOL),) * 3


@op("FakeQuantSides", infer=_sides_avals, traits="own")
def _sides(inputs, min, max, *, num_bits, narrow_range):
    """Return whether the inputs lie below, in and above the nudged range. If both ends are 0, all inputs are inside."""
    bottom, top, _ = _nudged(min, max, num_bits, narrow_range)
    none = (min == 0) & (max == 0)
    below, above = (inputs < bottom) & ~none, (inputs > top) & ~none
    return below, none | ((inputs >= bottom) & (inputs <= top)), above


not_differentiable(_sides, because="it gives bools", unregistered=True)


def _straight_through(dy, inputs, low, high, num_bits, narrow_range, axis):
    """Return `dy` inside of the range as the gradient to the inputs, and its sums over `axis` below and above for the ends."""
    below, inside, above = _sides(inputs, low, high, num_bits=num_bits, narrow_range=narrow_range)
    ends = [reduce_sum(where(side, dy, 0.0), axis) for side in (below, above)]
    return Gradients(where(inside, dy, 0.0), *ends)


@gradient(_args)
def _(dy, inputs, *, min, max, num_bits, narrow_range):
    low, high = tensor(min, "float32"), tensor(max, "float32")
    return _straight_through(dy, inputs, low, high, num_bits, narrow_range, None).backprops_wrt_input


@gradient(_vars)
def _(dy, inputs, min, max, *, num_bits, narrow_range):
    return tuple(_straight_through(dy, inputs, min, max, num_bits, narrow_range, None))


@gradient(_per_channel)
def _(dy, inputs, min, max, *, num_bits, narrow_range):
    return tuple(_straight_through(dy, inputs, min, max, num_bits, narrow_range, list(range(dy.ndim - 1))))


@public
def fake_quant_with_min_max_args(inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """Return `inputs` rounded to the 2^num_bits steps from `min` to `max`, Python numbers; inputs outside of the range become
    the nearest end.

    The range is nudged so that 0 is a step; `narrow_range` leaves out the lowest one. float32. InvalidArgumentError unless
    `min < max` and `num_bits` is from 2 to 16. The gradient passes straight through inside of the nudged range, and is 0 outside.

    >>> tf.quantization.fake_quant_with_min_max_args([-7.0, 0.3, 1.0], -1.0, 2.5, num_bits=3).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return _args(_float32(inputs), min=float(min), max=float(max), num_bits=int(num_bits), narrow_range=bool(narrow_range))


@public
def fake_quant_with_min_max_args_gradient(gradients, inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """Return the gradient of `fake_quant_with_min_max_args`: `gradients` where `inputs` are in the nudged range, else 0.

    >>> print(tf.quantization.fake_quant_with_min_max_args_gradient([1.0, 1.0], [0.5, 9.0]).numpy())
    [1. 0.]
    """
    inputs, ends = _float32(inputs), (tensor(float(min), "float32"), tensor(float(max), "float32"))
    _as_inputs(inputs.node.aval, min=float(min), max=float(max), num_bits=num_bits, narrow_range=narrow_range)
    return _straight_through(_float32(gradients), inputs, *ends, int(num_bits), bool(narrow_range), None).backprops_wrt_input


@public
def fake_quant_with_min_max_vars(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Quantize like `fake_quant_with_min_max_args`, with scalar tensors as range ends.

    Each end gets the sum of the gradients of inputs beyond it. If both ends are 0, the result is 0, and the gradient passes.

    >>> print(tf.quantization.fake_quant_with_min_max_vars([0.1, 0.5, 9.0], 0.0, 1.0, num_bits=2).numpy())
    [0.        0.6666667 1.       ]
    """
    return _vars(*map(_float32, (inputs, min, max)), num_bits=int(num_bits), narrow_range=bool(narrow_range))


@public
def fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Return the gradients of `fake_quant_with_min_max_vars` with respect to `inputs`, `min` and `max`, a named tuple.

    >>> dx, dmin, dmax = tf.quantization.fake_quant_with_min_max_vars_gradient([1.0, 1.0], [0.5, 9.0], 0.0, 1.0)
    >>> print(dx.numpy(), dmin.numpy(), dmax.numpy())
    [1. 0.] 0.0 1.0
    """
    dy, inputs, low, high = map(_float32, (gradients, inputs, min, max))
    _within(inputs.node.aval, low.node.aval, high.node.aval, num_bits=num_bits, narrow_range=narrow_range)
    return _straight_through(dy, inputs, low, high, int(num_bits), bool(narrow_range), None)


@public
def fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Quantize like `fake_quant_with_min_max_vars` with a range for each channel: `min` and `max` of shape [channels].

    >>> x = tf.constant([[0.4, 0.4]])
    >>> print(tf.quantization.fake_quant_with_min_max_vars_per_channel(x, [0.0, 0.0], [3.0, 1.5], num_bits=2).numpy())
    [[0.  0.5]]
    """
    return _per_channel(*map(_float32, (inputs, min, max)), num_bits=int(num_bits), narrow_range=bool(narrow_range))


@public
def fake_quant_with_min_max_vars_per_channel_gradient(gradients, inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Return the gradients of `fake_quant_with_min_max_vars_per_channel`, a named tuple. Those of the ends have shape
    [channels].

    >>> ones, x = tf.ones([1, 2]), [[0.5, 9.0]]
    >>> dx, _, dmax = tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(ones, x, [0.0, 0.0], [1.0, 1.0])
    >>> print(dx.numpy(), dmax.numpy())
    [[1. 0.]] [0. 1.]
    """
    dy, inputs, low, high = map(_float32, (gradients, inputs, min, max))
    _within_channels(inputs.node.aval, low.node.aval, high.node.aval, num_bits=num_bits, narrow_range=narrow_range)
    axes = list(range(inputs.ndim - 1))
    return _straight_through(dy, inputs, low, high, int(num_bits), bool(narrow_range), axes)


def _float32(value):
    return tensor(value, None if isinstance(value, Tensor) else "float32")
