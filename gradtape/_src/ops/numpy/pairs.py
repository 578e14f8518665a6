"""Element-wise arithmetic of two arrays, with dtypes promoted by NumPy's rules."""

import math
import numbers
import operator

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, zeros_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import reshape, stop_gradient, zeros
from gradtape._src.ops.math import arithmetic, compare, elementary, rounding
from gradtape._src.ops.math.clip import clip_by_value
from gradtape._src.ops.nn.activation import relu
from gradtape._src.ops.numpy.elements import abs, exp, exp2, isnan, log1p
from gradtape._src.ops.numpy.policy import TENSORFLOW, floating, numpy_function, promoted
from gradtape._src.ops.shapes import INTEGER, broadcast, only


def either(on_numbers, on_bools, x1, x2, policy=TENSORFLOW):
    """Apply one of two functions to two values in their common dtype: one for numbers, one for bools."""
    x1, x2, dtype = policy.operands(x1, x2)
    return (on_bools if dtype.is_bool else on_numbers)(x1, x2)


@numpy_function
def add(x1, x2, *, policy=TENSORFLOW):
    """Return the sum of two arrays; for bools their logical or.

    >>> tf.experimental.numpy.add([1, 2], 0.5).numpy()
    array([1.5, 2.5])
    """
    return either(operator.add, compare.logical_or, x1, x2, policy)


@numpy_function
def subtract(x1, x2, *, policy=TENSORFLOW):
    """Return the difference of two arrays.

    >>> tf.experimental.numpy.subtract([1, 2], 0.5).numpy()
    array([0.5, 1.5])
    """
    return arithmetic.subtract(*policy.operands(x1, x2)[:2])


@numpy_function
def multiply(x1, x2, *, policy=TENSORFLOW):
    """Return the element-wise product of two arrays; for bools their logical and.

    >>> tf.experimental.numpy.multiply([1, 2], 0.5).numpy()
    array([0.5, 1. ])
    """
    return either(arithmetic.multiply, compare.logical_and, x1, x2, policy)


@numpy_function
def true_divide(x1, x2, *, policy=TENSORFLOW):
    """Return the quotient of two arrays, as a float.

    >>> tf.experimental.numpy.true_divide([1, 2], 2).numpy()
    array([0.5, 1. ])
    """
    x1, x2 = policy.fraction(x1, x2)
    return x1 / x2


divide = true_divide


@numpy_function
def floor_divide(x1, x2, *, policy=TENSORFLOW):
    """Return the quotient of two arrays, rounded down to an integer.

    >>> tf.experimental.numpy.floor_divide([7, -7], 2).numpy()
    array([ 3, -4])
    """
    return rounding.floordiv(*policy.counted(x1, x2)[:2])


@numpy_function
def mod(x1, x2, *, policy=TENSORFLOW):
    """Return the remainder of a division, with the sign of the divisor.

    >>> tf.experimental.numpy.mod([7, -7], 3).numpy()
    array([1, 2])
    """
    return rounding.floormod(*policy.counted(x1, x2)[:2])


remainder = mod


@public
def divmod(x1, x2):
    """Return the floored quotient and the remainder of a division, a pair.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.divmod([7, -7], 3)]
    [[2, -3], [1, 2]]
    """
    return floor_divide(x1, x2), mod(x1, x2)


@numpy_function
def power(x1, x2, *, policy=TENSORFLOW):
    """Return `x1` to the power `x2`.

    >>> tf.experimental.numpy.power([2, 3], 2).numpy()
    array([4, 9])
    """
    x1, x2, dtype = policy.counted(x1, x2)
    if not dtype.is_unsigned:
        return elementary.pow(x1, x2)
    signed = "int64" if dtype.size > 2 else "int32"
    return cast(elementary.pow(cast(x1, signed), cast(x2, signed)), dtype)


float_power = power


@numpy_function
def maximum(x1, x2, *, policy=TENSORFLOW):
    """Return the larger of two elements; for bools their logical or.

    The maximum of a tensor and the number 0 is `relu`, whose gradient at 0 is 0.

    >>> tf.experimental.numpy.maximum([1, 5], 3).numpy()
    array([3, 5])
    """
    zero = isinstance(x2, numbers.Real) and not isinstance(x2, bool) and x2 == 0
    if policy.RELU and zero and isinstance(x1, Tensor) and not x1.dtype.is_bool:
        return relu(x1)
    return either(arithmetic.maximum, compare.logical_or, x1, x2, policy)


@numpy_function
def minimum(x1, x2, *, policy=TENSORFLOW):
    """Return the smaller of two elements; for bools their logical and.

    >>> tf.experimental.numpy.minimum([1, 5], 3).numpy()
    array([1, 3])
    """
    return either(arithmetic.minimum, compare.logical_and, x1, x2, policy)


