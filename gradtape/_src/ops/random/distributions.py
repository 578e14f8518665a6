"""Random numbers with gamma, Poisson, binomial, truncated normal and categorical distribution.

Gradients flow to the shape parameter of a gamma distribution: a sample moves with it such that its quantile is constant
(Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018).
"""

import math

import jax
import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import broadcast_to
from gradtape._src.ops.debugging.checks import assert_less, assert_positive
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.arithmetic import maximum
from gradtape._src.ops.math.clip import clip_by_value
from gradtape._src.ops.math.compare import greater
from gradtape._src.ops.math.special import erfc, ndtri
from gradtape._src.ops.random import philox, rejection
from gradtape._src.ops.random.draws import (
    INDEX,
    Own,
    drawn,
    reserved,
    sampler,
    stateless_state,
    static_shape,
    uniform_numbers,
)
from gradtape._src.ops.shapes import broadcast, broadcast_shapes, only, require

COUNTED = "its numbers are whole: they do not follow a small change of a parameter"
SAMPLED = ("float16", "float32", "float64")
COUNTS = (*SAMPLED, *INDEX)


def sample_shape(shape, *parameters):
    """Convert the `shape` argument of a stateless function; it must end with the shape to which the parameters broadcast."""
    shape, wanted = static_shape(shape), ()
    for p in parameters:
        wanted = broadcast_shapes(wanted, extents_of(p))
    if len(wanted) > len(shape) or shape[len(shape) - len(wanted) :] != wanted:
        raise invalid(
            f"Shape passed in must end with broadcasted shape. shape is {list(shape)}, the parameters broadcast to "
            f"{list(wanted)}: put the number of samples in front of that."
        )
    return shape


# ---------------------------------------------------------------------------------------------------------------------
# Gamma


def _gamma_aval(state, alpha, shape):
    require(alpha, SAMPLED)
    return aval(shape, alpha.dtype)


@sampler("StatelessRandomGammaV3", "RandomGamma", infer=_gamma_aval, broadcasting=True, saves="alpha y")
def _gamma(state, alpha, *, shape):
    return rejection.gamma(state, alpha.astype(jnp.float64), shape).astype(alpha.dtype)


def _gamma_gradient(dy, alpha, y):
    return None, dy * _gamma_slope(alpha, y)


for _each in _gamma:
    gradient(_each)(_gamma_gradient)


@op("RandomGammaGrad", unhosted="NumPy has no twin of it", infer=only(SAMPLED, broadcast), broadcasting=True)
def _gamma_slope(alpha, sample):
    """Return ∂sample/∂alpha for samples of the gamma distribution. As in TensorFlow, this has no gradient."""
    alpha, sample_ = jnp.broadcast_arrays(wide(alpha), wide(sample))
    return lax.random_gamma_grad(alpha, sample_).astype(sample.dtype)


def _draw_gamma(source, shape, alpha, beta, dtype, prefix):
    alpha = tensor(alpha, dtype)
    beta = tensor(1 if beta is None else beta, alpha.dtype)
    batch = broadcast_shapes(extents_of(alpha), extents_of(beta))
    shape = (*static_shape(shape), *batch) if prefix else sample_shape(shape, alpha, beta)
    alpha = alpha if extents_of(alpha) == batch else broadcast_to(alpha, batch)
    return maximum(_gamma(source, alpha, shape=shape) / beta, float(np.finfo(alpha.dtype.numpy).tiny))


@public
def gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None) -> Tensor:
    """Draw gamma distributed numbers with shape `alpha` and rate `beta` (1): `shape` samples for each of the parameters.

    The result's shape is `shape` followed by the broadcast shape of `alpha` and `beta`. Gradients flow to both. Samples are at
    least the smallest normal number, so that their logarithm is finite. float16, float32 or float64.

    >>> tf.random.gamma([4], alpha=[1.0, 2.0]).shape
    TensorShape([4, 2])
    """
    return _draw_gamma(Own(seed, dtypes.as_dtype(dtype).numpy), shape, alpha, beta, dtype, prefix=True)


@public
def stateless_gamma(shape, seed, alpha, beta=None, dtype=dtypes.float32, name=None) -> Tensor:
    """Draw like `gamma`: the same numbers for the same `seed` of two integers. `shape` is the whole shape of the result.

    >>> print(tf.random.stateless_gamma([3], seed=[1, 2], alpha=2.0).shape)
    (3,)
    """
    return _draw_gamma(stateless_state(seed), shape, alpha, beta, dtype, prefix=False)


