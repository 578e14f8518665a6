"""Element-wise functions of one array. If the result is not an integer, integers are converted to the default float."""

import math

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, zeros_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math import arithmetic, compare, complex, elementary, rounding
from gradtape._src.ops.numpy.policy import TENSORFLOW, as_array, floating, numpy_function


@numpy_function
def sin(x, *, policy=TENSORFLOW):
    """Return the sine of each element, in radians.

    >>> tf.experimental.numpy.sin([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.841471])
    """
    return elementary.sin(policy.floating(x))


@numpy_function
def cos(x, *, policy=TENSORFLOW):
    """Return the cosine of each element, in radians.

    >>> tf.experimental.numpy.cos([0.0, 1.0]).numpy().round(6)
    array([1.      , 0.540302])
    """
    return elementary.cos(policy.floating(x))


@numpy_function
def tan(x, *, policy=TENSORFLOW):
    """Return the tangent of each element, in radians.

    >>> tf.experimental.numpy.tan([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.557408])
    """
    return elementary.tan(policy.floating(x))


@numpy_function
def sinh(x, *, policy=TENSORFLOW):
    """Return the hyperbolic sine of each element.

    >>> tf.experimental.numpy.sinh([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.175201])
    """
    return elementary.sinh(policy.floating(x))


@numpy_function
def cosh(x, *, policy=TENSORFLOW):
    """Return the hyperbolic cosine of each element.

    >>> tf.experimental.numpy.cosh([0.0, 1.0]).numpy().round(6)
    array([1.      , 1.543081])
    """
    return elementary.cosh(policy.floating(x))


@numpy_function
def tanh(x, *, policy=TENSORFLOW):
    """Return the hyperbolic tangent of each element.

    >>> tf.experimental.numpy.tanh([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.761594])
    """
    return elementary.tanh(policy.floating(x))


@numpy_function
def arcsin(x, *, policy=TENSORFLOW):
    """Return the inverse sine of each element, in [-π/2, π/2].

    >>> tf.experimental.numpy.arcsin([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.570796])
    """
    return elementary.asin(policy.floating(x))


@numpy_function
def arccos(x, *, policy=TENSORFLOW):
    """Return the inverse cosine of each element, in [0, π].

    >>> tf.experimental.numpy.arccos([0.0, 1.0]).numpy().round(6)
    array([1.570796, 0.      ])
    """
    return elementary.acos(policy.floating(x))


@numpy_function
def arctan(x, *, policy=TENSORFLOW):
    """Return the inverse tangent of each element, in [-π/2, π/2].

    >>> tf.experimental.numpy.arctan([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.785398])
    """
    return elementary.atan(policy.floating(x))


@numpy_function
def arcsinh(x, *, policy=TENSORFLOW):
    """Return the inverse hyperbolic sine of each element.

    >>> tf.experimental.numpy.arcsinh([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.881374])
    """
    return elementary.asinh(policy.floating(x))


@numpy_function
def arccosh(x, *, policy=TENSORFLOW):
    """Return the inverse hyperbolic cosine of each element.

    >>> tf.experimental.numpy.arccosh([1.0, 2.0]).numpy().round(6)
    array([0.      , 1.316958])
    """
    return elementary.acosh(policy.floating(x))


@numpy_function
def arctanh(x, *, policy=TENSORFLOW):
    """Return the inverse hyperbolic tangent of each element.

    >>> tf.experimental.numpy.arctanh([0.0, 0.5]).numpy().round(6)
    array([0.      , 0.549306])
    """
    return elementary.atanh(policy.floating(x))


@numpy_function
def exp(x, *, policy=TENSORFLOW):
    """Return e to the power of each element.

    >>> tf.experimental.numpy.exp([0.0, 1.0]).numpy().round(6)
    array([1.      , 2.718282])
    """
    return elementary.exp(policy.floating(x))


@numpy_function
def expm1(x, *, policy=TENSORFLOW):
    """Return e to the power of each element, minus 1, exact for small ones.

    >>> tf.experimental.numpy.expm1([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.718282])
    """
    return elementary.expm1(policy.floating(x))


