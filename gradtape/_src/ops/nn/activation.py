"""Activation functions, and the addition of a bias.

Where TensorFlow has a gradient op for an activation (`ReluGrad`), gradtape has it, too: one node instead of three.
"""

import math

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, broadcast_source, plain, zeros
from gradtape._src.ops.floats import is_zeros, wide
from gradtape._src.ops.gradients import summed_over
from gradtape._src.ops.math.arithmetic import abs as abs_, square
from gradtape._src.ops.math.compare import less
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.elementary import exp, tanh
from gradtape._src.ops.math.special import erfc, sigmoid
from gradtape._src.ops.shapes import COMPLEX, FLOATING, NUMERIC, REAL, broadcast, channel_axis, only, require, same

_REAL, _FLOAT = only(REAL, same), only(FLOATING, same)

# ---------------------------------------------------------------------------------------------------------------------
# Rectifiers are piecewise linear, so the gradient is a mask, and so is the gradient of the gradient


@op("Relu", infer=_REAL, saves="y", flops=1)
def relu(features):
    """Return max(x, 0), element-wise: a rectified linear unit. NaN stays NaN; the gradient at 0 is 0. Any real dtype.

    >>> tf.nn.relu([-1.0, 2.0]).numpy()
    array([0., 2.], dtype=float32)
    """
    return jnp.maximum(features, 0)


@op("ReluGrad", infer=_REAL, saves="features", flops=1)
def _relu_grad(gradients, features):
    return jnp.where(features > 0, gradients, gradients * 0)  # multiplied by 0, as in TensorFlow, so that inf and NaN give NaN


@op("Relu6", infer=_REAL, saves="y", flops=2)
def relu6(features):
    """Return min(max(x, 0), 6), element-wise. The gradient at 0 and at 6 is 0. Any real dtype.

    >>> tf.nn.relu6([-1.0, 2.0, 9.0]).numpy()
    array([0., 2., 6.], dtype=float32)
    """
    return jnp.minimum(jnp.maximum(features, 0), 6)


@op("Relu6Grad", infer=_REAL, saves="features", flops=2)
def _relu6_grad(gradients, features):
    return jnp.where((features > 0) & (features < 6), gradients, gradients * 0)


def _linear(mask):
    """Register the gradient of a gradient op that multiplies by a mask, which is the same op."""

    @gradient(mask)
    def _(dz, features, needs_gradients, needs_features, **slope):
        return (
            mask(dz, features, **slope) if needs_gradients else None,
            zeros(extents_of(features), features.dtype) if needs_features else None,
        )


def _masked(function, mask):
    """Register the gradients of an activation and of `mask`, its gradient op, which reads only the activation's result."""
    _linear(mask)

    @gradient(function)
    def _(dy, y):
        return dy if is_zeros(dy) else mask(dy, y)


_masked(relu, _relu_grad)
_masked(relu6, _relu6_grad)


@op("LeakyRelu", infer=_FLOAT, saves="features", flops=2)
def _leaky_relu(features, *, alpha):
    return jnp.where(features > 0, features, alpha * features)


@op("LeakyReluGrad", infer=_FLOAT, saves="features", flops=2)
def _leaky_relu_grad(gradients, features, *, alpha):
    return jnp.where(features > 0, gradients, alpha * gradients)


@gradient(_leaky_relu)
def _(dy, features, *, alpha):
    return _leaky_relu_grad(dy, features, alpha=alpha)


_linear(_leaky_relu_grad)


@public
def leaky_relu(features, alpha=0.2, name=None) -> Tensor:
    """Return x where x > 0, else `alpha`·x, element-wise. The gradient at 0 is `alpha`. Integers are converted to float32.

    >>> tf.nn.leaky_relu([-1.0, 2.0]).numpy().round(4)
    array([-0.2,  2. ], dtype=float32)
    """
    if is_tensor(alpha) or not isinstance(alpha, (int, float, np.number, np.ndarray)):
        raise TypeError(f"Expected float for argument 'alpha' not {alpha!r}. For a tensor write tf.where(x > 0, x, alpha * x).")
    features = tensor(features)
    if features.dtype.is_integer:
        features = cast(features, "float32")
    return _leaky_relu(features, alpha=float(alpha))


