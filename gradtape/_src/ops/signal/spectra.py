"""Spectra of signals: cosine transforms, short-time Fourier transforms and their inverses, and the mel scale."""

import math

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import node_of, static, tensor
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.creation import linspace, range_
from gradtape._src.ops.array.joining import concat, split
from gradtape._src.ops.array.rearrange import pad, reverse, tile
from gradtape._src.ops.array.shape import expand_dims, filled, reshape
from gradtape._src.ops.math.arithmetic import divide_no_nan, maximum, minimum, square
from gradtape._src.ops.math.complex import COMPLEX_OF, complex, real
from gradtape._src.ops.math.elementary import exp, log
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.signal.fourier import irfft, require_rank, rfft
from gradtape._src.ops.signal.framing import frame, overlap_and_add, scalar
from gradtape._src.ops.signal.windows import hann_window, vorbis_window


def _samples(x):
    return x.node.aval.shape[-1]


def _of_length(x, length):
    """Crop or zero-pad `x` to `length` along the last axis."""
    missing = length - _samples(x)
    if missing > 0:
        return pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    return x[..., :length] if missing else x


# ---------------------------------------------------------------------------------------------------------------------
# Cosine transforms


def _check_dct(x, type, n, axis, norm):
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}. Bring that axis to the end with tf.transpose.")
    if n is not None and n < 1:
        raise ValueError(f"n should be a positive integer or None, received {n}.")
    if type not in (1, 2, 3, 4):
        raise ValueError(f"Types I, II, III and IV (I)DCT are supported: type is 1, 2, 3 or 4, received {type!r}.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    require_rank(x, 1)
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT. Give norm=None.")
    if type == 1 and _samples(x) < 2:
        raise ValueError(f"Type-I DCT requires the dimension to be greater than one, received shape {x.shape}.")


def _turned(count, direction, dtype):
    """Return exp(±iπk/2N) for k = 0 … N - 1."""
    angle = range_(count, dtype=dtype) * (direction * math.pi / (2 * count))
    return exp(complex(filled((count,), 0, dtype), angle))


def _first_and_rest(first, rest, count, dtype):
    """Return a vector of `count` elements: `first`, then `rest` repeated."""
    return concat([filled((1,), first, dtype), filled((count - 1,), rest, dtype)], 0)


def _dct1(x, norm):
    return real(rfft(concat([x, reverse(x[..., 1:-1], [-1])], -1)))


def _dct2(x, norm):
    count = _samples(x)
    spectrum = rfft(x, [2 * count])[..., :count]
    y = real(spectrum * (2.0 * _turned(count, -1, x.dtype)))
    return y * _first_and_rest(math.sqrt(0.25 / count), math.sqrt(0.5 / count), count, x.dtype) if norm else y


def _dct3(x, norm):
    count = _samples(x)
    x = x * (_first_and_rest(math.sqrt(count), math.sqrt(count / 2), count, x.dtype) if norm else float(count))
    spectrum = complex(x, filled(x.node.aval.shape, 0, x.dtype)) * (2.0 * _turned(count, 1, x.dtype))
    return irfft(spectrum, [2 * count])[..., :count]


def _dct4(x, norm):
    count = _samples(x)
    y = _dct2(_of_length(x, 2 * count), None)[..., 1::2]
    return y * math.sqrt(0.5 / count) if norm else y


_DCT = {1: _dct1, 2: _dct2, 3: _dct3, 4: _dct4}


def _cosine_transform(input, type, inverse, n, axis, norm):
    x = tensor(input)
    _check_dct(x, type, n, axis, norm)
    if x.dtype.name not in COMPLEX_OF:
        raise TypeError(f"A cosine transform takes tf.float32 or tf.float64, received {x.dtype.name}. Use tf.cast.")
    if n is not None:
        x = _of_length(x, n)
    return _DCT[inverse[type]](x, norm) if _samples(x) else x


@public
def dct(input, type=2, n=None, axis=-1, norm=None, name=None) -> Tensor:
    """Return the discrete cosine transform of `type` 1 to 4 along the last axis of `input`, as `scipy.fftpack.dct`.

    `input` is cropped or zero-padded to `n` samples. `norm="ortho"` makes it orthonormal (not type 1). float32 or float64.

    >>> tf.signal.dct([1.0, 1.0]).numpy().round(4)
    array([4., 0.], dtype=float32)
    """
    return _cosine_transform(input, type, {1: 1, 2: 2, 3: 3, 4: 4}, n, axis, norm)


@public
def idct(input, type=2, n=None, axis=-1, norm=None, name=None) -> Tensor:
    """Return the inverse of `dct` of the same `type`, but for a factor of 2N (2N - 2 for type 1) if `norm` is None.

    >>> tf.signal.idct(tf.signal.dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy().round(4)
    array([1., 2.], dtype=float32)
    """
    return _cosine_transform(input, type, {1: 1, 2: 3, 3: 2, 4: 4}, n, axis, norm)


# ---------------------------------------------------------------------------------------------------------------------
# Short-time Fourier transforms


def _enclosing_power_of_two(length):
    return 1 << max(length - 1, 0).bit_length()


def _windowed(frames, window_fn, length):
    return frames if window_fn is None else frames * window_fn(length, dtype=frames.dtype)


@public
def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None) -> Tensor:
    """Return the Fourier transforms of windowed frames of real `signals` [..., samples]: [..., frames, fft_length // 2 + 1].

    `fft_length` is by default the smallest power of 2 ≥ `frame_length`. `window_fn(length, dtype=…)` returns the window; None
    means no window. `pad_end` zero-pads incomplete frames at the end. float32 gives complex64, float64 complex128. See `frame`
    and `rfft`.

    >>> tf.signal.stft(tf.zeros([100]), frame_length=20, frame_step=10).shape
    TensorShape([9, 17])
    """
    x = tensor(signals)
    require_rank(x, 1)
    length = scalar(frame_length, "frame_length")
    fft_length = _enclosing_power_of_two(length) if fft_length is None else scalar(fft_length, "fft_length")
    return rfft(_windowed(frame(x, length, frame_step, pad_end=pad_end), window_fn, length), [fft_length])


