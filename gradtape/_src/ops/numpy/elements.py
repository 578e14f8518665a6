"""Functions of each element of one array. Integers become the default float where the result is no integer."""

import math

from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, zeros_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math import arithmetic, compare, complex, elementary, rounding
from gradtape._src.ops.numpy.arrays import as_array, floating


@public
def sin(x):
    """Return the sine of each element, in radians.

    >>> tf.experimental.numpy.sin([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.841471])
    """
    return elementary.sin(floating(x))


@public
def cos(x):
    """Return the cosine of each element, in radians.

    >>> tf.experimental.numpy.cos([0.0, 1.0]).numpy().round(6)
    array([1.      , 0.540302])
    """
    return elementary.cos(floating(x))


@public
def tan(x):
    """Return the tangent of each element, in radians.

    >>> tf.experimental.numpy.tan([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.557408])
    """
    return elementary.tan(floating(x))


@public
def sinh(x):
    """Return the hyperbolic sine of each element.

    >>> tf.experimental.numpy.sinh([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.175201])
    """
    return elementary.sinh(floating(x))


@public
def cosh(x):
    """Return the hyperbolic cosine of each element.

    >>> tf.experimental.numpy.cosh([0.0, 1.0]).numpy().round(6)
    array([1.      , 1.543081])
    """
    return elementary.cosh(floating(x))


@public
def tanh(x):
    """Return the hyperbolic tangent of each element.

    >>> tf.experimental.numpy.tanh([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.761594])
    """
    return elementary.tanh(floating(x))


@public
def arcsin(x):
    """Return the angle in [-π/2, π/2] whose sine each element is.

    >>> tf.experimental.numpy.arcsin([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.570796])
    """
    return elementary.asin(floating(x))


@public
def arccos(x):
    """Return the angle in [0, π] whose cosine each element is.

    >>> tf.experimental.numpy.arccos([0.0, 1.0]).numpy().round(6)
    array([1.570796, 0.      ])
    """
    return elementary.acos(floating(x))


@public
def arctan(x):
    """Return the angle in [-π/2, π/2] whose tangent each element is.

    >>> tf.experimental.numpy.arctan([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.785398])
    """
    return elementary.atan(floating(x))


@public
def arcsinh(x):
    """Return the number whose hyperbolic sine each element is.

    >>> tf.experimental.numpy.arcsinh([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.881374])
    """
    return elementary.asinh(floating(x))


@public
def arccosh(x):
    """Return the number whose hyperbolic cosine each element is.

    >>> tf.experimental.numpy.arccosh([1.0, 2.0]).numpy().round(6)
    array([0.      , 1.316958])
    """
    return elementary.acosh(floating(x))


@public
def arctanh(x):
    """Return the number whose hyperbolic tangent each element is.

    >>> tf.experimental.numpy.arctanh([0.0, 0.5]).numpy().round(6)
    array([0.      , 0.549306])
    """
    return elementary.atanh(floating(x))


@public
def exp(x):
    """Return e to the power of each element.

    >>> tf.experimental.numpy.exp([0.0, 1.0]).numpy().round(6)
    array([1.      , 2.718282])
    """
    return elementary.exp(floating(x))


@public
def expm1(x):
    """Return e to the power of each element, minus 1, exact for small ones.

    >>> tf.experimental.numpy.expm1([0.0, 1.0]).numpy().round(6)
    array([0.      , 1.718282])
    """
    return elementary.expm1(floating(x))


@public
def exp2(x):
    """Return 2 to the power of each element.

    >>> tf.experimental.numpy.exp2([0, 3]).numpy()
    array([1., 8.])
    """
    x = floating(x)
    return elementary.pow(tensor(2, x.dtype), x)


@public
def log(x):
    """Return the natural logarithm of each element.

    >>> tf.experimental.numpy.log([1.0, 2.0]).numpy().round(6)
    array([0.      , 0.693147])
    """
    return elementary.log(floating(x))


@public
def log2(x):
    """Return the logarithm of each element to base 2.

    >>> tf.experimental.numpy.log2([1.0, 8.0]).numpy().round(6)
    array([0., 3.])
    """
    return log(x) * (1.0 / math.log(2.0))


@public
def log10(x):
    """Return the logarithm of each element to base 10.

    >>> tf.experimental.numpy.log10([1.0, 100.0]).numpy().round(6)
    array([0., 2.])
    """
    return log(x) * (1.0 / math.log(10.0))


