"""The dtype of a result by NumPy's rules, and which float Python's numbers become."""

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.values.dtypes import DType, as_dtype

prefers_float32 = False  # whether Python's floats are float32; by `experimental_enable_numpy_behavior`


def prefer_float32(wanted):
    """Make Python's floats float32 from now on, or float64."""
    global prefers_float32
    prefers_float32 = bool(wanted)


def _for_numpy(value):
    """Return the form in which `np.result_type` takes a value: a number, an array or a dtype."""
    if is_tensor(value) or isinstance(value, IndexedSlices):
        return as_dtype(value.dtype).as_numpy_dtype  # a Keras variable names its dtype by a string
    if isinstance(value, DType):
        return value.as_numpy_dtype
    if prefers_float32 and (value is float or isinstance(value, float)):
        return np.dtype(np.float32)
    if prefers_float32 and (value is complex or isinstance(value, complex)):
        return np.dtype(np.complex64)
    return value


@public
def result_type(*arrays_and_dtypes):
    """Return the dtype, a `tf.DType`, that NumPy gives to a result of these arrays, numbers and dtypes.

    >>> tf.experimental.numpy.result_type(tf.constant(1), tf.constant(1.0)).name
    'float64'
    """
    values = [_for_numpy(value) for value in nest.flatten(arrays_and_dtypes)]
    return as_dtype(np.result_type(*values or [np.float64]))


@public
def promote_types(type1, type2):
    """Return the smallest dtype, a NumPy dtype, to which both can be cast without loss.

    >>> tf.experimental.numpy.promote_types(tf.int32, tf.float32)
    dtype('float64')
    """
    return np.promote_types(numpy_dtype(type1), numpy_dtype(type2))


def numpy_dtype(dtype):
    """Return a Python type, a NumPy dtype or a `tf.DType` as NumPy's dtype."""
    return np.dtype(dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype)


def default_float():
    """Return the dtype that integers become where a float is needed."""
    return as_dtype(np.float32 if prefers_float32 else np.float64)


def of_value(value, dtype=None):
    """Return the dtype of the array that is made of `value`; strings are strings, not names of dtypes."""
    if dtype is not None:
        return result_type(dtype)
    if isinstance(value, (str, bytes)):
        return as_dtype(str)
    return result_type(value)


@public
def issubdtype(arg1, arg2):
    """Return whether the dtype `arg1` is `arg2`, or of that kind, such as `np.floating`.

    >>> tf.experimental.numpy.issubdtype(tf.float32, tf.experimental.numpy.inexact)
    True
    """
    return np.issubdtype(*[d.as_numpy_dtype if isinstance(d, DType) else d for d in (arg1, arg2)])


@public
def finfo(dtype):
    """Return the limits of a floating dtype, NumPy's.

    >>> tf.experimental.numpy.finfo(tf.float32).eps
    np.float32(1.1920929e-07)
    """
    return np.finfo(numpy_dtype(dtype))