@public
def crelu(features, axis=-1, name=None) -> Tensor:
    """Concatenate relu(x) and relu(−x) along `axis`, which gives twice as many features. Any real dtype.

    >>> tf.nn.crelu([-1.0, 2.0]).numpy()
    array([0., 2., 1., 0.], dtype=float32)
    """
    features = tensor(features)
    return relu(concat([features, -features], axis))


# ---------------------------------------------------------------------------------------------------------------------
# Exponential units

ALPHA = 1.6732632423543772848170429916717  # the constant of selu, from Klambauer et al., Self-Normalizing Neural Networks, 2017
SCALE = 1.0507009873554804934193349852946


@op("Elu", infer=_FLOAT, saves="y", flops=3)
def elu(features):
    """Return x where x ≥ 0, else eˣ − 1, element-wise. Float.

    >>> tf.nn.elu([-1.0, 2.0]).numpy().round(4)
    array([-0.6321,  2.    ], dtype=float32)
    """
    return jnp.where(features < 0, jnp.expm1(features), features)


@op("EluGrad", infer=_FLOAT, saves="gradients outputs", flops=3)
def _elu_grad(gradients, outputs):
    return jnp.where(outputs < 0, (outputs + 1) * gradients, gradients)


@op("Selu", infer=_FLOAT, saves="y", flops=3)
def selu(features):
    """Return 1.0507·x where x ≥ 0, else 1.7581·(eˣ − 1), element-wise: the scaled unit of self-normalizing networks. Float.

    >>> tf.nn.selu([-1.0, 2.0]).numpy().round(4)
    array([-1.1113,  2.1014], dtype=float32)
    """
    return jnp.where(features < 0, SCALE * ALPHA * jnp.expm1(features), SCALE * features)


@op("SeluGrad", infer=_FLOAT, saves="gradients outputs", flops=3)
def _selu_grad(gradients, outputs):
    return jnp.where(outputs < 0, (outputs + SCALE * ALPHA) * gradients, SCALE * gradients)


def _exponential(function, slope):
    """Register the gradients of an exponential unit and of `slope`, its gradient op. Both read the unit's result."""

    @gradient(function)
    def _(dy, y):
        return slope(dy, y)

    @gradient(slope)
    def _(dz, gradients, outputs, needs_gradients, needs_outputs):
        return (
            slope(dz, outputs) if needs_gradients else None,
            where(less(outputs, 0), dz * gradients, 0) if needs_outputs else None,
        )


_exponential(elu, _elu_grad)
_exponential(selu, _selu_grad)

# ---------------------------------------------------------------------------------------------------------------------
# Smooth units


@op("Softsign", infer=_FLOAT, saves="features", flops=3)
def softsign(features):
    """Return x / (1 + |x|), element-wise. Float.

    >>> tf.nn.softsign([1.0, -3.0]).numpy()
    array([ 0.5 , -0.75], dtype=float32)
    """
    return features / (1 + jnp.abs(features))


@gradient(softsign)
def _(dy, features):
    return dy / square(1 + abs_(features))


@op(
    "Gelu", infer=_FLOAT, saves="features",
    flops=lambda attrs, inputs, result: (9 if attrs["approximate"] else 4) * inputs[0].size, traits="own",
)  # fmt: skip
def _gelu(features, *, approximate):
    x = wide(features)
    if approximate:
        y = 0.5 * x * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    else:
        y = 0.5 * x * lax.erfc(-math.sqrt(0.5) * x)
    return y.astype(features.dtype)


@gradient(_gelu)
def _(dy, features, *, approximate):
    if approximate:  # y = x·(1 + t)/2, t = tanh(u)
        root = math.sqrt(2 / math.pi)
        t = tanh(root * features + (root * 0.044715) * features * square(features))
        return dy * (0.5 * (1 + t)) + dy * (0.5 * features * (1 - square(t)) * (root + (3 * root * 0.044715) * square(features)))
    below = 0.5 * erfc(-math.sqrt(0.5) * features)  # y = x·Φ(x), Φ′ the normal density
    return dy * below + dy * (features * (1 / math.sqrt(2 * math.pi)) * exp(-0.5 * square(features)))


@public
def gelu(features, approximate=False, name=None) -> Tensor:
    """Return x·Φ(x), element-wise, where Φ is the standard normal distribution function; `approximate` uses tanh. Float.

    >>> tf.nn.gelu([-1.0, 2.0]).numpy().round(4)
    array([-0.1587,  1.9545], dtype=float32)
    """
    features = tensor(features)
    if not features.dtype.is_floating:
        raise ValueError(
            f"`features.dtype` must be a floating point tensor. Received: features.dtype={features.dtype}. Use tf.cast."
        )
    return _gelu(features, approximate=bool(approximate))


