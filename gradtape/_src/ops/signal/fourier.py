"""Fourier transforms over the last axes: complex (`fft`), of real signals (`rfft`), their inverses, and shifts of spectra.

The spectrum of a real signal is symmetric. So `rfft` returns the first `n // 2 + 1` bins of the last axis, and `irfft` reads
only these. Both are linear over the real numbers. The gradient of each is its transpose, whose gradient is the transform
itself.
"""

import math

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import is_tensor, static_list, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.rearrange import roll
from gradtape._src.ops.array.shape import plain, reshape
from gradtape._src.ops.math.complex import COMPLEX_OF
from gradtape._src.ops.shapes import COMPLEX, axes_of, require

SUFFIXES = {1: "", 2: "2D", 3: "3D"}
_COMPLEX_NUMBERS = "its numbers are complex"


def _last(rank):
    return tuple(range(-rank, 0))


def _fitted(x, extents):
    """Crop or zero-pad `x` at the end to `extents` along its last axes."""
    for axis, extent in zip(_last(len(extents)), extents, strict=True):
        axis += x.ndim
        if x.shape[axis] > extent:
            x = x[(slice(None),) * axis + (slice(extent),)]
    missing = [extent - have for extent, have in zip(extents, x.shape[x.ndim - len(extents) :], strict=True)]
    return jnp.pad(x, [(0, 0)] * (x.ndim - len(extents)) + [(0, m) for m in missing]) if any(missing) else x


# ---------------------------------------------------------------------------------------------------------------------
# Complex transforms


def _complex_rule(rank):
    def infer(input):
        require(input, COMPLEX, "Tcomplex")
        if input.ndim < rank:
            raise invalid(f"Input must have rank of at least {rank} but got: {plain(input.shape)}. Add an axis.")
        return input

    return infer


def _complex_transform(type, kernel, rank):
    @op(
        f"{type}{SUFFIXES[rank]}", unhosted=_COMPLEX_NUMBERS, infer=_complex_rule(rank), flops=flops.fourier(rank),
        traits="real_flops",
    )  # fmt: skip
    def transform(input):
        return kernel(input, axes=_last(rank)) if input.size else input

    return transform


_FORWARD = {rank: _complex_transform("FFT", jnp.fft.fftn, rank) for rank in SUFFIXES}
_BACKWARD = {rank: _complex_transform("IFFT", jnp.fft.ifftn, rank) for rank in SUFFIXES}


def _size(x, rank):
    return math.prod(x.node.aval.shape[-rank:])


def _transposed(there, back, rank):
    gradient(there[rank])(lambda dy: back[rank](dy) * _size(dy, rank))
    gradient(back[rank])(lambda dy: there[rank](dy) * (1.0 / max(_size(dy, rank), 1)))


for rank in SUFFIXES:
    _transposed(_FORWARD, _BACKWARD, rank)


def _spectrum(value):
    found = tensor(value)
    return found if is_tensor(value) or found.dtype.is_complex else tensor(value, hint=dtypes.complex64)


@public
def fft(input, name=None) -> Tensor:
    """Return the discrete Fourier transform of the last axis of `input`: Σₙ xₙ exp(−2πi·kn/N).

    Shape and dtype are kept. complex64 or complex128, else InvalidArgumentError. A list of real numbers becomes complex64.

    >>> tf.signal.fft([1.0, 0.0, 0.0, 0.0]).numpy()
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _FORWARD[1](_spectrum(input))


@public
def ifft(input, name=None) -> Tensor:
    """Return the inverse of `fft`: 1/N · Σₖ xₖ exp(2πi·kn/N) over the last axis. complex64 or complex128.

    >>> tf.signal.ifft(tf.signal.fft([1.0, 2.0])).numpy()
    array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    return _BACKWARD[1](_spectrum(input))


@public
def fft2d(input, name=None):
    """Return the discrete Fourier transform of the last two axes of `input`, complex64 or complex128.

    >>> print(tf.signal.fft2d(tf.ones([2, 2], tf.complex64)).numpy().real)
    [[4. 0.]
     [0. 0.]]
    """
    return _FORWARD[2](_spectrum(input))


@public
def ifft2d(input, name=None):
    """Return the inverse of `fft2d`, over the last two axes. complex64 or complex128.

    >>> print(tf.signal.ifft2d(tf.constant([[4.0, 0.0], [0.0, 0.0]], tf.complex64)).numpy().real)
    [[1. 1.]
     [1. 1.]]
    """
    return _BACKWARD[2](_spectrum(input))


