"""Rows of Fourier and cosine transforms, frames, windows and the mel scale."""

import jax.numpy as jnp
import numpy as np
import scipy.fft

import gradtape as tf
from gradtape._src.ops.signal import fourier, framing
from tests.ops.table import Row, boolean, complexes, integers, real

Invalid = tf.errors.InvalidArgumentError
signal = tf.signal
COMPLEX = ("complex128", "complex64")


def complex_row(name, rank, *shape, **more):
    """`fft` and `ifft` of one rank."""
    suffix = {1: "", 2: "2D", 3: "3D"}[rank]
    function, reference = getattr(signal, name), getattr(jnp.fft, ("i" if name.startswith("i") else "") + "fftn")
    return Row(
        name,
        function,
        (complexes(*shape),),
        lambda x: reference(x, axes=tuple(range(-rank, 0))),
        ops=(("IFFT" if name.startswith("i") else "FFT") + suffix,),
        dtypes=COMPLEX,
        **more,
    )


def real_row(name, rank, args, fft_length=None, suffix="", **more):
    """`rfft` and `irfft` of one rank."""
    function, kind = getattr(signal, name), "irfft" if name.startswith("i") else "rfft"
    reference = getattr(jnp.fft, f"{kind}n")
    rank_suffix = {1: "", 2: "2D", 3: "3D"}[rank]
    return Row(
        name + suffix,
        (lambda x: function(x, fft_length)) if fft_length else function,
        args,
        lambda x: reference(x, fft_length, axes=tuple(range(-rank, 0))),
        ops=(f"{kind.upper()}{rank_suffix}",),
        dtypes=COMPLEX if kind == "irfft" else ("float64", "float32"),
        **more,
    )


def nd_row(name, args, suffix, **options):
    function, reference = getattr(signal, name), getattr(jnp.fft, name.removesuffix("d"))
    lengths = options.get("fft_length")
    numpy_options = {key: value for key, value in options.items() if key != "fft_length"}
    return Row(
        name + suffix,
        lambda x: function(x, **options),
        args,
        lambda x: reference(x, s=lengths, **numpy_options),
        ops=(name.upper(),),
        dtypes=("float64", "float32") if name == "rfftnd" else COMPLEX,
        order=-1,
    )