@public
def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """Return the `window_fn` with which `inverse_stft` inverts an `stft` of this `frame_step` and window.

    It is the forward window divided by the sum of its squares over all overlapping frames (Griffin and Lim, 1984, equation 7).

    >>> forward, inverse = tf.signal.hann_window(8), tf.signal.inverse_stft_window_fn(4)(8, tf.float32)
    >>> print((forward * inverse)[:4].numpy().round(4), ((forward * inverse)[:4] + (forward * inverse)[4:]).numpy().round(4))
    [0.     0.0286 0.5    0.9714] [1. 1. 1. 1.]
    """
    step = scalar(frame_step, "frame_step")

    def window_fn(frame_length, dtype):
        length = scalar(frame_length, "frame_length")
        window = forward_window_fn(length, dtype=dtype)
        overlaps = -(-length // step)
        squares = reshape(pad(square(window), [(0, overlaps * step - length)]), [overlaps, step])
        total = tile(reduce_sum(squares, 0), [overlaps])[:length]
        return divide_no_nan(window, total)

    return window_fn


@public
def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None) -> Tensor:
    """Return the signals [..., samples] with the short-time transforms `stfts` [..., frames, fft_length // 2 + 1].

    It inverts `stft` if `window_fn` is `inverse_stft_window_fn(frame_step, window of stft)`. complex64 or complex128.

    >>> x = tf.sin(tf.range(32.0))
    >>> frames = tf.signal.stft(x, 8, 4)
    >>> y = tf.signal.inverse_stft(frames, 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4))
    >>> print(frames.shape, y.shape, np.allclose(x[4:28], y[4:28], atol=1e-5))
    (7, 5) (32,) True
    """
    x = tensor(stfts)
    require_rank(x, 2)
    length = scalar(frame_length, "frame_length")
    fft_length = _enclosing_power_of_two(length) if fft_length is None else scalar(fft_length, "fft_length")
    frames = _of_length(irfft(x, [fft_length]), length)
    return overlap_and_add(_windowed(frames, window_fn, length), frame_step)


