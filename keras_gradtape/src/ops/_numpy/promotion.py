"""Keras's policy for gradtape's NumPy: Keras's promotion of dtypes, int32 for indices, Keras's errors.

Keras's lattice is JAX's, but 64-bit dtypes are kept, as with TensorFlow (`keep_64_bits` of the hook).
"""

import functools

from keras.src.backend.common import dtypes, standardize_dtype
from keras.src.backend.config import floatx

import gradtape as tf
from gradtape._src.ops.numpy.policy import Policy
from keras_gradtape.src.ops.core import convert_to_tensor

NUMBERS = (int, float, complex)  # types without a dtype; bool is an int, but keeps its dtype

# Dtypes of sums of small integers
_SUMS = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.uint32,
    tf.uint16: tf.uint32,
}
# Dtypes in which matrix products are computed; other operands are converted, and so is the result.
_PRODUCTS = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.int32,
    tf.uint16: tf.int32,
    tf.uint32: tf.int64,
}

# Processors treat -0 and subnormal numbers as 0. In argmax and argmin they count as less than 0, as on Keras's other backends.
# As integers they are the least, since their exponent bits are 0. Each row: the integer type, the first normal number, and the
# replacement.
_BELOW_ZERO = {
    tf.float32: (tf.int32, -(2**31) + 2**23, -(2.0**-126)),
    tf.float64: (tf.int64, -(2**63) + 2**52, -(2.0**-1022)),
}


def result_type(*types):
    """Return the DType to which operands of `types` (DTypes, names or Python types) are promoted."""
    return _result_type(types, floatx())


@functools.lru_cache(maxsize=4096)
def _result_type(types, default):  # floats without a dtype become the default
    return tf.as_dtype(dtypes.result_type(*[t.name if isinstance(t, tf.DType) else t for t in types]))


def cast(x, dtype):
    """Convert a tensor to the DType `dtype`."""
    return x if x.dtype is dtype else tf.cast(x, dtype)