@numpy_function
def exp2(x, *, policy=TENSORFLOW):
    """Return 2 to the power of each element.

    >>> tf.experimental.numpy.exp2([0, 3]).numpy()
    array([1., 8.])
    """
    x = policy.floating(x)
    return elementary.pow(tensor(2, x.dtype), x)


@numpy_function
def log(x, *, policy=TENSORFLOW):
    """Return the natural logarithm of each element.

    >>> tf.experimental.numpy.log([1.0, 2.0]).numpy().round(6)
    array([0.      , 0.693147])
    """
    return elementary.log(policy.floating(x))


@numpy_function
def log2(x, *, policy=TENSORFLOW):
    """Return the logarithm of each element to base 2.

    >>> tf.experimental.numpy.log2([1.0, 8.0]).numpy().round(6)
    array([0., 3.])
    """
    return log(x, policy=policy) * (1.0 / math.log(2.0))


@numpy_function
def log10(x, *, policy=TENSORFLOW):
    """Return the logarithm of each element to base 10.

    >>> tf.experimental.numpy.log10([1.0, 100.0]).numpy().round(6)
    array([0., 2.])
    """
    return log(x, policy=policy) * (1.0 / math.log(10.0))


@numpy_function
def log1p(x, *, policy=TENSORFLOW):
    """Return the natural logarithm of 1 plus each element, exact for small ones.

    >>> tf.experimental.numpy.log1p([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.693147])
    """
    return elementary.log1p(policy.floating(x))


@numpy_function
def sqrt(x, *, policy=TENSORFLOW):
    """Return the square root of each element.

    >>> tf.experimental.numpy.sqrt([4, 9]).numpy()
    array([2., 3.])
    """
    return arithmetic.sqrt(policy.floating(x))


@numpy_function
def cbrt(x, *, policy=TENSORFLOW):
    """Return the cube root of each element, negative for negative ones.

    >>> tf.experimental.numpy.cbrt([8.0, -27.0]).numpy().round(6)
    array([ 2., -3.])
    """
    x = policy.floating(x)
    signs = where(x < 0, tensor(-1, x.dtype), ones_like(x))
    return signs * elementary.pow(signs * x, tensor(1.0 / 3.0, x.dtype))


@numpy_function
def square(x, *, policy=TENSORFLOW):
    """Return the square of each element.

    >>> tf.experimental.numpy.square([2, 3]).numpy()
    array([4, 9])
    """
    return arithmetic.square(policy.numeric(x))


@numpy_function
def abs(x, *, policy=TENSORFLOW):
    """Return the absolute value of each element.

    >>> tf.experimental.numpy.abs([-2, 3]).numpy()
    array([2, 3])
    """
    x = policy.array(x)
    return x if x.dtype.is_unsigned or x.dtype.is_bool else arithmetic.abs(x)


absolute = fabs = abs


@numpy_function
def negative(x, *, policy=TENSORFLOW):
    """Return each element negated.

    >>> tf.experimental.numpy.negative([-2, 3]).numpy()
    array([ 2, -3])
    """
    x = policy.array(x)
    return 0 - x if x.dtype.is_unsigned else arithmetic.negative(x)


@public
def positive(x):
    """Return the array unchanged, as a tensor.

    >>> tf.experimental.numpy.positive([-2, 3]).numpy()
    array([-2,  3])
    """
    return as_array(x)


@public
def reciprocal(x):
    """Return 1 divided by each element.

    >>> tf.experimental.numpy.reciprocal([2.0, 4.0]).numpy()
    array([0.5 , 0.25])
    """
    return arithmetic.reciprocal(as_array(x))


@numpy_function
def sign(x, out=None, where=None, policy=TENSORFLOW, **kwargs):
    """Return -1, 0 or 1 by the sign of each element. ValueError for `out`, `where` and other arguments.

    >>> tf.experimental.numpy.sign([-2.5, 0.0, 3.0]).numpy()
    array([-1.,  0.,  1.])
    """
    for name, given in {"out": out, "where": where, **kwargs}.items():
        if given is not None:
            raise ValueError(f"tf.experimental.numpy.sign does not take `{name}`.")
    x = policy.array(x)
    if x.dtype.is_bool:
        return x
    return cast(x != 0, x.dtype) if x.dtype.is_unsigned else arithmetic.sign(x)


