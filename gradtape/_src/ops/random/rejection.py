"""Gamma, Poisson and binomial numbers by rejection: TensorFlow's numbers, each from its own range of random blocks.

All elements go through one loop, until the last one has found its number. The last of a block's uniform (or normal) numbers is
used first.
"""

import math

import numpy as np

from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.ops.random.philox import RESERVED, blocks, double, in_loop, normals

KNUTH = 10  # the mean from which transformed rejection is used
STRETCH = 42  # blocks for a binomial number with a smaller mean


def _numbers(shape, batch):
    """Number the elements of `shape`; first come all samples for the first element of the shape `batch`."""
    size, count = math.prod(batch), math.prod(shape)
    index = lax.iota(jnp.uint64, count)
    size = np.uint64(max(size, 1))
    return (index % size * (np.uint64(count) // size) + index // size).reshape(shape)


def _uniforms(state, index):
    """Return the two uniform float64 of the blocks `index`, in order of use."""
    words = blocks(state, index)
    return double(*words[2:]), double(*words[:2])


def _until(has_work, step, state, begin, *carry):
    """Repeat `step(u, v, *carry)` with the uniform numbers of one block after the other, until no element has work."""

    def trip(carry):
        here, (number, *rest) = in_loop(state, carry)
        return (number + np.uint64(1), *step(*_uniforms(here, begin + number), *rest))

    return lax.while_loop(lambda c: jnp.any(has_work(*c[1:])), trip, (jnp.zeros((), jnp.uint64), *carry))[1:]


def _counted(first, second):
    """Return how many of two conditions hold, as float64."""
    return first.astype(jnp.float64) + second.astype(jnp.float64)


def gamma(state, alpha, shape):
    """Draw gamma distributed float64 of rate 1, for `alpha` of float64 (Marsaglia and Tsang, "A simple method", 2000)."""
    begin = _numbers(shape, alpha.shape) * np.uint64(RESERVED)
    alpha = jnp.broadcast_to(alpha, shape)
    is_small = alpha < 1
    d = alpha + jnp.where(is_small, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / jnp.sqrt(d)

    def take_uniform(state, at, spare, wanted):
        """Return a uniform number where `wanted`: the spare one, or one of a new block. NaN marks a missing spare number."""
        first, second = _uniforms(state, at)
        is_new = jnp.isnan(spare)
        number, left = jnp.where(is_new, first, spare), jnp.where(is_new, second, jnp.nan)
        return number, at + (wanted & is_new).astype(jnp.uint64), jnp.where(wanted, left, spare)

    def attempt(carry):
        here, (at, spare_normal, spare_uniform, found) = in_loop(state, carry)
        first, second = normals(blocks(here, at), is_double=True)
        is_new = jnp.isnan(spare_normal)
        x, spare_normal = jnp.where(is_new, second, spare_normal), jnp.where(is_new, first, jnp.nan)
        at = at + is_new.astype(jnp.uint64)
        v = 1 + c * x
        is_positive = ~(v <= 0)
        v = v * v * v
        u, at, spare_uniform = take_uniform(here, at, spare_uniform, is_positive)
        lies_under = (u < 1 - 0.0331 * (x * x) * (x * x)) | (jnp.log(u) < 0.5 * x * x + d * (1 - v + jnp.log(v)))
        accepted = is_positive & lies_under
        b, at, spare_uniform = take_uniform(here, at, spare_uniform, accepted & is_small)
        value = d * v * jnp.where(is_small, jnp.power(b, 1 / alpha), 1)
        return at, spare_normal, spare_uniform, jnp.where(accepted & (found < 0), value, found)

    nothing = jnp.full(shape, jnp.nan, jnp.float64)
    missing = jnp.where((alpha >= 0) & (alpha != 1), -1.0, jnp.nan)
    start = begin, nothing, nothing, missing
    *_, found = lax.while_loop(lambda carry: jnp.any(carry[-1] < 0), attempt, start)
    exponential = -jnp.log1p(-_uniforms(state, begin)[0])
    return jnp.where(alpha == 1, exponential, found)


def poisson(state, rate, shape):
    """Draw Poisson distributed float64, for rates of float64 that are finite and positive.

    Below a mean of 10, uniform numbers are multiplied (Knuth, "Seminumerical algorithms", 1969, section 3.4.1); from there on
    transformed rejection (Hörmann, "The transformed rejection method for generating Poisson random variables", 1993).
    """
    begin = _numbers(shape, rate.shape) * np.uint64(RESERVED)
    rate = jnp.broadcast_to(rate, shape)
    is_small = rate < KNUTH
    limit = jnp.where(is_small, jnp.exp(-rate), jnp.inf)

    def multiply(u, v, product, count):
        once, twice = product * u, product * u * v
        return twice, count + _counted(once > limit, twice > limit)

    start = jnp.ones_like(rate), jnp.zeros_like(rate)
    _, count = _until(lambda product, _: product > limit, multiply, state, begin, *start)
    b = 0.931 + 2.53 * jnp.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)

    def attempt(u, v, found):
        u = u - 0.5
        shifted = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / shifted + b) * u + rate + 0.43)
        is_inside = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        is_outside = (k < 0) | ((shifted < 0.013) & (v > shifted))
        s = jnp.log(v * inverse_alpha / (a / (shifted * shifted) + b))
        t = -rate + k * jnp.log(rate) - lax.lgamma(k + 1)
        accepted = is_inside | (~is_outside & (s <= t))
        return (jnp.where(accepted & (found < 0), k, found),)

    (found,) = _until(lambda found: found < 0, attempt, state, begin, jnp.where(is_small, 0.0, -1.0))
    return jnp.where(is_small, count, found)