# ---------------------------------------------------------------------------------------------------------------------
# Poisson and binomial


REWARDED = (
    "try the log-probability of what was drawn, times its reward (as tf.nn.sparse_softmax_cross_entropy_with_logits gives it), "
    "or a soft sample: tf.nn.softmax of the logits plus Gumbel noise"
)


@sampler("StatelessRandomPoisson", "RandomPoissonV2", infer=drawn(COUNTS), instead=REWARDED)
def _poisson(state, lam, *, shape, dtype):
    is_drawn = jnp.isfinite(lam) & (lam > 0)
    count = rejection.poisson(state, jnp.where(is_drawn, lam, 1).astype(jnp.float64), shape)
    count = jnp.where(is_drawn, count, 0).astype(dtype)
    if not jnp.issubdtype(dtype, jnp.integer):
        count = jnp.where(jnp.isfinite(lam), count, jnp.broadcast_to(lam, shape).astype(dtype))
    return count


@public
def poisson(shape, lam, dtype=dtypes.float32, seed=None, name=None) -> Tensor:
    """Draw Poisson distributed numbers of mean `lam`: `shape` samples for each of its elements, in `dtype`.

    The result's shape is `shape` followed by that of `lam`. `dtype` is int32, int64, float16, float32 or float64.

    >>> tf.random.poisson([4], lam=[1.0, 2.0]).shape
    TensorShape([4, 2])
    """
    lam = tensor(lam, hint=dtypes.float32)
    shape = (*static_shape(shape), *extents_of(lam))
    return _poisson(Own(seed, lam.dtype), _floating(lam), shape=shape, dtype=dtypes.as_dtype(dtype).numpy)


@public
def stateless_poisson(shape, seed, lam, dtype=dtypes.int32, name=None):
    """Draw like `poisson`: the same numbers for the same `seed` of two integers. `shape` is the whole shape of the result.

    >>> print(tf.random.stateless_poisson([3], seed=[1, 2], lam=0.0).numpy())
    [0 0 0]
    """
    lam, dtype = tensor(lam, hint=dtypes.float32), dtypes.as_dtype(dtype).numpy
    return _poisson(stateless_state(seed), _floating(lam), shape=sample_shape(shape, lam), dtype=dtype)


def _floating(parameter):
    return cast(parameter, dtypes.float64) if parameter.dtype.is_integer else parameter


@sampler("StatelessRandomBinomial", "StatefulRandomBinomial", infer=drawn(COUNTS), instead=REWARDED)
def binomials(state, counts, probs, *, shape, dtype):
    return rejection.binomial(state, counts, probs, shape).astype(dtype)


def draw_binomial(kernel, state, shape, counts, probs, dtype):
    """Draw binomial numbers from a state by an op such as `binomials`."""
    probs = tensor(probs, hint=dtypes.float32)
    counts = cast(tensor(counts, hint=probs.dtype), probs.dtype)
    shape = sample_shape(shape, counts, probs)
    return kernel(state, counts, probs, shape=shape, dtype=dtypes.as_dtype(dtype).numpy)


@public
def stateless_binomial(shape, seed, counts, probs, output_dtype=dtypes.int32, name=None):
    """Draw binomial numbers, the successes in `counts` trials of probability `probs`: the same numbers for the same `seed`.

    `shape` is the whole shape of the result, and ends with the broadcast shape of the parameters.

    >>> print(tf.random.stateless_binomial([3], seed=[1, 2], counts=10.0, probs=1.0).numpy())
    [10 10 10]
    """
    return draw_binomial(binomials.stateless, stateless_state(seed), shape, counts, probs, output_dtype)


not_differentiable(_poisson.stateless, binomials.stateless, because=COUNTED)
not_differentiable(_poisson.stateful, binomials.stateful, because=COUNTED, unregistered=True)

# ---------------------------------------------------------------------------------------------------------------------
# Normal between bounds