@public
def fft3d(input, name=None):
    """Return the discrete Fourier transform of the last three axes of `input`, complex64 or complex128.

    >>> print(tf.signal.fft3d(tf.ones([2, 2, 2], tf.complex64)).numpy()[0, 0, 0])
    (8+0j)
    """
    return _FORWARD[3](_spectrum(input))


@public
def ifft3d(input, name=None):
    """Return the inverse of `fft3d`, over the last three axes. complex64 or complex128.

    >>> x = tf.reshape(tf.cast(tf.range(8), tf.complex64), [2, 2, 2])
    >>> print(tf.signal.ifft3d(tf.signal.fft3d(x)).numpy().real.ravel().round(4) + 0)
    [0. 1. 2. 3. 4. 5. 6. 7.]
    """
    return _BACKWARD[3](_spectrum(input))


# ---------------------------------------------------------------------------------------------------------------------
# Transforms of real signals


def _bins(fft_length):
    """Return the extents of the spectrum of a real signal of shape `fft_length`."""
    return (*fft_length[:-1], fft_length[-1] // 2 + 1)


def _spectrum_aval(input, fft_length):
    return aval((*input.shape[: input.ndim - len(fft_length)], *_bins(fft_length)), COMPLEX_OF[input.type.name])


def _signal_aval(input, fft_length):
    return aval((*input.shape[: input.ndim - len(fft_length)], *fft_length), input.type.real_dtype.numpy)


def _real_to_complex(signal, fft_length):
    signal = _fitted(signal, fft_length)
    if not signal.size:
        return jnp.zeros((*signal.shape[:-1], _bins(fft_length)[-1]), COMPLEX_OF[signal.dtype.name])
    return jnp.fft.rfftn(signal, axes=_last(len(fft_length)))


def _complex_to_real(spectrum, fft_length):
    """Transform axis by axis, so that all devices ignore the parts that a real signal's spectrum cannot have."""
    spectrum = _fitted(spectrum, _bins(fft_length))
    if not spectrum.size:
        return jnp.zeros((*spectrum.shape[:-1], fft_length[-1]), spectrum.real.dtype)
    if len(fft_length) > 1:
        spectrum = jnp.fft.ifftn(spectrum, axes=_last(len(fft_length))[:-1])
    return jnp.fft.irfft(spectrum, fft_length[-1])


def _real_transform(type, kernel, infer, rank):
    count = flops.fourier(rank, of_result=kernel is _complex_to_real, half=True)

    @op(f"{type}{SUFFIXES[rank]}", unhosted=_COMPLEX_NUMBERS, infer=infer, flops=count, traits="real_flops")
    def transform(input, *, fft_length):
        return kernel(input, fft_length)

    return transform


_REAL_FORWARD = {rank: _real_transform("RFFT", _real_to_complex, _spectrum_aval, rank) for rank in SUFFIXES}
_REAL_BACKWARD = {rank: _real_transform("IRFFT", _complex_to_real, _signal_aval, rank) for rank in SUFFIXES}


def _twice_inside(spectrum, factor, fft_length):
    """Multiply by `factor` the bins of the last axis with a mirror image: all but the first, and the last of an even length."""
    bins = jnp.arange(spectrum.shape[-1], dtype=jnp.int32)
    alone = (bins == 0) | (2 * bins == fft_length[-1])
    return jnp.where(alone, spectrum, spectrum * factor)


@op("RFFTGrad", unhosted=_COMPLEX_NUMBERS, infer=lambda dy, shape, **_: aval(shape, dy.type.real_dtype.numpy), traits="own")
def _rfft_gradient(dy, *, shape, fft_length):
    """Return the transpose of `RFFT` on a signal of shape `shape`."""
    signal = _complex_to_real(_twice_inside(dy, 0.5, fft_length), fft_length) * math.prod(fft_length)
    return _fitted(signal, shape[len(shape) - len(fft_length) :])


@gradient(_rfft_gradient)
def _(ddx, *, fft_length):
    return _REAL_FORWARD[len(fft_length)](ddx, fft_length=fft_length)


@op("IRFFTGrad", unhosted=_COMPLEX_NUMBERS, infer=lambda dy, shape, **_: aval(shape, COMPLEX_OF[dy.type.name]), traits="own")
def _irfft_gradient(dy, *, shape, fft_length):
    """Return the transpose of `IRFFT` on a spectrum of shape `shape`."""
    spectrum = _twice_inside(_real_to_complex(dy, fft_length), 2.0, fft_length) / math.prod(fft_length)
    return _fitted(spectrum, shape[len(shape) - len(fft_length) :])


@gradient(_irfft_gradient)
def _(ddx, *, fft_length):
    return _REAL_BACKWARD[len(fft_length)](ddx, fft_length=fft_length)


def _real_gradients(forward, backward):
    @gradient(forward)
    def _(dy, input, *, fft_length):
        return _rfft_gradient(dy, shape=input.node.aval.shape, fft_length=fft_length)

    @gradient(backward)
    def _(dy, input, *, fft_length):
        return _irfft_gradient(dy, shape=input.node.aval.shape, fft_length=fft_length)


for rank in (1, 2):  # As in TensorFlow, RFFT3D and IRFFT3D have no gradient: LookupError
    _real_gradients(_REAL_FORWARD[rank], _REAL_BACKWARD[rank])


def _signal_input(value, rank):
    x = tensor(value, hint=dtypes.float32)
    if x.dtype.name not in COMPLEX_OF:
        raise ValueError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {x}. Use tf.cast.")
    require_rank(x, rank)
    return x


def _spectrum_input(value, rank):
    x = _spectrum(value)
    require_rank(x, rank)
    if not x.dtype.is_complex:
        raise ValueError(f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {x}. Use tf.cast.")
    return x


def require_rank(x, rank):
    """Raise ValueError if the Tensor `x` has fewer than `rank` axes."""
    if x.ndim < rank:
        raise ValueError(f"Shape {x.shape} must have rank at least {rank}. Add an axis with tf.expand_dims.")


def _lengths(fft_length, rank, inferred, type, of_nothing=False):
    """Convert `fft_length` to a tuple of `rank` extents, `inferred` by default. A 0 is an error unless `of_nothing`."""
    lengths = inferred if fft_length is None else static_list(fft_length, "fft_length")
    if len(lengths) != rank or (fft_length is not None and isinstance(fft_length, int)):
        raise invalid_for(type, f"fft_length must have shape [{rank}], received {fft_length}: give a list of {rank}.")
    for length in lengths:
        if length < 0:
            raise ValueError(f"Dimension {length} must be >= 0: fft_length is {plain(lengths)}.")
    if 0 in lengths and not of_nothing:
        raise invalid_for(type, f"A Fourier transform needs at least one element, fft_length is {plain(lengths)}.")
    return lengths


def _extents_of_signal(spectrum):
    """Return the extents of the signal, of even length along the last axis, that has a spectrum of shape `spectrum`."""
    return (*spectrum[:-1], max(0, 2 * (spectrum[-1] - 1)))


def _of_nothing(x, rank, extents, dtype):
    """Return the transform of an empty tensor, of these extents, as a view of `x` for gradients."""
    return cast(reshape(x, (*x.node.aval.shape[:-rank], *extents)), dtype)


def _real_forward(input_tensor, fft_length, rank):
    x = _signal_input(input_tensor, rank)
    function = _REAL_FORWARD[rank]
    lengths = _lengths(fft_length, rank, x.node.aval.shape[-rank:], function.op.type, 0 in x.node.aval.shape)
    if 0 in lengths:
        bins = lengths[-1] // 2 + 1 if lengths[-1] else 0
        return _of_nothing(x, rank, (*lengths[:-1], bins), dtypes.as_dtype(COMPLEX_OF[x.dtype.name]))
    return function(x, fft_length=lengths)


def _real_backward(input_tensor, fft_length, rank):
    x = _spectrum_input(input_tensor, rank)
    function = _REAL_BACKWARD[rank]
    inferred = _extents_of_signal(x.node.aval.shape[-rank:])
    lengths = _lengths(fft_length, rank, inferred, function.op.type, 0 in x.node.aval.shape)
    return _of_nothing(x, rank, lengths, x.dtype.real_dtype) if 0 in lengths else function(x, fft_length=lengths)


@public
def rfft(input_tensor, fft_length=None, name=None) -> Tensor:
    """Return the first `n // 2 + 1` bins of the Fourier transform of real signals along the last axis; the others are mirror
    images.

    `fft_length` is a list of one length n, to which the signals are cropped or zero-padded; the default is their own. float32
    gives complex64, float64 complex128; ValueError for other tensors.

    >>> tf.signal.rfft([1.0, 1.0, 1.0, 1.0]).numpy()
    array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    return _real_forward(input_tensor, fft_length, 1)


@public
def irfft(input_tensor, fft_length=None, name=None) -> Tensor:
    """Return the real signals of given spectra along the last axis: the inverse of `rfft` with the same `fft_length`.

    `fft_length`, a list of one length, is `2 · (bins - 1)` by default; further bins than `fft_length // 2 + 1` are ignored,
    missing ones are 0. complex64 gives float32, complex128 float64; ValueError for other tensors.

    >>> tf.signal.irfft(tf.signal.rfft([1.0, 2.0])).numpy()
    array([1., 2.], dtype=float32)
    """
    return _real_backward(input_tensor, fft_length, 1)


@public
def rfft2d(input_tensor, fft_length=None, name=None):
    """Transform like `rfft`, over the last two axes: the last axis keeps `n // 2 + 1` bins. `fft_length` is a list of two
    lengths.

    >>> print(tf.signal.rfft2d(tf.ones([2, 4])).shape)
    (2, 3)
    """
    return _real_forward(input_tensor, fft_length, 2)


@public
def irfft2d(input_tensor, fft_length=None, name=None):
    """Transform like `irfft`, over the last two axes. `fft_length` is a list of two lengths.

    >>> print(tf.signal.irfft2d(tf.signal.rfft2d(tf.ones([2, 4]))).shape)
    (2, 4)
    """
    return _real_backward(input_tensor, fft_length, 2)


@public
def rfft3d(input_tensor, fft_length=None, name=None):
    """Transform like `rfft`, over the last three axes; as in TensorFlow, without a gradient. `fft_length` is a list of three.

    >>> print(tf.signal.rfft3d(tf.ones([2, 2, 4])).shape)
    (2, 2, 3)
    """
    return _real_forward(input_tensor, fft_length, 3)


@public
def irfft3d(input_tensor, fft_length=None, name=None):
    """Transform like `irfft`, over the last three axes; as in TensorFlow, without a gradient. `fft_length` is a list of three.

    >>> x = tf.signal.irfft3d(tf.signal.rfft3d(tf.ones([2, 2, 4])))
    >>> print(x.shape, np.allclose(x, 1))
    (2, 2, 4) True
    """
    return _real_backward(input_tensor, fft_length, 3)


# ---------------------------------------------------------------------------------------------------------------------
# Transforms over any axes. As in TensorFlow, they have no gradients: LookupError.


def _along(input, axes, extents, dtype=None):
    shape = list(input.shape)
    for axis, extent in zip(axes, extents, strict=True):
        shape[axis] = extent
    return aval(shape, dtype or input.dtype)


@op("FFTND", unhosted=_COMPLEX_NUMBERS, infer=lambda input, fft_length, axes: _along(input, axes, fft_length))
def _fftnd(input, *, fft_length, axes):
    return _axis_by_axis(jnp.fft.fft, input, fft_length, axes)


@op("IFFTND", unhosted=_COMPLEX_NUMBERS, infer=lambda input, fft_length, axes: _along(input, axes, fft_length))
def _ifftnd(input, *, fft_length, axes):
    return _axis_by_axis(jnp.fft.ifft, input, fft_length, axes)


@op(
    "RFFTND",
    unhosted=_COMPLEX_NUMBERS,
    infer=lambda input, fft_length, axes: _along(input, axes, _bins(fft_length), COMPLEX_OF[input.type.name]),
)
def _rfftnd(input, *, fft_length, axes):
    spectrum = jnp.fft.rfft(input, fft_length[-1], axes[-1])
    return _axis_by_axis(jnp.fft.fft, spectrum, fft_length[:-1], axes[:-1])


@op(
    "IRFFTND",
    unhosted=_COMPLEX_NUMBERS,
    infer=lambda input, fft_length, axes: _along(input, axes, fft_length, input.type.real_dtype.numpy),
)
def _irfftnd(input, *, fft_length, axes):
    spectrum = _axis_by_axis(jnp.fft.ifft, input, fft_length[:-1], axes[:-1])
    return jnp.fft.irfft(spectrum, fft_length[-1], axes[-1])


def _axis_by_axis(kernel, x, lengths, axes):
    for length, axis in zip(lengths, axes, strict=True):
        x = kernel(x, length, axis)
    return x


def _over_axes(function, x, fft_length, axes, norm, inverse, infer=lambda extents: extents):
    """Record a transform over `axes` (all by default) of lengths `fft_length`, scaled according to NumPy's `norm`."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"norm must be None, 'backward', 'ortho' or 'forward', received {norm!r}.")
    type, shape = function.op.type, x.node.aval.shape
    axes = tuple(range(x.ndim)) if axes is None else static_list(axes, "axes")
    order = axes_of(axes, x.ndim, "axes")
    axes = tuple([axis % x.ndim for axis in axes])
    if not order:
        raise invalid_for(type, f"A Fourier transform needs at least one axis, received axes {list(axes)}.")
    lengths = _lengths(fft_length, len(axes), infer(tuple([shape[axis] for axis in axes])), type)
    y = function(x, fft_length=lengths, axes=axes)
    count = {"ortho": math.sqrt(math.prod(lengths)), "forward": float(math.prod(lengths))}.get(norm)
    if count is None:
        return y
    return y * count if inverse else y * (1.0 / count)


@public
def fftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """Return the discrete Fourier transform over `axes` (all by default), as `numpy.fft.fftn`.

    `fft_length` has a length for each axis, to which it is cropped or zero-padded. `norm` is None or "backward", "ortho",
    "forward". complex64 or complex128. As in TensorFlow, there is no gradient.

    >>> x = tf.ones([2, 2, 2], tf.complex64)
    >>> print(tf.abs(tf.signal.fftnd(x)).numpy()[0, 0, 0], tf.abs(tf.signal.fftnd(x, axes=[1, 2])).numpy()[:, 0, 0])
    8.0 [4. 4.]
    """
    x = _spectrum(input_tensor)
    require(x.node.aval, COMPLEX, "Tcomplex")
    return _over_axes(_fftnd, x, fft_length, axes, norm, inverse=False)


@public
def ifftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """Return the inverse of `fftnd`, as `numpy.fft.ifftn`. The arguments are those of `fftnd`.

    >>> x = tf.constant([[1, 2], [3, 4]], tf.complex64)
    >>> print(tf.signal.ifftnd(tf.signal.fftnd(x)).numpy().real.round(4))
    [[1. 2.]
     [3. 4.]]
    """
    x = _spectrum(input_tensor)
    require(x.node.aval, COMPLEX, "Tcomplex")
    return _over_axes(_ifftnd, x, fft_length, axes, norm, inverse=True)


@public
def rfftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """Return the Fourier transform of real signals over `axes`, as `numpy.fft.rfftn`: the last of the axes keeps `n // 2 + 1`
    bins.

    float32 gives complex64, float64 complex128; ValueError for other tensors. See `fftnd`.

    >>> print(tf.signal.rfftnd(tf.ones([2, 4])).shape, tf.abs(tf.signal.rfftnd(tf.ones([2, 4]))[0, 0]).numpy())
    (2, 3) 8.0
    """
    return _over_axes(_rfftnd, _signal_input(input_tensor, 1), fft_length, axes, norm, inverse=False)


@public
def irfftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """Return the inverse of `rfftnd`, as `numpy.fft.irfftn`. complex64 gives float32, complex128 float64. See `fftnd`.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> print(tf.signal.irfftnd(tf.signal.rfftnd(x)).numpy().round(4))
    [[1. 2.]
     [3. 4.]]
    """
    x = _spectrum_input(input_tensor, 1)
    return _over_axes(_irfftnd, x, fft_length, axes, norm, inverse=True, infer=_extents_of_signal)


# ---------------------------------------------------------------------------------------------------------------------
# Shifts


def _rolled_by_half(x, axes, sign):
    x = tensor(x)
    axes = axes_of(None if axes is None else static_list(axes, "axes"), x.ndim, "axes")
    return roll(x, [sign * (x.node.aval.shape[axis] // 2) for axis in axes], list(axes)) if axes else x


@public
def fftshift(x, axes=None, name=None):
    """Return `x` rolled by half of its extent along `axes` (all by default), so that the bin of frequency 0 is in the middle.

    >>> tf.signal.fftshift([0.0, 1.0, -2.0, -1.0]).numpy()
    array([-2., -1.,  0.,  1.], dtype=float32)
    """
    return _rolled_by_half(x, axes, 1)


@public
def ifftshift(x, axes=None, name=None):
    """Return the inverse of `fftshift`, which moves the middle to the front. For odd extents the two differ by one position.

    >>> tf.signal.ifftshift([-2.0, -1.0, 0.0, 1.0]).numpy()
    array([ 0.,  1., -2., -1.], dtype=float32)
    """
    return _rolled_by_half(x, axes, -1)
