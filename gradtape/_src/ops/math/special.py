"""Special functions: error functions, gamma and its relations, `xlogy` and the like, sigmoids, integrals."""

import math

from jax.scipy import special as kernels

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.floats import in_float64, wide
from gradtape._src.ops.math.arithmetic import reciprocal, square
from gradtape._src.ops.math.compare import equal, logical_or, not_equal
from gradtape._src.ops.math.complex import elementwise
from gradtape._src.ops.math.elementary import cos, exp, log, log1p, sin
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.shapes import COMPLEX, FLOATING, broadcast, only, same

_FLOAT = only(FLOATING, same)
_WIDE_FLOATS = only(("float32", "float64"), broadcast)


# ---------------------------------------------------------------------------------------------------------------------
# The error function, and the normal distribution


@elementwise("Erf", slope=lambda x: 2.0 / math.sqrt(math.pi) * exp(-square(x)), infer=_FLOAT, flops=1)
def erf(x):
    """Return the error function 2/√π · ∫₀ˣ exp(−t²) dt, element-wise. Float.

    >>> tf.math.erf([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8427], dtype=float32)
    """
    return lax.erf(x)


@elementwise("Erfc", slope=lambda x: -2.0 / math.sqrt(math.pi) * exp(-square(x)), infer=_FLOAT, flops=1)
def erfc(x):
    """Return `1 - erf(x)`, element-wise, exact for large `x`. Float.

    >>> tf.math.erfc([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.1573], dtype=float32)
    """
    return lax.erfc(x)


@elementwise("Erfinv", slope=lambda y: math.sqrt(math.pi) / 2.0 * exp(square(y)), infer=_FLOAT, flops=1)
def erfinv(x):
    """Return the inverse of `erf`, element-wise: ±∞ at ±1, NaN beyond. Float.

    >>> tf.math.erfinv([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.4769], dtype=float32)
    """
    return lax.erf_inv(x)


@elementwise(
    "Ndtri", slope=lambda y: math.sqrt(2.0 * math.pi) * exp(square(y) / 2.0),
    unhosted="NumPy has no twin of it", infer=_FLOAT,
)  # fmt: skip
def ndtri(x):
    """Return the quantile of the standard normal distribution at probability `x`, element-wise: NaN outside [0, 1]. Float.

    >>> tf.math.ndtri([0.5, 0.975]).numpy().round(4)
    array([0.  , 1.96], dtype=float32)
    """
    return kernels.ndtri(wide(x)).astype(x.dtype)


@public
def erfcinv(x, name=None):
    """Return the inverse of `erfc`, element-wise: ∞ at 0, -∞ at 2, NaN outside of [0, 2]. Float.

    >>> tf.math.erfcinv([0.5]).numpy().round(4)
    array([0.4769], dtype=float32)
    """
    return -ndtri(0.5 * tensor(x)) * math.sqrt(0.5)


# ---------------------------------------------------------------------------------------------------------------------
# Gamma and its relations


@elementwise("Lgamma", slope=lambda x: digamma(x), infer=_FLOAT, flops=1)
def lgamma(x):
    """Return log |Γ(x)|, element-wise: ∞ at the poles. Float.

    >>> tf.math.lgamma([1.0, 5.0]).numpy().round(4)
    array([0.    , 3.1781], dtype=float32)
    """
    return lax.lgamma(x)


@elementwise("Digamma", slope=lambda x: polygamma(tensor(1, x.dtype), x), infer=_FLOAT)
def digamma(x):
    """Return ψ(x), the derivative of `lgamma`, element-wise: NaN at the poles. Float.

    >>> tf.math.digamma([1.0, 2.0]).numpy().round(4)
    array([-0.5772,  0.4228], dtype=float32)
    """
    return jnp.where(x == 0, jnp.array(jnp.nan, x.dtype), lax.digamma(x))  # JAX 0.11 returns -inf at 0, TensorFlow NaN