@public
def stateless_parameterized_truncated_normal(shape, seed, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0, name=None):
    """Draw normally distributed numbers between `minvals` and `maxvals`: the same numbers for the same `seed`.

    `shape` is the whole shape of the result, and ends with the broadcast shape of the parameters. The numbers are uniform ones
    mapped by the inverse distribution function, so gradients flow to all parameters. InvalidArgumentError unless minvals <
    maxvals and stddevs > 0.

    >>> x = tf.random.stateless_parameterized_truncated_normal([100], [1, 2], means=3.0, minvals=2.5, maxvals=3.5)
    >>> print(x.shape, tf.reduce_all((x >= 2.5) & (x <= 3.5)).numpy())
    (100,) True
    """
    means = tensor(means, hint=dtypes.float32)
    stddevs, minvals, maxvals = [tensor(p, means.dtype) for p in (stddevs, minvals, maxvals)]
    assert_less(minvals, maxvals, "Invalid parameters")
    assert_positive(stddevs, "Invalid parameters")
    shape = sample_shape(shape, means, stddevs, minvals, maxvals)
    u = uniform_numbers(stateless_state(seed), shape=shape, dtype=means.dtype.numpy)
    low, high = (minvals - means) / stddevs, (maxvals - means) / stddevs
    # The distribution function is precise far below 0, but not far above, where the mirror image is used
    above = greater(low, 0)
    low, high = where(above, -high, low), where(above, -low, high)
    below, under = [0.5 * erfc(bound * -math.sqrt(0.5)) for bound in (low, high)]
    x = clip_by_value(ndtri(below + u * (under - below)), low, high)
    return means + stddevs * where(above, -x, x)


# ---------------------------------------------------------------------------------------------------------------------
# Categorical


def _categorical_aval(state, logits, num_samples, dtype):
    if logits.ndim != 2:
        raise invalid(f"logits should be a matrix, got shape {list(logits.shape)}: give one row for each distribution.")
    if num_samples < 0:
        raise invalid(f"num_samples should be non-negative, got {num_samples}")
    if not logits.shape[1] and num_samples:
        raise invalid("num_classes should be positive, got 0: the rows of logits are empty.")
    return aval((logits.shape[0], num_samples), dtype)


@sampler("StatelessMultinomial", "Multinomial", infer=_categorical_aval, unhosted="NumPy has no twin of it", instead=REWARDED)
def _categorical(state, logits, *, num_samples, dtype):
    logits = logits.astype(jnp.float64)
    has_weight = jnp.isfinite(logits)
    largest = jnp.max(logits, axis=1, keepdims=True, initial=-jnp.inf, where=has_weight)
    cumulative = jnp.cumsum(jnp.where(has_weight, jnp.exp(logits - largest), 0), axis=1)
    # In float64, so that classes after the 10 millionth can be drawn
    u = philox.uniform(state, (logits.shape[0], num_samples), cumulative.dtype)
    find = jax.vmap(lambda sums, target: jnp.searchsorted(sums, target, side="right"))
    return jnp.minimum(find(cumulative, u * cumulative[:, -1:]), logits.shape[1] - 1).astype(dtype)


not_differentiable(*_categorical, because="it gives class numbers; differentiate the log-probability of what was drawn")


def _draw_classes(source, logits, num_samples, dtype):
    dtype = dtypes.as_dtype(dtype or dtypes.int64)
    if dtype.name not in INDEX:
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are (tf.int32, tf.int64).")
    logits, num_samples = tensor(logits), static(num_samples, "num_samples")
    if isinstance(source, Own):
        words = 2 * 4 * -(-max(num_samples, 0) // 4)
        source = source._replace(dtype=logits.dtype.numpy, blocks=reserved((*extents_of(logits)[:1], words)))
    return _categorical(source, logits, num_samples=num_samples, dtype=dtype.numpy)


@public
def categorical(logits, num_samples, dtype=None, seed=None, name=None) -> Tensor:
    """Draw `num_samples` class numbers for each row of `logits` [batch, classes], log-probabilities up to a constant.

    The result is [batch, num_samples], int64 or int32.

    >>> tf.random.categorical([[0.0, -1e9]], num_samples=3).numpy().tolist()
    [[0, 0, 0]]
    """
    return _draw_classes(Own(seed), logits, num_samples, dtype)


@public
def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """Draw like `categorical`: the same classes for the same `seed` of two integers.

    >>> print(tf.random.stateless_categorical([[0.0, float("-inf")]], 3, seed=[1, 2]).numpy())
    [[0 0 0]]
    """
    return _draw_classes(stateless_state(seed), logits, num_samples, dtype)
