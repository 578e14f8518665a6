"""Random numbers under NumPy's names. For one seed they are TensorFlow's numbers."""

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.numpy.arrays import asarray
from gradtape._src.ops.numpy.dtypes import default_float, result_type
from gradtape._src.ops.random import distributions, draws, seeds


def _as_shape(size):
    return () if size is None else (size,) if isinstance(size, (int, np.integer)) else size


@public
def seed(s):
    """Set the global seed, as `tf.random.set_seed`. ValueError if it is no integer.

    >>> tf.experimental.numpy.random.seed(1)
    """
    try:
        number = int(s)
    except TypeError:
        raise ValueError(f"Argument `s` got an invalid value {s}. Only integers are supported.") from None
    seeds.set_seed(number)


@public
def standard_normal(size=None):
    """Return numbers of the standard normal distribution, float64 by default; `size` is a shape or a length.

    >>> tf.experimental.numpy.random.standard_normal(3).shape
    TensorShape([3])
    """
    return draws.normal(_as_shape(size), dtype=default_float())


@public
def randn(*args):
    """Return numbers of the standard normal distribution; the arguments are the extents of the shape.

    >>> tf.experimental.numpy.random.randn(2, 3).shape
    TensorShape([2, 3])
    """
    return standard_normal(args)


@public
def uniform(low=0.0, high=1.0, size=None):
    """Return uniform numbers in [low, high), float64 by default. The default of `size` is the common shape of the bounds.

    >>> tf.experimental.numpy.random.uniform(0.0, [1.0, 10.0]).shape
    TensorShape([2])
    """
    low, high = [asarray(bound, default_float()) for bound in (low, high)]
    shape = np.broadcast_shapes(extents_of(low), extents_of(high)) if size is None else _as_shape(size)
    return draws.uniform(shape, low, high, default_float())


@public
def random(size=None):
    """Return uniform numbers in [0, 1); `size` is a shape or a length.

    >>> tf.experimental.numpy.random.random([2]).shape
    TensorShape([2])
    """
    return uniform(0.0, 1.0, () if size is None else size)


@public
def rand(*size):
    """Return uniform numbers in [0, 1); the arguments are the extents of the shape.

    >>> tf.experimental.numpy.random.rand(2, 3).shape
    TensorShape([2, 3])
    """
    return uniform(0.0, 1.0, size)


@public
def poisson(lam=1.0, size=None):
    """Return Poisson distributed numbers with mean `lam`, int64.

    >>> tf.experimental.numpy.random.poisson(3.0, [4]).dtype.name
    'int64'
    """
    return cast(distributions.poisson(_as_shape(size), lam, default_float()), "int64")


@public
def randint(low, high=None, size=None, dtype=np.int64):
    """Return uniform integers in [low, high), or in [0, low) if `high` is None. int32 or int64.

    >>> tf.experimental.numpy.random.randint(1, 2, [3]).numpy()
    array([1, 1, 1])
    """
    low, high = (0, int(low)) if high is None else (int(low), high)
    wanted = result_type(dtype)
    if wanted.name not in ("int32", "int64"):
        raise ValueError(f"Argument `dtype` got an invalid value {dtype}. Only int32 and int64 are supported.")
    return draws.uniform(_as_shape(size), low, high, wanted)
