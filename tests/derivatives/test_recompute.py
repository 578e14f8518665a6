"""`recompute_grad` with a policy: the same gradients, and as many values kept as it says."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff
from tests.derivatives.cases import temporary_bytes

random = np.random.default_rng(0)
WEIGHTS = [random.normal(size=(16, 16)) / 4 for _ in range(4)]
X = random.normal(size=(64, 16))
POLICIES = ["nothing", "everything", ["MatMul"], ["Tanh", "Sin"], 0, 20_000, 10**9]


def network(weights, policy=None):
    def layers(x):
        for w in weights:
            x = tf.sin(tf.tanh(x @ w))
        return {"y": x, "sum": tf.reduce_sum(x)}

    return layers if policy is None else autodiff.recompute_grad(layers, policy)


def gradients(weights, x, policy):
    with tf.GradientTape() as tape:
        tape.watch(x)
        results = network(weights, policy)(x)
        loss = tf.reduce_sum(results["y"] ** 2) + results["sum"]
    return tape.gradient(loss, [x, *weights])


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_same_gradients(policy, traced):
    weights, x = [tf.Variable(w) for w in WEIGHTS], tf.constant(X)
    expected = gradients(weights, x, None)
    found = (tf.function(lambda x: gradients(weights, x, policy)) if traced else lambda x: gradients(weights, x, policy))(x)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-10, 1e-12)


@pytest.mark.parametrize("policy", ["nothing", ["Tanh"], 10_000], ids=str)
def test_second_order(policy):
    x, v = tf.constant(X[:2]), tf.constant(random.normal(size=(2, 16)))
    weights = [tf.constant(w) for w in WEIGHTS[:2]]
    found = autodiff.hvp(lambda x: tf.reduce_sum(network(weights, policy)(x)["y"] ** 2), x, v)
    np.testing.assert_allclose(found, autodiff.hvp(lambda x: tf.reduce_sum(network(weights)(x)["y"] ** 2), x, v), 1e-9, 1e-12)


def test_the_saving_is_measured():
    def needed(policy):
        weights = [tf.constant(random.normal(size=(16, 16))) for _ in range(12)]

        def of(x):
            for k in range(0, 12, 4):
                x = (network(weights[k : k + 4], policy)(x))["y"]
            return x

        def gradient(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(of(x))
            return tape.gradient(y, x)

        return temporary_bytes(gradient, tf.zeros([512, 16], tf.float64))

    everything, products, nothing = [needed(policy) for policy in ("everything", ["MatMul"], "nothing")]
    assert nothing < 0.6 * products
    assert products <= everything


def test_residuals_are_what_the_policy_names():
    weights = [tf.constant(w) for w in WEIGHTS]

    def kept(policy):
        @tf.function
        def f(x):
            return network(weights, policy)(x)["y"]

        program = f.get_concrete_function(tf.constant(X)).program
        ((forward, *_),) = [key[1] for key in program.keys if key[0].type == "Recomputed"]
        return sorted(forward.keys[r][0].type for r in forward.outputs[2:])

    assert kept("nothing") == kept(0) == []
    assert kept(["MatMul"]) == kept(4 * X.nbytes) == ["MatMul"] * 4
    assert kept({"Tanh"}) == ["Tanh"] * 4
    assert kept("everything") == kept(10**9)


def test_random_numbers_are_drawn_once():
    drop = autodiff.recompute_grad(lambda x: tf.nn.dropout(tf.sin(x), 0.5))
    x = tf.Variable(tf.ones([1000]))
    with tf.GradientTape() as tape:
        y = drop(x * 1.0)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy() != 0.0, y.numpy() != 0.0)


def test_a_function_that_looks_at_values():
    f = autodiff.recompute_grad(lambda x: x * x if float(x) > 0 else -x, "everything")
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = f(x * 1.0)
    assert float(tape.gradient(y, x)) == 6.0


def test_jacobians_and_control_flow():
    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = tf.sin(x) * x
        return x

    x = tf.constant([0.5, 1.5], tf.float64)
    for policy in ("nothing", "everything"):
        found = autodiff.jacrev(autodiff.recompute_grad(f, policy), x)
        np.testing.assert_allclose(found, autodiff.jacrev(f, x), 1e-12)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: autodiff.recompute_grad(3), TypeError, "recompute_grad takes a function, received 3"),
        (lambda: autodiff.recompute_grad(tf.sin, "some"), ValueError, "policy must be 'nothing', .* received 'some'"),
        (lambda: autodiff.recompute_grad(tf.sin, -1), ValueError, "policy must be 'nothing'"),
        (lambda: autodiff.recompute_grad(tf.sin, ["Matmul"]), ValueError, "op types that do not exist: Matmul"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