@public
def signbit(x):
    """Return whether each element is below 0, a bool.

    >>> tf.experimental.numpy.signbit([-2.5, 3.0]).numpy()
    array([ True, False])
    """
    x = as_array(x)
    return zeros_like(x) if x.dtype.is_bool else compare.less(x, tensor(0, x.dtype))


@numpy_function
def floor(x, *, policy=TENSORFLOW):
    """Return the largest integer not above each element, as a float.

    >>> tf.experimental.numpy.floor([1.7, -1.2]).numpy()
    array([ 1., -2.])
    """
    return rounding.floor(policy.floating(x))


@numpy_function
def ceil(x, *, policy=TENSORFLOW):
    """Return the smallest integer not below each element, as a float.

    >>> tf.experimental.numpy.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.])
    """
    return rounding.ceil(policy.floating(x))


@public
def fix(x):
    """Return each element rounded towards 0, as a float.

    >>> tf.experimental.numpy.fix([1.7, -1.7]).numpy()
    array([ 1., -1.])
    """
    x = floating(x)
    return where(x < 0, rounding.ceil(x), rounding.floor(x))


@numpy_function
def around(a, decimals=0, *, policy=TENSORFLOW):
    """Return each element rounded to a number of decimals, halves to even.

    >>> tf.experimental.numpy.around([1.25, 1.75], 1).numpy()
    array([1.2, 1.8])
    """
    x = policy.array(a)
    if decimals >= 0 and not (x.dtype.is_floating or x.dtype.is_complex):
        return x
    if not decimals:
        return rounding.round(x)
    working = policy.floating(x)
    scale = tensor(10.0**decimals, working.dtype)
    return cast(arithmetic.divide(rounding.round(working * scale), scale), x.dtype)


round = around


@numpy_function
def deg2rad(x, *, policy=TENSORFLOW):
    """Convert each angle from degrees to radians.

    >>> tf.experimental.numpy.deg2rad([0, 180]).numpy().round(6)
    array([0.      , 3.141593])
    """
    return policy.angular(x) * (math.pi / 180.0)


@numpy_function
def rad2deg(x, *, policy=TENSORFLOW):
    """Convert each angle from radians to degrees.

    >>> tf.experimental.numpy.rad2deg([0.0, 1.0]).numpy().round(6)
    array([ 0.     , 57.29578])
    """
    return policy.angular(x) * (180.0 / math.pi)


@numpy_function
def angle(z, deg=False, *, policy=TENSORFLOW):
    """Return the angle of each complex number, in radians or degrees; of a real one 0 or π.

    >>> tf.experimental.numpy.angle([1j, -1.0], deg=True).numpy()
    array([ 90., 180.])
    """
    found = complex.angle(policy.floating(z))
    return rad2deg(found) if deg else found


@numpy_function
def conj(x, *, policy=TENSORFLOW):
    """Return the complex conjugate of each element.

    >>> tf.experimental.numpy.conj([1 + 2j]).numpy()
    array([1.-2.j])
    """
    x = policy.array(x)
    return x if x.dtype.is_bool else complex.conj(x)


conjugate = conj


@numpy_function
def real(val, *, policy=TENSORFLOW):
    """Return the real part of each element.

    >>> tf.experimental.numpy.real([1 + 2j]).numpy()
    array([1.])
    """
    x = tensor(policy.array(val))
    return complex.real(x) if x.dtype.is_complex else x


@numpy_function
def imag(val, *, policy=TENSORFLOW):
    """Return the imaginary part of each element, 0 for real ones.

    >>> tf.experimental.numpy.imag([1 + 2j]).numpy()
    array([2.])
    """
    x = policy.array(val)
    return complex.imag(x) if x.dtype.is_complex else zeros_like(x)


@numpy_function
def sinc(x, *, policy=TENSORFLOW):
    """Return sin(πx)/(πx) for each element; 1 at 0.

    >>> tf.experimental.numpy.sinc([0.0, 0.5]).numpy().round(6)
    array([1.     , 0.63662])
    """
    x = policy.floating(x) * math.pi
    zero = compare.equal(x, zeros_like(x))
    away = where(zero, ones_like(x), x)
    # Its series at 0, so that the second derivative is right, too.
    return where(zero, 1.0 - arithmetic.square(x) / 6.0, arithmetic.divide(elementary.sin(away), away))


