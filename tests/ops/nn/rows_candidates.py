"""Rows of candidate samplers and of the losses that use them; what is drawn is tested in `test_candidates.py`."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, real

Invalid = tf.errors.InvalidArgumentError
LOWEST = float(np.finfo("float32").min)

TRUE = np.array([[0], [3]])
TRUE_PAIRS = np.array([[0, 1], [3, 2]])
SAMPLED = np.array([4, 3, 0])
TRUE_COUNT = np.array([[0.5], [0.2]], "float32")
TRUE_PAIR_COUNT = np.array([[0.5, 0.3], [0.2, 0.1]], "float32")
SAMPLED_COUNT = np.array([0.1, 0.2, 0.6], "float32")
WEIGHTS = np.arange(12.0).reshape(6, 2) / 10
BIASES = np.arange(6.0) / 5
INPUTS = np.array([[1.0, -1.0], [0.5, 2.0]])


def logits_of(weights, biases, inputs, labels, count):
    true = jnp.einsum("bi,bti->bt", inputs, weights[labels]) + biases[labels] - np.log(count)
    return true, inputs @ weights[SAMPLED].T + biases[SAMPLED] - np.log(SAMPLED_COUNT)


def nce(labels, count, remove=False):
    def function(weights, biases, inputs):
        true, sampled = logits_of(weights, biases, inputs, labels, count)
        share = 1 / labels.shape[1]
        losses = jax.nn.softplus(sampled)
        if remove:
            losses = jnp.where((labels[:, :, None] == SAMPLED).any(1), 0, losses)
        return jnp.sum(jax.nn.softplus(true) - share * true, 1) + jnp.sum(losses, 1)

    return function


def softmax(labels, count, remove=True):
    def function(weights, biases, inputs):
        true, sampled = logits_of(weights, biases, inputs, labels, count)
        if remove:
            sampled = jnp.where((labels[:, :, None] == SAMPLED).any(1), LOWEST, sampled)
        return jax.nn.logsumexp(jnp.concatenate([true, sampled], 1), 1) - jnp.mean(true, 1)

    return function


def loss_row(name, function, reference, labels, count, value, **options):
    """The loss of the candidates above, with TensorFlow's value."""
    candidates = tf.constant(SAMPLED), tf.constant(count), tf.constant(SAMPLED_COUNT)
    pairs = labels.shape[1]

    def call(weights, biases, inputs):
        return function(weights, biases, labels, inputs, 3, 6, num_true=pairs, sampled_values=candidates, **options)

    floats = tuple([array.astype("float32") for array in (WEIGHTS, BIASES, INPUTS)])
    return Row(
        name,
        call,
        (real(6, 2, seed=name), real(6, seed=name), real(2, 2, seed=name)),
        reference,
        special=((floats, value),),
        tolerance=1e-5,
    )


def sampler_errors(function):
    return tuple(
        (lambda arguments=arguments: function(*arguments), error, match)
        for arguments, error, match in (
            ((TRUE, 2, 4, True, 6), Invalid, "must have num_true columns, expected: 1 was: 2"),
            ((TRUE, 1, 7, True, 6), Invalid, "Sampler's range is too small"),
            (([0, 3], 1, 4, True, 6), Invalid, "true_classes must be a matrix"),
            (([[9]], 1, 2, False, 6), Invalid, r"`true_candidate` out of range \[0, 6\), received 9"),
            ((TRUE, 1, 0, True, 6), Invalid, "'num_sampled' of 0 must be at least minimum 1"),
            ((TRUE, 1, 2, False, 0), Invalid, "'range_max' of 0 must be at least minimum 1"),
            ((tf.constant([[1]]), 1, 3, True, 6), Invalid, "expected to be a int64 tensor but is a int32 tensor"),
        )
    )


def sampler_row(name, type, probabilities, *arguments, **options):
    """Not distinct: the expected counts are known; the sample's are those of its classes."""
    function = getattr(tf.random, f"{name}_candidate_sampler")

    def call(true_classes):
        sampled, true_count, sampled_count = function(true_classes, 1, 4, False, len(probabilities), **options)
        known = tf.gather(tf.constant(4 * probabilities, "float32"), sampled)
        return true_count, sampled_count - known

    return Row(
        name,
        call,
        (TRUE,),
        lambda true_classes: (4 * probabilities[true_classes], np.zeros(4)),
        ops=(type,),
        order=0,
        dtypes=("int64",),
        result=lambda dtype: ("float32", "float32"),
        tolerance=1e-3,
        errors=sampler_errors(function) if not options else UNIGRAM_ERRORS,
    )


