"""Diagonals of Fisher and Gauss-Newton matrices, and factors of K-FAC, are those of whole Jacobians."""

import itertools

import numpy as np
import pytest

import gradtape as tf

random = np.random.default_rng(5)
tolerances = {tf.float64: 1e-10, tf.float32: 2e-4}


def layers(dtype):
    return [tf.Variable(random.standard_normal(shape) * 0.5, dtype=dtype) for shape in ([3, 5], [5], [5, 4], [4])]


def logits(weights, x):
    first, bias, second, last = weights
    return tf.tanh(x @ first + bias) @ second + last


def entropy(z, labels):
    return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, z))


def flat(parts, rows):
    return np.concatenate([np.reshape(p, (rows, -1)) for p in parts], 1)


def in_both(function):
    """Return what a function gives in eager code, compared with what it gives in a `tf.function`."""
    eager, inside = function(), tf.function(function)()
    for a, b in zip(tf.nest.flatten(eager), tf.nest.flatten(inside), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    return eager


@pytest.mark.parametrize("dtype", tolerances, ids=lambda dtype: dtype.name)
def test_diagonals_are_those_of_whole_matrices(dtype):
    weights, x = layers(dtype), tf.constant(random.standard_normal((6, 3)), dtype)
    labels, close = tf.constant(random.integers(0, 4, 6)), {"rtol": tolerances[dtype], "atol": tolerances[dtype]}
    examples = (x, labels)

    def loss(x, labels):
        return entropy(logits(weights, x), labels)

    rows = flat(tf.autodiff.per_example_gradients(loss, weights, examples), 6)
    fisher = in_both(lambda: tf.autodiff.fisher_diagonal(loss, weights, examples))
    np.testing.assert_allclose(flat(fisher, 1)[0], np.mean(rows**2, 0), **close)

    with tf.GradientTape() as tape:
        z = logits(weights, x)
    jacobian = flat(tape.jacobian(z, weights), 24).reshape(6, 4, -1)
    p = np.asarray(tf.nn.softmax(z))
    hessian = np.einsum("ni,ij->nij", p, np.eye(4)) - p[:, :, None] * p[:, None]
    wanted = {None: np.einsum("ncp,ncp->p", jacobian, jacobian) / 6, "entropy": None}
    wanted["entropy"] = np.einsum("ncp,ncd,ndp->p", jacobian, hessian, jacobian) / 6
    for name, expected in wanted.items():
        of = None if name is None else lambda z: entropy(z, tf.constant([0]))
        found = in_both(lambda of=of: tf.autodiff.ggn_diagonal(lambda x: logits(weights, x), weights, x, of))
        np.testing.assert_allclose(flat(found, 1)[0], expected, **close)
    in_parts = tf.autodiff.ggn_diagonal(lambda x: logits(weights, x), weights, x, of, chunk_size=4)
    np.testing.assert_allclose(flat(in_parts, 1), flat(found, 1), **close)


@pytest.mark.parametrize("dtype", tolerances, ids=lambda dtype: dtype.name)
def test_factors_of_dense_layers(dtype):
    weights, x = layers(dtype), tf.constant(random.standard_normal((6, 3)), dtype)
    found = in_both(lambda: tf.autodiff.kfac_factors(lambda x: entropy(logits(weights, x), [1]), weights, x))
    hidden = np.tanh(x @ weights[0] + weights[1])
    last = np.asarray(tf.nn.softmax(logits(weights, x))) - np.eye(4)[1]
    first = (last @ weights[2].numpy().T) * (1.0 - hidden**2)
    close = {"rtol": tolerances[dtype], "atol": tolerances[dtype]}
    for (a, b), inputs, slopes in zip(found, (x, None, hidden, None), (first, first, last, last), strict=True):
        inputs = np.ones([6, 1]) if inputs is None else np.asarray(inputs)
        np.testing.assert_allclose(a, inputs.T @ inputs / 6, **close)
        np.testing.assert_allclose(b, slopes.T @ slopes / 6, **close)


CASES = {
    "dense": ([3, 4], [1, 3], lambda x, w: x @ w),
    "einsum": ([3, 2, 4], [1, 3], lambda x, w: tf.einsum("bi,ihd->bhd", x, w)),
    "convolution": ([2, 2, 3, 4], [1, 2, 2, 3], lambda x, w: tf.nn.conv2d(x, w, 1, "VALID")),
    "bias": ([4], [1, 4], lambda x, w: x + w),
}


@pytest.mark.parametrize("name", CASES)
def test_one_example_and_position_have_exact_factors(name):
    shape, given, layer = CASES[name]
    w, x = tf.Variable(random.standard_normal(shape)), tf.constant(random.standard_normal(given))

    def loss(x):
        return tf.reduce_sum(tf.exp(0.3 * layer(x, w)))

    (g,) = tf.autodiff.per_example_gradients(loss, [w], x)
    a, b = tf.autodiff.kfac_factors(loss, w, x)
    np.testing.assert_allclose(np.kron(a, b), np.outer(g, g), rtol=1e-9)
    np.testing.assert_allclose(tf.autodiff.fisher_diagonal(loss, w, x), np.square(g[0]), rtol=1e-9)


def test_results_that_are_only_added_have_factors():
    kernel, rows = tf.Variable(tf.ones([3, 2])), np.arange(6.0, dtype=np.float32).reshape(2, 3)
    ((a, b),) = tf.autodiff.kfac_factors(lambda x: 2.0 * tf.reduce_sum(x @ kernel), [kernel], tf.constant(rows))
    np.testing.assert_allclose(a, rows.T @ rows / 2, rtol=1e-6)
    np.testing.assert_allclose(b, np.full((2, 2), 4.0), rtol=1e-6)
    norms = tf.autodiff.per_example_norms(lambda x: tf.reduce_sum(x @ kernel), [kernel], tf.constant(rows))
    np.testing.assert_allclose(norms, np.sqrt(2 * (rows**2).sum(1)), rtol=1e-6)


def test_a_sequence_is_averaged_in_a_and_summed_in_b():
    w, x = tf.Variable(random.standard_normal([3, 4])), tf.constant(random.standard_normal([2, 5, 3]))
    a, b = tf.autodiff.kfac_factors(lambda x: tf.reduce_sum((x[0] @ w) ** 3), w, x)
    slopes = 3.0 * np.asarray(x @ w) ** 2
    np.testing.assert_allclose(a, np.einsum("nti,ntj->ij", x, x) / 10, rtol=1e-9)
    np.testing.assert_allclose(b, np.einsum("nti,ntj->ij", slopes, slopes) / 2, rtol=1e-9)
    rows = tf.autodiff.per_example_gradients(lambda x: tf.reduce_sum((x[0] @ w) ** 3), w, x)
    found = tf.autodiff.fisher_diagonal(lambda x: tf.reduce_sum((x[0] @ w) ** 3), w, x)
    np.testing.assert_allclose(found, np.mean(np.square(rows), 0), rtol=1e-9)


def test_labels_drawn_from_the_model_give_the_ggn():
    weights, x = layers(tf.float64), tf.constant(np.repeat(random.standard_normal((1, 3)), 4000, 0))
    tf.random.set_seed(3)

    def drawn(x):
        z = logits(weights, x)
        return entropy(z, tf.random.categorical(tf.stop_gradient(z), 1)[:, 0])

    fisher = tf.autodiff.fisher_diagonal(drawn, weights, x)
    ggn = tf.autodiff.ggn_diagonal(lambda x: logits(weights, x), weights, x[:1], lambda z: entropy(z, tf.constant([0])))
    np.testing.assert_allclose(flat(fisher, 1), flat(ggn, 1), rtol=0.2, atol=1e-3)


W = tf.Variable(np.ones([3, 3]))
X = np.ones([2, 3])
ad = tf.autodiff
ERRORS = {
    "inverse": (lambda: ad.kfac_factors(lambda x: tf.reduce_sum(tf.exp(W) * x[0]), W, X), ValueError, "no product of two"),
    "unused": (lambda: ad.kfac_factors(lambda x: tf.reduce_sum(x), W, X), ValueError, "loss_fn does not use it"),
    "values": (lambda: ad.kfac_factors(lambda x: x[0, 0] * float(x[0, 0]), W, X), NotImplementedError, "looks at values"),
    "results": (lambda: ad.ggn_diagonal(lambda x: [x @ W], W, X), ValueError, "one floating tensor"),
    "loss": (lambda: ad.ggn_diagonal(lambda x: x @ W, W, X, lambda z: z), ValueError, "returns one scalar"),
    "chunk": (lambda: ad.fisher_diagonal(lambda x: tf.reduce_sum(x @ W), W, X, chunk_size=0), ValueError, "chunk_size"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        call()


def test_as_curvlinops_and_backpack():
    """Numbers of curvlinops 3.0.1 (K-FAC-expand, the empirical Fisher matrix) and BackPACK 1.7.1 (the Gauss-Newton diagonal)."""
    sizes, weights = [3, 4, 2], []
    for inputs, units in itertools.pairwise(sizes):
        kernel = np.sin(1.0 + 3.0 * np.arange(inputs * units)).reshape(units, inputs) / np.sqrt(inputs)
        weights += [tf.Variable(kernel.T), tf.Variable(np.cos(np.arange(units)))]
    x, labels = tf.constant(np.sin(0.7 * np.arange(15)).reshape(5, 3)), tf.constant((np.arange(5) * 7) % 2)

    def loss(x, labels):
        return entropy(logits(weights, x), labels)

    (a, b), (_, bias), (_, last), _ = tf.autodiff.kfac_factors(loss, weights, (x, labels))
    inputs = [[0.4470793477, 0.2858388846, -0.0098360723], [0.2858388846, 0.4051803562, 0.3339591752],
              [-0.0098360723, 0.3339591752, 0.5206882044]]  # fmt: skip
    gradients = [[0.0015830346, -0.0035302836, 0.0041348967, -0.0023129896],
                 [-0.0035302836, 0.008457498, -0.0097781638, 0.005459215],
                 [0.0041348967, -0.0097781638, 0.0113406983, -0.0062939397],
                 [-0.0023129896, 0.005459215, -0.0062939397, 0.0036576065]]  # fmt: skip
    for found, expected in [(a, inputs), (b, gradients), (bias, gradients), (last, 0.2447487146 * np.array([[1, -1], [-1, 1]]))]:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    fisher = tf.autodiff.fisher_diagonal(loss, weights, (x, labels))
    expected = [[0.000715525261, 0.000713740006, 0.000841070129], [0.003716523926, 0.002551994524, 0.004170987766],
                [0.005212862882, 0.003622472103, 0.005431691832], [0.001103759079, 0.00130809947, 0.002376842367]]  # fmt: skip
    np.testing.assert_allclose(fisher[0], np.transpose(expected), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        fisher[2], np.transpose([[0.153059543305, 0.051313060405, 0.037400251218, 0.134289192854]] * 2), 1e-10
    )
    curving = tf.autodiff.ggn_diagonal(lambda x: logits(weights, x), weights, x, lambda z: entropy(z, tf.constant([0])))
    expected = [[0.000865802297, 0.00095110846, 0.000859882122], [0.003434472362, 0.002662045089, 0.003753598967],
                [0.005044220966, 0.004047228445, 0.005025449796], [0.001069275669, 0.001316516072, 0.002108393566]]  # fmt: skip
    np.testing.assert_allclose(curving[0], np.transpose(expected), rtol=0, atol=1e-12)
    np.testing.assert_allclose(curving[3], [0.227756942359] * 2, 1e-10)