@op("Silu", infer=only(FLOATING + COMPLEX, broadcast), broadcasting=True, saves="features beta", flops=2, traits="own")
def _silu(features, beta):
    x = wide(features)
    return (x * lax.logistic(wide(beta) * x)).astype(features.dtype)


@gradient(_silu)
def _(dy, features, beta, needs_features, needs_beta):  # with s = sigmoid(βx): dx = dy·s·(1 + βx·(1 − s)), dβ = dy·x²·s·(1 − s)
    s = sigmoid(beta * features)
    return (
        dy * conj(s * (1 + beta * features * (1 - s))) if needs_features else None,
        dy * conj(square(features) * s * (1 - s)) if needs_beta else None,
    )


@public
def silu(features, beta=1.0) -> Tensor:
    """Return x·sigmoid(`beta`·x), element-wise; also called swish. Float or complex.

    `beta` is converted to the dtype of `features`, broadcasts with it, and has a gradient.

    >>> tf.nn.silu([-1.0, 2.0]).numpy().round(4)
    array([-0.2689,  1.7616], dtype=float32)
    """
    features = tensor(features)
    require(features.node.aval, FLOATING + COMPLEX)
    if is_tensor(beta):
        return _silu(features, cast(beta, features.dtype))
    return _silu(features, beta)


# ---------------------------------------------------------------------------------------------------------------------
# Bias


def _bias_aval(value, bias, data_format):
    require(value, NUMERIC)
    if value.ndim < 2:
        raise invalid(f"Input tensor must be at least 2D: {plain(value.shape)}: axes of batch and channels.")
    if bias.ndim != 1:
        raise invalid(f"Biases must be 1D: {plain(bias.shape)}: one number for each channel.")
    channel = channel_axis(value.ndim, data_format)
    if bias.shape[0] != value.shape[channel]:
        where = "last dimension" if channel == value.ndim - 1 else f"dimension {channel}"
        raise invalid(
            f"Must provide as many biases as the {where} of the input tensor: {plain(bias.shape)} vs. {plain(value.shape)}"
        )
    return value


def _along(bias, rank, channel):
    return tuple([bias if axis == channel else 1 for axis in range(rank)])


@op("BiasAdd", infer=_bias_aval, flops=1)
def _bias_add(value, bias, *, data_format):
    return value + bias.reshape(_along(bias.shape[0], value.ndim, channel_axis(value.ndim, data_format)))


def _bias_gradient_aval(out_backprop, data_format):
    return aval((out_backprop.shape[channel_axis(out_backprop.ndim, data_format)],), out_backprop.dtype)


@op("BiasAddGrad", infer=_bias_gradient_aval, flops=flops.reduction)
def _bias_add_grad(out_backprop, *, data_format):
    channel = channel_axis(out_backprop.ndim, data_format)
    return jnp.sum(out_backprop, [axis for axis in range(out_backprop.ndim) if axis != channel], out_backprop.dtype)


@gradient(_bias_add)
def _(dy, needs_value, needs_bias, *, data_format):
    return dy if needs_value else None, _to_bias(dy, data_format) if needs_bias else None


def _to_bias(dy, data_format):
    if broadcast_source(dy) is None:
        return _bias_add_grad(dy, data_format=data_format)
    channel = channel_axis(dy.ndim, data_format)
    return summed_over(dy, tuple([axis for axis in range(dy.ndim) if axis != channel]))


@gradient(_bias_add_grad)
def _(dz, out_backprop, *, data_format):
    shape = extents_of(out_backprop)
    channel = channel_axis(len(shape), data_format)
    return _broadcast_to(_reshape(dz, shape=_along(shape[channel], len(shape), channel)), shape=shape)


@public
def bias_add(value, bias, data_format=None, name=None) -> Tensor:
    """Return `value` [batch, …, channels] plus `bias` [channels]. With a `data_format` "NC…" the channels are axis 1.

    >>> tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy().tolist()
    [[11.0, 22.0]]
    """
    data_format = data_format or "NHWC"
    first = data_format.startswith("NC")
    if not first and not (data_format.startswith("N") and data_format.endswith("C")):
        raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: data_format={data_format}")
    return _bias_add(value, bias, data_format="NCHW" if first else "NHWC")
