"""Windows: weights for the frames of a signal before their Fourier transform."""

import math

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import range_
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.rearrange import reverse
from gradtape._src.ops.array.shape import ones
from gradtape._src.ops.math.arithmetic import sqrt, square
from gradtape._src.ops.math.bessel import bessel_i0e
from gradtape._src.ops.math.cumulative import cumsum
from gradtape._src.ops.math.elementary import exp
from gradtape._src.ops.nn.activation import relu
from gradtape._src.ops.signal.framing import scalar


def _vector(length, dtype, **attributes):
    return aval((length,), dtype)


def _places(length):
    return jnp.arange(length, dtype=jnp.float64)


@op("RaisedCosineWindow", infer=_vector, cheap=True, traits="own")
def _raised_cosine(*, length, dtype, mean, amplitude, period):
    return (mean - amplitude * jnp.cos(2 * math.pi / period * _places(length))).astype(dtype)


@op("VorbisWindow", infer=_vector, cheap=True, traits="own")
def _vorbis(*, length, dtype):
    inner = jnp.sin(math.pi / max(length, 1) * (_places(length) + 0.5))
    return jnp.sin(math.pi / 2 * inner * inner).astype(dtype)


not_differentiable(_raised_cosine, _vorbis, because="a window is made of its length alone, it depends on no tensor")


def _checked(window_length, dtype):
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    length = scalar(window_length, "window_length")
    if length < 0:
        raise invalid(f"window_length must not be negative, received {length}.")
    return length, dtype


def _cosine_window(window_length, periodic, dtype, mean, amplitude):
    length, dtype = _checked(window_length, dtype)
    if length < 2:
        return ones((length,), dtype)
    # As in TensorFlow, a window of odd length is always symmetric.
    period = length if periodic and length % 2 == 0 else length - 1
    return _raised_cosine(length=length, dtype=dtype.numpy, mean=mean, amplitude=amplitude, period=period)


@public
def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Return the Hann window of `window_length` weights, 1/2 − 1/2 · cos(2πn/N).

    `periodic` windows of an even length have the period N = `window_length`; all others are symmetric.

    >>> tf.signal.hann_window(4).numpy()
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _cosine_window(window_length, periodic, dtype, 0.5, 0.5)


@public
def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Return the Hamming window of `window_length` weights, 0.54 − 0.46 · cos(2πn/N). `periodic` is that of `hann_window`.

    >>> tf.signal.hamming_window(4).numpy().round(4)
    array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _cosine_window(window_length, periodic, dtype, 0.54, 0.46)


@public
def vorbis_window(window_length, dtype=dtypes.float32, name=None):
    """Return the Vorbis window of `window_length` weights, sin(π/2 · sin²(π(n + 1/2)/N)). Its square and that of its copy half
    a window later sum to 1.

    >>> print(tf.signal.vorbis_window(4).numpy().round(4))
    [0.228  0.9737 0.9737 0.228 ]
    """
    length, dtype = _checked(window_length, dtype)
    return _vorbis(length=length, dtype=dtype.numpy)


@public
def kaiser_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
    """Return the Kaiser window of `window_length` weights, I₀(β √(1 − (2n/(N−1) − 1)²)) / I₀(β). Differentiable to `beta`.

    >>> print(tf.signal.kaiser_window(3).numpy().round(4))
    [1.e-04 1.e+00 1.e-04]
    """
    length, dtype = _checked(window_length, dtype)
    if length == 0:
        raise invalid("window_length must be at least 1, received 0: a Kaiser window has no weights to leave out.")
    if length == 1:
        return ones((1,), dtype)
    half = (length - 1) / 2
    beta = cast(tensor(beta), dtype)
    places = cast(range_(length, dtype=dtypes.float64) / half - 1.0, dtype)
    inner = beta * sqrt(relu(1.0 - square(places)))
    return exp(inner - beta) * (bessel_i0e(inner) / bessel_i0e(beta))


@public
def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
    """Return the window whose squares are the running sums of a Kaiser window, and their mirror image. Differentiable to
    `beta`.

    >>> window = tf.signal.kaiser_bessel_derived_window(8, beta=4.0).numpy()
    >>> print((window[:4] ** 2 + window[4:] ** 2).round(4))
    [1. 1. 1. 1.]
    """
    length, dtype = _checked(window_length, dtype)
    total = cumsum(kaiser_window(length // 2 + 1, beta, dtype))
    half = sqrt(total[:-1] / total[-1])
    return concat([half, reverse(half, [0])], 0)