@numpy_function
def isnan(x, *, policy=TENSORFLOW):
    """Return whether each element is NaN.

    >>> tf.experimental.numpy.isnan([1.0, np.nan]).numpy()
    array([False,  True])
    """
    return in_a_part(compare.is_nan, x, policy)


@numpy_function
def isfinite(x, *, policy=TENSORFLOW):
    """Return whether each element is neither NaN nor infinite.

    >>> tf.experimental.numpy.isfinite([1.0, np.inf]).numpy()
    array([ True, False])
    """
    x = policy.array(x)
    if x.dtype.is_complex:
        return compare.logical_and(compare.is_finite(complex.real(x)), compare.is_finite(complex.imag(x)))
    return compare.is_finite(x) if x.dtype.is_floating else ones_like(x, "bool")


def in_a_part(predicate, x, policy):
    """Return where a predicate of floats holds for an element, or for one part of a complex element."""
    x = policy.array(x)
    if x.dtype.is_complex:
        return compare.logical_or(predicate(complex.real(x)), predicate(complex.imag(x)))
    return predicate(x) if x.dtype.is_floating else zeros_like(x, "bool")


@numpy_function
def isinf(x, *, policy=TENSORFLOW):
    """Return whether each element of a tensor is infinite; a plain False for a tensor that is not floating.

    >>> tf.experimental.numpy.isinf(tf.constant([1.0, -np.inf])).numpy()
    array([False,  True])
    """
    x = policy.array(x)
    return in_a_part(compare.is_inf, x, policy) if x.dtype.is_floating or x.dtype.is_complex else policy.nowhere(x)


@numpy_function
def isposinf(x, *, policy=TENSORFLOW):
    """Return whether each element of a tensor is infinity; a plain False for a tensor that is not floating.

    >>> tf.experimental.numpy.isposinf(tf.constant([np.inf, -np.inf])).numpy()
    array([ True, False])
    """
    return _is(x, math.inf, policy)


@numpy_function
def isneginf(x, *, policy=TENSORFLOW):
    """Return whether each element of a tensor is -infinity; a plain False for a tensor that is not floating.

    >>> tf.experimental.numpy.isneginf(tf.constant([np.inf, -np.inf])).numpy()
    array([False,  True])
    """
    return _is(x, -math.inf, policy)


def _is(x, value, policy):
    x = policy.array(x)
    return compare.equal(x, tensor(value, x.dtype)) if x.dtype.is_floating else policy.nowhere(x)


@public
def iscomplex(x):
    """Return whether the imaginary part of each element is not 0.

    >>> tf.experimental.numpy.iscomplex([1 + 2j, 1 + 0j]).numpy()
    array([ True, False])
    """
    part = imag(x)
    return compare.not_equal(part, zeros_like(part))


@numpy_function
def isreal(x, *, policy=TENSORFLOW):
    """Return whether the imaginary part of each element is 0.

    >>> tf.experimental.numpy.isreal([1 + 2j, 1 + 0j]).numpy()
    array([False,  True])
    """
    part = imag(x, policy=policy)
    return compare.equal(part, zeros_like(part))


@public
def iscomplexobj(x):
    """Return whether an array has a complex dtype, a plain bool.

    >>> tf.experimental.numpy.iscomplexobj([1j])
    True
    """
    return as_array(x).dtype.is_complex


@public
def isrealobj(x):
    """Return whether an array has no complex dtype, a plain bool.

    >>> tf.experimental.numpy.isrealobj([1j])
    False
    """
    return not iscomplexobj(x)


@numpy_function
def nan_to_num(x, nan=0.0, posinf=None, neginf=None, *, policy=TENSORFLOW):
    """Replace NaN and infinities by numbers: by default 0, and the largest and the smallest finite number."""
    x = policy.array(x)
    if not x.dtype.is_floating:
        return x
    largest, smallest = [float(limit) for limit in (x.dtype.max, x.dtype.min)]
    x = where(isnan(x), tensor(nan, x.dtype), x)
    x = where(isposinf(x), largest if posinf is None else posinf, x)
    return where(isneginf(x), smallest if neginf is None else neginf, x)
