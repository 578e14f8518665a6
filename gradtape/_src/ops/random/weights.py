"""Initializers of weights by the rules of Glorot, He, LeCun and others, for TensorFlow 1's initializers.

The rules of Glorot, He and LeCun keep the variance of activations constant from layer to layer. An initializer returns the
same numbers at each call. Without a seed it takes the next seed of the global one at its creation.
"""

import math

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.shape import ones, reshape, transpose, zeros
from gradtape._src.ops.linalg.decompositions import qr
from gradtape._src.ops.linalg.diagonals import diag_part
from gradtape._src.ops.math.arithmetic import sign
from gradtape._src.ops.random.draws import drawn_seed, stateless_normal, stateless_truncated_normal, stateless_uniform
from gradtape._src.ops.random.initializers import Initializer

TRUNCATED = 0.87962566103423978  # the standard deviation of normal numbers between -2 and 2
DISTRIBUTIONS = ("truncated_normal", "untruncated_normal", "uniform")


def _shape(shape):
    return tuple(TensorShape(shape).as_list())


def _dtype(dtype):
    return dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)


def _floating(dtype):
    dtype = _dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Expected a floating point dtype. Received: {dtype}. Random weights are real numbers.")
    return dtype


class Zeros(Initializer):
    """Returns zeros."""

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        return zeros(_shape(shape), _dtype(dtype))


class Ones(Initializer):
    """Returns ones."""

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        return ones(_shape(shape), _dtype(dtype))


class Constant(Initializer):
    """Returns `value`: a number that fills the shape, or as many values as the shape has elements."""

    @public
    def __init__(self, value=0.0):
        self.value = value

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        dtype = _dtype(dtype)
        value = self.value
        return constant(float(value) if isinstance(value, int) and dtype.is_floating else value, dtype, _shape(shape))

    def get_config(self):
        """Return the value."""
        return {"value": self.value}


class Identity(Initializer):
    """Returns `gain` times the identity matrix; ValueError for shapes with other than two axes."""

    @public
    def __init__(self, gain=1.0):
        self.gain = gain

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        shape = _shape(shape)
        if len(shape) != 2:
            raise ValueError(
                f"Identity matrix initializer can only be used for 2D matrices. Received: shape={shape} of rank {len(shape)}."
            )
        rows, columns = shape
        return eye(rows, columns, dtype=_dtype(dtype)) * self.gain

    def get_config(self):
        """Return the factor."""
        return {"gain": self.gain}


class Seeded(Initializer):
    """An initializer that draws random numbers, determined by `seed`, an integer or None, and the arguments of the call."""

    @public
    def __init__(self, seed=None):
        self.seed = seed
        self._words = drawn_seed("Initializer") if seed is None else [seed, 0]


class RandomNormal(Seeded):
    """Returns normally distributed numbers."""

    @public
    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        super().__init__(seed)
        self.mean, self.stddev = mean, stddev

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        return stateless_normal(_shape(shape), self._words, self.mean, self.stddev, _floating(dtype))

    def get_config(self):
        """Return seed, mean and standard deviation."""
        return {"seed": self.seed, "mean": self.mean, "stddev": self.stddev}


class TruncatedNormal(RandomNormal):
    """Returns truncated normal numbers, at most two standard deviations from the mean."""

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        return stateless_truncated_normal(_shape(shape), self._words, self.mean, self.stddev, _floating(dtype))


class RandomUniform(Seeded):
    """Returns numbers uniform in [minval, maxval)."""

    @public
    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        super().__init__(seed)
        self.minval, self.maxval = minval, maxval

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        return stateless_uniform(_shape(shape), self._words, self.minval, self.maxval, _dtype(dtype))

    def get_config(self):
        """Return seed and bounds."""
        return {"seed": self.seed, "minval": self.minval, "maxval": self.maxval}