@numpy_function
def clip(a, a_min, a_max, *, policy=TENSORFLOW):
    """Limit each element to the interval from `a_min` to `a_max`. One of the bounds may be None; ValueError if both are.

    >>> tf.experimental.numpy.clip([1, 5, 9], 2, 7).numpy()
    array([2, 5, 7])
    """
    if a_min is None and a_max is None:
        raise ValueError("Not more than one of `a_min` and `a_max` may be `None`.")
    if a_min is None:
        return minimum(a, a_max, policy=policy)
    if a_max is None:
        return maximum(a, a_min, policy=policy)
    x, low, high = policy.promoted(a, a_min, a_max)
    if x.dtype.is_bool:
        x, low, high = [cast(value, policy.COUNTED) for value in (x, low, high)]
    return clip_by_value(x, low, high)


@numpy_function
def arctan2(x1, x2, *, policy=TENSORFLOW):
    """Return the angle of the point (`x2`, `x1`), in radians.

    >>> tf.experimental.numpy.arctan2([1.0, -1.0], 0.0).numpy().round(6)
    array([ 1.570796, -1.570796])
    """
    return elementary.atan2(*policy.floats(x1, x2))


@numpy_function
def hypot(x1, x2, *, policy=TENSORFLOW):
    """Return √(x1² + x2²), without overflow.

    >>> tf.experimental.numpy.hypot([3.0, 5.0], [4.0, 12.0]).numpy()
    array([ 5., 13.])
    """
    # Scaled by the larger operand, as squares overflow. The scale is a constant, so derivatives of all orders are right where
    # one operand is 0. Where both are 0, the derivative is 0, not NaN. Infinity and NaN give infinity.
    x1, x2 = policy.floats(x1, x2)
    infinite = compare.logical_or(compare.is_inf(x1), compare.is_inf(x2))
    x1, x2 = [where(infinite, ones_like(x), x) for x in (x1, x2)]
    scale = stop_gradient(arithmetic.maximum(arithmetic.abs(x1), arithmetic.abs(x2)))
    both_zero = compare.equal(scale, zeros_like(scale))
    scale = where(both_zero, ones_like(scale), scale)
    squares = arithmetic.square(x1 / scale) + arithmetic.square(x2 / scale)
    length = where(both_zero, squares, scale * arithmetic.sqrt(where(both_zero, ones_like(squares), squares)))
    return where(infinite, math.inf, length)


@numpy_function
def nextafter(x1, x2, *, policy=TENSORFLOW):
    """Return the next float after `x1` in the direction of `x2`.

    >>> tf.experimental.numpy.nextafter(tf.constant(1.0), tf.constant(2.0)).numpy() > 1.0
    np.True_
    """
    x1, x2 = policy.floats(x1, x2)
    wide = x1.dtype if x1.dtype.size > 2 else "float64"  # the next 16-bit float is that of float64, rounded
    return cast(arithmetic.nextafter(cast(x1, wide), cast(x2, wide)), x1.dtype)


@numpy_function
def heaviside(x1, x2, *, policy=TENSORFLOW):
    """Return 0 below 0, 1 above it and `x2` at 0, a float.

    >>> tf.experimental.numpy.heaviside([-1.0, 0.0, 2.0], 0.5).numpy()
    array([0. , 0.5, 1. ])
    """
    x1, x2 = policy.floats(x1, x2)
    x1 = stop_gradient(x1)  # a step function has derivative 0
    return where(x1 < 0, 0.0, where(x1 > 0, 1.0, where(compare.is_nan(x1), x1, x2)))


@public
def logaddexp(x1, x2):
    """Return log(exp(x1) + exp(x2)), without overflow.

    >>> tf.experimental.numpy.logaddexp([0.0, 1000.0], 1000.0).numpy().round(6)
    array([1000.      , 1000.693147])
    """
    return _of_exponentials(x1, x2, exp, 1.0)


@public
def logaddexp2(x1, x2):
    """Return log2(2**x1 + 2**x2), without overflow.

    >>> tf.experimental.numpy.logaddexp2([0.0, 2.0], 2.0).numpy().round(6)
    array([2.321928, 3.      ])
    """
    return _of_exponentials(x1, x2, exp2, 1.0 / math.log(2.0))


def _of_exponentials(x1, x2, exponential, scale):
    x1, x2 = map(floating, promoted(x1, x2))
    difference = x1 - x2  # NaN for two infinities of one sign
    return where(isnan(difference), x1 + x2, maximum(x1, x2) + log1p(exponential(-abs(difference))) * scale)