def _tail(k):
    """Return log k! minus Stirling's approximation of it."""
    table = [math.lgamma(i + 1) - ((i + 0.5) * math.log(i + 1) - i - 1 + 0.5 * math.log(2 * math.pi)) for i in range(10)]
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return jnp.where(k <= 9, jnp.array(table, jnp.float64)[jnp.clip(k, 0, 9).astype(jnp.int32)], series)


def binomial(state, counts, probs, shape):
    """Draw binomial numbers, float64, for counts and probabilities of one floating dtype.

    Below a mean of 10, waiting times are summed (Devroye, "Non-uniform random variate generation", 1986, section X.4.3); from
    there on transformed rejection (Hörmann, "The generation of binomial random variates", 1993).
    """
    order = _numbers(shape, jnp.broadcast_shapes(counts.shape, probs.shape))
    counts, probs = [jnp.broadcast_to(x, shape) for x in (counts, probs)]
    is_mirrored = probs > 0.5
    rarer = jnp.where(is_mirrored, 1 - probs, probs)
    is_drawn = (counts > 0) & (probs > 0) & (probs < 1)
    is_large = is_drawn & (counts * rarer >= KNUTH)
    n, p = counts.astype(jnp.float64), rarer.astype(jnp.float64)
    ceiling = jnp.where(is_drawn & ~is_large, n, -1.0)

    def wait(u, v, total, successes):
        once = total + jnp.ceil(jnp.log(u) / jnp.log1p(-p))
        twice = once + jnp.ceil(jnp.log(v) / jnp.log1p(-p))
        return twice, successes + _counted(once <= ceiling, twice <= ceiling)

    zeros = jnp.zeros(shape, jnp.float64)
    _, waited = _until(lambda total, _: total <= ceiling, wait, state, order * np.uint64(STRETCH), zeros, zeros)
    deviation = jnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    ratio = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = jnp.floor((n + 1) * p)

    def attempt(u, v, found):
        u = u - 0.5
        shifted = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / shifted + b) * u + n * p + 0.5)
        is_inside = (shifted >= 0.07) & (v <= 0.92 - 4.2 / b)
        bound = (
            (m + 0.5) * jnp.log((m + 1) / (ratio * (n - m + 1)))
            + (n + 1) * jnp.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * jnp.log(ratio * (n - k + 1) / (k + 1))
            + (_tail(m) + _tail(n - m) - _tail(k) - _tail(n - k))
        )
        lies_under = jnp.log(v * alpha / (a / (shifted * shifted) + b)) <= bound
        accepted = is_inside | ((k >= 0) & (k <= n) & lies_under)
        return (jnp.where(accepted & (found < 0), k, found),)

    start = jnp.where(is_large, -1.0, 0.0)
    (found,) = _until(lambda found: found < 0, attempt, state, order * np.uint64(RESERVED), start)
    successes = jnp.where(is_large, found, waited)
    successes = jnp.where(is_mirrored, n - successes, successes)
    edge = jnp.where((counts <= 0) | (probs <= 0), 0.0, jnp.where(probs >= 1, n, jnp.nan))
    return jnp.where(is_drawn, successes, edge)