@elementwise(
    "Polygamma", slope=(None, lambda a, x: polygamma(a + 1.0, x)),
    unhosted="NumPy has no twin of it", infer=_WIDE_FLOATS, broadcasting=True,
)  # fmt: skip
def polygamma(a, x):
    """Return the `a`-th derivative of ψ at `x`, element-wise, with broadcasting: NaN where `a` is not an integer.

    float32 or float64. There is a gradient to `x` only.

    >>> tf.math.polygamma([1.0], [1.0]).numpy().round(4)
    array([1.6449], dtype=float32)
    """
    whole = (a == jnp.floor(a)) & (a >= 0)
    order, x = jnp.broadcast_arrays(jnp.where(whole, a, jnp.zeros((), a.dtype)), x)
    vanishes = (order > 0) & (x == jnp.inf)
    found = jnp.where(vanishes, jnp.zeros((), x.dtype), lax.polygamma(order, x))
    return jnp.where(whole, found, jnp.array(jnp.nan, x.dtype))


@elementwise(
    "Zeta", slope=(lambda x, q: _zeta_derivative(x, q, order=1), lambda x, q: -x * zeta(x + 1.0, q)),
    unhosted="NumPy has no twin of it", infer=_WIDE_FLOATS, broadcasting=True,
)  # fmt: skip
def zeta(x, q):
    """Return Hurwitz's ζ(x, q) = Σₙ (q + n)⁻ˣ, element-wise, with broadcasting: NaN for x < 1.

    The gradient to `x` is NaN for q ≤ 0, where powers of negative numbers need not be real.

    >>> tf.math.zeta([2.0], [1.0]).numpy().round(4)
    array([1.6449], dtype=float32)
    """
    return lax.zeta(*jnp.broadcast_arrays(x, q))


_SUMMED = 12  # number of terms that are added before the Euler-Maclaurin formula
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _times(f, g):
    return [sum([f[i] * g[n - i] for i in range(n + 1)]) for n in range(len(f))]


def _power(w, x, order):
    """Return w⁻ˣ as a power series in x, truncated after the power `order`."""
    return [w**-x * (-jnp.log(w)) ** i / math.factorial(i) for i in range(order + 1)]


@op("ZetaDerivative", infer=_WIDE_FLOATS, broadcasting=True, saves="x q", traits="own")
def _zeta_derivative(x, q, *, order):
    """Return the `order`-th derivative of `zeta` with respect to `x`, by the Euler-Maclaurin formula.

    Each of its terms is a power series in x: NIST Digital Library of Mathematical Functions, 25.11.5.
    """
    dtype = x.dtype
    x, q = jnp.broadcast_arrays(x.astype(jnp.float64), q.astype(jnp.float64))
    valid = (x >= 1) & (q > 0)
    x, q = jnp.where(valid, x, 2.0), jnp.where(valid, q, 1.0)
    found = sum([_power(q + n, x, order)[order] for n in range(_SUMMED)])
    w = q + _SUMMED
    last = _power(w, x, order)
    found += last[order] / 2.0 + w * _times(last, [(-1.0) ** i / (x - 1.0) ** (i + 1) for i in range(order + 1)])[order]
    one = [jnp.ones_like(x), *[jnp.zeros_like(x)] * order][: order + 1]
    rising = _times(one, [x, *one][: order + 1])
    for j, number in enumerate(_BERNOULLI, 1):
        found += number / math.factorial(2 * j) * _times(rising, last)[order] * w ** (1.0 - 2 * j)
        for i in (2 * j - 1, 2 * j):
            rising = _times(rising, [x + i, *one][: order + 1])
    return jnp.where(valid, found * math.factorial(order), jnp.nan).astype(dtype)


@gradient(_zeta_derivative)
def _(dy, x, q, needs_x, needs_q, *, order):
    dq = None
    if needs_q:
        lower = _zeta_derivative(x + 1.0, q, order=order - 1) if order > 1 else zeta(x + 1.0, q)
        dq = -dy * (x * _zeta_derivative(x + 1.0, q, order=order) + float(order) * lower)
    return dy * _zeta_derivative(x, q, order=order + 1) if needs_x else None, dq