@public
def log1p(x):
    """Return the natural logarithm of 1 plus each element, exact for small ones.

    >>> tf.experimental.numpy.log1p([0.0, 1.0]).numpy().round(6)
    array([0.      , 0.693147])
    """
    return elementary.log1p(floating(x))


@public
def sqrt(x):
    """Return the square root of each element.

    >>> tf.experimental.numpy.sqrt([4, 9]).numpy()
    array([2., 3.])
    """
    return arithmetic.sqrt(floating(x))


@public
def cbrt(x):
    """Return the cube root of each element, negative for negative ones.

    >>> tf.experimental.numpy.cbrt([8.0, -27.0]).numpy().round(6)
    array([ 2., -3.])
    """
    x = floating(x)
    root = elementary.pow(arithmetic.abs(x), tensor(1.0 / 3.0, x.dtype))
    return where(x < 0, -root, root)


@public
def square(x):
    """Return the square of each element.

    >>> tf.experimental.numpy.square([2, 3]).numpy()
    array([4, 9])
    """
    return arithmetic.square(as_array(x))


@public
def abs(x):
    """Return the absolute value of each element.

    >>> tf.experimental.numpy.abs([-2, 3]).numpy()
    array([2, 3])
    """
    return arithmetic.abs(as_array(x))


@public
def absolute(x):
    """Return the absolute value of each element, as `abs`.

    >>> tf.experimental.numpy.absolute([-2, 3]).numpy()
    array([2, 3])
    """
    return abs(x)


@public
def fabs(x):
    """Return the absolute value of each element, as `abs`.

    >>> tf.experimental.numpy.fabs([-2.5, 3.0]).numpy()
    array([2.5, 3. ])
    """
    return abs(x)


@public
def negative(x):
    """Return each element with the other sign.

    >>> tf.experimental.numpy.negative([-2, 3]).numpy()
    array([ 2, -3])
    """
    return arithmetic.negative(as_array(x))