UNIGRAM_ERRORS = tuple(
    (lambda options=options: tf.random.fixed_unigram_candidate_sampler(TRUE, 1, 2, True, 5, **options), error, match)
    for options, error, match in (
        ({}, Invalid, "Must provide either vocab_file or unigrams"),
        ({"unigrams": [1.0, 2.0]}, Invalid, "range is 5 must be equal to weights size 2"),
        ({"vocab_file": "words"}, NotImplementedError, "give them as unigrams="),
        ({"unigrams": [1.0] * 5, "num_shards": 2}, NotImplementedError, "has no shards"),
    )
)
LOG_UNIFORM = np.log1p(1 / np.arange(1.0, 7)) / np.log(7)
UNIGRAMS = np.array([0, 1, 2, 3, 4.0]) ** 0.5

ROWS = (
    sampler_row("uniform", "UniformCandidateSampler", np.full(6, 1 / 6)),
    sampler_row("log_uniform", "LogUniformCandidateSampler", LOG_UNIFORM),
    sampler_row(
        "fixed_unigram",
        "FixedUnigramCandidateSampler",
        UNIGRAMS / UNIGRAMS.sum(),
        unigrams=[1, 2, 3, 4],
        distortion=0.5,
        num_reserved_ids=1,
    ),
    Row(
        "all",
        lambda true_classes: tf.random.all_candidate_sampler(true_classes, 1, 4, True),
        (TRUE,),
        lambda true_classes: (np.arange(4), np.ones((2, 1)), np.ones(4)),
        ops=("AllCandidateSampler",),
        order=0,
        dtypes=("int64",),
        result=lambda dtype: ("int64", "float32", "float32"),
    ),
    Row(
        "compute_accidental_hits",
        lambda true_classes: tf.nn.compute_accidental_hits(true_classes, np.array([2, 3, 0]), 2),
        (np.array([[0, 2], [3, 1], [5, 5]]),),
        lambda true_classes: (np.array([0, 0, 1]), np.array([2, 0, 1]), np.full(3, LOWEST)),
        ops=("ComputeAccidentalHits",),
        order=0,
        dtypes=("int64",),
        result=lambda dtype: ("int32", "int64", "float32"),
        errors=((lambda: tf.nn.compute_accidental_hits(TRUE, SAMPLED, 2), Invalid, r"shape \(2, 1\), num_true=2"),),
    ),
    loss_row("nce_loss", tf.nn.nce_loss, nce(TRUE, TRUE_COUNT), TRUE, TRUE_COUNT, [6.6344147, 10.367128]),
    loss_row(
        "nce_loss-without-hits",
        tf.nn.nce_loss,
        nce(TRUE, TRUE_COUNT, True),
        TRUE,
        TRUE_COUNT,
        [5.714904, 6.4378376],
        remove_accidental_hits=True,
    ),
    loss_row(
        "nce_loss-pairs", tf.nn.nce_loss, nce(TRUE_PAIRS, TRUE_PAIR_COUNT), TRUE_PAIRS, TRUE_PAIR_COUNT, [7.8231335, 14.293129]
    ),
    loss_row(
        "sampled_softmax_loss", tf.nn.sampled_softmax_loss, softmax(TRUE, TRUE_COUNT), TRUE, TRUE_COUNT, [2.8143904, 1.6230102]
    ),
    loss_row(
        "sampled_softmax_loss-with-hits",
        tf.nn.sampled_softmax_loss,
        softmax(TRUE, TRUE_COUNT, False),
        TRUE,
        TRUE_COUNT,
        [2.863134, 1.8030823],
        remove_accidental_hits=False,
    ),
    loss_row(
        "sampled_softmax_loss-pairs",
        tf.nn.sampled_softmax_loss,
        softmax(TRUE_PAIRS, TRUE_PAIR_COUNT),
        TRUE_PAIRS,
        TRUE_PAIR_COUNT,
        [2.5741088, 1.8053828],
    ),
)