@public
def lbeta(x, name=None):
    """Return log |B(x)| of the vectors along the last axis: Σ lgamma(xᵢ) - lgamma(Σ xᵢ). Float; -∞ for empty vectors.

    >>> float(tf.math.lbeta([1.0, 1.0]))
    0.0
    """
    x = tensor(x)
    return reduce_sum(lgamma(x), axis=[-1]) - lgamma(reduce_sum(x, axis=[-1]))


# ---------------------------------------------------------------------------------------------------------------------
# Products that are 0 where the first factor is 0


def _zero_where_zero(x, result):
    return jnp.where(x == 0, jnp.zeros((), result.dtype), result)


def _factor(x, y):
    """Return the first factor of a product's derivative with respect to `x`: 1, but 0 where `x` is 0 and `y` is not finite."""
    return cast(logical_or(not_equal(x, 0), equal(y - y, 0)), x.dtype)


@elementwise(
    "Xlogy", slope=(lambda x, y: xlogy(_factor(x, log(y)), y), lambda x, y: xdivy(x, y)),
    infer=only(FLOATING + COMPLEX, broadcast), broadcasting=True, flops=2,
)  # fmt: skip
def xlogy(x, y):
    """Return `x · log(y)`, and 0 where `x` is 0, element-wise, with broadcasting. Float or complex.

    >>> tf.math.xlogy([0.0, 2.0], [0.0, 10.0]).numpy().round(4)
    array([0.    , 4.6052], dtype=float32)
    """
    return _zero_where_zero(x, x * jnp.log(y))


@elementwise(
    "Xlog1py", slope=(lambda x, y: xlog1py(_factor(x, log1p(y)), y), lambda x, y: xdivy(x, y + 1.0)),
    infer=only(FLOATING + COMPLEX, broadcast), broadcasting=True, flops=2,
)  # fmt: skip
def xlog1py(x, y):
    """Return `x · log(1 + y)`, and 0 where `x` is 0, element-wise, with broadcasting. Float or complex.

    >>> tf.math.xlog1py([0.0, 2.0], [-1.0, 1.0]).numpy().round(4)
    array([0.    , 1.3863], dtype=float32)
    """
    return _zero_where_zero(x, x * jnp.log1p(y))


@elementwise(
    "Xdivy", slope=(lambda x, y: xdivy(_factor(x, reciprocal(y)), y), lambda x, y: xdivy(-x, square(y))),
    infer=only(FLOATING + COMPLEX, broadcast), broadcasting=True, flops=2,
)  # fmt: skip
def xdivy(x, y):
    """Return `x / y`, and 0 where `x` is 0, element-wise, with broadcasting. Float or complex.

    >>> print(tf.math.xdivy([0.0, 3.0], [0.0, 2.0]).numpy())
    [0.  1.5]
    """
    return _zero_where_zero(x, x / y)


# ---------------------------------------------------------------------------------------------------------------------
# Sigmoids


@elementwise("Sigmoid", slope=lambda y: y * (1.0 - y), infer=only(FLOATING + COMPLEX, same), flops=1)
def sigmoid(x):
    """Return 1 / (1 + e⁻ˣ), element-wise. Float or complex.

    >>> tf.sigmoid([0.0, 2.0]).numpy().round(4)
    array([0.5   , 0.8808], dtype=float32)
    """
    return lax.logistic(x)


@elementwise("Softplus", slope=lambda features: sigmoid(features), infer=_FLOAT, flops=2)
def softplus(features):
    """Return log(1 + eˣ), element-wise: exact for large `features` of either sign. Float.

    >>> tf.math.softplus([0.0, 10.0]).numpy().round(4)
    array([ 0.6931, 10.    ], dtype=float32)
    """
    return jnp.maximum(features, 0) + jnp.log1p(jnp.exp(-jnp.abs(features)))


