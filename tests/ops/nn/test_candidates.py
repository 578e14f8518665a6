"""What candidate samplers draw: which classes, how often, and how often they say that they would."""

import numpy as np
import pytest

import gradtape as tf

TRUE = np.array([[0], [3]])
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])
SAMPLERS = {
    "uniform": (tf.random.uniform_candidate_sampler, {}, np.full(4, 0.25)),
    "log_uniform": (tf.random.log_uniform_candidate_sampler, {}, np.log1p(1 / np.arange(1.0, 5)) / np.log(5)),
    "fixed_unigram": (tf.random.fixed_unigram_candidate_sampler, {"unigrams": WEIGHTS}, WEIGHTS / 10),
}
every_sampler = pytest.mark.parametrize("sampler, options, p", SAMPLERS.values(), ids=SAMPLERS)


@every_sampler
def test_classes_come_as_often_as_they_should(sampler, options, p):
    tf.random.set_seed(3)
    sampled, _, _ = sampler(TRUE, 1, 20_000, False, 4, **options)
    counts = np.bincount(sampled.numpy(), minlength=4)
    chi_squared = np.sum((counts - 20_000 * p) ** 2 / (20_000 * p))
    assert chi_squared < 16.3  # 0.1 % of three degrees of freedom


@every_sampler
def test_distinct_classes(sampler, options, p):
    """The first of them come as often as one alone, and pairs as drawing again until they differ gives them."""
    tf.random.set_seed(4)
    pairs = np.stack([sampler(TRUE, 1, 2, True, 4, **options).sampled_candidates.numpy() for _ in range(1000)])
    assert np.all(pairs[:, 0] != pairs[:, 1])
    expected = np.array([[0 if i == j else p[i] * p[j] / (1 - p[i]) for j in range(4)] for i in range(4)])
    counts = np.zeros((4, 4))
    np.add.at(counts, tuple(pairs.T), 1)
    off = ~np.eye(4, dtype=bool)
    assert np.sum((counts[off] - 1000 * expected[off]) ** 2 / (1000 * expected[off])) < 31.3  # 0.1 % of eleven degrees


@every_sampler
def test_expected_counts_of_distinct_classes(sampler, options, p):
    """1 - (1 - p)^draws of a number of draws that is the same for all classes, and at least the number of classes."""
    tf.random.set_seed(5)
    draws = []
    for _ in range(200):
        sampled, true_count, sampled_count = sampler(TRUE, 1, 3, True, 4, **options)
        number = np.log1p(-true_count.numpy()[:, 0]) / np.log1p(-p[[0, 3]])
        np.testing.assert_allclose(number[0], number[1], rtol=1e-3)
        np.testing.assert_allclose(sampled_count, 1 - (1 - p[sampled.numpy()]) ** number[0], rtol=1e-4)
        draws.append(round(number[0]))
    assert min(draws) == 3
    expected = sum(p_first * _further(p, {first}) for first, p_first in enumerate(p)) + 1
    assert abs(np.mean(draws) - expected) < 5 * np.std(draws) / np.sqrt(200)


def _further(p, taken):
    """How many draws it takes on average to come from the classes `taken` to three."""
    if len(taken) == 3:
        return 0.0
    rest = 1 - sum(p[c] for c in taken)
    return 1 / rest + sum(p[c] / rest * _further(p, taken | {c}) for c in range(4) if c not in taken)


def test_reserved_classes_are_not_drawn():
    sampled, true_count, _ = tf.random.fixed_unigram_candidate_sampler(
        TRUE, 1, 4, True, 6, num_reserved_ids=2, unigrams=[1.0, 1.0, 1.0, 1.0]
    )
    assert sorted(sampled.numpy()) == [2, 3, 4, 5]
    assert true_count.numpy()[0, 0] == 0


def test_a_seed_gives_the_same_sample_again():
    def draw(seed):
        tf.random.set_seed(7)
        return tf.random.log_uniform_candidate_sampler(TRUE, 1, 5, True, 1000, seed=seed).sampled_candidates.numpy()

    np.testing.assert_array_equal(draw(1), draw(1))
    assert np.any(draw(1) != draw(2))


def test_training_with_a_sample_of_the_classes_lowers_the_full_loss():
    tf.random.set_seed(0)
    weights, biases = tf.Variable(tf.zeros([30, 4])), tf.Variable(tf.zeros([30]))
    inputs = tf.random.normal([16, 4])
    labels = tf.random.uniform([16, 1], 0, 30, tf.int64)

    def full():
        logits = tf.matmul(inputs, weights, transpose_b=True) + biases
        return float(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels[:, 0], logits)))

    before = full()
    for _ in range(40):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, 8, 30))
        slices = tape.gradient(loss, [weights, biases])
        assert all(isinstance(dx, tf.IndexedSlices) for dx in slices)
        for variable, dx in zip((weights, biases), slices, strict=True):
            variable.scatter_sub(tf.IndexedSlices(dx.values * 1.0, dx.indices))
    assert full() < 0.8 * before
