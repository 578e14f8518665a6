"""Bessel functions of orders 0 and 1.

All but I are computed in float64 whatever the dtype, to about 1e-14:

- J and Y, |x| ≤ 25: the integral Jₙ(x) = 1/π ∫₀^π cos(nθ − x sin θ) dθ by the trapezoidal rule, which is exact up to
  some J of order 2N − n for N intervals, and Neumann's series
  Y₀(x) = 2/π (log(x/2) + γ) J₀(x) − 4/π Σₖ (−1)ᵏ J₂ₖ(x) / k, whose terms are such integrals at the same points.
- J and Y, |x| > 25: Hankel's asymptotic series.
- K, x < 2: the power series.
- K, x ≥ 2: eˣ Kₙ(x) = ∫₀^∞ exp(−u²) cosh(nt) · 2/√(2x + u²) du with u = √(2x) sinh(t/2), by the trapezoidal rule.

The formulas: NIST Digital Library of Mathematical Functions, sections 10.8, 10.9, 10.17, 10.31 and 10.32.
"""

import math

from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.ops.array.select import where
from gradtape._src.ops.floats import in_float64
from gradtape._src.ops.math.arithmetic import reciprocal, sign
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.math.complex import elementwise
from gradtape._src.ops.shapes import FLOATING, only, same

_FLOAT = only(FLOATING, same)
_EULER = 0.5772156649015329

# ---------------------------------------------------------------------------------------------------------------------
# Kernels

_INTERVALS = 64
_TERMS = 80  # number of terms of the power series, used for |x| ≤ 30
_HALF = _INTERVALS // 2
_ANGLES = [math.pi * i / _INTERVALS for i in range(_HALF + 1)]  # the integrands are even about π/2
_SINES = [math.sin(angle) for angle in _ANGLES]
_WEIGHTS = [(1 if i in (0, _HALF) else 2) / _INTERVALS for i in range(_HALF + 1)]
_NEUMANN = [
    weight * sum([(-1) ** k * math.cos(2 * k * angle) / k for k in range(1, _HALF)])
    for weight, angle in zip(_WEIGHTS, _ANGLES, strict=True)
]
_HANKEL_FROM = 25.0