@public
def mdct(signals, frame_length, window_fn=vorbis_window, pad_end=False, norm=None, name=None):
    """Return the modified discrete cosine transforms of frames of `signals`, half overlapping: [..., frames, frame_length /
    2].

    `frame_length` is a multiple of 4, else ValueError. `window_fn` None is a window of 1/√2. `norm` is None or "ortho".

    >>> print(tf.signal.mdct(tf.ones([32]), frame_length=8).shape)
    (7, 4)
    """
    x = tensor(signals)
    require_rank(x, 1)
    length = scalar(frame_length, "frame_length")
    if length % 4:
        raise ValueError(f"The frame length must be a multiple of 4. Received {length}.")
    frames = _half_windowed(frame(x, length, length // 2, pad_end=pad_end), window_fn, length)
    a, b, c, d = split(frames, 4, -1)
    return dct(concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1), type=4, norm=norm)


def _half_windowed(frames, window_fn, length):
    return frames * math.sqrt(0.5) if window_fn is None else _windowed(frames, window_fn, length)


@public
def inverse_mdct(mdcts, window_fn=vorbis_window, norm=None, name=None):
    """Return the inverse of `mdct` of the same `window_fn` and `norm`: signals [..., samples].

    It is exact where two frames overlap, if the squares of the window and of its copy half a frame later sum to 1.

    >>> x = tf.sin(tf.range(16.0))
    >>> frames = tf.signal.mdct(x, 8, norm="ortho")
    >>> y = tf.signal.inverse_mdct(frames, norm="ortho")
    >>> print(frames.shape, y.shape, np.allclose(x[4:12], y[4:12], atol=1e-5))
    (3, 4) (16,) True
    """
    x = tensor(mdcts)
    require_rank(x, 2)
    half = _samples(x)
    y = dct(x, type=4, norm=norm)
    first, second = split(y if norm else y * (0.5 / half), 2, -1)
    frames = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
    return overlap_and_add(_half_windowed(frames, window_fn, 2 * half), half)


# ---------------------------------------------------------------------------------------------------------------------
# The mel scale


def _mel(hertz):
    return 1127.0 * log(1.0 + hertz / 700.0)


@public
def linear_to_mel_weight_matrix(
    num_mel_bins=20,
    num_spectrogram_bins=129,
    sample_rate=8000,
    lower_edge_hertz=125.0,
    upper_edge_hertz=3800.0,
    dtype=dtypes.float32,
    name=None,
):
    """Return the matrix [num_spectrogram_bins, num_mel_bins] that maps linear spectra, by `matmul`, to the mel scale.

    Each column is a triangle with a peak of 1; they are evenly spaced from `lower_edge_hertz` to `upper_edge_hertz` on the
    scale 1127 · log(1 + f/700). ValueError for edges outside of [0, sample_rate / 2].

    >>> tf.signal.linear_to_mel_weight_matrix(num_mel_bins=4, num_spectrogram_bins=9).shape
    TensorShape([9, 4])
    """
    dtype = dtypes.as_dtype(dtype)
    if isinstance(sample_rate, Tensor):
        sample_rate = to_numpy(node_of(sample_rate))
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower_edge_hertz < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}")
    if sample_rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
    if upper_edge_hertz > sample_rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got "
            f"{upper_edge_hertz} for sample_rate: {sample_rate}"
        )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")
    bins = static(num_spectrogram_bins, "num_spectrogram_bins")
    nyquist = tensor(float(sample_rate) / 2, dtype)
    frequencies = expand_dims(_mel(linspace(tensor(0.0, dtype), nyquist, bins)[1:]), 1)  # HTK ignores frequency 0
    first, last = [_mel(tensor(float(edge), dtype)) for edge in (lower_edge_hertz, upper_edge_hertz)]
    edges = linspace(first, last, num_mel_bins + 2)
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    rising = (frequencies - lower) / (center - lower)
    falling = (upper - frequencies) / (upper - center)
    return pad(maximum(minimum(rising, falling), 0.0), [[1, 0], [0, 0]])


@public
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Return the mel-frequency cepstral coefficients of log-magnitude mel spectra [..., num_mel_bins], in HTK's scale.

    They are a cosine transform of type II, divided by √(2 · num_mel_bins). float32 or float64; ValueError if there are no
    bins.

    >>> print(tf.signal.mfccs_from_log_mel_spectrograms(tf.ones([1, 4])).numpy().round(4) + 0)
    [[2.8284 0.     0.     0.    ]]
    """
    x = tensor(log_mel_spectrograms)
    require_rank(x, 1)
    if not _samples(x):
        raise ValueError(f"num_mel_bins must be positive. Got a tensor of shape {x.shape}.")
    return dct(x, type=2) * math.sqrt(0.5 / _samples(x))
