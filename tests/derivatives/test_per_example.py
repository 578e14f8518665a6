"""Per-example gradients, their norms without them, and what is made of them: against JAX's vmap and a loop."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff
from gradtape._src.derivatives import ghost
from tests.derivatives.cases import compiled_of, temporary_bytes

random = np.random.default_rng(0)
X, Y = random.normal(size=(6, 4)).astype("f"), random.integers(0, 3, 6)
LAYERS = [random.normal(size=(4, 5)).astype("f"), random.normal(size=5).astype("f"), random.normal(size=(5, 3)).astype("f")]


def network():
    w, b, u = (tf.Variable(layer) for layer in LAYERS)

    def loss(x, y):
        logits = tf.tanh(x @ w + b) @ u
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    return loss, {"w": w, "b": b, "u": u}


@cache
def expected():
    def loss(layers, x, y):
        w, b, u = layers
        return -jax.nn.log_softmax(jnp.tanh(x @ w + b) @ u)[y]

    w, b, u = jax.jit(jax.vmap(jax.grad(loss), (None, 0, 0)))(LAYERS, X, Y)
    return {"w": w, "b": b, "u": u}


def agree(mine, theirs, rtol=2e-5):
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        np.testing.assert_allclose(value, theirs[name], rtol, 1e-6, err_msg=name)


def norms_of(gradients):
    return np.sqrt(sum((np.asarray(g).reshape(len(g), -1) ** 2).sum(1) for g in gradients.values()))


@pytest.mark.parametrize("chunk_size", [None, 1, 4])
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_against_jax(traced, chunk_size):
    loss, sources = network()

    def gradients(x, y):
        return autodiff.per_example_gradients(loss, sources, (x, y), chunk_size=chunk_size)

    agree((tf.function(gradients) if traced else gradients)(tf.constant(X), tf.constant(Y)), expected())


def test_losses_on_a_tape():
    w = tf.Variable(LAYERS[0])
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum(tf.tanh(tf.constant(X) @ w), axis=1)
    found = autodiff.per_example_gradients(losses, [w], tape=tape)[0]
    again = autodiff.per_example_gradients(lambda x: tf.reduce_sum(tf.tanh(x @ w)), [w], X)[0]
    np.testing.assert_allclose(found, again, 1e-5, 1e-6)


def test_without_the_axis_and_with_a_nest_of_examples():
    w = tf.Variable([1.0, 2.0])
    examples = {"x": tf.constant([[1.0, 0.0], [3.0, 4.0]]), "scale": tf.constant([2.0, 0.5])}
    found = autodiff.per_example_gradients(lambda e: e["scale"] * tf.tensordot(e["x"], w, 1) ** 2, w, examples, keep_axis=False)
    assert found.numpy().tolist() == [[4.0, 0.0], [33.0, 44.0]]


def test_sources_that_are_tensors_and_one_that_is_not_used():
    w, unused = tf.constant([1.0, 2.0]) * 1.0, tf.Variable([[1.0]])
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = autodiff.per_example_gradients(lambda x: tf.reduce_sum(x * w), [w, unused], x)
    assert found[0].numpy().tolist() == x.numpy().tolist() and found[1].numpy().tolist() == [[[0.0]]] * 3
    norms = autodiff.per_example_norms(lambda x: tf.reduce_sum(x * w), [w, unused], x)
    np.testing.assert_allclose(norms, np.linalg.norm(x, axis=1), 1e-6)


def test_control_flow():
    w = tf.Variable(2.0)

    @tf.function
    def loss(x):
        y = tf.reduce_sum(x)
        if y > 0.0:
            for _ in tf.range(3):
                y = y * w
        return y

    found = autodiff.per_example_gradients(loss, w, tf.constant([1.0, -1.0, 2.0]))
    assert found.numpy().tolist() == [12.0, 0.0, 24.0]
    norms = autodiff.per_example_norms(loss, w, tf.constant([1.0, -1.0, 2.0]))
    assert norms.numpy().tolist() == [12.0, 0.0, 24.0]


def test_a_loss_that_looks_at_values_runs_example_by_example():
    w = tf.Variable([1.0, 2.0])

    def loss(x):
        return tf.reduce_sum(x * w) if float(x[0, 0]) > 1.0 else tf.reduce_sum(x * w) ** 2

    x = tf.constant([[1.0, 0.0], [3.0, 4.0]])
    found = autodiff.per_example_gradients(loss, w, x)
    assert found.numpy().tolist() == [[2.0, 0.0], [3.0, 4.0]]
    np.testing.assert_allclose(autodiff.per_example_norms(loss, w, x), [2.0, 5.0])
    np.testing.assert_allclose(autodiff.clipped_gradients(loss, w, x, 1.0, reduction="sum"), [1.6, 0.8], 1e-6)


def test_each_example_draws_numbers_of_its_own():
    w = tf.Variable(tf.ones([64]))
    found = autodiff.per_example_gradients(lambda x: tf.reduce_sum(tf.nn.dropout(x * w, 0.5)), w, tf.ones([3, 64])).numpy()
    assert set(np.unique(found)) == {0.0, 2.0}
    assert not (found[0] == found[1]).all() and not (found[1] == found[2]).all()


def test_gradients_of_per_example_gradients():
    w = tf.Variable(3.0)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        found = autodiff.per_example_gradients(lambda x: tf.reduce_sum(x) * w**3, w, x)
        spread = tf.reduce_sum(found**2)
    assert found.numpy().tolist() == [27.0, 54.0]
    assert float(tape.gradient(spread, w)) == pytest.approx(sum(2 * 9 * 3**3 * 2 * k**2 for k in (1.0, 2.0)))


# ---------------------------------------------------------------------------------------------------------------------
# Norms

IDS = random.integers(0, 50, (4, 3))
TABLE, MATRIX = random.normal(size=(50, 20)).astype("f"), random.normal(size=(20, 30)).astype("f") / 4
BACK, IMAGES = random.normal(size=(30, 20)).astype("f") / 5, random.normal(size=(4, 6, 6, 4)).astype("f")
FILTER = random.normal(size=(3, 3, 4, 40)).astype("f") / 3
PROJECTION = random.normal(size=(20, 4, 8)).astype("f") / 4


def lookups(v, ids, _):
    return tf.reduce_sum(tf.sin(tf.gather(v["table"], ids))) + tf.reduce_sum(tf.gather(v["table"], ids[:, :2]) ** 2)


def shared(v, ids, _):
    h = tf.constant(TABLE[:4])[None] * tf.reduce_sum(tf.cast(ids, tf.float32))
    return tf.reduce_sum(tf.tanh(tf.tanh(h @ v["matrix"]) @ v["back"]) @ v["matrix"])


def projections(v, ids, _):
    h = tf.gather(tf.constant(TABLE), ids)
    return tf.reduce_sum(tf.einsum("bti,ihd->bthd", h, v["projection"]) ** 2) + tf.reduce_sum(
        tf.einsum("ij,bti->btj", v["matrix"], h)
    )


def convolution(v, _, images):
    h = tf.tanh(tf.nn.conv2d(images, v["filter"], 2, "SAME"))
    return tf.reduce_sum(h * tf.nn.conv2d(images, v["filter"], 2, "SAME", dilations=1))


def elementwise(v, _, images):
    return tf.reduce_sum(tf.sin(images) * v["gain"])


CASES = [
    (lookups, {"table": TABLE}, "GatherV2Grad"),
    (shared, {"matrix": MATRIX, "back": BACK}, "MatMul"),
    (projections, {"projection": PROJECTION, "matrix": MATRIX}, "Einsum"),
    (convolution, {"filter": FILTER}, "Conv2DBackpropFilter"),
    (elementwise, {"gain": IMAGES[0, 0]}, None),
]


@pytest.mark.parametrize("loss, values, avoided", CASES, ids=[case[0].__name__ for case in CASES])
def test_norms(loss, values, avoided, monkeypatch):
    variables = {name: tf.Variable(value) for name, value in values.items()}
    ids, images = tf.constant(IDS), tf.constant(IMAGES)
    programs = []
    made = ghost.norms_program
    monkeypatch.setattr("gradtape._src.derivatives.clipping.norms_program", lambda p: programs.append(made(p)) or programs[0])
    gradients = autodiff.per_example_gradients(lambda i, x: loss(variables, i, x), variables, (ids, images))
    norms = autodiff.per_example_norms(lambda i, x: loss(variables, i, x), variables, (ids, images), per_source=True)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(norms[name], norms_of({name: gradient}), 1e-4, err_msg=name)
    whole = autodiff.per_example_norms(lambda i, x: loss(variables, i, x), variables, (ids, images), chunk_size=3)
    np.testing.assert_allclose(whole, norms_of(gradients), 1e-4)
    sizes = {tuple(v.shape) for v in variables.values()}
    formed = [
        a for key, a in zip(programs[0].keys, programs[0].avals, strict=True) if key[0].type == avoided and a.shape in sizes
    ]
    assert not formed, "a per-example gradient was formed that its factors give the norm of"


def test_norms_in_half_precision_and_complex():
    half = tf.Variable(tf.cast(LAYERS[0], tf.float16))
    norms = autodiff.per_example_norms(lambda x: tf.reduce_sum(x @ half) * 100.0, half, tf.cast(X, tf.float16))
    assert norms.dtype == tf.float32 and np.isfinite(norms.numpy()).all()
    z = tf.Variable([1.0 + 1.0j, 2.0])

    def real_part(x):
        return tf.math.real(tf.reduce_sum(tf.cast(x, tf.complex128) * z) * (1.0 + 1.0j))

    def looked_at(x):  # its examples run one by one
        return real_part(x) * (float(x[0, 0]) / 3.0)

    for loss in (real_part, looked_at):
        norms = autodiff.per_example_norms(loss, z, tf.constant([[3.0, 4.0]]))
        assert norms.dtype == tf.float64
        np.testing.assert_allclose(norms, [50.0**0.5])


def test_norms_of_a_convolutional_net_take_no_more_memory_than_its_gradient():
    images, labels = tf.constant(random.normal(size=(16, 16, 16, 3)).astype("f")), tf.constant(random.integers(0, 10, 16))
    shapes = (3, 3, 3, 16), (3, 3, 16, 32), (32, 10)
    first, second, dense = variables = [tf.Variable(random.normal(size=shape).astype("f")) for shape in shapes]

    def loss(x, y):
        h = tf.nn.relu(tf.nn.conv2d(tf.nn.relu(tf.nn.conv2d(x, first, 1, "SAME")), second, 2, "SAME"))
        return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(y, tf.reduce_mean(h, [1, 2]) @ dense))

    def gradient(x, y):
        with tf.GradientTape() as tape:
            total = loss(x, y)
        return tape.gradient(total, variables)

    norms = temporary_bytes(lambda x, y: autodiff.per_example_norms(loss, variables, (x, y)), images, labels)
    assert norms < 1.5 * temporary_bytes(gradient, images, labels)


# ---------------------------------------------------------------------------------------------------------------------
# Clipping, noise, factors


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_clipped_gradients(traced):
    loss, sources = network()
    gradients = {k: np.asarray(v) for k, v in expected().items()}
    factors = np.minimum(1.0, 0.5 / norms_of(gradients))
    assert 0 < (factors < 1).sum() < len(factors), "the test would say nothing"
    sums = {k: np.tensordot(factors, v, 1) for k, v in gradients.items()}

    def clipped(x, y):
        return (
            autodiff.clipped_gradients(loss, sources, (x, y), 0.5, reduction="sum"),
            autodiff.clipped_gradients(loss, sources, (x, y), 0.5, chunk_size=4),
        )

    total, mean = (tf.function(clipped) if traced else clipped)(tf.constant(X), tf.constant(Y))
    agree(total, sums, 1e-4)
    agree(mean, {k: v / 6 for k, v in sums.items()}, 1e-4)


def test_a_loss_that_looks_at_values_is_clipped_by_the_norms_of_the_gradients_that_are_summed():
    w = tf.Variable([1.0, 1.0])

    def loss(x):
        assert float(tf.reduce_sum(x)) > 0.0
        return tf.reduce_sum(x * w) * tf.random.uniform([], 1.0, 100.0)

    clipped = autodiff.clipped_gradients(loss, w, tf.constant([[3.0, 4.0]]), max_norm=1.0)
    np.testing.assert_allclose(clipped, [0.6, 0.8], rtol=1e-5)


def test_noise_is_seeded_and_of_the_stated_size():
    w = tf.Variable(tf.zeros([4000]))

    def noise(seed, multiplier=3.0):
        generator = tf.random.Generator.from_seed(seed)
        return autodiff.clipped_gradients(
            lambda x: tf.reduce_sum(x) * w[0], w, tf.ones([2]), 0.5, multiplier, generator, reduction="sum"
        ).numpy()

    first, again, other = noise(1), noise(1), noise(2)
    assert (first == again).all() and not (first == other).any()
    assert first[1:].std() == pytest.approx(1.5, rel=0.05) and abs(first[1:].mean()) < 0.1
    assert noise(1, 0.0)[0] == 1.0 and not noise(1, 0.0)[1:].any()


def test_an_example_without_a_gradient_is_not_scaled():
    w = tf.Variable([1.0, 2.0])
    found = autodiff.clipped_gradients(
        lambda x: tf.reduce_sum(x * w), w, tf.constant([[0.0, 0.0], [0.3, 0.4]]), 1.0, reduction="sum"
    )
    np.testing.assert_allclose(found, [0.3, 0.4])


def test_factors_on_the_gradients():
    _, sources = network()
    factors = [0.0, 1.0, 2.0, 0.5, 0.0, -1.0]
    w, b, u = (sources[name] for name in "wbu")
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(Y, tf.tanh(X @ w + b) @ u)
        total = tf.reduce_sum(autodiff.gradient_factors(losses, factors))
    assert float(total) == pytest.approx(float(tf.reduce_sum(losses)))
    weighted = {k: np.tensordot(np.array(factors, "f"), np.asarray(v), 1) for k, v in expected().items()}
    agree(tape.gradient(total, sources), weighted, 1e-4)


V = tf.Variable([1.0, 2.0])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: autodiff.per_example_gradients(3, V, X), TypeError, "loss_fn must be a function of one example, received 3"),
        (
            lambda: autodiff.per_example_gradients(tf.identity, "v", X),
            TypeError,
            "sources are variables and tensors.*received 'v'",
        ),
        (
            lambda: autodiff.per_example_gradients(tf.identity, tf.Variable(1), X),
            ValueError,
            "source of dtype int32 has no gradient",
        ),
        (
            lambda: autodiff.per_example_gradients(lambda x: x * V[0], V, X),
            ValueError,
            r"a floating scalar; it returned float32 of",
        ),
        (lambda: autodiff.per_example_gradients(lambda x: 3, V, X), ValueError, "a floating scalar; it returned int"),
        (lambda: autodiff.per_example_gradients(tf.reduce_sum, V, ()), ValueError, "examples holds no tensors"),
        (lambda: autodiff.per_example_gradients(tf.reduce_sum, V, tf.constant(1.0)), ValueError, "this one is a scalar"),
        (lambda: autodiff.per_example_gradients(tf.add, V, (X, X[:2])), ValueError, r"different numbers of rows: \[2, 6\]"),
        (lambda: autodiff.per_example_gradients(tf.reduce_sum, V, X[:0]), tf.errors.InvalidArgumentError, "there are no rows"),
        (lambda: autodiff.per_example_gradients(tf.reduce_sum, V, X, chunk_size=0), ValueError, "chunk_size must be a positive"),
        (lambda: autodiff.per_example_gradients(assigning, V, X), ValueError, "loss_fn assigns .*training=False"),
        (lambda: autodiff.per_example_gradients(X, V, tape=tf.GradientTape()), ValueError, r"a tensor of shape \[examples\]"),
        (lambda: autodiff.clipped_gradients(tf.reduce_sum, V, X, 0.0), ValueError, "max_norm must be positive, received 0.0"),
        (lambda: autodiff.clipped_gradients(tf.reduce_sum, V, X, 1.0, -1.0), ValueError, "noise_multiplier must not be negative"),
        (lambda: autodiff.clipped_gradients(tf.reduce_sum, V, X, 1.0, 1.0, 7), TypeError, "must be a tf.random.Generator"),
        (lambda: autodiff.clipped_gradients(tf.reduce_sum, V, X, 1.0, reduction="max"), ValueError, "'mean' or 'sum'"),
        (lambda: autodiff.gradient_factors(X, [1.0, 2.0]), ValueError, r"one number for each row of x.*received shape \(2,\)"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def assigning(x):
    V.assign_add([1.0, 1.0])
    return tf.reduce_sum(x) * V[0]


@pytest.mark.parametrize("loss, values, kind", [case for case in CASES if case[2]], ids=[case[2] for case in CASES if case[2]])
def test_sums_are_taken_without_the_gradients_of_each(loss, values, kind):
    variables = {name: tf.Variable(value) for name, value in values.items()}
    ids, images = tf.constant(IDS[:, :1] if kind == "GatherV2Grad" else IDS), tf.constant(IMAGES)
    gradients = autodiff.per_example_gradients(lambda i, x: loss(variables, i, x), variables, (ids, images))

    @tf.function
    def clipped(ids, images):
        return autodiff.clipped_gradients(lambda i, x: loss(variables, i, x), variables, (ids, images), 1e-2, reduction="sum")

    factors = np.minimum(1.0, 1e-2 / norms_of(gradients))
    agree(clipped(ids, images), {k: np.tensordot(factors, v, 1) for k, v in gradients.items()}, 1e-3)
    compiled = compiled_of(clipped.get_concrete_function(ids, images).program).as_text()
    for v in variables.values():
        assert f"f32[4,{','.join(map(str, v.shape))}]" not in compiled