@public
def log_sigmoid(x, name=None) -> Tensor:
    """Return log(1 / (1 + e⁻ˣ)), element-wise: exact for large `x` of either sign. Float.

    >>> tf.math.log_sigmoid([0.0, 2.0]).numpy().round(4)
    array([-0.6931, -0.1269], dtype=float32)
    """
    return -softplus(-tensor(x))


# ---------------------------------------------------------------------------------------------------------------------
# Integrals


@elementwise("Dawsn", slope=lambda x, y: 1.0 - 2.0 * x * y, unhosted="NumPy has no twin of it", infer=_FLOAT)
def dawsn(x):
    """Return Dawson's integral exp(−x²) · ∫₀ˣ exp(t²) dt, element-wise. Float.

    >>> tf.math.special.dawsn([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.5381], dtype=float32)
    """
    return in_float64(kernels.dawsn, x)


@op("Expint", unhosted="NumPy has no twin of it", infer=_FLOAT, saves="x")
def expint(x):
    """Return the exponential integral Ei(x) for x > 0, element-wise: NaN below 0. Float.

    >>> tf.math.special.expint([1.0]).numpy().round(4)
    array([1.8951], dtype=float32)
    """
    return in_float64(lambda x: jnp.where(x > 0, kernels.expi(x), jnp.where(x == 0, -jnp.inf, jnp.nan)), x)


@gradient(expint)
def _(dy, x):
    return dy * exp(x) / x


@elementwise("FresnelCos", slope=lambda x: cos(math.pi / 2.0 * square(x)), unhosted="NumPy has no twin of it", infer=_FLOAT)
def fresnel_cos(x):
    """Return Fresnel's integral ∫₀ˣ cos(πt²/2) dt, element-wise. Float.

    >>> tf.math.special.fresnel_cos([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7799], dtype=float32)
    """
    return in_float64(lambda x: kernels.fresnel(x)[1], x)


@elementwise("FresnelSin", slope=lambda x: sin(math.pi / 2.0 * square(x)), unhosted="NumPy has no twin of it", infer=_FLOAT)
def fresnel_sin(x):
    """Return Fresnel's integral ∫₀ˣ sin(πt²/2) dt, element-wise. Float.

    >>> tf.math.special.fresnel_sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.4383], dtype=float32)
    """
    return in_float64(lambda x: kernels.fresnel(x)[0], x)


@elementwise("Spence", slope=lambda x: -_spence_slope(x, order=0), unhosted="NumPy has no twin of it", infer=_FLOAT)
def spence(x):
    """Return Spence's integral −∫₁ˣ log(t) / (t − 1) dt, element-wise: NaN below 0. Float.

    >>> tf.math.special.spence([1.0, 0.0]).numpy().round(4)
    array([0.    , 1.6449], dtype=float32)
    """
    return in_float64(kernels.spence, x)


@elementwise("SpenceSlope", slope=lambda x, order: -(order + 1.0) * _spence_slope(x, order=order + 1), infer=_FLOAT, traits="own")
def _spence_slope(x, *, order):
    """Return ∫₀¹ tⁿ / (1 + t (x − 1))ⁿ⁺¹ dt: log(x) / (x − 1) for n = 0, and likewise smooth at 1."""

    def integral(x):
        u = x - 1
        near = jnp.abs(u) < 0.3
        below, above = jnp.where(near, u, jnp.zeros_like(u)), jnp.where(near, jnp.ones_like(u), u)
        series = jnp.zeros_like(u)
        for k in range(40, -1, -1):
            series = 1 / (order + k + 1) - below * (order + k + 1) / (k + 1) * series
        away = jnp.log(jnp.where(near, jnp.ones_like(x), x)) / above
        for n in range(1, order + 1):
            away = (away - 1 / (n * x**n)) / above
        return jnp.where(near, series, away)

    return in_float64(integral, x)
