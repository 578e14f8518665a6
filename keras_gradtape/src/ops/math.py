"""The functions of `keras.ops` for segments, order, sequences and spectra."""

import math

from keras.src.backend.common import standardize_dtype

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from keras_gradtape.src.ops.core import convert_to_tensor, of_tensor

# ---------------------------------------------------------------------------------------------------------------------
# Segments


def _segments(reduce, data, segment_ids, num_segments):
    data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    if num_segments is None:  # an extent that depends on values, for eager code only
        num_segments = tf.reduce_max(segment_ids) + 1
    return reduce(data, segment_ids, num_segments)


def segment_sum(data, segment_ids, num_segments=None, sorted=False):
    return _segments(tf.math.unsorted_segment_sum, data, segment_ids, num_segments)


def segment_max(data, segment_ids, num_segments=None, sorted=False):
    y = _segments(tf.math.unsorted_segment_max, data, segment_ids, num_segments)
    # The maximum of an empty segment is the lowest number, and becomes −∞
    return tf.where(y <= y.dtype.min, -math.inf, y) if y.dtype.is_floating else y


def segment_min(data, segment_ids, num_segments=None, sorted=False):
    y = _segments(tf.math.unsorted_segment_min, data, segment_ids, num_segments)
    return tf.where(y >= y.dtype.max, math.inf, y) if y.dtype.is_floating else y


def segment_prod(data, segment_ids, num_segments=None, sorted=False):
    return _segments(tf.math.unsorted_segment_prod, data, segment_ids, num_segments)


# ---------------------------------------------------------------------------------------------------------------------
# Orders


def top_k(x, k, sorted=True, is_stable=True):  # equal values keep their order, whatever `is_stable` says
    return tf.math.top_k(convert_to_tensor(x), k, sorted)


def in_top_k(targets, predictions, k):
    return tf.math.in_top_k(convert_to_tensor(targets, "int32"), convert_to_tensor(predictions, "float32"), k)


# ---------------------------------------------------------------------------------------------------------------------
# Elementary and special functions

rsqrt = of_tensor(tf.math.rsqrt)
erf = of_tensor(tf.math.erf)
erfc = of_tensor(tf.math.erfc)


def logsumexp(x, axis=None, keepdims=False):
    return tf.reduce_logsumexp(convert_to_tensor(x), axis, keepdims)


def erfinv(x):
    x = convert_to_tensor(x)
    if x.dtype.is_floating and x.dtype.size < 4:
        return tf.cast(tf.math.erfinv(tf.cast(x, "float32")), x.dtype)
    return tf.math.erfinv(x)


def logdet(x):
    return tf.linalg.slogdet(convert_to_tensor(x))[1]


def cdist(x, y):
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError("`cdist` inputs must have rank >= 2")
    if x.shape[-1] != y.shape[-1]:
        raise ValueError("Last dimension of inputs to `cdist` must match")
    return tf.sqrt(tf.reduce_sum(tf.math.squared_difference(tf.expand_dims(x, -2), tf.expand_dims(y, -3)), -1))


# ---------------------------------------------------------------------------------------------------------------------
# Sequences and spectra. A complex tensor is a pair of its real and imaginary parts.


def extract_sequences(x, sequence_length, sequence_stride):
    return tf.signal.frame(convert_to_tensor(x), sequence_length, sequence_stride)


def _get_complex_tensor_from_tuple(x):
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}")
    real, imag = map(convert_to_tensor, x)
    if real.shape != imag.shape:
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary parts should have "
            f"the same shape. Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}"
        )
    if not (real.dtype.is_floating and imag.dtype.is_floating):
        raise ValueError(f"At least one tensor in input `x` is not of type float. Received: x={x}.")
    return tf.complex(real, imag)


def _parts(x):
    return tf.math.real(x), tf.math.imag(x)


def _of_parts(function):
    """Wrap a function of a complex tensor, so that it takes and returns real and imaginary parts."""
    return lambda x: _parts(function(_get_complex_tensor_from_tuple(x)))


fft = _of_parts(tf.signal.fft)
fft2 = _of_parts(tf.signal.fft2d)
ifft2 = _of_parts(tf.signal.ifft2d)


def rfft(x, fft_length=None):
    return _parts(tf.signal.rfft(x, fft_length and [fft_length]))


def irfft(x, fft_length=None):
    return tf.signal.irfft(_get_complex_tensor_from_tuple(x), fft_length and [fft_length])


def _window(window, sequence_length, fft_length, dtype):
    """Return the window of `fft_length` numbers, zero-padded on both sides, or None."""
    if window is None:
        return None
    if isinstance(window, str):
        made = {"hann": tf.signal.hann_window, "hamming": tf.signal.hamming_window}
        if window not in made:
            raise ValueError(
                f'If a string is passed to `window`, it must be one of `"hann"`, `"hamming"`. Received: window={window}'
            )
        window = made[window](sequence_length, periodic=True, dtype=dtype)
    else:
        window = convert_to_tensor(window, dtype)
    if window.shape != (sequence_length,):
        raise ValueError(f"The shape of `window` must be equal to [sequence_length]. Received: window shape={window.shape}")
    before = (fft_length - sequence_length) // 2
    return tf.pad(window, [[before, fft_length - sequence_length - before]])


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    if standardize_dtype(x.dtype) not in ("float32", "float64"):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.dtype}")
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    x = convert_to_tensor(x)
    window = _window(window, sequence_length, fft_length, x.dtype)
    if center:
        x = tf.pad(x, [*[[0, 0]] * (x.ndim - 1), [fft_length // 2] * 2], mode="REFLECT")
    frames = tf.signal.frame(x, fft_length, sequence_stride)
    return _parts(tf.signal.rfft(frames if window is None else frames * window))


def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    x = _get_complex_tensor_from_tuple(x)
    if x.ndim < 2:
        raise ValueError(f"Input `x` must have at least 2 dimensions. Received shape: {x.shape}")
    frames = tf.signal.irfft(x, [fft_length])
    window = _window(window, sequence_length, fft_length, frames.dtype)
    if window is not None:
        frames = frames * tf.signal.inverse_stft_window_fn(sequence_stride, lambda *_, **__: window)(fft_length, frames.dtype)
    signal = tf.signal.overlap_and_add(frames, sequence_stride)
    start = fft_length // 2 if center else 0
    if length is not None:
        return signal[..., start : start + length]
    return signal[..., start : extents_of(signal)[-1] - start]
