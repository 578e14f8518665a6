"""Losses over a sample of many classes, and the samplers.

A sampler returns classes, and the expected count of each in the sample: Q in "Candidate Sampling Algorithms Reference"
(TensorFlow), and in Jean et al., "On using very large target vocabulary for neural machine translation", 2014.

Distinct classes, in the order in which repeated draws find them, are sorted by log p + Gumbel noise. So the largest are the
sample (Yellott, 1977). The number of draws is a sum of geometric numbers, one for each class.
"""

from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import AT_ONCE, not_differentiable, op, ran
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import is_tensor, static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import unknown
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import expand_dims, filled, host_constant, plain, reshape, stop_gradient
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.math.elementary import log
from gradtape._src.ops.math.reduction import reduce_any, reduce_sum
from gradtape._src.ops.nn.embedding import embedding_lookup
from gradtape._src.ops.nn.losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from gradtape._src.ops.random import philox, seeds

INT64, FLOAT32 = np.dtype(np.int64), np.dtype(np.float32)
LOWEST = float(np.finfo(np.float32).min)


class Candidates(NamedTuple):
    """The result of a sampler: classes int64 [num_sampled], and expected counts float32 of the true and the sampled classes."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


# ---------------------------------------------------------------------------------------------------------------------
# Samplers


def _check(true_classes, num_true, num_sampled, range_max, unique):
    """Raise InvalidArgumentError unless the arguments of a sampler are consistent."""
    if true_classes.dtype != INT64:
        raise invalid(
            f"true_classes was expected to be a int64 tensor but is a {true_classes.type.name} tensor: bring it to int64 with "
            "tf.cast."
        )
    if true_classes.ndim != 2:
        raise invalid(f"true_classes must be a matrix, received shape {plain(true_classes.shape)}.")
    if true_classes.shape[1] != num_true:
        raise invalid(f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}")
    for what, value in (("num_sampled", num_sampled), ("range_max", range_max)):
        if value < 1:
            raise invalid(f"Value for attr '{what}' of {value} must be at least minimum 1.")
    if unique and num_sampled > range_max:
        raise invalid(
            f"Sampler's range is too small. There are no {num_sampled} distinct classes among {range_max}: give unique=False."
        )


def _avals(state, true_classes, *weights, num_true, num_sampled, unique, range_max):
    _check(true_classes, num_true, num_sampled, range_max, unique)
    if weights and weights[0].shape != (range_max,):
        raise invalid(f"range is {range_max} must be equal to weights size {weights[0].shape[0]}")
    count = aval((num_sampled,), FLOAT32)
    return aval((num_sampled,), INT64), aval(true_classes.shape, FLOAT32), count


def _outside(true_classes, range_max):
    outside = (true_classes < 0) | (true_classes >= range_max)
    yield outside, lambda: f"`true_candidate` out of range [0, {range_max}), received {true_classes[outside][0]}"


def _sampled(state, true_classes, weights, num_sampled, unique):
    """Draw the three results of a sampler in which class c has a probability proportional to `weights[c]`."""
    p = weights / jnp.sum(weights, dtype=weights.dtype)
    noise = 1.0 - philox.uniform(state, (p.size + num_sampled,), p.dtype)  # in (0, 1]
    if unique:
        _, sampled = lax.top_k(jnp.log(p) - jnp.log(-jnp.log(noise[: p.size])), num_sampled)
        taken = jnp.cumsum(p[sampled], dtype=p.dtype) - p[sampled]
        draws = jnp.sum(1.0 + jnp.floor(jnp.log(noise[p.size :]) / jnp.log(jnp.clip(taken, 0.0, 1.0))), dtype=p.dtype)
        expected = -jnp.expm1(draws * jnp.log1p(-p))
    else:
        sampled = jnp.searchsorted(jnp.cumsum(p, dtype=p.dtype), 1.0 - noise[p.size :], side="right")
        sampled = jnp.minimum(sampled, p.size - 1)
        expected = num_sampled * p
    expected = expected.astype(FLOAT32)
    return sampled.astype(INT64), expected[true_classes], expected[sampled]


def _sampler(type, weights):
    """Create the sampler op `type`, in which `weights(range_max)` are the weights of the classes."""

    @op(type, mixed=True, infer=_avals, refuses=_outside)
    def sample(state, true_classes, *, num_true, num_sampled, unique, range_max):
        return _sampled(state, true_classes, weights(range_max), num_sampled, unique)

    return sample


def _log_uniform(range_max):
    ids = jnp.arange(range_max, dtype=jnp.float64)
    return jnp.log1p(1.0 / (ids + 1.0))


_uniform_sampler = _sampler("UniformCandidateSampler", lambda range_max: jnp.ones((range_max,), jnp.float64))
_log_uniform_sampler = _sampler("LogUniformCandidateSampler", _log_uniform)


@op("FixedUnigramCandidateSampler", mixed=True, infer=_avals, refuses=_outside)
def _unigram_sampler(state, true_classes, weights, *, num_true, num_sampled, unique, range_max):
    return _sampled(state, true_classes, weights, num_sampled, unique)


@op("AllCandidateSampler", mixed=True, infer=lambda true_classes, **sizes: _avals(None, true_classes, unique=False, **sizes))
def _all_sampler(true_classes, *, num_true, num_sampled, range_max):
    ones = jnp.ones((num_sampled,), FLOAT32)
    return jnp.arange(num_sampled, dtype=INT64), jnp.ones(true_classes.shape, FLOAT32), ones


not_differentiable(
    _uniform_sampler,
    _log_uniform_sampler,
    _unigram_sampler,
    _all_sampler,
    because="its classes are drawn, and how often they are expected depends on no float tensor",
)


def _classes(value):
    return tensor(value, None if is_tensor(value) else dtypes.int64)


def _drawn(function, seed, true_classes, num_true, num_sampled, unique, range_max, *weights):
    num_true, num_sampled = static(num_true, "num_true"), static(num_sampled, "num_sampled")
    range_max, x = static(range_max, "range_max"), _classes(true_classes)
    _check(x.node.aval, num_true, num_sampled, range_max, unique)
    state = seeds.draw(function.op.type, seed, (range_max + num_sampled + 1) // 2)
    sizes = {"num_true": num_true, "num_sampled": num_sampled, "unique": bool(unique), "range_max": range_max}
    return Candidates(*function(state, x, *weights, **sizes))


@public
def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Sample `num_sampled` of the classes [0, range_max) with equal probability, distinct if `unique`; return their expected
    counts, too.

    `true_classes` is int64 [batch, num_true]. The result is the sample, int64 [num_sampled], the expected counts of the true
    classes, and those of the sample, float32.

    >>> sample, expected, _ = tf.random.uniform_candidate_sampler([[0], [5]], 1, 3, unique=False, range_max=6)
    >>> print(sample.shape, expected.numpy().tolist())
    (3,) [[0.5], [0.5]]
    """
    return _drawn(_uniform_sampler, seed, true_classes, num_true, num_sampled, unique, range_max)