def _hankel_coefficients(order):
    """Return (−1)^⌊k/2⌋ aₖ(n) with aₖ(n) = Π (4n² − (2i − 1)²) / (k! 8ᵏ), for even and for odd k."""
    coefficients = [1.0]
    for k in range(1, 20):
        coefficients.append(coefficients[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    signed = [(-1) ** (k // 2) * coefficient for k, coefficient in enumerate(coefficients)]
    return signed[::2], signed[1::2]


_HANKEL = [_hankel_coefficients(order) for order in (0, 1)]
_STEP = 0.3
_NODES = [_STEP * i for i in range(24)]
_GAUSSIAN = [2 * _STEP * math.exp(-u * u) * (0.5 if u == 0 else 1.0) for u in _NODES]
# K₀(x) = −(log(x/2) + γ) I₀(x) + Σ cₖ (x²/4)ᵏ with cₖ = Hₖ / (k!)², and K₁ is minus its derivative.
_SERIES_K0 = [sum([1 / i for i in range(1, k + 1)]) / math.factorial(k) ** 2 for k in range(16)]
_SERIES_K1 = [k * coefficient for k, coefficient in enumerate(_SERIES_K0)]


def _constants(numbers):
    return jnp.array(numbers, jnp.float64)


def _polynomial(coefficients, x):
    return jnp.polyval(_constants(coefficients[::-1]), x)


def _near(x, order):
    """Return Jₙ and Yₙ for 0 < x ≤ 25."""
    sines, weights, neumann = _constants(_SINES), _constants(_WEIGHTS), _constants(_NEUMANN)
    angles = x[..., None] * sines
    cosines = jnp.cos(angles)
    log_x = (2.0 / math.pi) * (jnp.log(x / 2) + _EULER)
    j0 = jnp.sum(weights * cosines, axis=-1)
    if not order:
        return j0, log_x * j0 - (4.0 / math.pi) * jnp.sum(neumann * cosines, axis=-1)
    slopes = sines * jnp.sin(angles)
    j1 = jnp.sum(weights * slopes, axis=-1)
    return j1, log_x * j1 - (4.0 / math.pi) * jnp.sum(neumann * slopes, axis=-1) - (2.0 / math.pi) * j0 / x


def _far(x, order):
    """Return Jₙ and Yₙ for x > 25."""
    inverse = 1 / (x * x)
    even, odd = [_polynomial(coefficients, inverse) for coefficients in _HANKEL[order]]
    odd = odd / x
    cosine, sine = jnp.cos(x), jnp.sin(x)
    cosine, sine = (sine - cosine, -(sine + cosine)) if order else (cosine + sine, sine - cosine)
    size = lax.rsqrt(math.pi * x)
    return size * (even * cosine - odd * sine), size * (even * sine + odd * cosine)


def _oscillating(x, order):
    """Return Jₙ and Yₙ for x ≥ 0."""
    near, edge = x <= _HANKEL_FROM, jnp.array(_HANKEL_FROM, x.dtype)
    pairs = zip(_near(jnp.where(near, x, edge), order), _far(jnp.where(near, edge, x), order), strict=True)
    return [jnp.where(near, below, above) for below, above in pairs]


def _i(x):
    grown = jnp.exp(jnp.abs(x))
    return lax.bessel_i0e(x) * grown, lax.bessel_i1e(x) * grown


def _small_k(x, order):
    """Return Kₙ for 0 < x < 2."""
    square = x * x / 4
    i0, i1 = _i(x)
    log_x = jnp.log(x / 2) + _EULER
    if order:
        return i0 / x + log_x * i1 - _polynomial(_SERIES_K1, square) * 2 / x
    return _polynomial(_SERIES_K0, square) - log_x * i0


def _large_k(x, order):
    """Return eˣ Kₙ for x ≥ 2."""
    x, squares = x[..., None], _constants([u * u for u in _NODES])
    terms = _constants(_GAUSSIAN) * lax.rsqrt(2 * x + squares)
    return jnp.sum(terms * (1 + squares / x) if order else terms, axis=-1)


def _decaying(order, scaled):
    """Return the kernel of Kₙ, or of eˣ Kₙ if `scaled`; it is ∞ for x ≤ 0."""

    def kernel(x):
        small, two = x < 2, jnp.array(2, x.dtype)
        below, above = jnp.where(small, x, two / 2), jnp.where(small, two, x)
        result = jnp.where(
            small,
            _small_k(below, order) * (jnp.exp(below) if scaled else 1.0),
            _large_k(above, order) * (1.0 if scaled else jnp.exp(-above)),
        )
        return jnp.where(x <= 0, jnp.inf, result)

    return kernel


def _series(x, order, sign):
    """Return Jₙ(x) / xⁿ (`sign` −1) or Iₙ(x) / xⁿ (`sign` 1), by the power series."""
    quarter, total = sign * x * x / 4, jnp.zeros_like(x)
    for k in range(_TERMS, -1, -1):
        total = total * quarter / ((k + 1) * (order + k + 1)) + 1
    return total / (2.0**order * math.factorial(order))


def _upwards(x, order, first, second, sign):
    """Return a function of order n divided by xⁿ, by recurrence from the functions of orders 0 and 1."""
    inverse = 1 / x
    for n in range(1, order):
        first, second = second, sign * (first - (2 * n * inverse) * second)
    return second * inverse**order


@elementwise(
    "BesselRatio",
    slope=lambda x, order, modified: (x if modified else -x) * _ratio(x, order=order + 1, modified=modified),
    unhosted="NumPy has no twin of it", infer=_FLOAT, traits="own",
)  # fmt: skip
def _ratio(x, *, order, modified):
    """Return Jₙ(x) / xⁿ, or Iₙ(x) / xⁿ if `modified`, for n ≥ 1. It is smooth at 0, as the derivatives of J₁ and I₁ need it.

    Its derivative is that of the NIST Digital Library of Mathematical Functions, 10.6.6 and 10.29.4.
    """

    def of_size(x):
        x = jnp.abs(x)
        near = x <= (30.0 if modified else max(4.0, order))
        below, above = jnp.where(near, x, jnp.ones_like(x)), jnp.where(near, jnp.full_like(x, 30.0), x)
        if modified:
            scaled = _upwards(above, order, lax.bessel_i0e(above), lax.bessel_i1e(above), 1.0)
            return jnp.where(near, _series(below, order, 1.0), scaled * jnp.exp(above))
        first, second = [_oscillating(above, n)[0] for n in (0, 1)]
        return jnp.where(near, _series(below, order, -1.0), _upwards(above, order, first, second, -1.0))

    return in_float64(of_size, x)


# ---------------------------------------------------------------------------------------------------------------------
# First kind


@elementwise("BesselJ0", slope=lambda x: -bessel_j1(x), unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_j0(x):
    """Return the Bessel function of the first kind J₀(x), element-wise. Float.

    >>> tf.math.special.bessel_j0([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.7652], dtype=float32)
    """
    return in_float64(lambda x: _oscillating(jnp.abs(x), 0)[0], x)


@elementwise(
    "BesselJ1", slope=lambda x: bessel_j0(x) - _ratio(x, order=1, modified=False),
    unhosted="NumPy has no twin of it", infer=_FLOAT,
)  # fmt: skip
def bessel_j1(x):
    """Return the Bessel function of the first kind J₁(x), element-wise. Float.

    >>> tf.math.special.bessel_j1([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.4401], dtype=float32)
    """
    return in_float64(lambda x: jnp.sign(x) * _oscillating(jnp.abs(x), 1)[0], x)


# ---------------------------------------------------------------------------------------------------------------------
# Second kind


def _second_kind(order, x):
    positive = x > 0
    result = _oscillating(jnp.where(positive, x, jnp.ones((), x.dtype)), order)[1]
    return jnp.where(positive, result, jnp.where(jnp.isnan(x), x, -jnp.inf))


@elementwise("BesselY0", slope=lambda x: -bessel_y1(x), unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_y0(x):
    """Return the Bessel function of the second kind Y₀(x), element-wise: -∞ for x ≤ 0. Float.

    >>> tf.math.special.bessel_y0([1.0]).numpy().round(4)
    array([0.0883], dtype=float32)
    """
    return in_float64(lambda x: _second_kind(0, x), x)


@elementwise("BesselY1", slope=lambda x, y: bessel_y0(x) - y / x, unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_y1(x):
    """Return the Bessel function of the second kind Y₁(x), element-wise: -∞ for x ≤ 0. Float.

    >>> tf.math.special.bessel_y1([1.0]).numpy().round(4)
    array([-0.7812], dtype=float32)
    """
    return in_float64(lambda x: _second_kind(1, x), x)


# ---------------------------------------------------------------------------------------------------------------------
# Modified, first kind


@elementwise("BesselI0", slope=lambda x: bessel_i1(x), unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_i0(x):
    """Return the modified Bessel function of the first kind I₀(x), element-wise. Float.

    >>> tf.math.bessel_i0([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.2661], dtype=float32)
    """
    return _i(x)[0]


@elementwise("BesselI0e", slope=lambda x, y: bessel_i1e(x) - sign(x) * y, unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_i0e(x):
    """Return exp(−|x|) I₀(x), element-wise. Float.

    >>> tf.math.bessel_i0e([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.4658], dtype=float32)
    """
    return lax.bessel_i0e(x)


@elementwise(
    "BesselI1", slope=lambda x: bessel_i0(x) - _ratio(x, order=1, modified=True),
    unhosted="NumPy has no twin of it", infer=_FLOAT,
)  # fmt: skip
def bessel_i1(x):
    """Return the modified Bessel function of the first kind I₁(x), element-wise. Float.

    >>> tf.math.bessel_i1([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.5652], dtype=float32)
    """
    return _i(x)[1]


@op("BesselI1e", unhosted="NumPy has no twin of it", infer=_FLOAT, saves="x y")
def bessel_i1e(x):
    """Return exp(−|x|) I₁(x), element-wise. Float.

    >>> tf.math.bessel_i1e([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.2079], dtype=float32)
    """
    return lax.bessel_i1e(x)


@gradient(bessel_i1e)
def _(dy, x, y):
    zero = equal(x, 0)
    return dy * where(zero, 0.5, bessel_i0e(x) - y * sign(x) - y / where(zero, 1.0, x))


# ---------------------------------------------------------------------------------------------------------------------
# Modified, second kind


@elementwise("BesselK0", slope=lambda x: -bessel_k1(x), unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_k0(x):
    """Return the modified Bessel function of the second kind K₀(x), element-wise: ∞ for x ≤ 0. Float.

    >>> tf.math.special.bessel_k0([1.0]).numpy().round(4)
    array([0.421], dtype=float32)
    """
    return in_float64(_decaying(0, scaled=False), x)


@elementwise("BesselK0e", slope=lambda x, y: y - bessel_k1e(x), unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_k0e(x):
    """Return eˣ K₀(x), element-wise: ∞ for x ≤ 0. Float.

    >>> tf.math.special.bessel_k0e([1.0]).numpy().round(4)
    array([1.1445], dtype=float32)
    """
    return in_float64(_decaying(0, scaled=True), x)


@elementwise("BesselK1", slope=lambda x, y: -bessel_k0(x) - y / x, unhosted="NumPy has no twin of it", infer=_FLOAT)
def bessel_k1(x):
    """Return the modified Bessel function of the second kind K₁(x), element-wise: ∞ for x ≤ 0. Float.

    >>> tf.math.special.bessel_k1([1.0]).numpy().round(4)
    array([0.6019], dtype=float32)
    """
    return in_float64(_decaying(1, scaled=False), x)


@elementwise(
    "BesselK1e", slope=lambda x, y: y * (1.0 - reciprocal(x)) - bessel_k0e(x),
    unhosted="NumPy has no twin of it", infer=_FLOAT,
)  # fmt: skip
def bessel_k1e(x):
    """Return eˣ K₁(x), element-wise: ∞ for x ≤ 0. Float.

    >>> tf.math.special.bessel_k1e([1.0]).numpy().round(4)
    array([1.6362], dtype=float32)
    """
    return in_float64(_decaying(1, scaled=True), x)
