"""Keras's policy for gradtape's NumPy: dtypes as Keras promotes them, int32 for places, Keras's errors.

Keras's lattice is JAX's; a dtype of 64 bits stays one, as with TensorFlow (`keep_64_bits` of the hook).
"""

import functools

from keras.src.backend.common import dtypes, standardize_dtype
from keras.src.backend.config import floatx

import gradtape as tf
from gradtape._src.ops.numpy.policy import Policy
from keras_gradtape.src.ops.core import convert_to_tensor

NUMBERS = (int, float, complex)  # what has no dtype of its own: bool is an int, but keeps its dtype

# What the sum of many small integers needs room for
_SUMS = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.uint32,
    tf.uint16: tf.uint32,
}
# Dtypes in which products of matrices are computed; others are brought to one of them, and the result back.
_PRODUCTS = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.int32,
    tf.uint16: tf.int32,
    tf.uint32: tf.int64,
}

# Processors take -0, and what is nearer to 0 than normal numbers, for 0: in argmax and argmin they count as less, as with Keras's
# other backends. Their exponent's bits are 0, so that as integers they are the least: the integer type, the first that is normal,
# and what stands for them.
_BELOW_ZERO = {
    tf.float32: (tf.int32, -(2**31) + 2**23, -(2.0**-126)),
    tf.float64: (tf.int64, -(2**63) + 2**52, -(2.0**-1022)),
}


def result_type(*types):
    """The DType that operands of `types` (DTypes, names or Python types) are brought to."""
    return _result_type(types, floatx())


@functools.lru_cache(maxsize=4096)
def _result_type(types, default):  # floats without a dtype become the default
    return tf.as_dtype(dtypes.result_type(*[t.name if isinstance(t, tf.DType) else t for t in types]))


def cast(x, dtype):
    """A tensor in the DType `dtype`."""
    return x if x.dtype is dtype else tf.cast(x, dtype)


class KerasPolicy(Policy):
    """The conventions of `keras.ops`. A Python number beside a tensor has no dtype of its own."""

    COUNTED = tf.int32
    PLACES = tf.int32
    RELU = False

    def refused(self, message):
        """The error of TensorFlow's op."""
        return tf.errors.InvalidArgumentError(None, None, message)

    def array(self, value, dtype=None):
        """`value` as a Tensor."""
        if not isinstance(value, tf.Tensor):
            return convert_to_tensor(value, dtype)
        return value if dtype is None else cast(value, dtype)

    def dtype(self, dtype):
        """A dtype argument as a DType; None is floatx."""
        return tf.as_dtype(floatx() if dtype is None else standardize_dtype(dtype))

    def result_type(self, *values):
        """The DType that values are brought to."""
        return result_type(*[type(x) if type(x) in NUMBERS else tensor(x).dtype for x in values])

    def promoted(self, *values):
        """Values as tensors of their common dtype."""
        kept = [x if type(x) in NUMBERS else tensor(x) for x in values]
        dtype = self.result_type(*kept)
        return [tensor(x, dtype) for x in kept]

    def operands(self, x1, x2, *more):
        """`(x1, x2, dtype)`: two operands of one dtype, that of `result_type` (together with the types `more`).

        A Python number beside a tensor stays a number, which takes the tensor's dtype when an op records it.
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
        """`operands` of which bools count as int32."""
        x1, x2, dtype = self.operands(x1, x2)
        return (tf.cast(x1, tf.int32), tf.cast(x2, tf.int32), tf.int32) if dtype is tf.bool else (x1, x2, dtype)

    def fraction(self, x1, x2):
        """The operands of a quotient, as floats."""
        return self.operands(x1, x2, float)[:2]

    def floating(self, value):
        """`value` as a tensor of a floating (or complex) dtype: integers and bools become floats."""
        x = tensor(value)
        dtype = x.dtype
        return x if dtype.is_floating or dtype.is_complex else tf.cast(x, result_type(dtype, float))

    def angular(self, value):
        """`value` as floats: those of int64 are float64."""
        x = tensor(value)
        return tf.cast(x, tf.float64) if x.dtype is tf.int64 else floating(x)

    def floats(self, x1, x2):
        """`operands` as tensors of floats."""
        return pair(x1, x2, float)[:2]

    def averaged(self, value):
        """`value` as floats, in float32 where it holds integers."""
        x = tensor(value)
        return x if x.dtype.is_floating or x.dtype.is_complex else tf.cast(x, result_type(x.dtype, "float32"))

    def numeric(self, value):
        """`value` as a tensor of numbers: bools become int32."""
        x = tensor(value)
        return tf.cast(x, tf.int32) if x.dtype.is_bool else x

    def truth(self, value):
        """`value` as a tensor of bools: whether it is not zero."""
        return cast(tensor(value), tf.bool)

    def nowhere(self, x):
        """A predicate of floats that no element of `x` fulfils."""
        return tf.zeros_like(x, tf.bool)

    def summed(self, value):
        """`value` in the dtype of its sum or product."""
        x = tensor(value)
        return cast(x, _SUMS.get(x.dtype, x.dtype))

    def running(self, value):
        """`value` in the dtype of its running sums."""
        return self.numeric(value)

    def product(self, function, *values):
        """`function` of tensors in a dtype that it can be computed in."""
        values = self.promoted(*values)
        dtype = values[0].dtype
        wide = _PRODUCTS.get(dtype)
        return function(*values) if wide is None else tf.cast(function(*[tf.cast(x, wide) for x in values]), dtype)

    def check_extremum(self, x, axis):
        """Refuse the extremum of nothing."""
        if 0 in x.shape and 0 in [x.shape[a] for a in self.axes(axis, x.ndim)]:
            raise ValueError(f"Cannot compute the extremum of an empty tensor. Received: shape={tuple(x.shape)}, axis={axis}")

    def ordered(self, value):
        """`value` with numbers for -0 and what is nearer to 0 than normal numbers, which count as less than 0."""
        x = tensor(value)
        if not x.dtype.is_floating:
            return x
        x = tf.cast(x, tf.float32) if x.dtype.size == 2 else x
        integer, normal, tiny = _BELOW_ZERO[x.dtype]
        return tf.where(tf.bitcast(x, integer) < normal, tiny, x)

    def axis(self, axis, rank, what="axis"):
        """One axis as an int ≥ 0; ValueError outside of [-rank, rank)."""
        axis = int(axis)
        if not -rank <= axis < rank:
            raise ValueError(f"{what} {axis} is out of bounds for a tensor of {rank} dimensions.")
        return axis % rank


KERAS = KerasPolicy()
tensor, operands, floating, numeric, truth = KERAS.array, KERAS.operands, KERAS.floating, KERAS.numeric, KERAS.truth
canonical, axes_of = KERAS.axis, KERAS.axes


def _beside_number(x, number, more):
    """`operands` of a tensor and a Python number."""
    dtype = x.dtype
    if dtype.is_floating and type(number) is not complex:
        return x, number, dtype
    dtype = result_type(dtype, type(number), *more)
    if dtype.is_integer and (number < 0 if dtype.is_unsigned else not dtype.min <= number <= dtype.max):
        number = tf.cast(tf.convert_to_tensor(number, tf.int64), dtype)  # which wraps around
    return cast(x, dtype), number, dtype


def pair(x1, x2, *more):
    """`operands`, both as tensors."""
    x1, x2, dtype = operands(x1, x2, *more)
    return tensor(x1, dtype), tensor(x2, dtype), dtype