@public
def polyval(p, x):
    """Evaluate at `x` the polynomial with the coefficients `p`, the highest power first.

    >>> tf.experimental.numpy.polyval([1, 0, 2], 3).numpy()
    np.int64(11)
    """
    p, x = promoted(p, x)
    value = zeros(extents_of(x), x.dtype)
    for i in range(extents_of(reshape(p, [-1]))[0]):
        value = value * x + reshape(p, [-1])[i]
    return value


@op("Gcd", infer=only(INTEGER, broadcast), broadcasting=True, traits="own")
def _gcd(x, y):
    return jnp.gcd(x, y)


not_differentiable(_gcd, because="its inputs are integers")


@numpy_function
def gcd(x1, x2, *, policy=TENSORFLOW):
    """Return the greatest common divisor of two integers; ValueError for other dtypes.

    >>> tf.experimental.numpy.gcd([12, 0], 18).numpy()
    array([ 6, 18])
    """
    x1, x2 = policy.promoted(x1, x2)
    if not x1.dtype.is_integer:
        raise ValueError("Arguments to gcd must be integers.")
    return _gcd(x1, x2)


@numpy_function
def lcm(x1, x2, *, policy=TENSORFLOW):
    """Return the least common multiple of two integers; ValueError for other dtypes.

    >>> tf.experimental.numpy.lcm([4, 0], 6).numpy()
    array([12,  0])
    """
    x1, x2 = policy.promoted(x1, x2)
    divisor = gcd(x1, x2)
    parts = rounding.floordiv(x2, arithmetic.maximum(divisor, ones_like(divisor)))
    return abs(x1 * parts)


@numpy_function
def bitwise_and(x1, x2, *, policy=TENSORFLOW):
    """Return the bitwise and of integers; for bools their logical and.

    >>> tf.experimental.numpy.bitwise_and([6, 5], 3).numpy()
    array([2, 1])
    """
    return either(compare.bitwise_and, compare.logical_and, *policy.promoted(x1, x2))


@numpy_function
def bitwise_or(x1, x2, *, policy=TENSORFLOW):
    """Return the bitwise or of integers; for bools their logical or.

    >>> tf.experimental.numpy.bitwise_or([6, 5], 3).numpy()
    array([7, 7])
    """
    return either(compare.bitwise_or, compare.logical_or, *policy.promoted(x1, x2))


@numpy_function
def bitwise_xor(x1, x2, *, policy=TENSORFLOW):
    """Return the bitwise exclusive or of integers; for bools their logical one.

    >>> tf.experimental.numpy.bitwise_xor([6, 5], 3).numpy()
    array([5, 6])
    """
    return either(compare.bitwise_xor, compare.logical_xor, *policy.promoted(x1, x2))


@numpy_function
def bitwise_not(x, *, policy=TENSORFLOW):
    """Invert all bits of each integer; negate each bool.

    >>> tf.experimental.numpy.bitwise_not([0, 5]).numpy()
    array([-1, -6])
    """
    x = policy.array(x)
    return (compare.logical_not if x.dtype.is_bool else compare.invert)(x)


@numpy_function
def fmax(x1, x2, *, policy=TENSORFLOW):
    """Return the larger of two elements. NaN is the result only if both are NaN."""
    return maximum(*_without_lone_nan(x1, x2, policy), policy=policy)


@numpy_function
def fmin(x1, x2, *, policy=TENSORFLOW):
    """Return the smaller of two elements. NaN is the result only if both are NaN."""
    return minimum(*_without_lone_nan(x1, x2, policy), policy=policy)


def _without_lone_nan(x1, x2, policy):
    x1, x2 = policy.promoted(x1, x2)
    return (where(isnan(x1), x2, x1), where(isnan(x2), x1, x2)) if x1.dtype.is_floating else (x1, x2)


@numpy_function
def fmod(x1, x2, *, policy=TENSORFLOW):
    """Return the remainder of a division, with the sign of the dividend."""
    # Two branches instead of a product with the sign, whose derivative at 0 is 0.
    x1, x2, _ = policy.counted(*policy.promoted(x1, x2))
    if x1.dtype.is_unsigned:
        return rounding.floormod(x1, x2)
    size = arithmetic.abs(x2)
    return where(x1 < 0, -rounding.floormod(-x1, size), rounding.floormod(x1, size))


@numpy_function
def ldexp(x1, x2, *, policy=TENSORFLOW):
    """Return `x1` times 2 to the integer power `x2`. TypeError if `x2` is not an integer."""
    x1, x2 = policy.array(x1), policy.array(x2)
    if not x2.dtype.is_integer:
        raise TypeError(f"ldexp exponent must be an integer type. Received: x2 dtype={x2.dtype}")
    x1, x2 = policy.floats(x1, x2)
    two, half = tensor(2.0, x1.dtype), rounding.floor(x2 / 2.0)
    # In two steps, as 2**x2 may overflow although the product does not.
    return x1 * elementary.pow(two, half) * elementary.pow(two, x2 - half)