class KerasPolicy(Policy):
    """The conventions of `keras.ops`. A Python number beside a tensor has no dtype of its own."""

    COUNTED = tf.int32
    PLACES = tf.int32
    RELU = False

    def refused(self, message):
        """Return the error of TensorFlow's op."""
        return tf.errors.InvalidArgumentError.saying(message)

    def array(self, value, dtype=None):
        """Convert `value` to a Tensor."""
        if not isinstance(value, tf.Tensor):
            return convert_to_tensor(value, dtype)
        return value if dtype is None else cast(value, dtype)

    def dtype(self, dtype):
        """Convert a dtype argument to a DType; None is floatx."""
        return tf.as_dtype(floatx() if dtype is None else standardize_dtype(dtype))

    def result_type(self, *values):
        """Return the DType to which values are promoted."""
        return result_type(*[type(x) if type(x) in NUMBERS else tensor(x).dtype for x in values])

    def promoted(self, *values):
        """Convert values to tensors of their common dtype."""
        kept = [x if type(x) in NUMBERS else tensor(x) for x in values]
        dtype = self.result_type(*kept)
        return [tensor(x, dtype) for x in kept]

    def operands(self, x1, x2, *more):
        """Return `(x1, x2, dtype)`: two operands of one dtype, that of `result_type` (together with the types `more`).

        A Python number beside a tensor remains a number, which an op converts to the tensor's dtype.
        """
        if not isinstance(x1, tf.Tensor):
            if type(x1) in NUMBERS:
                if type(x2) in NUMBERS:
                    dtype = result_type(type(x1), type(x2), *more)
                    return tensor(x1, dtype), tensor(x2, dtype), dtype
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

    def counted(self, x1, x2):
        """Return `operands`, with bools as int32."""
        x1, x2, dtype = self.operands(x1, x2)
        return (tf.cast(x1, tf.int32), tf.cast(x2, tf.int32), tf.int32) if dtype is tf.bool else (x1, x2, dtype)

    def fraction(self, x1, x2):
        """Return the operands of a quotient as floats."""
        return self.operands(x1, x2, float)[:2]

    def floating(self, value):
        """Convert `value` to a floating (or complex) tensor: integers and bools become floats."""
        x = tensor(value)
        dtype = x.dtype
        return x if dtype.is_floating or dtype.is_complex else tf.cast(x, result_type(dtype, float))

    def angular(self, value):
        """Convert `value` to floats; int64 becomes float64."""
        x = tensor(value)
        return tf.cast(x, tf.float64) if x.dtype is tf.int64 else floating(x)

    def floats(self, x1, x2):
        """Return `operands` as floating tensors."""
        return pair(x1, x2, float)[:2]

    def averaged(self, value):
        """Convert `value` to floats; integers become at least float32."""
        x = tensor(value)
        return x if x.dtype.is_floating or x.dtype.is_complex else tf.cast(x, result_type(x.dtype, "float32"))

    def numeric(self, value):
        """Convert `value` to a tensor of numbers: bools become int32."""
        x = tensor(value)
        return tf.cast(x, tf.int32) if x.dtype.is_bool else x

    def truth(self, value):
        """Convert `value` to a tensor of bools: whether it is not zero."""
        return cast(tensor(value), tf.bool)

    def nowhere(self, x):
        """Return the result of a predicate of floats that is false for all of `x`."""
        return tf.zeros_like(x, tf.bool)

    def summed(self, value):
        """Convert `value` to the dtype of its sum or product."""
        x = tensor(value)
        return cast(x, _SUMS.get(x.dtype, x.dtype))

    def running(self, value):
        """Convert `value` to the dtype of its running sums."""
        return self.numeric(value)

    def product(self, function, *values):
        """Apply `function` to tensors in a dtype that it supports."""
        values = self.promoted(*values)
        dtype = values[0].dtype
        wide = _PRODUCTS.get(dtype)
        return function(*values) if wide is None else tf.cast(function(*[tf.cast(x, wide) for x in values]), dtype)

    def check_extremum(self, x, axis):
        """Raise ValueError for the extremum of an empty tensor."""
        if 0 in x.shape and 0 in [x.shape[a] for a in self.axes(axis, x.ndim)]:
            raise ValueError(f"Cannot compute the extremum of an empty tensor. Received: shape={tuple(x.shape)}, axis={axis}")

    def ordered(self, value):
        """Return `value` with -0 and subnormal numbers replaced by numbers below 0, so that they compare as less than 0."""
        x = tensor(value)
        if not x.dtype.is_floating:
            return x
        x = tf.cast(x, tf.float32) if x.dtype.size == 2 else x
        integer, normal, tiny = _BELOW_ZERO[x.dtype]
        return tf.where(tf.bitcast(x, integer) < normal, tiny, x)

    def axis(self, axis, rank, what="axis"):
        """Convert one axis to an int ≥ 0; ValueError outside of [-rank, rank)."""
        axis = int(axis)
        if not -rank <= axis < rank:
            raise ValueError(f"{what} {axis} is out of bounds for a tensor of {rank} dimensions.")
        return axis % rank


KERAS = KerasPolicy()
tensor, operands, floating, numeric, truth = KERAS.array, KERAS.operands, KERAS.floating, KERAS.numeric, KERAS.truth
canonical, axes_of = KERAS.axis, KERAS.axes


def _beside_number(x, number, more):
    """Return `operands` of a tensor and a Python number."""
    dtype = x.dtype
    if dtype.is_floating and type(number) is not complex:
        return x, number, dtype
    dtype = result_type(dtype, type(number), *more)
    if dtype.is_integer and (number < 0 if dtype.is_unsigned else not dtype.min <= number <= dtype.max):
        number = tf.cast(tf.convert_to_tensor(number, tf.int64), dtype)  # the cast wraps around
    return cast(x, dtype), number, dtype


def pair(x1, x2, *more):
    """Return `operands`, both as tensors."""
    x1, x2, dtype = operands(x1, x2, *more)
    return tensor(x1, dtype), tensor(x2, dtype), dtype
