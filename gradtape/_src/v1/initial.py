"""TensorFlow 1's initializers, with a default dtype set at construction."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.shape import ones, zeros
from gradtape._src.ops.random import draws as random, weights
from gradtape._src.v1.ops.arrays import constant


class Initial:
    """Base of initializers: called with a shape and an optional dtype, they return a tensor."""

    @public
    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    @public
    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        extents = shape if isinstance(shape, Tensor) else TensorShape(shape).as_list()
        return self._make(extents, self.dtype if dtype is None else dtypes.as_dtype(dtype))

    def _make(self, shape: Any, dtype: Any) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")} | {"dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return an initializer constructed from these arguments."""
        return cls(**config)


def _floating(dtype: Any) -> Any:
    if not dtypes.as_dtype(dtype).is_floating:
        raise ValueError(f"Expected floating point type, got {dtypes.as_dtype(dtype)}.")
    return dtype


class Zeros(Initial):
    """Initializes to zeros."""

    def _make(self, shape: Any, dtype: Any) -> Any:
        return zeros(shape, dtype)


class Ones(Initial):
    """Initializes to ones."""

    def _make(self, shape: Any, dtype: Any) -> Any:
        return ones(shape, dtype)


class Constant(Initial):
    """Initializes to `value`: a scalar, or values of that shape; in a graph the last value is repeated as needed."""

    @public
    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, list or tuple of values, or "
                "numpy.ndarray."
            )
        super().__init__(dtype)
        self.value, self._verify_shape = value, verify_shape

    def _make(self, shape: Any, dtype: Any) -> Any:
        return constant(self.value, dtype, shape, verify_shape=self._verify_shape)


class RandomUniform(Initial):
    """Draws numbers uniform in [minval, maxval)."""

    @public
    def __init__(self, minval: Any = 0.0, maxval: Any = None, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _make(self, shape: Any, dtype: Any) -> Any:
        return random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class RandomNormal(Initial):
    """Draws normally distributed numbers."""

    @public
    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(_floating(dtype))
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def _make(self, shape: Any, dtype: Any) -> Any:
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Draws normally distributed numbers, redrawn beyond two standard deviations from the mean."""

    def _make(self, shape: Any, dtype: Any) -> Any:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class VarianceScaling(Initial):
    """Draws numbers of variance scale / n, where n depends on the shape and `mode`: "fan_in", "fan_out" or "fan_avg"."""

    @public
    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                "Argument `distribution` should be one of ('normal', 'uniform', 'truncated_normal', 'untruncated_normal'). "
                f"Received: {distribution}"
            )
        super().__init__(_floating(dtype))
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def _make(self, shape: Any, dtype: Any) -> Any:
        fan_in, fan_out = weights.fans(shape)
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = (3.0 * variance) ** 0.5
            return random.uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, variance**0.5, dtype, self.seed)
        return random.truncated_normal(shape, 0.0, variance**0.5 / 0.87962566103423978, dtype, self.seed)


class GlorotUniform(VarianceScaling):
    """Draws uniform numbers of variance 2 / (inputs + outputs): Glorot and Bengio (2010)."""

    @public
    def __init__(self, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Draws truncated normal numbers of variance 2 / (inputs + outputs)."""

    @public
    def __init__(self, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    get_config = GlorotUniform.get_config


class Orthogonal(Initial):
    """Draws an orthogonal matrix, multiplied by `gain`."""

    @public
    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(_floating(dtype))
        self.gain, self.seed = gain, seed

    def _make(self, shape: Any, dtype: Any) -> Any:
        return weights.orthogonal(shape, lambda shape: random.normal(shape, dtype=dtype, seed=self.seed)) * self.gain


class Identity(Initial):
    """Initializes matrices to the identity, multiplied by `gain`."""

    @public
    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        super().__init__(_floating(dtype))
        self.gain = gain

    def _make(self, shape: Any, dtype: Any) -> Any:
        if len(shape) != 2:
            raise ValueError(f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional: {shape}")
        rows, columns = shape
        return eye(rows, columns, dtype=dtype) * self.gain


class UniformUnitScaling(Initial):
    """Draws uniform numbers in ±factor·√(3 / inputs), which preserve the inputs' variance: Sussillo and Abbott (2014)."""

    @public
    def __init__(self, factor: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(_floating(dtype))
        self.factor, self.seed = factor, seed

    def _make(self, shape: Any, dtype: Any) -> Any:
        limit = (3 / max(1.0, float(np.prod(shape[:-1])))) ** 0.5 * self.factor
        return random.uniform(shape, -limit, limit, dtype, self.seed)


def he_normal(seed: Any = None) -> VarianceScaling:
    """Return an initializer of truncated normal numbers with variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: Any = None) -> VarianceScaling:
    """Return an initializer of uniform numbers with variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: Any = None) -> VarianceScaling:
    """Return an initializer of truncated normal numbers with variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: Any = None) -> VarianceScaling:
    """Return an initializer of uniform numbers with variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)