def framed(x, length, step):
    count = max(0, 1 + (x.shape[-1] - length) // step)
    return x[..., np.arange(count)[:, None] * step + np.arange(length)]


def added(x, step):
    count, length = x.shape[-2:]
    total = jnp.zeros((*x.shape[:-2], (count - 1) * step + length), x.dtype)
    for i in range(count):
        total = total.at[..., i * step : i * step + length].add(x[..., i, :])
    return total


def dct_matrix(type, count, norm):
    """scipy's transform is linear: what it makes of the unit vectors."""
    return scipy.fft.dct(np.eye(count), type, norm=norm)


def dct_row(type, norm, suffix="", n=None):
    length = n or 5
    return Row(
        f"dct-{type}{'-ortho' if norm else ''}{suffix}",
        lambda x: signal.dct(x, type, n, norm=norm),
        (real(2, 5),),
        lambda x: jnp.pad(x, [(0, 0), (0, max(length - 5, 0))])[:, :length] @ dct_matrix(type, length, norm),
        dtypes=("float64", "float32"),
    )


def idct_row(type, norm):
    scale = 1 if norm else 8 if type == 1 else 10
    return Row(
        f"idct-{type}{'-ortho' if norm else ''}",
        lambda x: signal.idct(x, type, norm=norm),
        (real(2, 5, seed=1),),
        lambda x: x @ np.linalg.inv(dct_matrix(type, 5, norm)) * scale,
    )


def window_row(name, length, *options, ops=(), **more):
    """A window times a signal, so that it can be compared in every dtype."""
    return Row(
        f"{name}-{length}{'-'.join(['', *map(str, options)])}",
        lambda x: x * getattr(signal, f"{name}_window")(length, *options, dtype=x.dtype),
        (np.ones(length),),
        lambda x: x * WINDOWS[name](length, *options),
        ops=ops,
        **more,
    )


def cosine_window(mean):
    def function(length, periodic=True):
        period = length if periodic and length % 2 == 0 else length - 1
        return mean - (1 - mean) * np.cos(2 * np.pi * np.arange(length) / period)

    return function


def vorbis(length):
    return np.sin(np.pi / 2 * np.sin(np.pi * (np.arange(length) + 0.5) / length) ** 2)


WINDOWS = {"hann": cosine_window(0.5), "hamming": cosine_window(0.54), "vorbis": vorbis, "kaiser": np.kaiser}


def short_time(x, length, step, fft_length):
    return jnp.fft.rfft(framed(x, length, step) * WINDOWS["hann"](length), fft_length)


def mel(f):
    return 1127 * np.log(1 + f / 700)


def mel_matrix(bins, lines, rate, low, high):
    lines = mel(np.linspace(0, rate / 2, lines))[:, None]
    edges = np.linspace(mel(low), mel(high), bins + 2)
    step = edges[1] - edges[0]
    weights = np.maximum(0, np.minimum(lines - edges[:-2], edges[2:] - lines) / step)
    weights[0] = 0
    return weights


NOT_REAL = "RFFT requires tf.float32 or tf.float64 inputs, got"
NOT_COMPLEX = "IRFFT requires tf.complex64 or tf.complex128 inputs, got"
ONES = np.ones(3, "float32")

ROWS = (
    complex_row(
        "fft",
        1,
        2,
        5,
        special=(
            (np.zeros((2, 0), "complex64"), np.zeros((2, 0))),
            (
                np.array([1 + 2j, 3 - 1j, 0.5j], "complex64"),
                [4 + 1.5j, -1.7990381 - 0.3480762j, 0.7990381 + 4.8480762j],
                [3, 0, 0],
            ),
        ),
        errors=(
            (lambda: signal.fft(tf.constant([1.0])), Invalid, "'Tcomplex' of float is not in the list of allowed values"),
            (lambda: signal.fft(tf.constant(1j)), Invalid, r"rank of at least 1 but got: \[\].*Op:FFT"),
        ),
    ),
    complex_row("ifft", 1, 2, 5, special=((np.zeros((2, 0), "complex64"), np.zeros((2, 0)), np.zeros((2, 0))),)),
    complex_row(
        "fft2d", 2, 2, 3, 4, errors=((lambda: signal.fft2d([1j]), Invalid, r"rank of at least 2 but got: \[1\].*Op:FFT2D"),)
    ),
    complex_row("ifft2d", 2, 2, 3, 4),
    complex_row("fft3d", 3, 2, 3, 4),
    complex_row("ifft3d", 3, 2, 3, 4),
    real_row(
        "rfft",
        1,
        (real(2, 4),),
        special=(
            (np.zeros((0, 4), "float32"), np.zeros((0, 3)), np.zeros((0, 4))),
            ([1.0, 2.0, 4.0], [7.0, -2.0 + 1.7320508j], [2.0, 0.5, 0.5]),
        ),
        errors=(
            (lambda: signal.rfft(tf.constant([1, 2])), ValueError, NOT_REAL),
            (lambda: signal.rfft(tf.constant([1.0, 2.0], tf.float16)), ValueError, NOT_REAL),
            (lambda: signal.rfft(1.0), ValueError, r"Shape \(\) must have rank at least 1"),
            (lambda: signal.rfft(ONES, [2, 2]), Invalid, r"fft_length must have shape \[1\]"),
            (lambda: signal.rfft(ONES, 2), Invalid, r"fft_length must have shape \[1\], received 2: give a list"),
            (lambda: signal.rfft(ONES, [-2]), ValueError, "Dimension -2 must be >= 0"),
            (lambda: signal.rfft(ONES, [0]), Invalid, "needs at least one element"),
        ),
    ),
    Row(
        "transforms-of-nothing",
        lambda x: (
            signal.rfft(x),
            signal.rfft(x, [0]),
            signal.rfft2d(x),
            signal.irfft(tf.cast(x, tf.complex64)),
            signal.irfft2d(tf.cast(x, tf.complex64)),
            signal.rfft2d(tf.transpose(x)),
        ),
        (np.zeros((2, 0)),),
        lambda x: (
            *[jnp.zeros((2, 0), "complex128")] * 3,
            *[jnp.zeros((2, 0), "float32")] * 2,
            jnp.zeros((0, 2), "complex128"),
        ),
        order=0,
    ),
    real_row("rfft", 1, (real(2, 5),), suffix="-odd"),
    real_row("rfft", 1, (real(2, 5, seed=1),), (7,), suffix="-filled"),
    real_row("rfft", 1, (real(2, 5, seed=2),), (4,), suffix="-cut"),
    real_row(
        "irfft",
        1,
        (complexes(2, 3),),
        special=(
            (np.array([1 + 1j, 2 + 1j, 3 + 2j], "complex64"), [2.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
            (np.zeros((0, 3), "complex64"), np.zeros((0, 4))),
        ),
        errors=(
            (lambda: signal.irfft(tf.constant([1.0])), ValueError, NOT_COMPLEX),
            (lambda: signal.irfft(tf.constant(1j)), ValueError, "must have rank at least 1"),
            (lambda: signal.irfft([1j]), Invalid, "needs at least one element"),
        ),
    ),
    real_row("irfft", 1, (complexes(2, 3, seed=1),), (5,), suffix="-odd"),
    real_row("irfft", 1, (complexes(2, 3, seed=2),), (8,), suffix="-filled"),
    real_row("irfft", 1, (complexes(2, 4, seed=3),), (3,), suffix="-cut"),
    real_row(
        "rfft2d",
        2,
        (real(2, 3, 4),),
        errors=((lambda: signal.rfft2d([1.0]), ValueError, r"Shape \(1,\) must have rank at least 2"),),
    ),
    real_row("rfft2d", 2, (real(3, 5),), (4, 3), suffix="-fitted"),
    real_row("irfft2d", 2, (complexes(2, 3, 3),)),
    real_row("irfft2d", 2, (complexes(3, 3, seed=1),), (2, 5), suffix="-fitted"),
    real_row("rfft3d", 3, (real(2, 3, 4, seed=1),), order=-1),
    real_row("irfft3d", 3, (complexes(2, 3, 3, seed=1),), order=-1),
    Row(
        "RFFTGrad",
        lambda x: fourier._rfft_gradient(x, shape=(2, 5), fft_length=(4,)),
        (complexes(2, 3),),
        lambda x: jnp.pad(4 * jnp.fft.irfft(x * np.array([1, 0.5, 1])), [(0, 0), (0, 1)]),
        ops=("RFFTGrad",),
        dtypes=COMPLEX,
    ),
    Row(
        "IRFFTGrad",
        lambda x: fourier._irfft_gradient(x, shape=(2, 4), fft_length=(5,)),
        (real(2, 5),),
        lambda x: jnp.pad(jnp.fft.rfft(x) * np.array([0.2, 0.4, 0.4]), [(0, 0), (0, 1)]),
        ops=("IRFFTGrad",),
    ),
    nd_row("fftnd", (complexes(2, 3, 2, 2),), ""),
    nd_row("fftnd", (complexes(2, 3, 4),), "-axes", axes=[0, 2], fft_length=[3, 2], norm="ortho"),
    nd_row("ifftnd", (complexes(2, 3, 4),), "", norm="forward"),
    nd_row("ifftnd", (complexes(3, 4),), "-axes", axes=[-2], norm="ortho"),
    nd_row("rfftnd", (real(2, 3, 4),), ""),
    nd_row("rfftnd", (real(2, 3, 4),), "-axes", axes=[2, 1], norm="forward"),
    nd_row("irfftnd", (complexes(2, 3, 3),), ""),
    nd_row("irfftnd", (complexes(2, 3, 4),), "-axes", axes=[2, 0], fft_length=[3, 5], norm="ortho"),
    Row(
        "fftshift",
        lambda x: signal.fftshift(x),
        (real(3, 4),),
        jnp.fft.fftshift,
        ops=("Roll",),
        errors=((lambda: signal.fftshift([1.0], 2), Invalid, r"axes must be in \[-1, 0\]"),),
    ),
    Row("ifftshift", lambda x: signal.ifftshift(x, [-1, 0]), (real(3, 5),), jnp.fft.ifftshift, ops=("Roll",)),
    Row("ifftshift-axis", lambda x: signal.ifftshift(x, 1), (real(3, 5),), lambda x: jnp.fft.ifftshift(x, 1), ops=("Roll",)),
    Row(
        "frame",
        lambda x: signal.frame(x, 3, 2),
        (real(2, 8),),
        lambda x: framed(x, 3, 2),
        ops=("Frame",),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        special=(
            (np.zeros((2, 0), "float32"), np.zeros((2, 0, 3))),
            ([1.0, 2.0], np.zeros((0, 3)), [0.0, 0.0]),
        ),
        errors=(
            (lambda: signal.frame(1.0, 2, 3), ValueError, r"Shape \(\) must have rank at least 1"),
            (lambda: signal.frame(ONES, [2], 3), ValueError, r"Shape \(1,\) must have rank 0: frame_length"),
            (lambda: signal.frame(ONES, 2.0, 3), TypeError, "frame_length must be an integer, received 2.0"),
            (lambda: signal.frame(ONES, -2, 3), Invalid, "frame_length must not be negative, received -2"),
            (lambda: signal.frame(ONES, 2, 0), Invalid, "frame_step must be at least 1, received 0"),
            (lambda: signal.frame(ONES, 2, 1, axis=1), Invalid, r"axis 1 is out of range .* rank 1"),
        ),
    ),
    Row("frame-apart", lambda x: signal.frame(x, 2, 3), (real(2, 8, seed=1),), lambda x: framed(x, 2, 3), ops=("Frame",)),
    Row(
        "frame-filled",
        lambda x: signal.frame(x, 4, 3, pad_end=True, pad_value=-1),
        (real(2, 7),),
        lambda x: framed(jnp.pad(x, [(0, 0), (0, 3)], constant_values=-1), 4, 3),
        ops=("Frame",),
    ),
    Row(
        "frame-axis",
        lambda x: signal.frame(x, 3, 1, axis=-2),
        (real(2, 5, 2),),
        lambda x: jnp.moveaxis(framed(jnp.moveaxis(x, 1, -1), 3, 1), 1, -1),
        ops=("Frame",),
    ),
    Row(
        "frame-integers",
        lambda x: signal.frame(x, 2, 1),
        (integers(0, 9, 4),),
        lambda x: framed(x, 2, 1),
        order=0,
        dtypes=("int32", "uint8", "int64"),
        result=lambda dtype: dtype,
    ),
    Row("frame-bools", lambda x: signal.frame(x, 2, 1), (boolean(4),), lambda x: framed(x, 2, 1), order=0, dtypes=("bool",)),
    Row(
        "overlap_and_add",
        lambda x: signal.overlap_and_add(x, 2),
        (real(2, 3, 5),),
        lambda x: added(x, 2),
        ops=("OverlapAndAdd",),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        special=(
            (np.zeros((0, 2), "float32"), [], np.zeros((0, 2))),
            ([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], np.ones((3, 2))),
        ),
        errors=(
            (lambda: signal.overlap_and_add(ONES, 1), ValueError, r"Shape \(3,\) must have rank at least 2"),
            (lambda: signal.overlap_and_add([ONES], 1.0), ValueError, "frame_step must be an integer. Got .*float32"),
            (lambda: signal.overlap_and_add([ONES], [1]), ValueError, "must have rank 0: frame_step"),
            (lambda: signal.overlap_and_add([ONES], 0), Invalid, "frame_step must be at least 1, received 0"),
        ),
    ),
    Row(
        "overlap_and_add-apart",
        lambda x: signal.overlap_and_add(x, tf.constant(4)),
        (real(2, 3, 3),),
        lambda x: added(x, 4),
        ops=("OverlapAndAdd",),
    ),
    Row(
        "overlap_and_add-samples",
        lambda x: framing._overlap_and_add(x, samples=9, frame_step=2),
        (real(3, 3),),
        lambda x: jnp.pad(added(x, 2), (0, 2)),
        ops=("OverlapAndAdd",),
    ),
    *[dct_row(type, norm) for type in (1, 2, 3, 4) for norm in (None, "ortho") if (type, norm) != (1, "ortho")],
    dct_row(2, None, "-filled", n=7),
    dct_row(3, "ortho", "-cut", n=3),
    *[idct_row(type, norm) for type in (1, 2, 3, 4) for norm in (None, "ortho") if (type, norm) != (1, "ortho")],
    Row(
        "dct-edges",
        signal.dct,
        (real(1, 1),),
        lambda x: 2 * x,
        special=((np.zeros((2, 0), "float32"), np.zeros((2, 0))),),
        errors=(
            (lambda: signal.dct(ONES, 5), ValueError, "Types I, II, III and IV .*received 5"),
            (lambda: signal.dct(ONES, n=0), ValueError, "n should be a positive integer or None, received 0"),
            (lambda: signal.dct(ONES, axis=0), NotImplementedError, "axis must be -1. Got: 0"),
            (lambda: signal.dct(ONES, norm="x"), ValueError, "Expected None or 'ortho', got: x"),
            (lambda: signal.dct(ONES, 1, norm="ortho"), ValueError, "not supported for the Type-I DCT"),
            (lambda: signal.dct([1.0], 1), ValueError, "Type-I DCT requires the dimension to be greater than one"),
            (lambda: signal.dct([1, 2]), TypeError, "takes tf.float32 or tf.float64, received int32"),
        ),
    ),
    window_row(
        "hann",
        6,
        ops=("RaisedCosineWindow",),
        dtypes=("float64", "float32", "float16", "bfloat16"),
        errors=(
            (lambda: signal.hann_window(4, dtype=tf.int32), ValueError, "dtype must be a floating point type. Found .*int32"),
            (lambda: signal.hann_window([4]), ValueError, r"Shape \(1,\) must have rank 0"),
            (lambda: signal.hann_window(4.0), TypeError, "window_length must be an integer, received 4.0"),
            (lambda: signal.hann_window(-4), Invalid, "window_length must not be negative, received -4"),
        ),
    ),
    window_row("hann", 6, False),
    window_row("hann", 5),
    window_row("hamming", 4, ops=("RaisedCosineWindow",)),
    window_row("vorbis", 6, ops=("VorbisWindow",)),
    Row(
        "windows-of-one",
        lambda x: (
            x
            * tf.concat(
                [
                    w
                    for function in (signal.hann_window, signal.hamming_window, signal.vorbis_window, signal.kaiser_window)
                    for w in (function(1, dtype=x.dtype),)
                ],
                0,
            )
        ),
        (real(4),),
        lambda x: x,
    ),
    Row(
        "windows-of-none",
        lambda x: (
            x
            + tf.concat(
                [
                    function(0, dtype=x.dtype)
                    for function in (signal.hann_window, signal.vorbis_window, signal.kaiser_bessel_derived_window)
                ],
                0,
            )
        ),
        (np.zeros(0),),
        lambda x: x,
        errors=((lambda: signal.kaiser_window(0), Invalid, "window_length must be at least 1, received 0"),),
    ),
    Row(
        "kaiser_window",
        lambda beta: signal.kaiser_window(5, beta, beta.dtype),
        (np.array(3.0),),
        lambda beta: jnp.i0(beta * np.sqrt(1 - np.linspace(-1, 1, 5) ** 2)) / jnp.i0(beta),
        special=((2.0, [0.43867627, 0.8347614, 1.0, 0.8347614, 0.43867627]),),
        order=1,
    ),
    window_row("kaiser", 6, 12.0, dtypes=("float64", "float32")),
    Row(
        "kaiser_bessel_derived_window",
        lambda beta: signal.kaiser_bessel_derived_window(6, beta, beta.dtype),
        (np.array(3.0),),
        lambda beta: (lambda half: jnp.concatenate([half, half[::-1]]))(
            jnp.sqrt((lambda total: total[:-1] / total[-1])(jnp.cumsum(jnp.i0(beta * np.sqrt(1 - np.linspace(-1, 1, 4) ** 2)))))
        ),
        order=1,
    ),
    Row(
        "stft",
        lambda x: signal.stft(x, 6, 4),
        (real(2, 14),),
        lambda x: short_time(x, 6, 4, 8),
        ops=("Frame", "RFFT", "RaisedCosineWindow"),
        errors=(
            (lambda: signal.stft(1.0, 6, 4), ValueError, "must have rank at least 1"),
            (lambda: signal.stft(ONES, [6], 4), ValueError, "must have rank 0: frame_length"),
        ),
    ),
    Row(
        "stft-plain",
        lambda x: signal.stft(x, 6, 4, fft_length=4, window_fn=None, pad_end=True),
        (real(14),),
        lambda x: jnp.fft.rfft(framed(jnp.pad(x, (0, 4)), 6, 4), 4),
    ),
    Row(
        "inverse_stft",
        lambda x: signal.inverse_stft(signal.stft(x, 6, 2), 6, 2, window_fn=signal.inverse_stft_window_fn(2))[4:-4],
        (real(16),),
        lambda x: x[4:-4],
        ops=("OverlapAndAdd", "IRFFT"),
        errors=(
            (lambda: signal.inverse_stft([1j], 6, 4), ValueError, "must have rank at least 2"),
            (lambda: signal.inverse_stft(tf.ones([2, 5]), 6, 4), ValueError, NOT_COMPLEX),
        ),
    ),
    Row(
        "inverse_stft-plain",
        lambda x: signal.inverse_stft(x, 7, 3, fft_length=4, window_fn=None),
        (complexes(3, 3),),
        lambda x: added(jnp.pad(jnp.fft.irfft(x, 4), [(0, 0), (0, 3)]), 3),
        dtypes=COMPLEX,
    ),
    Row(
        "inverse_stft_window_fn",
        lambda x: x * signal.inverse_stft_window_fn(4)(6, x.dtype),
        (np.ones(6),),
        lambda x: x * np.array([0, 2, 4 / 3, 1, 4 / 3, 2]),
    ),
    Row(
        "mdct",
        lambda x: signal.mdct(x, 8),
        (real(2, 16),),
        lambda x: (
            (lambda f: jnp.concatenate([-f[..., 5:3:-1] - f[..., 6:], f[..., :2] - f[..., 3:1:-1]], -1))(
                framed(x, 8, 4) * vorbis(8)
            )
            @ dct_matrix(4, 4, None)
        ),
        errors=((lambda: signal.mdct(ONES, 6), ValueError, "multiple of 4. Received 6"),),
    ),
    Row(
        "inverse_mdct",
        lambda x: signal.inverse_mdct(signal.mdct(x, 8))[4:-4],
        (real(20),),
        lambda x: x[4:-4],
        errors=((lambda: signal.inverse_mdct(ONES), ValueError, "must have rank at least 2"),),
    ),
    Row(
        "inverse_mdct-ortho",
        lambda x: signal.inverse_mdct(signal.mdct(x, 8, None, norm="ortho"), None, "ortho")[4:-4],
        (real(20, seed=1),),
        lambda x: x[4:-4],
    ),
    Row(
        "mel",
        lambda x: x @ signal.linear_to_mel_weight_matrix(3, 9, tf.constant(8000), dtype=x.dtype),
        (real(2, 9),),
        lambda x: x @ mel_matrix(3, 9, 8000, 125, 3800),
        errors=tuple(
            (lambda options=options: signal.linear_to_mel_weight_matrix(**options), ValueError, match)
            for options, match in (
                ({"num_mel_bins": 0}, "num_mel_bins must be positive. Got: 0"),
                ({"lower_edge_hertz": -1.0}, "lower_edge_hertz must be non-negative. Got: -1.0"),
                ({"lower_edge_hertz": 5e3}, "lower_edge_hertz 5000.0 >= upper_edge_hertz 3800.0"),
                ({"sample_rate": 0}, "sample_rate must be positive. Got: 0"),
                ({"sample_rate": 2000}, r"Nyquist frequency \(sample_rate / 2\). Got 3800.0 for sample_rate: 2000"),
                ({"dtype": tf.int32}, "dtype must be a floating point type. Got: .*int32"),
            )
        ),
    ),
    Row(
        "mfccs",
        signal.mfccs_from_log_mel_spectrograms,
        (real(2, 5),),
        lambda x: x @ dct_matrix(2, 5, None) / np.sqrt(10),
        errors=((lambda: signal.mfccs_from_log_mel_spectrograms(tf.zeros([2, 0])), ValueError, "num_mel_bins must be positive"),),
    ),
)
