"""Promotion of dtypes by NumPy's rules, and the dtype of Python's floats."""

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.values.dtypes import DType, as_dtype

prefers_float32 = False  # whether Python's floats become float32; set by `experimental_enable_numpy_behavior`


def prefer_float32(wanted):
    """Convert Python's floats to float32 (`wanted`) or float64 from now on."""
    global prefers_float32
    prefers_float32 = bool(wanted)


def _for_numpy(value):
    """Convert a value to an argument of `np.result_type`: a number, an array or a dtype."""
    if is_tensor(value) or isinstance(value, IndexedSlices):
        return as_dtype(value.dtype).as_numpy_dtype  # a Keras variable's dtype is a string
    if isinstance(value, DType):
        return value.as_numpy_dtype
    if prefers_float32 and (value is float or isinstance(value, float)):
        return np.dtype(np.float32)
    if prefers_float32 and (value is complex or isinstance(value, complex)):
        return np.dtype(np.complex64)
    return value


@public
def result_type(*arrays_and_dtypes):
    """Return the dtype, a `tf.DType`, to which NumPy promotes these arrays, numbers and dtypes.

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
    """Convert a Python type, a NumPy dtype or a `tf.DType` to NumPy's dtype."""
    return np.dtype(dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype)


def default_float():
    """Return the dtype to which integers are converted where a float is needed."""
    return as_dtype(np.float32 if prefers_float32 else np.float64)


def of_value(value, dtype=None):
    """Return the dtype of the array created from `value`. A string is a value, not the name of a dtype."""
    if dtype is not None:
        return result_type(dtype)
    if isinstance(value, (str, bytes)):
        return as_dtype(str)
    return result_type(value)


@public
def issubdtype(arg1, arg2):
    """Return whether the dtype `arg1` is `arg2`, or a subtype of an abstract type such as `np.floating`.

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