class VarianceScaling(Seeded):
    """Returns numbers of mean 0 and variance `scale` / n.

    n is the number of inputs ("fan_in") or outputs ("fan_out") of a unit, or the mean of both ("fan_avg"). For a shape [...,
    inputs, outputs] these are the last two extents, times the product of those before. `input_axes` and `output_axes` select
    other axes, whose extents are multiplied. `distribution` is "truncated_normal", "untruncated_normal" or "uniform".
    """

    @public
    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, input_axes=None, output_axes=None):
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be positive float. Received: scale={scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}. Please use one of 'fan_in', 'fan_out', 'fan_avg'.")
        if distribution not in DISTRIBUTIONS:
            raise ValueError(f"Invalid `distribution` argument: {distribution}. Please use one of {DISTRIBUTIONS}.")
        super().__init__(seed)
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.input_axes, self.output_axes = input_axes, output_axes

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        shape, dtype = _shape(shape), _floating(dtype)
        inputs, outputs = fans(shape, self.input_axes, self.output_axes)
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return stateless_uniform(shape, self._words, -limit, limit, dtype)
        if self.distribution == "truncated_normal":
            return stateless_truncated_normal(shape, self._words, 0.0, math.sqrt(variance) / TRUNCATED, dtype)
        return stateless_normal(shape, self._words, 0.0, math.sqrt(variance), dtype)

    def get_config(self):
        """Return the arguments of the initializer."""
        return {
            "seed": self.seed,
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "input_axes": self.input_axes,
            "output_axes": self.output_axes,
        }


def fans(shape, input_axes=None, output_axes=None):
    """Return the number of inputs and outputs of a unit of a layer with weights of `shape`."""
    if input_axes is not None and output_axes is not None:
        return tuple([math.prod([shape[axis] for axis in axes]) for axes in (input_axes, output_axes)])
    if len(shape) < 2:
        return (math.prod(shape),) * 2
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


class _Fixed(VarianceScaling):
    """A `VarianceScaling` with given scale, mode and distribution."""

    settings: tuple[float, str, str]

    @public
    def __init__(self, seed=None, input_axes=None, output_axes=None):
        super().__init__(*self.settings, seed, input_axes, output_axes)

    def get_config(self):
        """Return seed and axes."""
        return {"seed": self.seed, "input_axes": self.input_axes, "output_axes": self.output_axes}


class GlorotUniform(_Fixed):
    """Returns numbers uniform between ±√(6 / (inputs + outputs)) (Glorot and Bengio, 2010)."""

    settings = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Fixed):
    """Returns truncated normal numbers of variance 2 / (inputs + outputs) (Glorot and Bengio, 2010)."""

    settings = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Fixed):
    """Returns numbers uniform between ±√(6 / inputs) (He et al., 2015)."""

    settings = (2.0, "fan_in", "uniform")


class HeNormal(_Fixed):
    """Returns truncated normal numbers of variance 2 / inputs (He et al., 2015)."""

    settings = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Fixed):
    """Returns numbers uniform between ±√(3 / inputs) (LeCun et al., 1998)."""

    settings = (1.0, "fan_in", "uniform")


class LecunNormal(_Fixed):
    """Returns truncated normal numbers of variance 1 / inputs (LeCun et al., 1998)."""

    settings = (1.0, "fan_in", "truncated_normal")


def orthogonal(shape, drawn):
    """Return a tensor of `shape` with orthonormal rows or columns, whichever are fewer, from normal numbers.

    `drawn` returns these for a shape. ValueError for fewer than two axes, of which all but the last count as rows.
    """
    if len(shape) < 2:
        raise ValueError(
            f"The tensor to initialize must be at least two-dimensional. Received: shape={shape} of rank {len(shape)}."
        )
    rows, columns = math.prod(shape[:-1]), shape[-1]
    q, r = qr(drawn((max(rows, columns), min(rows, columns))))
    q = q * sign(diag_part(r))  # makes the matrix uniformly distributed
    return reshape(q if rows >= columns else transpose(q), shape)


class Orthogonal(Seeded):
    """Returns `gain` times a matrix whose rows or columns, whichever are fewer, are orthonormal (Saxe et al., 2013).

    All but the last axis of a larger shape count as rows. ValueError for fewer than two axes.
    """

    @public
    def __init__(self, gain=1.0, seed=None):
        super().__init__(seed)
        self.gain = gain

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        dtype = _floating(dtype)
        return orthogonal(_shape(shape), lambda shape: stateless_normal(shape, self._words, dtype=dtype)) * self.gain

    def get_config(self):
        """Return factor and seed."""
        return {"gain": self.gain, "seed": self.seed}