@public
def positive(x):
    """Return each element as it is.

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


@public
def sign(x, out=None, where=None, **kwargs):
    """Return -1, 0 or 1 by the sign of each element. `out`, `where` and others are refused.

    >>> tf.experimental.numpy.sign([-2.5, 0.0, 3.0]).numpy()
    array([-1.,  0.,  1.])
    """
    for name, given in {"out": out, "where": where, **kwargs}.items():
        if given is not None:
            raise ValueError(f"tf.experimental.numpy.sign does not take `{name}`.")
    return arithmetic.sign(as_array(x))


@public
def signbit(x):
    """Return whether each element is below 0, a bool.

    >>> tf.experimental.numpy.signbit([-2.5, 3.0]).numpy()
    array([ True, False])
    """
    x = as_array(x)
    return zeros_like(x) if x.dtype.is_bool else compare.less(x, tensor(0, x.dtype))


@public
def floor(x):
    """Return the largest whole number not above each element, a float.

    >>> tf.experimental.numpy.floor([1.7, -1.2]).numpy()
    array([ 1., -2.])
    """
    return rounding.floor(floating(x))


@public
def ceil(x):
    """Return the smallest whole number not below each element, a float.

    >>> tf.experimental.numpy.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.])
    """
    return rounding.ceil(floating(x))


@public
def fix(x):
    """Return each element rounded towards 0, a float.

    >>> tf.experimental.numpy.fix([1.7, -1.7]).numpy()
    array([ 1., -1.])
    """
    x = floating(x)
    return where(x < 0, rounding.ceil(x), rounding.floor(x))


@public
def around(a, decimals=0):
    """Return each element rounded to a number of decimals, halves to even.

    >>> tf.experimental.numpy.around([1.25, 1.75], 1).numpy()
    array([1.2, 1.8])
    """
    x = as_array(a)
    working = floating(x)
    scale = tensor(10.0**decimals, working.dtype)
    return cast(arithmetic.divide(rounding.round(working * scale), scale), x.dtype)


@public
def round(a, decimals=0):
    """Return each element rounded to a number of decimals, as `around`.

    >>> tf.experimental.numpy.round([0.5, 1.5, 2.6]).numpy()
    array([0., 2., 3.])
    """
    return around(a, decimals)


@public
def deg2rad(x):
    """Return each angle in radians; it was in degrees.

    >>> tf.experimental.numpy.deg2rad([0, 180]).numpy().round(6)
    array([0.      , 3.141593])
    """
    return floating(x) * (math.pi / 180.0)


@public
def rad2deg(x):
    """Return each angle in degrees; it was in radians.

    >>> tf.experimental.numpy.rad2deg([0.0, 1.0]).numpy().round(6)
    array([ 0.     , 57.29578])
    """
    return floating(x) * (180.0 / math.pi)


@public
def angle(z, deg=False):
    """Return the angle of each complex number, in radians or degrees; of a real one 0 or π.

    >>> tf.experimental.numpy.angle([1j, -1.0], deg=True).numpy()
    array([ 90., 180.])
    """
    x = floating(z)
    if x.dtype.is_complex:
        found = complex.angle(x)
    else:
        found = where(x < 0, tensor(math.pi, x.dtype), zeros_like(x))
    return rad2deg(found) if deg else found


@public
def conj(x):
    """Return the complex conjugate of each element.

    >>> tf.experimental.numpy.conj([1 + 2j]).numpy()
    array([1.-2.j])
    """
    return complex.conj(as_array(x))


@public
def conjugate(x):
    """Return the complex conjugate of each element, as `conj`.

    >>> tf.experimental.numpy.conjugate([1 + 2j]).numpy()
    array([1.-2.j])
    """
    return conj(x)


@public
def real(val):
    """Return the real part of each element.

    >>> tf.experimental.numpy.real([1 + 2j]).numpy()
    array([1.])
    """
    return complex.real(as_array(val))


@public
def imag(val):
    """Return the imaginary part of each element; of real ones zeros.

    >>> tf.experimental.numpy.imag([1 + 2j]).numpy()
    array([2.])
    """
    return complex.imag(as_array(val))


@public
def sinc(x):
    """Return sin(πx)/(πx) for each element; 1 at 0.

    >>> tf.experimental.numpy.sinc([0.0, 0.5]).numpy().round(6)
    array([1.     , 0.63662])
    """
    x = floating(x)
    scaled = where(x == 0, ones_like(x), x * math.pi)
    return where(x == 0, ones_like(x), arithmetic.divide(elementary.sin(scaled), scaled))


@public
def isnan(x):
    """Return whether each element is NaN.

    >>> tf.experimental.numpy.isnan([1.0, np.nan]).numpy()
    array([False,  True])
    """
    return compare.is_nan(floating(x))


@public
def isfinite(x):
    """Return whether each element is neither NaN nor infinite.

    >>> tf.experimental.numpy.isfinite([1.0, np.inf]).numpy()
    array([ True, False])
    """
    return compare.is_finite(floating(x))


@public
def isinf(x):
    """Return whether each element of a tensor is infinite; a plain False for a tensor that is not of floats.

    >>> tf.experimental.numpy.isinf(tf.constant([1.0, -np.inf])).numpy()
    array([False,  True])
    """
    x = as_array(x)
    return compare.is_inf(x) if x.dtype.is_floating else False


@public
def isposinf(x):
    """Return whether each element of a tensor is infinity; a plain False for a tensor that is not of floats.

    >>> tf.experimental.numpy.isposinf(tf.constant([np.inf, -np.inf])).numpy()
    array([ True, False])
    """
    return _is(x, math.inf)


@public
def isneginf(x):
    """Return whether each element of a tensor is -infinity; a plain False for a tensor that is not of floats.

    >>> tf.experimental.numpy.isneginf(tf.constant([np.inf, -np.inf])).numpy()
    array([False,  True])
    """
    return _is(x, -math.inf)


def _is(x, value):
    x = as_array(x)
    return compare.equal(x, tensor(value, x.dtype)) if x.dtype.is_floating else False


@public
def iscomplex(x):
    """Return whether each element has an imaginary part that is not 0.

    >>> tf.experimental.numpy.iscomplex([1 + 2j, 1 + 0j]).numpy()
    array([ True, False])
    """
    part = imag(x)
    return compare.not_equal(part, zeros_like(part))


@public
def isreal(x):
    """Return whether each element has no imaginary part, or one of 0.

    >>> tf.experimental.numpy.isreal([1 + 2j, 1 + 0j]).numpy()
    array([False,  True])
    """
    part = imag(x)
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
