"""Dtypes as Keras promotes them: what most functions do to their operands first.

Keras's lattice is JAX's; a dtype of 64 bits stays one, as with TensorFlow (`keep_64_bits` of the hook).
"""

import functools

from keras.src.backend.common import dtypes
from keras.src.backend.config import floatx

import gradtape as tf
from keras_gradtape.src.ops.core import convert_to_tensor

NUMBERS = (int, float, complex)  # what has no dtype of its own: bool is an int, but keeps its dtype


def result_type(*types):
    """The DType that operands of `types` (DTypes, names or Python types) are brought to."""
    return _result_type(types, floatx())


@functools.lru_cache(maxsize=4096)
def _result_type(types, default):  # floats without a dtype become the default
    return tf.as_dtype(dtypes.result_type(*[t.name if isinstance(t, tf.DType) else t for t in types]))


def cast(x, dtype):
    """A tensor in the DType `dtype`."""
    return x if x.dtype is dtype else tf.cast(x, dtype)


def tensor(x):
    """`x` as a Tensor."""
    return x if isinstance(x, tf.Tensor) else convert_to_tensor(x)


def operands(x1, x2, *more):
    """`(x1, x2, dtype)`: two operands of one dtype, that of `result_type` (together with `more`).

    A Python number beside a tensor stays a number, which takes the tensor's dtype when an op records it.
    """
    if not isinstance(x1, tf.Tensor):
        if type(x1) in NUMBERS:
            if type(x2) in NUMBERS:
                dtype = result_type(type(x1), type(x2), *more)
                return convert_to_tensor(x1, dtype), convert_to_tensor(x2, dtype), dtype
            x2, x1, dtype = _beside_number(tensor(x2), x1, more)
            return x1, x2, dtype
        x1 = convert_to_tensor(x1)
    if not isinstance(x2, tf.Tensor):
        if type(x2) in NUMBERS:
            return _beside_number(x1, x2, more)
        x2 = convert_to_tensor(x2)
    dtype = x1.dtype
    if dtype is x2.dtype and (not more or dtype.is_floating):
        return x1, x2, dtype
    dtype = result_type(dtype, x2.dtype, *more)
    return cast(x1, dtype), cast(x2, dtype), dtype


def _beside_number(x, number, more):
    """`operands` of a tensor and a Python number."""
    dtype = x.dtype
    if dtype.is_floating and type(number) is not complex:
        return x, number, dtype
    dtype = result_type(dtype, type(number), *more)
    if dtype.is_integer and (number < 0 if dtype.is_unsigned else not dtype.min <= number <= dtype.max):
        number = tf.cast(tf.convert_to_tensor(number, tf.int64), dtype)  # which wraps around
    return cast(x, dtype), number, dtype


def tensors(xs):
    """`(tensors, dtype)`: a list of tensors brought to one dtype."""
    xs = [tensor(x) for x in xs]
    dtype = xs[0].dtype if len({x.dtype for x in xs}) == 1 else result_type(*[x.dtype for x in xs])
    return [cast(x, dtype) for x in xs], dtype


def pair(x1, x2, *more):
    """`operands`, both as tensors."""
    x1, x2, dtype = operands(x1, x2, *more)
    if type(x1) in NUMBERS:
        x1 = convert_to_tensor(x1, dtype)
    elif type(x2) in NUMBERS:
        x2 = convert_to_tensor(x2, dtype)
    return x1, x2, dtype


def floating(x):
    """`x` as a tensor of a floating (or complex) dtype: integers and bools become floats."""
    x = tensor(x)
    dtype = x.dtype
    return x if dtype.is_floating or dtype.is_complex else tf.cast(x, result_type(dtype, float))


def numeric(x):
    """`x` as a tensor of numbers: bools become int32."""
    x = tensor(x)
    return tf.cast(x, tf.int32) if x.dtype.is_bool else x


def truth(x):
    """`x` as a tensor of bools: whether it is not zero."""
    x = tensor(x)
    return x if x.dtype.is_bool else tf.cast(x, tf.bool)


def axes_of(axis, rank):
    """`axis` (None for all, an int, or ints) as a tuple of axes ≥ 0."""
    if axis is None:
        return tuple(range(rank))
    return tuple([canonical(a, rank) for a in (axis if isinstance(axis, (list, tuple)) else (axis,))])


def canonical(axis, rank):
    """One axis as an int ≥ 0; ValueError outside of [-rank, rank)."""
    axis = int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for a tensor of {rank} dimensions.")
    return axis % rank