@public
def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Sample like `uniform_candidate_sampler`, with probabilities (log(c + 2) − log(c + 1)) / log(range_max + 1) of class c.

    It suits classes that are sorted by falling frequency, as a vocabulary is.

    >>> expected = tf.random.log_uniform_candidate_sampler([[0, 8]], 2, 1, unique=False, range_max=9)[1]
    >>> print(expected.numpy().round(3))
    [[0.301 0.046]]
    """
    return _drawn(_log_uniform_sampler, seed, true_classes, num_true, num_sampled, unique, range_max)


@public
def fixed_unigram_candidate_sampler(
    true_classes,
    num_true,
    num_sampled,
    unique,
    range_max,
    vocab_file="",
    distortion=1.0,
    num_reserved_ids=0,
    num_shards=1,
    shard=0,
    unigrams=(),
    seed=None,
    name=None,
):
    """Sample like `uniform_candidate_sampler`, with probabilities in proportion to `unigrams` to the power of `distortion`.

    The classes below `num_reserved_ids` are never drawn, and have no entry in `unigrams`. Files and shards are not
    implemented: NotImplementedError.

    >>> counts = [1.0, 0.0, 3.0]
    >>> sample, of_true, _ = tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 4, unique=False, range_max=3, unigrams=counts)
    >>> print(of_true.numpy(), 1 in sample.numpy())
    [[1.]] False
    """
    if vocab_file or num_shards != 1 or shard:
        raise NotImplementedError(
            "gradtape reads no vocab_file and has no shards: read the counts yourself, and give them as unigrams="
        )
    if not len(unigrams):
        raise invalid("Must provide either vocab_file or unigrams. gradtape takes unigrams only.")
    counts = np.asarray(unigrams, np.float64) ** float(distortion)
    weights = host_constant(np.concatenate([np.zeros(static(num_reserved_ids, "num_reserved_ids")), counts]))
    return _drawn(_unigram_sampler, seed, true_classes, num_true, num_sampled, unique, range_max, weights)


@public
def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """Return all classes [0, num_sampled), each with the expected count 1. It is a sampler for tests.

    >>> print([x.numpy().tolist() for x in tf.nn.all_candidate_sampler([[1]], 1, 3, unique=True)])
    [[0, 1, 2], [[1.0]], [1.0, 1.0, 1.0]]
    """
    count = static(num_sampled, "num_sampled")
    sizes = {"num_true": static(num_true, "num_true"), "num_sampled": count, "range_max": count}
    return Candidates(*_all_sampler(_classes(true_classes), **sizes))


class AccidentalHits(NamedTuple):
    """The result of `compute_accidental_hits`."""

    indices: Tensor
    ids: Tensor
    weights: Tensor


def _hits(true_classes, sampled_candidates):
    hits = unknown()
    return tuple([aval((hits,), np.dtype(dtype)) for dtype in (np.int32, np.int64, np.float32)])


@op("ComputeAccidentalHits", infer=_hits, unhosted=AT_ONCE)
def _accidental_hits(true_classes, sampled_candidates):
    rows, _, ids = np.nonzero(true_classes[:, :, None] == sampled_candidates)
    return rows.astype(np.int32), ids.astype(np.int64), np.full(len(ids), LOWEST, np.float32)


not_differentiable(_accidental_hits, because="it depends on integers only")


@public
def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """Find sampled classes that are true classes: return rows of `true_classes`, indices into `sampled_candidates`, and the
    lowest float32.

    The third result are weights. Scattered into [batch, num_sampled] and added to logits, they remove these classes.

    >>> rows, places, weights = tf.nn.compute_accidental_hits([[5], [7]], [7, 1, 5], num_true=1)
    >>> print(rows.numpy(), places.numpy(), weights.numpy() < -1e38)
    [0 1] [2 0] [ True  True]
    """
    true_classes, sampled = _classes(true_classes), _classes(sampled_candidates)
    if true_classes.ndim != 2 or extents_of(true_classes)[1] != static(num_true, "num_true"):
        raise invalid_for(
            "ComputeAccidentalHits",
            f"true_candidates must be a batch_size * num_true matrix: received shape {true_classes.shape}, num_true={num_true}.",
        )
    return AccidentalHits(*ran(_accidental_hits, true_classes, sampled))


# ---------------------------------------------------------------------------------------------------------------------
# Losses


def _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_hits, seed):
    """Return logits and labels, [batch, num_true + num_sampled], of the true and the sampled classes."""
    inputs, num_true = tensor(inputs), static(num_true, "num_true")
    labels = reshape(cast(tensor(labels), dtypes.int64), [-1, num_true])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed=seed)
    sampled, true_count, sampled_count = [stop_gradient(tensor(value)) for value in sampled_values]
    sampled = cast(sampled, dtypes.int64)
    batch, dtype = extents_of(labels)[0], inputs.dtype
    ids = concat([reshape(labels, [-1]), sampled], 0)
    found, offsets = [cast(embedding_lookup(table, ids), dtype) for table in (weights, biases)]
    positives = batch * num_true
    true_weights = reshape(found[:positives], [batch, num_true, -1])
    true_logits = reduce_sum(expand_dims(inputs, 1) * true_weights, 2) + reshape(offsets[:positives], [batch, num_true])
    sampled_logits = matmul(inputs, found[positives:], transpose_b=True) + offsets[positives:]
    if remove_hits:
        hits = reduce_any(equal(expand_dims(labels, 2), sampled), 1)
        sampled_logits = sampled_logits + cast(hits, dtype) * float(dtype.min if dtype.size == 2 else LOWEST)
    true_logits = true_logits - cast(log(true_count), dtype)
    sampled_logits = sampled_logits - cast(log(sampled_count), dtype)
    targets = [
        filled((batch, num_true), 1.0 / num_true, dtype),
        filled((batch, sampled.node.aval.shape[0]), 0.0, dtype),
    ]
    return concat([true_logits, sampled_logits], 1), concat(targets, 1)


@public
def nce_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=False,
    name="nce_loss",
):
    """Return the noise-contrastive estimation loss of each example [batch] (Gutmann and Hyvärinen, 2010).

    `weights` [classes, width] (or a list of tables to concatenate) and `biases` [classes] map `inputs` [batch, width] to
    logits. Logits are computed for the true classes `labels`, [batch, num_true], and for `sampled_values`, the result of a
    candidate sampler (by default `log_uniform_candidate_sampler`). The gradients to `weights` and `biases` are IndexedSlices.

    >>> weights, biases, inputs, labels = tf.zeros([10, 2]), tf.zeros([10]), tf.ones([2, 2]), tf.constant([[0], [1]])
    >>> print(tf.nn.nce_loss(weights, biases, labels, inputs, num_sampled=4, num_classes=10).shape)
    (2,)
    >>> sampled = tf.constant([4, 5], tf.int64), tf.ones([2, 1]), tf.ones([2])
    >>> print(tf.nn.nce_loss(weights, biases, labels, inputs, 2, 10, sampled_values=sampled).numpy().round(4))
    [2.0794 2.0794]
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits, None
    )
    return reduce_sum(sigmoid_cross_entropy_with_logits(targets, logits), 1)


@public
def sampled_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=True,
    seed=None,
    name="sampled_softmax_loss",
):
    """Return the softmax cross-entropy of each example [batch] over the true and a sample of the other classes.

    It is for training with many classes, and lower than the full cross-entropy. The arguments are those of `nce_loss`. With
    `remove_accidental_hits` sampled classes that are also true classes are left out.

    >>> weights, biases, inputs, labels = tf.zeros([10, 2]), tf.zeros([10]), tf.ones([2, 2]), tf.constant([[0], [4]])
    >>> sampled = tf.constant([4, 5], tf.int64), tf.ones([2, 1]), tf.ones([2])
    >>> loss = tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, 2, 10, sampled_values=sampled)
    >>> print(np.exp(-loss.numpy()).round(4))
    [0.3333 0.5   ]
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits, seed
    )
    return softmax_cross_entropy_with_logits(targets, logits)
