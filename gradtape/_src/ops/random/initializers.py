"""Initializers of TensorFlow's root namespace: `tf.random_normal_initializer` and others."""

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.shape import ones, zeros
from gradtape._src.ops.random.draws import normal, stateless_normal, stateless_uniform, uniform

PARTITION = "partition_shape", "partition_offset"


class Initializer:
    """A function of a shape and a dtype that returns a tensor; `from_config(get_config())` creates an equal one."""

    def __call__(self, shape, dtype=None, **kwargs):
        raise NotImplementedError("An initializer says in __call__(self, shape, dtype=None, **kwargs) what it gives.")

    def get_config(self):
        """Return the arguments of the initializer, a dict."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @classmethod
    def from_config(cls, config):
        """Create an initializer from the arguments in `config`."""
        return cls(**{name: value for name, value in config.items() if name != "dtype"})


def _extents(shape, kwargs):
    """Return the shape to create, or that of a partition if one is given; TypeError for other keywords."""
    if other := kwargs.keys() - PARTITION:
        raise TypeError(f"Keyword argument should be one of {list(PARTITION)}. Received: {', '.join(sorted(other))}.")
    return TensorShape(kwargs.get("partition_shape", shape)).as_list()


def _numeric(dtype):
    dtype = dtypes.as_dtype(dtype)
    if dtype == dtypes.string:
        raise ValueError(f"Argument `dtype` expected to be numeric or boolean. Received {dtype}.")
    return dtype


def _drawn(stateful, stateless, seed, shape, *range_, dtype):
    """Draw random numbers; with a seed they are the same in each call."""
    return stateful(shape, *range_, dtype) if seed is None else stateless(shape, [seed, 0], *range_, dtype)


class zeros_initializer(Initializer):
    """Returns zeros, of any dtype but string.

    >>> tf.zeros_initializer()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    @public
    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        return zeros(_extents(shape, kwargs), _numeric(dtype))


class ones_initializer(Initializer):
    """Returns ones, of any dtype but string.

    >>> tf.ones_initializer()([2]).numpy()
    array([1., 1.], dtype=float32)
    """

    @public
    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        return ones(_extents(shape, kwargs), _numeric(dtype))


class constant_initializer(Initializer):
    """Returns `value`: a number that fills the shape, or as many values as the shape has elements.

    >>> tf.constant_initializer(3.0)([2]).numpy()
    array([3., 3.], dtype=float32)
    """

    @public
    def __init__(self, value=0, support_partition=False):
        self.value, self._support_partition = value, support_partition

    @public
    def __call__(self, shape, dtype=None, **kwargs):
        if kwargs.keys() & set(PARTITION) and not self._support_partition:
            raise ValueError("Constant initializer doesn't support partition-related arguments: give it support_partition=True.")
        return constant(self.value, None if dtype is None else dtypes.as_dtype(dtype), _extents(shape, kwargs))


class random_normal_initializer(Initializer):
    """Returns normally distributed numbers: new ones in each call, or with a `seed` the same ones.

    >>> tf.random_normal_initializer(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    @public
    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        self.mean, self.stddev, self.seed = mean, stddev, seed

    @public
    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_floating:
            raise ValueError(f"Argument `dtype` is expected to be floating point. Received: {dtype}.")
        shape = _extents(shape, kwargs)
        return _drawn(normal, stateless_normal, self.seed, shape, self.mean, self.stddev, dtype=dtype)


class random_uniform_initializer(Initializer):
    """Returns numbers uniform in [minval, maxval), also integers: new ones in each call, or with a `seed` the same ones.

    >>> tf.random_uniform_initializer(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    @public
    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        self.minval, self.maxval, self.seed = minval, maxval, seed

    @public
    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_floating and not dtype.is_integer:
            raise ValueError(f"Argument `dtype` is expected to be floating point or integer. Received: {dtype}.")
        shape = _extents(shape, kwargs)
        return _drawn(uniform, stateless_uniform, self.seed, shape, self.minval, self.maxval, dtype=dtype)
